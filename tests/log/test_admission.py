"""What a leader refuses, with which error code: reliability §7.2, and Kafka's LogValidator rule by rule."""

from __future__ import annotations

from itertools import combinations_with_replacement
from struct import pack_into
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    batch_of,
    make_log,
    marker_of,
    numbered,
    records_in,
    refusal_of,
    sized_batch,
    timed_batch,
)

from strandline.log.admission import Admission
from strandline.model.failures import ErrorCode, Refused
from strandline.model.settings import LONG_MAX, LogSettings
from strandline.records.batch import (
    ATTRIBUTES_POSITION,
    CRC,
    CRC_POSITION,
    HEAD_BYTES,
    LENGTH_END,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    Buffer,
    batch_crc,
)
from strandline.records.builder import build_batch, encode_records, seal_batch
from strandline.records.compression import Codec
from strandline.records.legacy import build_legacy
from strandline.records.placing import place_batches
from strandline.records.record import Record

LAST_OFFSET_DELTA_POSITION = 23
RECORD_COUNT_POSITION = 57
HOUR_MS = 3_600_000


def refused(batch: bytes | bytearray, *, from_client: bool = True, now_ms: int = NOW, **settings: Any) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        Admission(LogSettings(**settings)).admit(batch, now_ms, from_client)
    return caught.value.error_code


def admitted(batch: bytes | bytearray, *, from_client: bool = True, now_ms: int = NOW, **settings: Any) -> bool:
    Admission(LogSettings(**settings)).admit(batch, now_ms, from_client)
    return True


def with_field(batch: bytearray, form: str, position: int, value: int) -> bytearray:
    """A batch whose head says something else, under a CRC that holds."""
    pack_into(form, batch, position, value)
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    return batch


def with_attributes(attributes: int, **options: Any) -> bytearray:
    return with_field(batch_of("a", **options), ">h", ATTRIBUTES_POSITION, attributes)


class TestShape:
    def test_every_flipped_bit_is_found(self) -> None:
        good = bytes(batch_of("a", "b"))
        codes = set()
        for position in range(LENGTH_END + 4, len(good)):  # offset and epoch are the broker's to set, and not covered
            for bit in range(8):
                bad = bytearray(good)
                bad[position] ^= 1 << bit
                codes.add(refused(bad))
        assert codes == {ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD}  # the latter: magic 2 becomes 0

    @pytest.mark.parametrize("size", [0, 1, LENGTH_END, MAGIC_POSITION, HEAD_BYTES - 1])
    def test_too_short_for_a_head(self, size: int) -> None:
        assert refused(bytes(batch_of("a"))[:size]) == ErrorCode.CORRUPT_MESSAGE

    def test_every_cut_is_found(self) -> None:
        whole = bytes(batch_of("a", "b", "c"))
        for size in range(len(whole)):
            assert refused(whole[:size]) == ErrorCode.CORRUPT_MESSAGE

    @pytest.mark.parametrize("length", [-1, 0, 48, 49, 2**31 - 1])
    def test_a_length_that_is_not_the_length(self, length: int) -> None:
        batch = batch_of("a")
        pack_into(">i", batch, 8, length)
        assert refused(batch) == ErrorCode.CORRUPT_MESSAGE

    def test_two_batches(self) -> None:
        assert refused(batch_of("a") + batch_of("b")) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("magic", [3, 4, 127, 128, 255])
    def test_a_format_that_does_not_exist(self, magic: int) -> None:
        batch = batch_of("a")
        batch[MAGIC_POSITION] = magic
        assert refused(batch) == ErrorCode.CORRUPT_MESSAGE

    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize("value", [b"", b"x" * 100])
    def test_an_old_format(self, magic: int, value: bytes) -> None:
        message = build_legacy([Record(0, NOW, None, value)], magic=magic)
        assert refused(message) == ErrorCode.INVALID_RECORD

    def test_largest_batch(self) -> None:
        assert admitted(sized_batch(500), max_message_bytes=500)
        assert refused(sized_batch(501), max_message_bytes=500) == ErrorCode.MESSAGE_TOO_LARGE

    def test_larger_than_a_segment(self) -> None:
        assert admitted(sized_batch(500), segment_bytes=500)
        assert refused(sized_batch(501), segment_bytes=500) == ErrorCode.RECORD_LIST_TOO_LARGE

    def test_size_is_judged_before_the_crc(self) -> None:
        """So that a large batch costs nothing, as in Kafka."""
        batch = sized_batch(501)
        batch[-1] ^= 1
        assert refused(batch, max_message_bytes=500) == ErrorCode.MESSAGE_TOO_LARGE


