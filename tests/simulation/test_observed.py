"""What the onlooker reads of a log, whatever is in it."""

from __future__ import annotations

from itertools import islice

import pytest
from tests.log.making_logs import append, batch_of, make_log

from strandline.simulation.observed import batches_from


@pytest.mark.parametrize("tail", [bytes(200), batch_of("d", "e")[:70]], ids=["zeros", "a batch that is cut short"])
def test_what_recovery_left_behind_is_not_read_for_ever(tail: bytes) -> None:
    """The onlooker went round and round at a log that a broker without recovery had opened after power loss."""
    log = make_log()
    append(log, batch_of("a", "b", "c"))
    segment = log.segments.active
    segment.file.append([with_base_offset(tail)])
    segment.size_bytes += len(tail)
    log.log_end_offset += 5
    assert [batch.last_offset for batch in islice(batches_from(log, 0), 10)] == [2]


def with_base_offset(tail: bytes) -> bytes:
    """Of what follows, where it is a batch."""
    return (3).to_bytes(8, "big") + tail[8:] if any(tail) else tail
