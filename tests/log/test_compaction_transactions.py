"""Compaction beside transactions and idempotent producers (SPEC C6, P2, P3)."""

from __future__ import annotations

from struct import Struct

import pytest
from tests.log.compaction_scenes import DELETE_RETENTION_MS, NOW, ONE_KEY, Producer, Scene, map_bytes_for, summary_of

from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode, Refused
from strandline.model.settings import CleanerSettings
from strandline.records.batch import CRC, CRC_POSITION, batch_crc
from strandline.records.builder import build_batch
from strandline.records.control import ABORT, COMMIT, KEY, VALUE, VERSION
from strandline.records.record import Record

BASE_TIMESTAMP = Struct(">q")
BASE_TIMESTAMP_POSITION = 27


def transactional(producer_id: int, epoch: int = 0) -> Producer:
    return Producer(producer_id, epoch=epoch, is_transactional=True)


def markers(scene: Scene) -> list[int]:
    return [head.base_offset for head in scene.heads() if head.is_control and head.record_count]


def forget_producers(scene: Scene) -> None:
    """As if all had been idle for a day."""
    scene.log.producers.expire(2**62, 1)


def test_aborted_data_goes_and_does_not_push_out_what_is_committed() -> None:
    scene = Scene()
    producer = transactional(1)
    scene.write(("a", "committed"), ("b", "committed"))
    scene.write(("a", "aborted"), ("c", None), producer=producer)
    scene.end(producer, commit=False)
    scene.write(("b", "newer"), producer=producer)
    scene.end(producer, commit=True)
    scene.roll()
    scene.clean()
    assert scene.pairs() == [(0, "a", "committed"), (5, "b", "newer")]


def test_kafka_14055_markers_are_not_a_matter_of_keys() -> None:
    """reliability row 39: two markers have the same key, and data may have it as well."""
    scene = Scene()
    first, second = transactional(1), transactional(2)
    commit_key, abort_key = KEY.pack(VERSION, COMMIT).decode(), KEY.pack(VERSION, ABORT).decode()
    scene.write(("a", "1"), (commit_key, "data"), producer=first)
    scene.write(("b", "1"), (abort_key, "data"), producer=second)
    scene.end(first, commit=True)
    scene.end(second, commit=False)
    scene.roll()
    scene.write(("c", "1"), producer=first)
    scene.write(("d", "1"), producer=second)
    scene.end(first, commit=True)
    scene.end(second, commit=False)
    scene.roll()
    expected = scene.table()
    assert expected == {"a": "1", commit_key: "data", "c": "1"}
    for cleaner in (ONE_KEY, CleanerSettings()):
        scene.roll_and_clean(cleaner)
        assert (scene.table(), markers(scene)) == (expected, [4, 5, 8, 9])


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_goes_once_all_its_data_is_gone_and_its_own_time_has_passed(commit: bool) -> None:
    scene = Scene()
    producer = transactional(1)
    scene.write(("a", "1"), producer=producer)
    marker = scene.end(producer, commit=commit)
    scene.write(("a", "2"))
    forget_producers(scene)
    scene.roll_and_clean()
    assert markers(scene) == [marker], "this cleaning saw data of the transaction"
    head = scene.head_at(marker)
    assert head is not None
    assert head.delete_horizon_ms is None
    timestamp = head.max_timestamp
    scene.now += 77
    scene.roll_and_clean()
    head = scene.head_at(marker)
    assert head is not None
    assert (head.delete_horizon_ms, head.max_timestamp) == (scene.now + DELETE_RETENTION_MS, timestamp)
    scene.now += DELETE_RETENTION_MS - 1
    scene.roll_and_clean()
    assert markers(scene) == [marker]
    scene.now += 1
    scene.roll_and_clean()
    assert (markers(scene), scene.pairs()) == ([], [(2, "a", "2")])


def test_a_marker_answers_for_its_own_transaction_only() -> None:
    scene = Scene()
    producer = transactional(1)
    scene.write(("a", "1"), producer=producer)
    first = scene.end(producer, commit=True)
    scene.write(("b", "1"), producer=producer)
    scene.end(producer, commit=True)
    scene.write(("b", "2"))
    forget_producers(scene)
    for _ in range(3):
        scene.now += DELETE_RETENTION_MS
        scene.roll_and_clean()
    assert (markers(scene), scene.table()) == ([first], {"a": "1", "b": "2"})