class TestHead:
    @pytest.mark.parametrize("count", [-(2**31), -1, 0, 1, 3, 2**31 - 1])
    def test_record_count(self, count: int) -> None:
        batch = with_field(batch_of("a", "b"), ">i", RECORD_COUNT_POSITION, count)
        assert refused(batch) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("delta", [-(2**31), -1, 0, 2, 2**31 - 1])
    def test_last_offset_delta(self, delta: int) -> None:
        batch = with_field(batch_of("a", "b"), ">i", LAST_OFFSET_DELTA_POSITION, delta)
        assert refused(batch) == ErrorCode.INVALID_RECORD

    def test_no_records_at_all(self) -> None:
        """Compaction leaves such batches; no client may send one."""
        assert refused(build_batch([], base_offset=0, last_offset=0)) == ErrorCode.INVALID_RECORD

    def test_offsets_with_a_gap(self) -> None:
        gap = build_batch([Record(0, NOW, b"k", b"a"), Record(2, NOW, b"k", b"b")])
        assert refused(gap) == ErrorCode.INVALID_RECORD

    def test_control_batches_are_the_coordinators(self) -> None:
        assert refused(marker_of(7, is_commit=True)) == ErrorCode.INVALID_RECORD
        assert admitted(marker_of(7, is_commit=True), from_client=False)

    @pytest.mark.parametrize("sequence", [-1, -2, -(2**31)])
    def test_negative_sequence(self, sequence: int) -> None:
        batch = numbered(sequence)
        assert refused(batch) == ErrorCode.INVALID_RECORD
        assert admitted(batch, from_client=False)

    def test_a_sequence_without_a_producer_means_nothing(self) -> None:
        assert admitted(batch_of("a", base_sequence=-5))
        assert admitted(batch_of("a", base_sequence=5))

    def test_a_transaction_needs_a_producer(self) -> None:
        assert refused(batch_of("a", is_transactional=True)) == ErrorCode.INVALID_RECORD

    def test_delete_horizon_is_the_cleaners(self) -> None:
        assert refused(batch_of("a", delete_horizon_ms=NOW)) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("bit", range(6, 16))
    def test_unknown_attributes(self, bit: int) -> None:
        attributes = 1 << bit if bit < 15 else -(2**15)
        assert refused(with_attributes(attributes)) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("codec", [5, 6, 7])
    def test_unknown_codecs(self, codec: int) -> None:
        assert refused(with_attributes(codec)) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("codec", list(Codec))
    def test_every_codec_is_served(self, codec: Codec) -> None:
        """SPEC L2. Whether an old request may carry zstd is the protocol's matter."""
        assert admitted(batch_of("a", "b", codec=codec))


