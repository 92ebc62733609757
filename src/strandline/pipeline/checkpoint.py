"""What lies in a pipeline's checkpoint: whose it is, and how far it is.

    pipeline.json      ours: the pipeline's name and the id of its runs, which is as old as the checkpoint
    query/             Spark's: offsets/N is where batch N ends, commits/N says that it is done

It can be on the local disk or wherever Spark can write; there, it is looked at through Spark alone.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple
from uuid import uuid4

from strandline.pipeline.failures import BadPipeline
from strandline.spark.offsets_json import PartitionOffsets, from_topics

IDENTITY = "pipeline.json"
FORMAT = 1


class BatchEnd(NamedTuple):
    batch_id: int
    offsets: PartitionOffsets
    timestamp_ms: int


class Checkpoint:
    def __init__(self, path: str, session: Any = None) -> None:
        """Elsewhere than on the local disk, it takes a session."""
        self.path = path
        self.query = f"{path}/query"
        self._session = session
        self._is_local = "://" not in path or path.startswith("file://")

    def claim(self, pipeline: str, **facts: Any) -> str:
        """The id of its runs; BadPipeline if another pipeline has it."""
        text = self._read(IDENTITY)
        if text is None:
            if self._is_local and os.path.isdir(f"{self._local()}/query"):
                raise BadPipeline(
                    f"{self.path}/{IDENTITY} is gone, and the query is there: give the pipeline another checkpoint"
                )
            run_id = str(uuid4())
            self._write(IDENTITY, json.dumps({"format": FORMAT, "pipeline": pipeline, "run_id": run_id, **facts}))
            return run_id
        found = self.identity(text)
        for name, wanted in ({"pipeline": pipeline} | facts).items():
            if found.get(name) != wanted:
                raise BadPipeline(
                    f"the checkpoint {self.path} is of another pipeline ({name} {found.get(name)!r}, and this is"
                    f" {wanted!r}): give this one a checkpoint of its own"
                )
        return str(found["run_id"])

    def identity(self, text: str | None = None) -> dict[str, Any]:
        """Empty where there is none."""
        text = text if text is not None else self._read(IDENTITY)
        if text is None:
            return {}
        try:
            found = json.loads(text)
            if not isinstance(found, dict) or not found["run_id"]:
                raise ValueError("no run_id")
        except (ValueError, KeyError):
            raise BadPipeline(f"{self.path}/{IDENTITY} is damaged: give the pipeline another checkpoint") from None
        return found

    def batch_end(self, batch_id: int) -> BatchEnd | None:
        text = self._read(f"query/offsets/{batch_id}")
        return None if text is None else _parse_end(batch_id, text)

    def last_done(self) -> BatchEnd | None:
        """The last batch that is done; of a checkpoint on the local disk."""
        done = _numbers(f"{self._local()}/query/commits") & _numbers(f"{self._local()}/query/offsets")
        return self.batch_end(max(done)) if done else None

    @property
    def is_local(self) -> bool:
        return self._is_local

    def _local(self) -> str:
        return self.path.removeprefix("file://")

    def _read(self, name: str) -> str | None:
        if not self._is_local:
            return self._read_there(name)
        try:
            with open(f"{self._local()}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _write(self, name: str, text: str) -> None:
        if not self._is_local:
            path, files = self._there(name)
            stream = files.create(path, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            return
        os.makedirs(self._local(), exist_ok=True)
        target = f"{self._local()}/{name}"
        with open(f"{target}.new", "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{target}.new", target)

    def _there(self, name: str) -> tuple[Any, Any]:
        path = self._session._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{name}")
        return path, path.getFileSystem(self._session._jsc.hadoopConfiguration())

    def _read_there(self, name: str) -> str | None:
        path, files = self._there(name)
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            return str(self._session._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()


def _numbers(directory: str) -> set[int]:
    try:
        return {int(name) for name in os.listdir(directory) if name.isdigit()}
    except FileNotFoundError:
        return set()


def _parse_end(batch_id: int, text: str) -> BatchEnd:
    """A version, a line about the batch, and one for each source, of which we have one."""
    try:
        _, about, offsets = text.splitlines()[:3]
        return BatchEnd(batch_id, from_topics(json.loads(offsets)), int(json.loads(about)["batchTimestampMs"]))
    except (ValueError, KeyError, AttributeError, TypeError):
        raise BadPipeline(
            f"what the checkpoint says of batch {batch_id} is damaged, or another query wrote it"
        ) from None