@pytest.mark.parametrize("cleaner", [ONE_KEY, map_bytes_for(3), CleanerSettings()])
def test_kafka_8351_a_transaction_over_several_segments(cleaner: CleanerSettings) -> None:
    """reliability row 40: neither the segments nor where the map ends may cut it apart."""
    scene = Scene()
    aborting, committing = transactional(1), transactional(2)
    scene.write(("a", "0"), ("b", "0"), ("c", "0"))
    for number in range(1, 4):
        scene.write(("a", f"aborted {number}"), (f"x{number}", "aborted"), producer=aborting)
        scene.write(("b", f"committed {number}"), (f"y{number}", "committed"), producer=committing)
        scene.roll()
    scene.end(committing, commit=True)
    scene.roll()
    scene.end(aborting, commit=False)
    scene.write(("c", "1"))
    scene.roll()
    expected = scene.table()
    assert (expected["a"], expected["b"]) == ("0", "committed 3")
    while scene.clean(cleaner) is not None:
        assert scene.table() == expected
        assert len(markers(scene)) == 2
    assert {key: value for _, key, value in scene.pairs()} == expected
    scene.reopen(without_snapshots=True)
    assert (scene.table(), scene.log.producers.first_undecided_offset) == (expected, None)


def test_rp_7081_read_committed_is_the_same_after_cleaning() -> None:
    """reliability row 46: the aborted ranges are carried over into the index of the cleaned segment."""
    scene = Scene()
    producers = [transactional(number) for number in range(4)]
    for turn in range(5):
        for number, producer in enumerate(producers):
            scene.write((f"k{number}", f"{turn}"), (f"shared{turn % 2}", f"{number}.{turn}"), producer=producer)
        for number, producer in enumerate(producers):
            scene.end(producer, commit=(turn + number) % 3 != 0)
        scene.roll()
    for first_dirty_offset in (0, 20, 40):
        expected = scene.table()
        aborted_before = set(scene.log.aborted_transactions(0, scene.log.log_end_offset))
        scene.clean(map_bytes_for(5), first_dirty_offset=first_dirty_offset)
        assert scene.table() == expected
        aborted = scene.log.aborted_transactions(0, scene.log.log_end_offset)
        assert set(aborted) <= aborted_before
        last_offsets = [each.last_offset for each in aborted]
        assert last_offsets == sorted(last_offsets)
        for head in scene.heads():
            if head.is_transactional and not head.is_control and head.record_count:
                inside = [each for each in aborted if each.first_offset <= head.base_offset <= each.last_offset]
                known = [each for each in aborted_before if each.first_offset <= head.base_offset <= each.last_offset]
                ours = {each for each in known if each.producer_id == head.producer_id}
                assert ours <= set(inside), "data that is still there and aborted is still known to be"


def test_aborted_data_that_the_map_does_not_reach_stays_aborted() -> None:
    scene = Scene()
    producer = transactional(1)
    scene.write(("a", "1"), ("b", "1"))
    scene.write(("c", "aborted"), producer=producer)
    scene.end(producer, commit=False)
    scene.roll()
    forget_producers(scene)
    for _ in range(2):
        scene.clean(ONE_KEY)
        assert scene.table() == {"a": "1", "b": "1"}
    assert [each.first_offset for each in scene.log.aborted_transactions(0, 100)] == [2]


def test_an_open_transaction_is_never_cleaned_whatever_the_bound() -> None:
    scene = Scene()
    producer = transactional(1)
    scene.write(("a", "1"))
    scene.roll()
    scene.write(("a", "open"), producer=producer)
    scene.roll()
    scene.write(("b", "1"))
    scene.roll()
    scene.log.producers.first_unstable_offset = None  # a caller that does not know of it
    scene.clean()
    assert scene.first_dirty_offset == 1
    scene.end(producer, commit=False)
    scene.roll()
    scene.clean()
    assert scene.table() == {"a": "1", "b": "1"}