class TestTimestamps:
    """KIP-32, KIP-937. Limits hold at the exact millisecond and not one further."""

    def test_too_late(self) -> None:
        assert admitted(timed_batch([NOW + HOUR_MS]))
        assert refused(timed_batch([NOW + HOUR_MS + 1])) == ErrorCode.INVALID_TIMESTAMP
        assert refused(timed_batch([NOW, NOW + HOUR_MS + 1])) == ErrorCode.INVALID_TIMESTAMP

    def test_no_limit_upwards(self) -> None:
        assert admitted(timed_batch([2**62]), message_timestamp_after_max_ms=2**63 - 1)

    def test_too_early(self) -> None:
        assert admitted(timed_batch([NOW - 1000]), message_timestamp_before_max_ms=1000)
        assert refused(timed_batch([NOW - 1001]), message_timestamp_before_max_ms=1000) == ErrorCode.INVALID_TIMESTAMP
        assert refused(timed_batch([-2]), message_timestamp_before_max_ms=1000) == ErrorCode.INVALID_TIMESTAMP

    def test_no_limit_downwards_by_default(self) -> None:
        assert admitted(timed_batch([0]))

    def test_no_timestamp_is_never_early(self) -> None:
        assert admitted(timed_batch([NO_TIMESTAMP, NO_TIMESTAMP]), message_timestamp_before_max_ms=1000)

    def test_coordinators_are_not_judged(self) -> None:
        assert admitted(timed_batch([NOW + 10 * HOUR_MS]), from_client=False)

    @pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
    def test_no_client_stamps_append_time(self, kind: str) -> None:
        batch = batch_of("a", log_append_time_ms=NOW)
        assert refused(batch, message_timestamp_type=kind) == ErrorCode.INVALID_TIMESTAMP


def sealed(section: bytes | bytearray, base_timestamp: int = NOW) -> bytearray:
    """Two records, whatever they say of themselves."""
    return seal_batch(
        section,
        base_offset=0,
        last_offset_delta=1,
        base_timestamp=base_timestamp,
        max_timestamp=NOW,
        record_count=2,
    )


class TestCompactedTopics:
    """A record without a key could never be replaced, nor deleted."""

    @pytest.mark.parametrize("codec", list(Codec))
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_every_record_needs_a_key(self, codec: Codec, place: int) -> None:
        records = [Record(index, NOW, None if index == place else b"k", b"v") for index in range(3)]
        batch = build_batch(records, codec=codec)
        for policy in (("compact",), ("compact", "delete")):
            assert refused(batch, cleanup_policy=policy) == ErrorCode.INVALID_RECORD
        assert admitted(batch, cleanup_policy=("delete",))

    def test_an_empty_key_is_a_key_and_a_null_value_is_a_tombstone(self) -> None:
        assert admitted(build_batch([Record(0, NOW, b"", None)]), cleanup_policy=("compact",))

    def test_what_grows_beyond_reason(self) -> None:
        """Kilobytes that hold many times `max.message.bytes` keep everybody waiting. Some growth is no wonder."""
        batch = build_batch([Record(0, NOW, b"k", bytes(17 * 2**20))], codec=Codec.ZSTD)
        compacted: dict[str, Any] = {"cleanup_policy": ("compact",)}
        assert refused(batch, max_message_bytes=200_000, **compacted) == ErrorCode.INVALID_RECORD
        assert refused(batch, max_message_bytes=200_000, compression_type="gzip") == ErrorCode.INVALID_RECORD
        assert admitted(batch, max_message_bytes=300_000, **compacted)
        assert admitted(batch, max_message_bytes=200_000), "nobody looks inside"

    def test_records_that_cannot_be_walked(self) -> None:
        """The CRC holds, yet the head counts two records where there is one."""
        one = batch_of("a")
        batch = seal_batch(
            bytes(one[HEAD_BYTES:]),
            base_offset=0,
            last_offset_delta=1,
            base_timestamp=NOW,
            max_timestamp=NOW,
            record_count=2,
        )
        assert refused(batch, cleanup_policy=("compact",)) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize("offsets", [(1, 0), (0, 0), (0, 1000)])
    def test_offsets_that_a_client_made_up(self, offsets: tuple[int, int]) -> None:
        section = encode_records([Record(offset, NOW, b"k", b"v") for offset in offsets], 0, NOW)
        assert refused(sealed(section), cleanup_policy=("compact",)) == ErrorCode.INVALID_RECORD

    @pytest.mark.parametrize(("base_timestamp", "delta"), [(2**63 - 1, 1), (2, 2**63 - 1), (-2, -(2**63) + 1)])
    def test_timestamps_beyond_64_bits(self, base_timestamp: int, delta: int) -> None:
        section = encode_records([Record(index, delta, b"k", b"v") for index in range(2)], 0, 0)
        batch = sealed(section, base_timestamp=base_timestamp)
        settings: dict[str, Any] = {"message_timestamp_after_max_ms": 2**63 - 1}
        assert refused(batch, cleanup_policy=("compact",), **settings) == ErrorCode.INVALID_TIMESTAMP

    def test_markers_pass(self) -> None:
        assert admitted(marker_of(7, is_commit=True), from_client=False, cleanup_policy=("compact",))


