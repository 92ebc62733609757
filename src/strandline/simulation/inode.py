"""One simulated file: its page cache, its durable image, and every change between the two.

A change of data is recorded as whole 512-byte sectors with what the cache held right after it, because that
is what a drive writes. After power loss each sector is one of the versions it has had since the last sync,
or the durable one; sectors are independent of each other. A change of length by `truncate` is metadata and
goes through the file system's journal, in order: what was written after a truncate that did not survive,
did not survive either. Growth by appending survives up to any byte, and what has no data yet reads as
zeros.

A failed sync marks pages clean although they never reached the drive (fsyncgate): the cache still shows
them, a later sync succeeds, and power loss takes them. Only a new change to a sector brings its bytes
another chance: `write_again` is such a change of all of them.

Stores through a mapping leave no trace, so a mapped file keeps a shadow of what was last seen, and is
compared with it before anything depends on the difference. A `bytearray` cannot change size while a view of
it is alive: that a mapping must be dropped before the file is resized is thereby checked, not assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from strandline.log.filesystem import Buffer
from strandline.simulation.power_loss import Fate

SECTOR_BYTES = 512
COMPARED_BYTES = 128 * SECTOR_BYTES


class Written(NamedTuple):
    position: int  # a multiple of SECTOR_BYTES
    data: bytes

    def sectors(self) -> Iterator[Written]:
        for start in range(0, len(self.data), SECTOR_BYTES):
            yield Written(self.position + start, self.data[start : start + SECTOR_BYTES])

    def end(self) -> int:
        return self.position + len(self.data)


class Resized(NamedTuple):
    size: int


class FileNode:
    __slots__ = (
        "charged_bytes",
        "content",
        "durable",
        "durable_modified_ms",
        "handles",
        "linked",
        "locked",
        "modified_ms",
        "pending",
        "shadow",
    )

    def __init__(self, content: bytearray, modified_ms: int) -> None:
        self.content = content
        self.durable = bytearray(content)
        self.pending: list[Written | Resized] = []
        self.modified_ms = self.durable_modified_ms = modified_ms
        self.shadow: bytearray | None = None
        self.charged_bytes = len(content)
        self.linked = True
        self.handles = 0
        self.locked = False

    def __deepcopy__(self, memo: dict[int, Any]) -> FileNode:
        """The file as the next process sees it: page cache and all, without handles, mappings and locks."""
        copy = FileNode(bytearray(self.content if self.shadow is None else self.shadow), self.modified_ms)
        copy.durable = bytearray(self.durable)
        copy.pending = list(self.pending)
        copy.durable_modified_ms = self.durable_modified_ms
        copy.charged_bytes = self.charged_bytes
        copy.linked = self.linked
        return copy

    def write(self, position: int, data: Buffer) -> None:
        self.observe_mapping()
        end = position + len(data)
        try:
            place(self.content, position, data)
        except BufferError:
            raise BufferError("a mapped file cannot grow: drop the mapping first") from None
        self._record(position, end)
        if self.shadow is not None:
            self.shadow[position:end] = self.content[position:end]

    def resize(self, size: int) -> None:
        self.observe_mapping()
        try:
            resize(self.content, size)
        except BufferError:
            raise BufferError("a mapped file cannot be truncated: drop the mapping first") from None
        self.pending.append(Resized(size))

    def _record(self, start: int, end: int) -> None:
        start -= start % SECTOR_BYTES
        end += -end % SECTOR_BYTES
        self.pending.append(Written(start, bytes(self.content[start:end])))

    def map(self, length: int) -> memoryview:
        if self.shadow is None:
            self.shadow = bytearray(self.content)
        return memoryview(self.content)[:length]

    def observe_mapping(self) -> None:
        if self.shadow is None:
            return
        for start, end in differing_sectors(self.shadow, self.content):
            self._record(start, end)
            self.shadow[start:end] = self.content[start:end]
        if not is_viewed(self.content):
            self.shadow = None

    def sync(self) -> None:
        self.observe_mapping()
        for change in self.pending:
            apply(change, self.durable)
        self.pending.clear()
        self.durable_modified_ms = self.modified_ms

    def fail_sync(self) -> None:
        self.observe_mapping()
        if self.pending:
            lengths = [change for change in self.pending if isinstance(change, Resized)]
            self.pending = [*lengths, Resized(len(self.content))]

    def write_again(self) -> None:
        self._record(0, len(self.content))

    def flip_bit(self, position: int, bit: int) -> None:
        mask = 1 << bit
        self.content[position] ^= mask
        for image in (self.durable, self.shadow):
            if image is not None and position < len(image):
                image[position] ^= mask
        for index, change in enumerate(self.pending):
            if isinstance(change, Written) and change.position <= position < change.end():
                data = bytearray(change.data)
                data[position - change.position] ^= mask
                self.pending[index] = Written(change.position, bytes(data))

    def after_power_loss(self, fate: Fate) -> FileNode:
        fate.begin_file()
        image = bytearray(self.durable)
        shortest = longest = len(image)
        for change in self.pending:
            if isinstance(change, Resized):
                if not fate.keeps_resize():
                    break
                apply(change, image)
                shortest = longest = change.size
            else:
                longest = max(longest, change.end())
                for sector in change.sectors():
                    if fate.keeps_sector():
                        apply(sector, image)
        resize(image, fate.length(shortest, longest))
        survivor = FileNode(image, self.modified_ms if fate.keeps_time() else self.durable_modified_ms)
        survivor.charged_bytes = min(len(image), self.charged_bytes)
        return survivor


def apply(change: Written | Resized, image: bytearray) -> None:
    if isinstance(change, Resized):
        resize(image, change.size)
    else:
        place(image, change.position, change.data)


def resize(image: bytearray, size: int) -> None:
    if size < len(image):
        del image[size:]
    else:
        image.extend(bytes(size - len(image)))


def place(image: bytearray, position: int, data: Buffer) -> None:
    if position > len(image):
        image.extend(bytes(position - len(image)))
    image[position : position + len(data)] = data


def is_viewed(image: bytearray) -> bool:
    try:
        image.append(0)
    except BufferError:
        return True
    image.pop()
    return False


def differing_sectors(old: bytearray, new: bytearray) -> Iterator[tuple[int, int]]:
    """Two steps, since a preallocated index is 10 MiB of zeros with a few entries at its start."""
    for chunk in range(0, len(new), COMPARED_BYTES):
        if old[chunk : chunk + COMPARED_BYTES] == new[chunk : chunk + COMPARED_BYTES]:
            continue
        for start in range(chunk, min(chunk + COMPARED_BYTES, len(new)), SECTOR_BYTES):
            end = min(start + SECTOR_BYTES, len(new))
            if old[start:end] != new[start:end]:
                yield start, end