@pytest.mark.parametrize("is_transactional", [False, True])
def test_kafka_5490_8335_the_last_sequence_of_a_producer_survives(is_transactional: bool) -> None:
    """reliability row 41: its last batch stays, without records, until the producer is forgotten."""
    scene = Scene()
    producer = Producer(7, epoch=2, is_transactional=is_transactional)
    scene.write(("a", "1"), ("b", "1"), producer=producer)
    last = scene.write(("a", "2"), ("b", "2"), ("a", "3"), producer=producer)
    if is_transactional:
        scene.end(producer, commit=True)
    scene.write(("a", "4"), ("b", "4"))
    before = summary_of(scene.log.producers)
    for _ in range(4):
        scene.now += DELETE_RETENTION_MS
        scene.roll_and_clean()
    bare = scene.head_at(last)
    assert bare is not None
    assert (bare.last_offset, bare.record_count, bare.base_sequence, bare.last_sequence) == (last + 2, 0, 2, 4)
    assert (bare.producer_id, bare.producer_epoch, bare.leader_epoch) == (7, 2, 3)
    assert scene.head_at(0) is None
    scene.reopen(without_snapshots=True)
    assert summary_of(scene.log.producers) == before
    again = build_batch(
        [Record(index, scene.now, b"a", b"?") for index in range(3)],
        producer_id=7,
        producer_epoch=2,
        base_sequence=2,
        is_transactional=is_transactional,
    )
    (outcome,) = scene.log.append([again], leader_epoch=3, now_ms=scene.now)
    assert not isinstance(outcome, Refused)
    assert (outcome.is_duplicate, outcome.base_offset) == (True, last)
    scene.write(("c", "1"), producer=producer)
    if is_transactional:
        scene.end(producer, commit=True)
    scene.roll_and_clean()
    assert scene.head_at(last) is None, "it is not the last any more"


def test_the_epoch_of_a_producer_that_only_a_marker_tells_survives() -> None:
    """A coordinator that fences a producer writes a marker with a newer epoch, and no data follows."""
    scene = Scene()
    producer = transactional(7)
    scene.write(("a", "1"), producer=producer)
    producer.epoch = 1
    scene.end(producer, commit=False)
    scene.write(("a", "2"))
    for _ in range(4):
        scene.now += DELETE_RETENTION_MS
        scene.roll_and_clean()
    assert [head.base_offset for head in scene.heads() if head.is_control] == [1]
    scene.reopen(without_snapshots=True)
    zombie = build_batch(
        [Record(0, scene.now, b"a", b"zombie")], producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True
    )
    (outcome,) = scene.log.append([zombie], leader_epoch=3, now_ms=scene.now)
    assert isinstance(outcome, Refused)
    assert outcome.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_that_ends_a_segment_leaves_its_bare_head() -> None:
    scene = Scene(segment_bytes=160)
    producer = transactional(1)
    scene.write(("a", "1"), producer=producer)
    marker = scene.end(producer, commit=True)
    scene.roll()
    scene.write(("a", "2" * 60))
    forget_producers(scene)
    for _ in range(3):
        scene.now += DELETE_RETENTION_MS
        scene.roll_and_clean()
    bare = scene.head_at(marker)
    assert bare is not None
    assert (bare.is_control, bare.record_count, bare.producer_id) == (True, 0, 1)
    assert scene.base_offsets() == [0, 2, 3]
    scene.reopen(without_snapshots=True)
    assert len(scene.log.producers) == 0


def test_a_control_batch_of_another_kind_is_left_alone() -> None:
    """KRaft writes such ones into its own log; what they mean is not for us to judge."""
    scene = Scene()
    key = KEY.pack(VERSION, 2)
    scene.replicate(build_batch([Record(0, scene.now, key, b"leader change")], is_control=True, leader_epoch=3))
    scene.write(("a", "1"))
    for _ in range(3):
        scene.now += DELETE_RETENTION_MS
        scene.roll_and_clean()
    assert [head.is_control for head in scene.heads()] == [True, False]


def test_the_log_opens_with_its_snapshots_as_before() -> None:
    scene = Scene()
    producers = [Producer(number) for number in range(3)]
    for turn in range(6):
        for producer in producers[: 1 + turn % 3]:
            scene.write(("a", str(turn)), producer=producer)
        scene.roll()
    before = summary_of(scene.log.producers)
    scene.clean()
    scene.log.close(scene.now)
    log = open_log(
        scene.disk, scene.log.directory, scene.log.partition, scene.settings, now_ms=scene.now, is_clean=True
    )
    assert summary_of(log.producers) == before


@pytest.mark.parametrize("base_timestamp", [-(2**63), 2**63 - 1])
def test_a_marker_of_any_time_can_be_cleaned(base_timestamp: int) -> None:
    """Its record may be as far from the horizon as 64 bits cannot say; the head does not tell."""
    scene = Scene()
    value = VALUE.pack(VERSION, 0)
    batch = build_batch(
        [Record(0, NOW, KEY.pack(VERSION, COMMIT), value)], producer_id=7, producer_epoch=0, is_control=True
    )
    BASE_TIMESTAMP.pack_into(batch, BASE_TIMESTAMP_POSITION, base_timestamp + (5 if base_timestamp < 0 else -5))
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    scene.replicate(batch)
    scene.write(("a", "1"))
    forget_producers(scene)  # for the sake of one that is known, its marker would stay
    scene.roll_and_clean()
    assert markers(scene) == [0]
