from array import array

from strandline.records.batch import Buffer

def walk_records(section: Buffer, count: int, columns: array[int]) -> bool: ...
