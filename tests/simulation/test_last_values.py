"""Which value of a key is the last committed one, where transactions write to the same keys as others."""

from __future__ import annotations

from strandline.model.partitions import TopicPartition
from strandline.records.record import Record
from strandline.simulation.last_values import CommittedValues
from strandline.simulation.observed import Batch, Kind, PartitionTruth

KEY = b"key 1"
PAYER = 2000


class Scene:
    def __init__(self) -> None:
        self.truth = PartitionTruth(TopicPartition("profiles", 0), b"")
        self._written: dict[int, list[Record]] = {}
        self._values = CommittedValues(self._written)

    def write(self, value: bytes, kind: Kind = Kind.PLAIN) -> None:
        crc = len(self._written)
        self._written[crc] = [Record(0, 0, KEY, value)]
        self._commit(crc, kind)

    def end(self, kind: Kind) -> None:
        self._commit(-1, kind)

    def _commit(self, crc: int, kind: Kind) -> None:
        """What is committed is what all have; whether a transaction is, its marker says."""
        offset = self.truth.committed_end
        self.truth.committed.append(Batch(offset, offset, 0, crc, kind, PAYER))

    @property
    def last(self) -> tuple[int, bytes | None] | None:
        self._values.follow(self.truth, now_us=0)
        return self._values.last.get(KEY)


def test_an_open_transaction_leaves_what_was_committed_before_it() -> None:
    scene = Scene()
    scene.write(b"before")
    scene.write(b"undecided", Kind.TRANSACTIONAL)
    assert scene.last == (0, b"before")


def test_a_transaction_counts_from_its_commit_on() -> None:
    scene = Scene()
    scene.write(b"before")
    scene.write(b"within", Kind.TRANSACTIONAL)
    scene.end(Kind.COMMIT_MARKER)
    assert scene.last == (1, b"within")


def test_an_aborted_transaction_never_counts() -> None:
    scene = Scene()
    scene.write(b"before")
    scene.write(b"within", Kind.TRANSACTIONAL)
    scene.end(Kind.ABORT_MARKER)
    scene.end(Kind.COMMIT_MARKER)  # of the next one, with nothing here
    assert scene.last == (0, b"before")


def test_what_is_written_beside_an_open_transaction_stays_the_last_when_that_is_committed() -> None:
    scene = Scene()
    scene.write(b"within", Kind.TRANSACTIONAL)
    scene.write(b"beside")
    assert scene.last == (1, b"beside")
    scene.end(Kind.COMMIT_MARKER)
    assert scene.last == (1, b"beside")
