"""SPEC D2: which bytes a query reads. One large segment is many tasks, and what cannot match is not read."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from tests.log.making_logs import NOW
from tests.spark.segment_tables import GOLDEN, one_log_file, read, rows_in, tasks_for, without_place, write_log

from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.spark.failures import BadOption
from strandline.spark.segment_options import Wanted, parse_options
from strandline.spark.segment_planning import Split, find_folders, plan


def offsets_planned(tasks: list[list[Split]]) -> list[int]:
    return [row["offset"] for row in rows_in(tasks)]


def test_one_segment_is_cut_where_batches_begin(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 60)
    log_file = one_log_file(folder)
    begins = {0}
    for batch in split_batches(log_file.read_bytes()):
        begins.add(max(begins) + len(batch))
    splits = [split for task in tasks_for(folder, maxBytesPerPartition="2000") for split in task]
    assert len(splits) > 5
    assert [split.start for split in splits[1:]] == [split.end for split in splits[:-1]]
    assert (splits[0].start, splits[-1].end) == (0, log_file.stat().st_size)
    assert {split.start for split in splits} <= begins
    assert all(split.size_bytes <= 2000 + 1000 for split in splits)
    assert [split.end_offset for split in splits[:-1]] == [split.first_offset for split in splits[1:]]


def test_there_are_as_many_tasks_as_asked_for_and_small_segments_share_one(tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0", 60, segment_bytes=2000)
    assert len(list((tmp_path / "orders-0").glob("*.log"))) > 5
    [task] = tasks_for(tmp_path, minPartitions="1")
    assert len(task) > 5
    assert len(tasks_for(tmp_path, maxBytesPerPartition="4000")) in range(4, len(task))
    assert len(tasks_for(tmp_path, minPartitions="100")) == 1  # each of them would have next to nothing to do


@pytest.mark.parametrize("max_bytes", ["1", "700", "5000", "1000000"])
def test_rows_do_not_depend_on_where_splits_are_cut(tmp_path: Path, max_bytes: str) -> None:
    folder = write_log(tmp_path / "orders-0", 30, segment_bytes=4000)
    assert read(folder, maxBytesPerPartition=max_bytes) == read(folder)
    assert offsets_planned(tasks_for(folder, maxBytesPerPartition=max_bytes)) == list(range(300))


def test_folders_are_found_in_data_directories_and_by_themselves(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-11", "not-a-number-x", "gone-1.0123456789abcdef0123456789abcdef-delete"):
        (tmp_path / name).mkdir()
    write_log(tmp_path / "my-topic-2", 1)
    filesystem = RealFileSystem()
    found = find_folders(filesystem, (str(tmp_path), str(tmp_path / "my-topic-2")))
    assert [str(folder.partition) for folder in found] == ["my-topic-2", "orders-0", "orders-11"], "each once"
    assert [str(folder.partition) for folder in find_folders(filesystem, (f"file://{tmp_path}/my-topic-2",))] == [
        "my-topic-2"
    ]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [("nowhere", "there is no such folder"), ("", "neither a partition's folder nor a data directory")],
)
def test_a_path_that_is_none_is_told_in_a_sentence(tmp_path: Path, path: str, sentence: str) -> None:
    with pytest.raises(BadOption, match=sentence):
        tasks_for(tmp_path / path)
    with pytest.raises(BadOption, match="there is no path"):
        tasks_for()
    for elsewhere, why in (("hdfs://host/logs", "is not on a disk of this machine"), (" ", "the path is empty")):
        with pytest.raises(BadOption, match=why):
            find_folders(RealFileSystem(), (elsewhere,))


def test_partitions_offsets_and_times_leave_out_what_cannot_match(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "clicks-0"):
        write_log(tmp_path / name, 30, segment_bytes=4000)
    everything = sum(len(task) for task in tasks_for(tmp_path, maxBytesPerPartition="1000"))

    def splits(**options: str) -> list[Split]:
        return [split for task in tasks_for(tmp_path, maxBytesPerPartition="1000", **options) for split in task]

    assert {split.partition.topic for split in splits(topics="clicks, payments")} == {"clicks"}
    assert {split.partition.partition for split in splits(partitions="1")} == {1}
    assert len(splits(startingOffset="150", endingOffset="160")) in range(3, 7)
    late = splits(startingTimestamp=str(NOW + 290_000))
    assert len(late) in range(3, 7)
    assert everything > 30
    rows = read(tmp_path, topics="orders", partitions="1", startingOffset="97", endingOffset="103")
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows] == [
        ("orders", 1, offset) for offset in range(97, 103)
    ]
    rows = read(
        tmp_path,
        topics="orders",
        partitions="1",
        startingTimestamp="2023-11-14T22:15:00",
        endingTimestamp=str(NOW + 105_000),
    )
    assert [row["offset"] for row in rows] == list(range(100, 105))


def test_an_index_that_is_wrong_or_missing_costs_splits_and_no_rows(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 30)
    expected = read(folder)
    index = next(folder.glob("*.index"))
    sound = index.read_bytes()
    for damaged in (
        b"",
        sound[: len(sound) // 2] + b"\0" * (len(sound) // 2),
        sound[8:16] * (len(sound) // 8),
        b"".join(struct.pack(">ii", relative, position + 1) for relative, position in struct.iter_unpack(">ii", sound)),
        b"\xff" * len(sound),
    ):
        index.write_bytes(damaged)
        assert read(folder, maxBytesPerPartition="500") == expected
    index.unlink()
    assert read(folder, maxBytesPerPartition="500") == expected


def test_old_formats_are_split_and_pruned_too() -> None:
    ledger = GOLDEN / "zookeeper-3.9" / "ledger-0"
    whole = read(ledger)
    assert read(ledger, maxBytesPerPartition="1") == whole
    for start in range(0, 60, 7):
        rows = read(ledger, maxBytesPerPartition="1", startingOffset=str(start), endingOffset=str(start + 5))
        assert rows == [row for row in whole if start <= row["offset"] < start + 5]
    assert without_place(whole)[0]["magic"] == 0


def test_empty_folders_and_segments_have_no_rows(tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0", 0)
    (tmp_path / "orders-1").mkdir()
    assert tasks_for(tmp_path) == []


def test_a_wish_is_narrowed_and_never_widened() -> None:
    wanted = Wanted(frozenset({"a", "b"}), None, 10, 20, 1000, None)
    narrowed = wanted.of_topics(frozenset({"b", "c"})).of_partitions(frozenset({1})).from_offset_on(5).up_to_offset(15)
    assert narrowed == Wanted(frozenset({"b"}), frozenset({1}), 10, 15, 1000, None)
    narrowed = wanted.from_timestamp_on(500).up_to_timestamp(900).up_to_timestamp(950)
    assert (narrowed.from_timestamp_ms, narrowed.to_timestamp_ms) == (1000, 900)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topic": "x"}, "there is no option 'topic'; there are path, paths, rowPer"),
        ({"rowPer": "segment"}, "option rowPer is 'segment': write record or batch"),
        ({"partitions": "0,x"}, "option partitions is '0,x': write numbers with commas"),
        ({"startingOffset": "-1"}, "write a whole number from 0 on"),
        ({"maxBytesPerPartition": "0"}, "write a whole number from 1 on"),
        ({"startingTimestamp": "yesterday"}, "write milliseconds or a time like"),
        ({"isolationLevel": "serializable"}, "write read_uncommitted or read_committed"),
        ({"paths": "[1"}, "option paths is '.1': write a list of paths in JSON"),
        ({"paths": "[1]"}, "write a list of paths in JSON"),
        ({"topics": " , "}, "name topics with commas between them, or leave it out to read all"),
        ({"partitions": "-1"}, "write numbers with commas"),
        ({"endingOffset": "9223372036854775808"}, "write a whole number from 0 on"),
        ({"startingTimestamp": "--5"}, "write milliseconds or a time like"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadOption, match=sentence):
        parse_options({"path": "/x", **options})


def test_options_are_read_in_any_case() -> None:
    options = parse_options({"PATH": "/x", "rowper": "BATCH", "startingtimestamp": "1970-01-01T00:00:01.5+00:00"})
    assert (options.paths, options.row_per, options.wanted.from_timestamp_ms) == (("/x",), "batch", 1500)


def test_planning_reads_heads_only_where_it_cuts(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 30)
    parsed = parse_options({"path": str(folder), "maxBytesPerPartition": "800"})
    [first, *_] = plan(RealFileSystem(), parsed, parsed.wanted)
    assert first[0].first_offset == 0
    [head, *_] = [head_of(batch) for batch in split_batches(one_log_file(folder).read_bytes())]
    assert first[0].end_offset % head.record_count == 0


def test_a_folder_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """Also where it is in a directory that is named, or written as Hadoop writes it."""
    folder = write_log(tmp_path / "orders-0", 3)
    once = read(folder)
    assert read(folder, folder) == read(tmp_path, folder) == once
    tasks = plan(RealFileSystem(), parse_options({"path": f"file:{folder}", "paths": f'["file://{folder}"]'}), Wanted())
    assert rows_in(tasks) == once


class Removing(RealFileSystem):
    """A broker removes files while the query is planned: right before they are opened."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> RealFile:
        if path.endswith(self.ending):
            Path(path).unlink(missing_ok=True)
        return super().open(path, create=create, writable=writable)

    def sizes(self, directory: str) -> dict[str, int]:
        if directory.endswith(self.ending):
            shutil.rmtree(directory)
        return super().sizes(directory)


@pytest.mark.parametrize("ending", ["orders-0", "00000000000000000000.log", ".index", ".timeindex", ".txnindex"])
def test_what_is_removed_while_a_query_is_planned_does_not_end_it(tmp_path: Path, ending: str) -> None:
    for name in ("orders-0", "orders-1"):
        write_log(tmp_path / name, 30, segment_bytes=4000)
    wanted = Wanted(from_timestamp_ms=NOW)
    options = {"path": str(tmp_path), "maxBytesPerPartition": "1000", "isolationLevel": "read_committed"}
    tasks = plan(Removing(ending), parse_options(options), wanted)
    assert {split.partition.partition for task in tasks for split in task} >= {1}
