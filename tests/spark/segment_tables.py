"""What `format("strandline.segments")` reads, as one table and without Spark; and logs to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.log.making_logs import NOW, append, make_log

from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.record import Record
from strandline.spark.segment_options import parse_options
from strandline.spark.segment_planning import Split, plan
from strandline.spark.segment_rows import rows_of
from strandline.spark.segment_schemas import ARROW_TYPES, columns_of

GOLDEN = Path(__file__).parent.parent / "golden"
Rows = list[dict[str, Any]]


def tasks_for(*paths: Path, **options: str) -> list[list[Split]]:
    parsed = parse_options({"paths": _json(paths), **options})
    return plan(RealFileSystem(), parsed, parsed.wanted)


def read(*paths: Path, **options: str) -> Rows:
    parsed = parse_options({"paths": _json(paths), **options})
    return rows_in(plan(RealFileSystem(), parsed, parsed.wanted), parsed.row_per)


def rows_in(tasks: list[list[Split]], row_per: str = "record") -> Rows:
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in columns_of(row_per).items()])
    found: Rows = []
    for splits in tasks:
        for split in splits:
            for rows in rows_of(split, row_per, schema):
                rows.validate(full=True)
                assert rows.schema.equals(schema)
                found += rows.to_pylist()
    return found


def _json(paths: tuple[Path, ...]) -> str:
    return json.dumps([str(path) for path in paths])


def open_writer(folder: Path, **settings: Any) -> Log:
    """A log to append to, with an index entry each 300 bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    topic, partition = folder.name.rsplit("-", 1)
    return make_log(folder, partition=TopicPartition(topic, int(partition)), index_interval_bytes=300, **settings)


def write_log(folder: Path, batches: int, *, codec: Codec = Codec.NONE, **settings: Any) -> Path:
    """Batches of ten; record N is `value N`, N seconds after `NOW`."""
    log = open_writer(folder, **settings)
    for batch in range(batches):
        append(log, numbered_batch(10 * batch, codec=codec), leader_epoch=3)
    log.close(now_ms=NOW)
    return folder


def numbered_batch(first: int, **options: Any) -> bytearray:
    records = [
        Record(number - first, NOW + 1000 * number, b"key %06d" % number, b"value %06d" % number)
        for number in range(first, first + 10)
    ]
    return build_batch(records, **options)


def one_log_file(folder: Path) -> Path:
    [path] = folder.glob("*.log")
    return path


def without_place(rows: Rows) -> Rows:
    return [{name: value for name, value in row.items() if name not in ("file", "position")} for row in rows]
