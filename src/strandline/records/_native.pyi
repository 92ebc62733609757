from array import array
from collections.abc import Sequence

from strandline.records.alike import Found
from strandline.records.batch import Buffer
from strandline.records.placing import Identity, Limits, Note
from strandline.records.taking import Origin, Room

HAS_FAST_CRC32C: bool

def walk_records(section: Buffer, count: int, columns: array[int]) -> bool: ...
def find_batches(
    received: memoryview, before: bytes, after: bytes, is_flexible: bool, frame_bytes_max: int, /
) -> Found: ...
def place_batches(
    batches: Sequence[Buffer], start: int, base_offset: int, leader_epoch: int, limits: Limits, /
) -> tuple[list[Note], list[Identity | None]]: ...
def take_batches(
    data: memoryview, position: int, next_offset: int, leader_epoch: int, room: Room, /
) -> tuple[list[Note], list[Origin | None], int]: ...
def append_columns(
    section: Buffer, batch: tuple[int, ...], cursor: array[int], buffers: tuple[bytearray, ...]
) -> int: ...
def crc32c(data: Buffer, /) -> int: ...
def crc32c_by_instruction(data: Buffer, /) -> int: ...
