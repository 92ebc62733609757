"""Partition folders that Kafka brokers left (tests/golden): opened alone, clean or not, and written again from their
batches by our own appends, which must leave Kafka's bytes in every file. SPEC L1-L5, L7, L8."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.log.making_logs import NOW, append, batch_of, batches_in, make_log, records_in

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.admission import Admission
from strandline.log.checkpoints import decode_leader_epochs, decode_offsets, encode_leader_epochs, encode_offsets
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.producer_snapshots import decode_snapshot, encode_snapshot
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import MAGIC_V2, split_batches
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import read_records

GOLDEN = Path(__file__).parent.parent / "golden"
FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/*/leader-epoch-checkpoint"))


def name_of(parameter: Path | bool) -> str:
    if isinstance(parameter, Path):
        return f"{parameter.parent.name}/{parameter.name}"
    return "clean" if parameter else "unclean"


every_folder = pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
STOPPED = [folder for folder in FOLDERS if not folder.parent.name.startswith("killed")]
# A fetch or the cleaner appends several batches at once, and Kafka makes at most one index entry for each append:
# where such an append began cannot be told from the log. Each batch of the others was an append of its own.
WRITTEN_BATCH_BY_BATCH = [folder for folder in STOPPED if folder.name in ("orders-0", "payments-0", "clicks-0")]
LONG_AGO_MS = 10**15  # no producer of these folders expires


def settings_of(folder: Path) -> LogSettings:
    """As in Workload.java."""
    if folder.name == "ledger-0":
        return LogSettings(segment_bytes=1200, segment_index_bytes=480, index_interval_bytes=200)
    return LogSettings(
        segment_bytes=1500,
        segment_index_bytes=480,
        index_interval_bytes=300,
        cleanup_policy=("compact",) if folder.name == "accounts-0" else ("delete",),
        message_timestamp_type="LogAppendTime" if folder.name == "clicks-0" else "CreateTime",
    )


def stored_batches(folder: Path) -> list[bytes]:
    return [bytes(batch) for path in sorted(folder.glob("*.log")) for batch in split_batches(path.read_bytes())]


def log_start_of(folder: Path) -> int:
    starts = decode_offsets((folder.parent / "log-start-offset-checkpoint").read_bytes())
    return starts.get(TopicPartition(folder.name[:-2], 0), 0)


def open_copy(folder: Path, copy: Path, *, is_clean: bool, findings: list[str] | None = None) -> Log:
    if not copy.exists():
        shutil.copytree(folder, copy)
    return open_log(
        RealFileSystem(),
        str(copy),
        TopicPartition(folder.name[:-2], 0),
        settings_of(folder),
        now_ms=NOW,
        is_clean=is_clean,
        log_start_offset=log_start_of(folder),
        producer_id_expiration_ms=LONG_AGO_MS,
        findings=findings,
    )


def producers_in(snapshot: bytes) -> set[bytes]:
    """One snapshot for each producer: Kafka writes them in the order of a hash map, which has no meaning."""
    return {encode_snapshot([entry]) for entry in decode_snapshot(snapshot)}


def test_there_are_folders() -> None:
    assert len(FOLDERS) == 8


@pytest.mark.parametrize(
    ("folder", "is_clean"),
    [*((folder, True) for folder in STOPPED), *((folder, False) for folder in FOLDERS)],
    ids=name_of,
)
def test_opened(folder: Path, is_clean: bool, tmp_path: Path) -> None:
    """The same content either way, nothing cut and nothing to say about it."""
    findings: list[str] = []
    log = open_copy(folder, tmp_path / folder.name, is_clean=is_clean, findings=findings)
    assert findings == []
    assert batches_in(log) == stored_batches(folder)
    assert log.log_end_offset == head_of(stored_batches(folder)[-1]).next_offset
    written = decode_leader_epochs((folder / "leader-epoch-checkpoint").read_bytes())
    # The last leader wrote nothing in some of them; an epoch that begins at the end has no record.
    assert list(log.epochs.entries()) == [epoch for epoch in written if epoch.start_offset < log.log_end_offset]


@every_folder
def test_every_offset_and_batch_is_read(folder: Path, tmp_path: Path) -> None:
    log = open_copy(folder, tmp_path / folder.name, is_clean=False)
    batches = [(verified_head_of(batch), batch) for batch in stored_batches(folder)]
    for offset in range(log.log_start_offset, log.log_end_offset):
        expected = next(batch for head, batch in batches if head.last_offset >= offset)
        assert log.read(offset, 1).read() == expected
    for batch in batches_in(log):
        list(read_records(batch))


@pytest.mark.parametrize("folder", [folder for folder in STOPPED if folder.name != "accounts-0"], ids=name_of)
def test_producers_are_those_of_kafkas_last_snapshot(folder: Path, tmp_path: Path) -> None:
    """Replayed from the log alone. Kafka took that snapshot when it stopped. What accounts were known by is compacted
    away."""
    newest = max(folder.glob("*.snapshot")).read_bytes()
    log = open_copy(folder, tmp_path / folder.name, is_clean=False)
    for path in (tmp_path / folder.name).glob("*.snapshot"):
        path.unlink()
    log = open_copy(folder, tmp_path / folder.name, is_clean=False)
    deleted = log.log_start_offset > 0  # producers whose records are all gone cannot be replayed
    replayed = {encode_snapshot([entry]) for entry in log.producers.entries()}
    assert replayed == producers_in(newest) or (deleted and replayed < producers_in(newest))


@pytest.mark.parametrize("folder", WRITTEN_BATCH_BY_BATCH, ids=name_of)
def test_our_appends_write_kafkas_files(folder: Path, tmp_path: Path) -> None:
    """The same batches in the same order: the same segments, index entries, aborted transactions, snapshots."""
    log = make_log(tmp_path / folder.name, now_ms=NOW)
    log.change_settings(settings_of(folder))
    first_base = int(min(folder.glob("*.log")).stem)
    log.truncate_fully_and_start_at(first_base, now_ms=NOW)
    for batch in stored_batches(folder):
        log.append_replicated(batch, now_ms=NOW)
    log.close(NOW)
    for path in sorted(folder.iterdir()):
        ours = tmp_path / folder.name / path.name
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            assert ours.read_bytes() == path.read_bytes(), path.name
        elif path.suffix == ".snapshot" and first_base == 0:
            assert producers_in(ours.read_bytes()) == producers_in(path.read_bytes()), path.name
    assert {path.name for path in (tmp_path / folder.name).glob("*.log")} == {
        path.name for path in folder.glob("*.log")
    }


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*/*.snapshot")), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_snapshots_come_back_byte_by_byte(path: Path) -> None:
    assert encode_snapshot(decode_snapshot(path.read_bytes())) == path.read_bytes()


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/*-offset-checkpoint")), ids=lambda path: str(path.relative_to(GOLDEN))
)
def test_offset_checkpoints_come_back_but_for_their_order(path: Path) -> None:
    written = path.read_bytes()
    if written:  # Kafka makes these files empty, and an empty one has no version line
        assert sorted(encode_offsets(decode_offsets(written)).splitlines()) == sorted(written.splitlines())
    else:
        assert decode_offsets(written) == {}


@every_folder
def test_epoch_checkpoints_come_back_byte_by_byte(folder: Path) -> None:
    written = (folder / "leader-epoch-checkpoint").read_bytes()
    assert encode_leader_epochs(decode_leader_epochs(written)) == written


@every_folder
def test_aborted_transactions(folder: Path, tmp_path: Path) -> None:
    """What the index files of Kafka hold, asked for over the whole log."""
    stored = b"".join(path.read_bytes() for path in sorted(folder.glob("*.txnindex")))
    log = open_copy(folder, tmp_path / folder.name, is_clean=False)
    expected = [
        AbortedTransaction(*(int.from_bytes(stored[at + field : at + field + 8], "big") for field in (2, 10, 18, 26)))
        for at in range(0, len(stored), 34)
    ]
    assert log.aborted_transactions(0, log.log_end_offset) == expected


def test_what_kafkas_producer_sends_is_admitted() -> None:
    """Every batch of format v2 that a client may send passes with its bytes untouched."""
    admitted = 0
    for path in sorted((GOLDEN / "batches").glob("v2-*.bin")):
        for batch in split_batches(path.read_bytes()):
            head = head_of(batch)
            is_clients = head.last_offset_delta == head.record_count - 1 and not head.is_control
            if head.magic == MAGIC_V2 and is_clients and not head.is_log_append_time and not head.attributes & 0x40:
                given = bytearray(batch)
                written, _ = Admission(
                    LogSettings(max_message_bytes=2**30, message_timestamp_after_max_ms=2**62)
                ).admit(given, NOW, True)
                assert written is given
                assert given == batch
                admitted += 1
    assert admitted > 20


@every_folder
def test_appending_goes_on(folder: Path, tmp_path: Path) -> None:
    """A log of Kafka's is ours from here on, and both parts are there after the next start."""
    log = open_copy(folder, tmp_path / folder.name, is_clean=False)
    before, end = records_in(log), log.log_end_offset
    append(log, *(batch_of(f"ours {number}", timestamp=NOW) for number in range(30)), leader_epoch=9)
    log.close(NOW)
    log = open_copy(folder, tmp_path / folder.name, is_clean=True)
    after = records_in(log)
    assert after[: len(before)] == before
    assert [record.offset for record in after[len(before) :]] == list(range(end, end + 30))
    assert log.epochs.latest_epoch == 9
