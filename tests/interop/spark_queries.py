"""The same query asked of `format("kafka")` and of `format("strandline")`, and what each told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KAFKA, OURS = "kafka", "strandline"
FORMATS = (KAFKA, OURS)
WAIT_S = 180
TRIES = 5
TOO_LATE = "failed to connect back"
ORDER = ("topic", "partition", "offset")

Options = Mapping[str, str]


@dataclass(frozen=True)
class Told:
    """Rows in order, or why there are none."""

    rows: list[tuple[Any, ...]] | None = None
    columns: str = ""
    tasks: int = 0  # that had something to read
    ends: tuple[str, ...] = ()  # of each batch of a stream
    error: str = ""


def read_batch(spark: Any, source: str, options: Options, schema: str | None = None) -> Told:
    return _patiently(lambda: _read_batch(spark, source, options, schema))


def _patiently(ask: Callable[[], Told]) -> Told:
    """Spark gives a Python worker ten seconds to start, which a busy machine may not."""
    told = ask()
    for _ in range(TRIES - 1):
        if TOO_LATE not in told.error:
            break
        told = ask()
    return told


def _read_batch(spark: Any, source: str, options: Options, schema: str | None) -> Told:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812

    try:
        reader = spark.read.format(source).options(**options)
        frame = (reader.schema(schema) if schema else reader).load()
        tasks = {row[0] for row in frame.select(F.spark_partition_id()).distinct().collect()}
        return Told(rows_of(frame), frame.schema.simpleString(), len(tasks))
    except PySparkException as error:
        return Told(error=str(error))
    except Exception as error:  # of Py4J, which has Java's under a name of its own
        return Told(error=f"{error}")


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    names = [name for name in frame.columns if name != "timestamp"]
    found = frame.selectExpr("unix_millis(timestamp) AS timestamp", *names)
    rows = [row.asDict(recursive=True) for row in found.collect()]
    rows.sort(key=lambda row: tuple(row[name] for name in ORDER))
    return [tuple((name, _plain(value)) for name, value in row.items()) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return tuple(_plain(each) for each in value)
    if isinstance(value, dict):
        return tuple((name, _plain(each)) for name, each in value.items())
    return value


def offsets_of(told: Told) -> dict[tuple[str, int], list[int]]:
    """For the reader of a failed test, rather than for comparing."""
    found: dict[tuple[str, int], list[int]] = {}
    for row in map(dict, told.rows or []):
        found.setdefault((row["topic"], row["partition"]), []).append(row["offset"])
    return found


def run_stream(spark: Any, source: str, options: Options, folder: Path) -> Told:
    """Once through what there is now, from where the checkpoint in the folder says; all rows of all such runs."""
    return _patiently(lambda: _run_stream(spark, source, options, folder))


def _run_stream(spark: Any, source: str, options: Options, folder: Path) -> Told:
    from pyspark.errors import PySparkException

    try:
        frame = spark.readStream.format(source).options(**options).load()
        writer = frame.writeStream.format("parquet").option("path", str(folder / "rows"))
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(WAIT_S), "it did not end"
    except PySparkException as error:
        return Told(error=str(error))
    except Exception as error:
        return Told(error=f"{error}")
    rows = rows_of(spark.read.schema(frame.schema).parquet(str(folder / "rows"))) if (folder / "rows").exists() else []
    return Told(rows, frame.schema.simpleString(), ends=_ends(folder))


def _ends(folder: Path) -> tuple[str, ...]:
    """Where batches ended, as the checkpoint keeps it; a batch that ends where the one before it ended is none."""
    ends: list[str] = []
    offsets = folder / "checkpoint" / "offsets"
    for name in sorted((path.name for path in offsets.iterdir() if path.name.isdigit()), key=int):
        text = (offsets / name).read_text().splitlines()[2]
        end = json.dumps(json.loads(text), sort_keys=True)
        if not ends or ends[-1] != end:
            ends.append(end)
    return tuple(ends)


def write_batch(frame: Any, sink: str, options: Options, mode: str = "append") -> str:
    """What it failed with; empty if it did not."""
    from pyspark.errors import PySparkException

    try:
        frame.write.format(sink).mode(mode).options(**options).save()
    except PySparkException as error:
        return str(error)
    except Exception as error:
        return f"{error}"
    return ""
