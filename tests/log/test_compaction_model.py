"""Any history, cleaned any number of times in any way, reads as a dumb model says (SPEC C6).

The model is a list of everything ever written and knows which transactions ended how. After each step:

- below the first dirty offset there is exactly the newest committed record of each key, as it was written; a tombstone
  may be missing once `delete.retention.ms` have passed since a cleaning first covered it
- at and above it, everything is as it was written
- readers find every offset and every timestamp, and a restart finds the same producers
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.log.compaction_scenes import DELETE_RETENTION_MS, NOW, Producer, Scene, map_bytes_for, summary_of

from strandline.log.lookup import TimestampOffset
from strandline.records.heads import head_of
from strandline.records.record import Record, read_records

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"


class Write(NamedTuple):
    writer: int  # 0 plain, 1 idempotent, 2 and 3 transactional
    pairs: list[tuple[str, str | None]]
    skew_ms: int


class End(NamedTuple):
    writer: int
    commit: bool


class Roll(NamedTuple):
    pass


class Wait(NamedTuple):
    milliseconds: int


class Clean(NamedTuple):
    map_keys: int
    bound: float  # which part of the log may be cleaned
    starts_over: bool


class Restart(NamedTuple):
    without_snapshots: bool


Step = Write | End | Roll | Wait | Clean | Restart

keys = st.sampled_from(["a", "b", "c", "d", "key that is longer than thirty-one bytes"])
values = st.one_of(st.none(), st.sampled_from(["1", "2", "long" * 20]))
writes = st.builds(
    Write,
    st.integers(0, 3),
    st.lists(st.tuples(keys, values), min_size=1, max_size=4),
    st.sampled_from([0, 0, -30, 40]),
)
cleans = st.builds(Clean, st.sampled_from([0, 1, 2, 3, 50]), st.sampled_from([0.3, 0.7, 1.0, 1.0]), st.booleans())
steps = st.one_of(
    writes,
    writes,
    writes,
    st.builds(End, st.integers(2, 3), st.booleans()),
    st.builds(Roll),
    st.builds(Roll),
    st.builds(Wait, st.sampled_from([1, DELETE_RETENTION_MS // 2, DELETE_RETENTION_MS])),
    cleans,
    cleans,
    st.builds(Restart, st.booleans()),
)


class Written:
    def __init__(self, record: Record, writer: int, state: str) -> None:
        self.record = record
        self.writer = writer
        self.state = state
        self.covered_ms: int | None = None  # when a cleaning first covered it as the newest of its key


class Model:
    def __init__(self) -> None:
        self.scene = Scene(segment_bytes=600, segment_index_bytes=600, index_interval_bytes=50)
        self.producers = {
            1: Producer(1),
            2: Producer(2, is_transactional=True),
            3: Producer(3, is_transactional=True),
        }
        self.written: list[Written] = []
        self.cleaned_offset = 0

    def play(self, step: Step) -> None:
        scene = self.scene
        match step:
            case Write(writer, pairs, skew_ms):
                self._write(writer, pairs, skew_ms)
            case End(writer, commit):
                self._end(writer, commit)
            case Roll():
                scene.roll()
            case Wait(milliseconds):
                scene.now += milliseconds
            case Clean(map_keys, bound, starts_over):
                self._clean(map_keys, bound, starts_over)
            case Restart(without_snapshots):
                before = summary_of(scene.log.producers)
                scene.reopen(without_snapshots=without_snapshots)
                scene.log.producers.high_watermark_moved(scene.log.log_end_offset)
                assert summary_of(scene.log.producers) == before

    def _write(self, writer: int, pairs: list[tuple[str, str | None]], skew_ms: int) -> None:
        scene = self.scene
        scene.now += skew_ms
        producer = self.producers.get(writer)
        base_offset = scene.write(*pairs, producer=producer)
        state = OPEN if producer is not None and producer.is_transactional else COMMITTED
        for index, (key, value) in enumerate(pairs):
            encoded = None if value is None else value.encode()
            record = Record(base_offset + index, scene.now + index, key.encode(), encoded)
            self.written.append(Written(record, writer, state))
        scene.now -= skew_ms

    def _end(self, writer: int, commit: bool) -> None:
        self.scene.end(self.producers[writer], commit=commit)
        for written in self.written:
            if written.writer == writer and written.state == OPEN:
                written.state = COMMITTED if commit else ABORTED

    def _clean(self, map_keys: int, bound: float, starts_over: bool) -> None:
        scene = self.scene
        before = self.cleaned_offset
        compaction = scene.clean(
            map_bytes_for(map_keys),
            uncleanable_offset=int(scene.log.log_end_offset * bound),
            first_dirty_offset=0 if starts_over else None,
        )
        if compaction is not None:
            self.cleaned_offset = max(before, scene.first_dirty_offset)
            for written in self.newest().values():
                if written.record.offset < scene.first_dirty_offset and written.covered_ms is None:
                    written.covered_ms = scene.now

    def newest(self) -> dict[bytes | None, Written]:
        """Of each key, below what was ever cleaned."""
        return {
            written.record.key: written
            for written in self.written
            if written.record.offset < self.cleaned_offset and written.state == COMMITTED
        }

    # What must hold.

    def check(self) -> None:
        self._check_records()
        self._check_committed()
        self._check_offsets()
        self._check_timestamps()

    def _check_records(self) -> None:
        found = self.scene.records()
        dirty = [record for record in found if record.offset >= self.cleaned_offset]
        assert dirty == [each.record for each in self.written if each.record.offset >= self.cleaned_offset]
        newest = {written.record.offset: written for written in self.newest().values()}
        clean = [record for record in found if record.offset < self.cleaned_offset]
        assert all(record == newest[record.offset].record for record in clean)
        for offset in newest.keys() - {record.offset for record in clean}:
            missing = newest[offset]
            assert missing.record.value is None, f"{missing.record} is lost"
            assert missing.covered_ms is not None
            assert self.scene.now >= missing.covered_ms + DELETE_RETENTION_MS, f"{missing.record} went too early"

    def _check_committed(self) -> None:
        table: dict[str, str] = {}
        for written in self.written:
            if written.state != ABORTED and written.record.key is not None:
                table.pop(written.record.key.decode(), None)
                if written.record.value is not None:
                    table[written.record.key.decode()] = written.record.value.decode()
        assert self.scene.table() == table

    def _check_offsets(self) -> None:
        log, heads = self.scene.log, self.scene.heads()
        for offset in range(0, log.log_end_offset, 3):
            wanted = next((head for head in heads if head.last_offset >= offset), None)
            data = log.read(offset, 1).read()
            assert (head_of(data) if data else None) == wanted

    def _check_timestamps(self) -> None:
        log = self.scene.log
        stored = [(record, head) for head, batch in self.scene.batches() for record in read_records(batch)]
        for timestamp in {NOW, NOW + 45, self.scene.now - 20, self.scene.now}:
            wanted = next(
                (TimestampOffset(r.timestamp, r.offset, h.leader_epoch) for r, h in stored if r.timestamp >= timestamp),
                None,
            )
            assert log.find_by_timestamp(timestamp) == wanted
        largest = max((record.timestamp for record, _ in stored), default=None)
        found = log.find_max_timestamp()
        if largest is None:
            assert found is None
        else:
            assert found is not None
            assert (found.timestamp, found.offset) == (
                largest,
                next(record.offset for record, _ in stored if record.timestamp == largest),
            )


@settings(max_examples=150)
@given(st.lists(steps, min_size=5, max_size=60))
@example(
    [
        Write(2, [("a", "1")], 0),
        End(2, False),
        Write(2, [("a", None)], 0),
        Roll(),
        Clean(0, 1.0, False),
        End(2, True),
        Roll(),
        Clean(0, 1.0, False),
        Restart(True),
    ]
)
def test_any_history_cleaned_in_any_way(history: list[Step]) -> None:
    model = Model()
    for step in history:
        model.play(step)
        if isinstance(step, Clean | Restart):
            model.check()
    model.scene.roll()
    for wait_ms in (0, 1, DELETE_RETENTION_MS):
        model.scene.now += wait_ms
        model.play(Clean(50, 1.0, True))
        model.check()
    model.play(Restart(True))
    model.check()
