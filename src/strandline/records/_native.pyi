from array import array

from strandline.records.batch import Buffer

HAS_FAST_CRC32C: bool

def walk_records(section: Buffer, count: int, columns: array[int]) -> bool: ...
def append_columns(
    section: Buffer, batch: tuple[int, ...], cursor: array[int], buffers: tuple[bytearray, ...]
) -> int: ...
def crc32c(data: Buffer, /) -> int: ...
