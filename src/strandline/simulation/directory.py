"""Names of simulated files, and the changes of names that a crash may undo.

Every creation, rename and removal is one `EntryChange`, durable once the folder that holds its name is
synced (KAFKA-3968: syncing the file itself is not enough). A rename between folders counts to the folder it
moves into.

After power loss any subset of the un-synced changes has happened, as long as a file system could have got
there. A change needs the earlier ones it builds on: those of the same name; for the removal of a folder,
the emptying of that folder; for a move between folders, the making of folders, or the moved file could be
in neither. A rename is one change, so its target is the old file or the new, never none.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.simulation.inode import FileNode
from strandline.simulation.power_loss import Fate


class Directory:
    __slots__ = ("durable_entries", "entries", "modified_ms")

    def __init__(self, entries: dict[str, Node], modified_ms: int) -> None:
        self.entries = entries
        self.durable_entries = dict(entries)
        self.modified_ms = modified_ms


Node = FileNode | Directory


class Slot(NamedTuple):
    """Where a name is."""

    directory: Directory
    name: str


class EntryChange:
    """`node` moves from a slot to a slot; a creation comes from none, a removal goes to none."""

    __slots__ = ("directory", "is_within_one", "node", "replaced", "slots", "source", "target")

    def __init__(self, node: Node, source: Slot | None, target: Slot | None, replaced: Node | None = None) -> None:
        self.node = node
        self.source = source
        self.target = target
        self.replaced = replaced
        self.slots = tuple(slot for slot in (source, target) if slot is not None)
        self.directory = self.slots[-1].directory  # who syncs that makes it durable
        self.is_within_one = self.slots[0].directory is self.directory

    @property
    def removed(self) -> Node | None:
        """What is gone once this has happened."""
        return self.node if self.target is None else self.replaced

    @property
    def moves_between_directories(self) -> bool:
        return not self.is_within_one


class Later:
    """Changes that will be durable: which earlier ones they need."""

    def __init__(self) -> None:
        self._slots: set[Slot] = set()
        self._directories: set[int] = set()  # in which they are, by identity
        self._removed: set[int] = set()  # by identity
        self._concerned: set[int] = set()  # these two together
        self._moves_between_directories = False

    def add(self, change: EntryChange) -> None:
        self._slots.update(change.slots)
        self._directories.update([id(slot.directory) for slot in change.slots])
        self._removed.add(id(change.removed))
        self._concerned = self._directories | self._removed
        self._moves_between_directories |= change.moves_between_directories

    def need(self, earlier: EntryChange) -> bool:
        if self._moves_between_directories and isinstance(earlier.node, Directory):
            return True
        if earlier.is_within_one and id(earlier.directory) not in self._concerned:
            return False  # as nearly all
        for slot in earlier.slots:
            directory = id(slot.directory)
            if directory in self._removed or (directory in self._directories and slot in self._slots):
                return True
        return False


class Lost:
    """Changes that have not happened: which later ones cannot have happened either."""

    def __init__(self) -> None:
        self._slots: set[Slot] = set()
        self._directories: set[int] = set()  # in which they are, by identity
        self._makes_directories = False

    def add(self, change: EntryChange) -> None:
        self._slots.update(change.slots)
        self._directories.update(id(slot.directory) for slot in change.slots)
        self._makes_directories |= isinstance(change.node, Directory)

    def are_needed_by(self, change: EntryChange) -> bool:
        if self._makes_directories and change.moves_between_directories:
            return True
        return id(change.removed) in self._directories or any(slot in self._slots for slot in change.slots)


class DirectoryTree:
    """The tree as programs see it (`entries`), the durable one (`durable_entries`), and what lies between."""

    def __init__(self, root: Directory) -> None:
        self.root = root
        self.pending: list[EntryChange] = []

    def change(self, change: EntryChange, now_ms: int) -> None:
        if change.source is not None:
            del change.source.directory.entries[change.source.name]
        if change.target is not None:
            change.target.directory.entries[change.target.name] = change.node
        for slot in change.slots:
            slot.directory.modified_ms = now_ms
        self.pending.append(change)

    def sync(self, directory: Directory) -> None:
        durable: list[EntryChange] = []
        rest: list[EntryChange] = []
        later = Later()
        for change in reversed(self.pending):
            if change.directory is directory or (durable and later.need(change)):
                durable.append(change)
                later.add(change)
            else:
                rest.append(change)
        for change in reversed(durable):
            if change.source is not None:
                del change.source.directory.durable_entries[change.source.name]
            if change.target is not None:
                change.target.directory.durable_entries[change.target.name] = change.node
        self.pending = rest[::-1]

    def after_power_loss(self, fate: Fate) -> DirectoryTree:
        entries: dict[int, dict[str, Node]] = {}

        def names_in(directory: Directory) -> dict[str, Node]:
            return entries.setdefault(id(directory), dict(directory.durable_entries))

        def survivor(node: Node) -> Node:
            if isinstance(node, FileNode):
                return node.after_power_loss(fate)
            kept = {name: survivor(child) for name, child in sorted(names_in(node).items(), key=_by_name)}
            return Directory(kept, node.modified_ms)

        for change in self._surviving_changes(fate):
            if change.source is not None:
                del names_in(change.source.directory)[change.source.name]
            if change.target is not None:
                names_in(change.target.directory)[change.target.name] = change.node
        root = survivor(self.root)
        assert isinstance(root, Directory)
        return DirectoryTree(root)

    def _surviving_changes(self, fate: Fate) -> list[EntryChange]:
        kept: list[EntryChange] = []
        lost = Lost()
        for change in self.pending:
            if fate.keeps_entry() and not lost.are_needed_by(change):
                kept.append(change)
            else:
                lost.add(change)
        return kept


def _by_name(item: tuple[str, Node]) -> str:
    return item[0]


def files_under(directory: Directory) -> list[FileNode]:
    found: list[FileNode] = []
    for node in directory.entries.values():
        found.extend([node] if isinstance(node, FileNode) else files_under(node))
    return found