@pytest.mark.parametrize("settings", [{"cleanup_policy": ("compact",)}, {"compression_type": "lz4"}])
@pytest.mark.parametrize("codec", list(Codec))
def test_records_that_are_looked_at_must_be_records(codec: Codec, settings: dict[str, Any]) -> None:
    """Three megabytes of zeros, in a few hundred bytes where there is a codec."""
    batch = seal_batch(
        bytes(3 * 2**20),
        base_offset=0,
        last_offset_delta=0,
        base_timestamp=NOW,
        max_timestamp=NOW,
        record_count=1,
        codec=codec,
    )
    if codec is Codec.LZ4 and "compression_type" in settings:
        assert admitted(batch, max_message_bytes=2**30, **settings)  # left as it came
    else:
        assert refused(batch, max_message_bytes=2**30, **settings) == ErrorCode.INVALID_RECORD


NUMBERS = [-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1]
MOMENTS = [-(2**63), -2, NO_TIMESTAMP, 0, NOW - 1001, NOW - 1000, NOW, NOW + HOUR_MS, NOW + HOUR_MS + 1, 2**63 - 1]
# Form, position and value: what may be said in the head of a batch of two records, right and wrong.
CLAIMS = [
    *((">i", 8, length) for length in (*NUMBERS, 48, 49, 50)),
    *((">b", MAGIC_POSITION, magic) for magic in (-1, 0, 1, 2, 3)),
    *((">h", ATTRIBUTES_POSITION, attributes) for attributes in (*range(9), 16, 17, 32, 64, 128, -1, -(2**15))),
    *((">i", LAST_OFFSET_DELTA_POSITION, delta) for delta in NUMBERS),
    *((">q", 27, base_timestamp) for base_timestamp in MOMENTS),
    *((">q", 35, max_timestamp) for max_timestamp in MOMENTS),
    *((">q", 43, producer_id) for producer_id in (-(2**63), -2, -1, 0, 7)),
    *((">h", 51, producer_epoch) for producer_epoch in (-1, 0, 1)),
    *((">i", 53, base_sequence) for base_sequence in NUMBERS),
    *((">i", RECORD_COUNT_POSITION, count) for count in NUMBERS),
]
LIMITED = LogSettings(message_timestamp_before_max_ms=1000)
TOPICS = st.builds(
    LogSettings,
    cleanup_policy=st.sampled_from([("delete",), ("delete",), ("compact",), ("compact", "delete")]),
    compression_type=st.sampled_from(["producer", "producer", "uncompressed", "gzip"]),
    message_timestamp_type=st.sampled_from(["CreateTime", "CreateTime", "LogAppendTime"]),
    message_timestamp_before_max_ms=st.sampled_from([2**63 - 1, 1000]),
    message_timestamp_after_max_ms=st.sampled_from([HOUR_MS, 2**63 - 1]),
    max_message_bytes=st.sampled_from([10**6, 90]),
    segment_bytes=st.sampled_from([10**6, 80]),
)


def claiming(*claims: tuple[str, int, int]) -> bytearray:
    batch = batch_of("a", "b")
    for form, position, value in claims:
        pack_into(form, batch, position, value)
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    return batch


def is_plain(batch: Buffer, settings: LogSettings) -> bool:
    limits = Admission(settings).plain_limits(NOW, (2**31 - 1, 2**31 - 1, LONG_MAX), 0)
    return limits is not None and bool(place_batches([batch], 0, 0, 0, limits)[0])


