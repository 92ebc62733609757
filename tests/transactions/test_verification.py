"""Transactional appends and the coordinator's word (KIP-890; KAFKA-14402, KAFKA-14884, KAFKA-14920)."""

from __future__ import annotations

import pytest

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.verification import (
    KnownProducer,
    TransactionalBatch,
    Verifications,
    refuse_late_marker,
)

PRODUCER = 7


def batch(epoch: int = 0, sequence: int = 0) -> TransactionalBatch:
    return TransactionalBatch(PRODUCER, epoch, sequence)


def begun(verifications: Verifications, wanted: TransactionalBatch, known: KnownProducer | None = None) -> int | None:
    return verifications.begin(wanted, known, bumps_epoch=False, now_ms=0)


def refusal_of(verifications: Verifications, wanted: TransactionalBatch, known: KnownProducer | None) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        verifications.check(wanted, known)
    return refused.value.error_code


def test_the_first_batch_waits_for_the_coordinators_yes() -> None:
    verifications = Verifications()
    token = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    assert refusal_of(verifications, batch(), None) is ErrorCode.INVALID_TXN_STATE
    verifications.verified(PRODUCER, token)
    verifications.check(batch(), None)
    verifications.written(PRODUCER)
    # The transaction is open in the log: nothing is to be asked any more.
    open_here = KnownProducer(0, is_in_transaction=True)
    assert begun(verifications, batch(sequence=5), open_here) is None
    verifications.check(batch(sequence=5), open_here)
    assert len(verifications) == 0


def test_a_yes_that_was_overtaken_by_the_marker_is_worth_nothing() -> None:
    """KAFKA-14884: verified, aborted by timeout, and only then appended would hang for ever."""
    verifications = Verifications()
    token = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    verifications.written(PRODUCER)  # the marker
    verifications.verified(PRODUCER, token)
    ended = KnownProducer(0, is_in_transaction=False)
    assert refusal_of(verifications, batch(), ended) is ErrorCode.INVALID_TXN_STATE


def test_a_yes_for_an_earlier_question_is_none_for_a_later_one() -> None:
    verifications = Verifications()
    first = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    verifications.written(PRODUCER)
    second = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    assert first is not None
    assert second != first
    verifications.verified(PRODUCER, first)
    assert refusal_of(verifications, batch(), None) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_after_the_yes_takes_it_back() -> None:
    verifications = Verifications()
    token = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    verifications.verified(PRODUCER, token)
    verifications.written(PRODUCER)
    assert refusal_of(verifications, batch(), KnownProducer(0, False)) is ErrorCode.INVALID_TXN_STATE


def test_leadership_takes_everything_with_it() -> None:
    verifications = Verifications()
    token = verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    verifications.verified(PRODUCER, token)
    verifications.clear()
    assert refusal_of(verifications, batch(), None) is ErrorCode.INVALID_TXN_STATE


def test_several_batches_ask_the_same_question() -> None:
    verifications = Verifications()
    token = verifications.begin(batch(sequence=0), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    assert begun(verifications, batch(sequence=3)) == token
    verifications.verified(PRODUCER, token)
    assert begun(verifications, batch(sequence=6)) is None


def test_a_batch_that_overtook_an_earlier_one_is_out_of_order() -> None:
    """Nothing is known of the producer, so the log would take any sequence, and then never the earlier ones."""
    verifications = Verifications()
    assert begun(verifications, batch(sequence=3)) is not None
    token = verifications.begin(batch(sequence=0), None, bumps_epoch=False, now_ms=0)
    assert token is not None
    verifications.verified(PRODUCER, token)
    assert refusal_of(verifications, batch(sequence=3), None) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    verifications.check(batch(sequence=0), None)


def test_with_epoch_bumps_every_transaction_begins_with_sequence_0() -> None:
    verifications = Verifications()
    token = verifications.begin(batch(epoch=4, sequence=3), None, bumps_epoch=True, now_ms=0)
    assert token is not None
    verifications.verified(PRODUCER, token)
    assert refusal_of(verifications, batch(epoch=4, sequence=3), None) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    verifications.check(batch(epoch=4, sequence=0), None)


@pytest.mark.parametrize("is_in_transaction", [True, False])
def test_a_zombie_is_refused_before_anybody_is_asked(is_in_transaction: bool) -> None:
    verifications = Verifications()
    known = KnownProducer(5, is_in_transaction)
    with pytest.raises(Refused) as refused:
        begun(verifications, batch(epoch=4), known)
    assert refused.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert len(verifications) == 0


def test_an_old_epoch_is_told_as_such_even_without_a_transaction() -> None:
    """KAFKA-19690: from INVALID_TXN_STATE a client does not recover."""
    known = KnownProducer(5, is_in_transaction=False)
    assert refusal_of(Verifications(), batch(epoch=4), known) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_newer_epoch_begins_anew() -> None:
    verifications = Verifications()
    old = verifications.begin(batch(epoch=4, sequence=9), None, bumps_epoch=False, now_ms=0)
    new = verifications.begin(batch(epoch=5, sequence=0), None, bumps_epoch=False, now_ms=0)
    assert old is not None
    assert new not in (None, old)
    verifications.verified(PRODUCER, old)
    assert refusal_of(verifications, batch(epoch=5), None) is ErrorCode.INVALID_TXN_STATE
    with pytest.raises(Refused) as refused:
        begun(verifications, batch(epoch=4, sequence=9))
    assert refused.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_next_transaction_waits_until_the_marker_of_the_last_is_here() -> None:
    """KAFKA-18575: EndTxn is answered before the markers are written."""
    with pytest.raises(Refused) as refused:
        begun(Verifications(), batch(epoch=5), KnownProducer(4, is_in_transaction=True))
    assert refused.value.error_code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_what_was_never_written_is_forgotten() -> None:
    verifications = Verifications()
    verifications.begin(batch(), None, bumps_epoch=False, now_ms=0)
    verifications.expire(now_ms=999, expiration_ms=1000)
    assert len(verifications) == 1
    verifications.expire(now_ms=1000, expiration_ms=1000)
    assert len(verifications) == 0


def test_a_marker_that_was_delayed_does_not_end_the_next_transaction() -> None:
    """KAFKA-19446: with version 2 the marker of one transaction has the epoch of the next one's records."""
    open_here = KnownProducer(5, is_in_transaction=True)
    with pytest.raises(Refused) as refused:
        refuse_late_marker(open_here, 5, transaction_version=2)
    assert refused.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH
    refuse_late_marker(open_here, 6, transaction_version=2)
    refuse_late_marker(open_here, 5, transaction_version=0)
    # A repeated one, where nothing is open, is harmless.
    refuse_late_marker(KnownProducer(5, is_in_transaction=False), 5, transaction_version=2)
    refuse_late_marker(None, 5, transaction_version=2)
