"""What happened to a tree, one value for each zxid. A tree is a function of the list of these.

Operations are kept as they were asked for, not as they came out: applying them to the same tree gives the same names,
versions and results again. Only what succeeded is ever a transaction.

    transaction   int8 kind, int64 zxid, int64 time_ms, then by kind
      1 opened    nothing: the zxid is the session's id
      2 closed    int64 session id
      3 changed   int64 session id, int32 count, operations
    operation     int8 kind, text path, then by kind
      1 create    int8 flags (1 ephemeral, 2 sequential), data
      2 set       int64 version, data
      3 delete    int64 version
      4 check     int64 version
"""

from __future__ import annotations

from strandline.metadata.fields import FieldReader, FieldWriter
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass

OPENED, CLOSED, CHANGED = 1, 2, 3
CREATE, SET, DELETE, CHECK = 1, 2, 3, 4
EPHEMERAL, SEQUENTIAL = 1, 2


@dataclass(frozen=True, slots=True)
class SessionOpened:
    zxid: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    zxid: int
    time_ms: int
    session_id: int


@dataclass(frozen=True, slots=True)
class Changed:
    zxid: int
    time_ms: int
    session_id: int
    operations: tuple[Operation, ...]


Transaction = SessionOpened | SessionEnded | Changed


def write_transaction(writer: FieldWriter, transaction: Transaction) -> None:
    match transaction:
        case SessionOpened(zxid, time_ms):
            writer.int8(OPENED).int64(zxid).int64(time_ms)
        case SessionEnded(zxid, time_ms, session_id):
            writer.int8(CLOSED).int64(zxid).int64(time_ms).int64(session_id)
        case Changed(zxid, time_ms, session_id, operations):
            writer.int8(CHANGED).int64(zxid).int64(time_ms).int64(session_id).int32(len(operations))
            for operation in operations:
                _write_operation(writer, operation)


def _write_operation(writer: FieldWriter, operation: Operation) -> None:
    match operation:
        case Create(path, data, ephemeral, sequential):
            flags = EPHEMERAL * ephemeral + SEQUENTIAL * sequential
            writer.int8(CREATE).text(path).int8(flags).data(data)
        case SetData(path, data, version):
            writer.int8(SET).text(path).int64(version).data(data)
        case Delete(path, version):
            writer.int8(DELETE).text(path).int64(version)
        case Check(path, version):
            writer.int8(CHECK).text(path).int64(version)


def read_transaction(reader: FieldReader) -> Transaction:
    kind, zxid, time_ms = reader.int8(), reader.int64(), reader.int64()
    if kind == OPENED:
        return SessionOpened(zxid, time_ms)
    if kind == CLOSED:
        return SessionEnded(zxid, time_ms, reader.int64())
    if kind == CHANGED:
        session_id, count = reader.int64(), reader.int32()
        return Changed(zxid, time_ms, session_id, tuple(_read_operation(reader) for _ in range(count)))
    raise CorruptData(f"a transaction of unknown kind {kind}")


def _read_operation(reader: FieldReader) -> Operation:
    kind, path = reader.int8(), reader.text()
    if kind == CREATE:
        flags = reader.int8()
        return Create(path, reader.data(), bool(flags & EPHEMERAL), bool(flags & SEQUENTIAL))
    if kind == SET:
        version = reader.int64()
        return SetData(path, reader.data(), version)
    if kind == DELETE:
        return Delete(path, reader.int64())
    if kind == CHECK:
        return Check(path, reader.int64())
    raise CorruptData(f"an operation of unknown kind {kind}")
