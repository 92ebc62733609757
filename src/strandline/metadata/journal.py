"""`metadata.journal`: a snapshot of the tree, and every transaction since.

    frame     4 bytes "SLMJ", uint32 length, uint32 CRC-32C of the length and the payload, payload
    payload   int8 kind, then by kind
      1       int8 format (1), a snapshot (snapshots.py); the first frame of a file, and only that
      2       int32 count, transactions (transactions.py) with zxids one above the other

A file is made aside, synced and renamed, so its snapshot is whole or the file is not there. After it, a frame is what
was written and synced in one go, whatever number of transactions waited; nothing is written behind a frame before it
is synced. So only the last frame can be torn by a crash: it was never answered for, and is left out. A damaged frame
with a whole one behind it is another matter: then something that was answered for has rotted, and the journal is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from strandline.metadata.errors import StoreError
from strandline.metadata.fields import FieldReader, FieldWriter
from strandline.metadata.files import StoreFile, StoreFiles
from strandline.metadata.snapshots import read_snapshot, write_snapshot
from strandline.metadata.transactions import Transaction, read_transaction, write_transaction
from strandline.metadata.tree import Tree
from strandline.model.failures import CorruptData
from strandline.records.crc import crc32c

JOURNAL = "metadata.journal"
MAGIC = b"SLMJ"
HEAD = Struct(">4sII")
LENGTH = Struct(">I")
SNAPSHOT, TRANSACTIONS = 1, 2
FORMAT = 1


def snapshot_frame(tree: Tree) -> bytes:
    writer = FieldWriter().int8(SNAPSHOT).int8(FORMAT)
    write_snapshot(writer, tree)
    return encode_frame(writer.written())


def transactions_frame(transactions: list[Transaction]) -> bytes:
    writer = FieldWriter().int8(TRANSACTIONS).int32(len(transactions))
    for transaction in transactions:
        write_transaction(writer, transaction)
    return encode_frame(writer.written())


def replay(content: bytes) -> Tree:
    """The tree that the bytes of a journal describe, without what a crash has torn off its end."""
    frames = _whole_frames(content)
    tree = _snapshot_in(next(frames, b""))
    for payload in frames:
        _apply_all(tree, FieldReader(payload))
    return tree


def _snapshot_in(payload: bytes) -> Tree:
    reader = FieldReader(payload)
    if not payload or reader.int8() != SNAPSHOT:
        raise CorruptData("the metadata journal does not begin with a snapshot")
    found = reader.int8()
    if found != FORMAT:
        raise CorruptData(f"the metadata journal has format {found}, and this program reads format {FORMAT}")
    tree = read_snapshot(reader)
    _require_end(reader)
    return tree


def _apply_all(tree: Tree, reader: FieldReader) -> None:
    if reader.int8() != TRANSACTIONS:
        raise CorruptData(f"the metadata journal has a frame of unknown kind after transaction {tree.zxid}")
    for _ in range(reader.int32()):
        transaction = read_transaction(reader)
        if transaction.zxid != tree.zxid + 1:
            raise CorruptData(f"the metadata journal goes from transaction {tree.zxid} to {transaction.zxid}")
        try:
            tree.apply(transaction)
        except StoreError as error:
            raise CorruptData(f"transaction {transaction.zxid} of the metadata journal cannot be: {error}") from None
    _require_end(reader)


def _require_end(reader: FieldReader) -> None:
    if not reader.is_at_end:
        raise CorruptData("a frame of the metadata journal is longer than what it holds")


def encode_frame(payload: bytes) -> bytes:
    return HEAD.pack(MAGIC, len(payload), _checksum(payload)) + payload


def _checksum(payload: bytes) -> int:
    return crc32c(LENGTH.pack(len(payload)) + payload)


def _whole_frames(content: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(content):
        payload = _payload_at(content, position)
        if payload is None:
            _require_torn(content, position)
            return
        yield payload
        position += HEAD.size + len(payload)


def _payload_at(content: bytes, position: int) -> bytes | None:
    if len(content) - position < HEAD.size:
        return None
    magic, length, checksum = HEAD.unpack_from(content, position)
    start = position + HEAD.size
    if magic != MAGIC or length > len(content) - start:
        return None
    payload = content[start : start + length]
    return payload if _checksum(payload) == checksum else None


def _require_torn(content: bytes, position: int) -> None:
    behind = content.find(MAGIC, position + 1)
    while behind >= 0:
        if _payload_at(content, behind) is not None:
            raise CorruptData(f"the metadata journal is damaged at position {position}, before others that are whole")
        behind = content.find(MAGIC, behind + 1)


class JournalFile:
    """The open file. Every method comes back with all of it on the disk, or raises `OSError`."""

    def __init__(self, files: StoreFiles, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._path = f"{directory}/{JOURNAL}"
        self._file: StoreFile | None = None
        self.size_bytes = 0
        self.snapshot_bytes = 0

    def read(self) -> bytes | None:
        """None where there is no journal yet."""
        if not self._files.exists(self._path):
            return None
        file = self._files.open(self._path, writable=False)
        try:
            return file.read(0, file.size())
        finally:
            file.close()

    def begin(self, snapshot: bytes) -> None:
        """Put a journal with this alone in place of the one that is there."""
        aside = self._path + ".tmp"
        file = self._files.open(aside, create=True)
        try:
            file.truncate(0)  # what a crash left there
            file.append([snapshot])
            file.sync()
            self._files.rename(aside, self._path)
            self._files.sync_directory(self._directory)
        except BaseException:
            file.close()
            raise
        self.close()
        self._file = file
        self.size_bytes = self.snapshot_bytes = len(snapshot)

    def append(self, frame: bytes) -> None:
        if self._file is None:
            raise OSError("the metadata journal is not open")
        self.size_bytes += self._file.append([frame])
        self._file.sync()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
