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

from strandline.model.lazy_dataclass import dataclass
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


@dataclass(slots=True)
class EntryChange:
    """`node` moves from a slot to a slot; a creation comes from none, a removal goes to none."""

    node: Node
    source: Slot | None
    target: Slot | None
    replaced: Node | None = None

    def slots(self) -> list[Slot]:
        return [slot for slot in (self.source, self.target) if slot is not None]

    def is_made_durable_by(self, directory: Directory) -> bool:
        return self.slots()[-1].directory is directory

    def needs(self, earlier: EntryChange) -> bool:
        if any(slot in earlier.slots() for slot in self.slots()):
            return True
        if self._moves_between_directories() and isinstance(earlier.node, Directory):
            return True
        removed = self.node if self.target is None else self.replaced
        return any(slot.directory is removed for slot in earlier.slots())

    def _moves_between_directories(self) -> bool:
        return len({id(slot.directory) for slot in self.slots()}) == 2


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
        for slot in change.slots():
            slot.directory.modified_ms = now_ms
        self.pending.append(change)

    def sync(self, directory: Directory) -> None:
        durable: list[EntryChange] = []
        rest: list[EntryChange] = []
        for change in reversed(self.pending):
            needed = change.is_made_durable_by(directory) or any(later.needs(change) for later in durable)
            (durable if needed else rest).append(change)
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
        lost: list[EntryChange] = []
        for change in self.pending:
            survives = fate.keeps_entry() and not any(change.needs(earlier) for earlier in lost)
            (kept if survives else lost).append(change)
        return kept


def _by_name(item: tuple[str, Node]) -> str:
    return item[0]


def files_under(directory: Directory) -> list[FileNode]:
    found: list[FileNode] = []
    for node in directory.entries.values():
        found.extend([node] if isinstance(node, FileNode) else files_under(node))
    return found