class TestPlainBatches:
    """The short way passes only what the long one passes as it is, and it does pass what most clients send."""

    def test_what_it_passes_is_admitted_as_it_is(self) -> None:
        passed = 0
        for claims in combinations_with_replacement(CLAIMS, 2):
            passed += self.agrees(claiming(*claims), LIMITED)
        assert passed > 100

    @given(
        claims=st.lists(st.sampled_from(CLAIMS), max_size=4),
        codec=st.sampled_from(list(Codec)),
        size_bytes=st.sampled_from([10**6] * 4 + [HEAD_BYTES - 1, HEAD_BYTES, 100]),
        ending=st.sampled_from([b"", b"", b"", b"!"]),
        settings=TOPICS,
    )
    def test_whatever_the_topic(
        self,
        claims: list[tuple[str, int, int]],
        codec: Codec,
        size_bytes: int,
        ending: bytes,
        settings: LogSettings,
    ) -> None:
        self.agrees(claiming(*claims)[:size_bytes] + ending, settings)
        self.agrees(batch_of("a" * 20, codec=codec), settings)

    def agrees(self, batch: bytearray, settings: LogSettings) -> bool:
        """Whether it is plain. If it is, the long way says the same; if not, there is a reason."""
        as_sent = bytes(batch)
        if not is_plain(batch, settings):
            assert bytes(batch) == as_sent
            assert self.has_something_particular(batch, settings)
            return False
        assert bytes(batch[16:]) == as_sent[16:]
        for from_client in (True, False):
            admitted_batch, head = Admission(settings).admit(batch, NOW, from_client)
            assert admitted_batch is batch
            assert bytes(batch[16:]) == as_sent[16:]
            assert head.last_offset_delta == head.record_count - 1
        return True

    def has_something_particular(self, batch: bytearray, settings: LogSettings) -> bool:
        if settings.compacts or settings.compression_type != "producer":
            return True
        try:
            _, head = Admission(settings).admit(batch, NOW, True)
        except Refused:
            return True
        return head.is_transactional or head.is_log_append_time or head.base_timestamp == NO_TIMESTAMP

    @pytest.mark.parametrize("codec", list(Codec))
    @pytest.mark.parametrize("producer", [{}, {"producer_id": 7, "producer_epoch": 0, "base_sequence": 2**31 - 1}])
    def test_what_most_clients_send(self, codec: Codec, producer: dict[str, int]) -> None:
        batch = batch_of("a", "b", codec=codec, **producer)
        for form in (batch, memoryview(batch)):
            assert is_plain(form, LogSettings())

    @pytest.mark.parametrize("position", range(LENGTH_END + 4, HEAD_BYTES + 8))
    def test_no_flipped_bit_passes(self, position: int) -> None:
        for bit in range(8):
            bad = batch_of("a")
            bad[position] ^= 1 << bit
            assert not is_plain(bad, LogSettings())


def test_every_refusal_leaves_the_log_as_it_was() -> None:
    """`refusal_of` compares all files, offsets, epochs and producers before and after."""
    log = make_log(
        cleanup_policy=("compact",), max_message_bytes=1000, segment_bytes=900, message_timestamp_before_max_ms=1000
    )
    append(log, batch_of("a"), numbered(0))
    corrupt = batch_of("b")
    corrupt[-1] ^= 1
    reasons = {
        ErrorCode.CORRUPT_MESSAGE: corrupt,
        ErrorCode.INVALID_RECORD: build_batch([Record(0, NOW, None, b"v")]),
        ErrorCode.MESSAGE_TOO_LARGE: sized_batch(1001),
        ErrorCode.RECORD_LIST_TOO_LARGE: sized_batch(901),
        ErrorCode.INVALID_TIMESTAMP: timed_batch([NOW - 1001]),
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: numbered(2),
        ErrorCode.INVALID_PRODUCER_EPOCH: numbered(1, producer_epoch=-1),
    }
    for code, batch in reasons.items():
        assert refusal_of(log, batch) == code
    append(log, batch_of("b"), numbered(1))
    assert [record.offset for record in records_in(log)] == [0, 1, 2, 3]
