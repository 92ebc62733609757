"""Producer ids (SPEC P2): blocks taken one after the other, and no id given out twice, whoever asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, ErrorCode
from strandline.transactions.producer_ids import (
    BLOCK_SIZE,
    PREFETCH_AT,
    PRODUCER_ID_MAX,
    RETRY_MS,
    Block,
    ProducerIds,
    ProducerIdsExhausted,
    init_idempotent_producer,
    next_block,
)
from strandline.transactions.replies import InitProducerIdReply


def give_block(producer_ids: ProducerIds, block: Block) -> None:
    assert producer_ids.wants_block(0)
    producer_ids.requested()
    producer_ids.received(block)


def test_blocks_follow_each_other() -> None:
    first = next_block(None)
    assert first == Block(0, 999)
    assert next_block(first) == Block(1000, 1999)
    # Kafka's own, of any size.
    assert next_block(Block(7, 7)) == Block(8, 1007)


def test_the_last_block() -> None:
    assert next_block(Block(0, PRODUCER_ID_MAX - BLOCK_SIZE)).last == PRODUCER_ID_MAX
    with pytest.raises(ProducerIdsExhausted):
        next_block(Block(0, PRODUCER_ID_MAX - BLOCK_SIZE + 1))


def test_without_a_block_clients_try_again() -> None:
    producer_ids = ProducerIds()
    assert init_idempotent_producer(producer_ids) == InitProducerIdReply(
        error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    )
    give_block(producer_ids, Block(1000, 1999))
    assert init_idempotent_producer(producer_ids) == InitProducerIdReply(producer_id=1000, producer_epoch=0)
    assert init_idempotent_producer(producer_ids) == InitProducerIdReply(producer_id=1001, producer_epoch=0)


def test_the_next_block_is_asked_for_before_the_last_id_is_gone() -> None:
    producer_ids = ProducerIds()
    give_block(producer_ids, Block(0, 999))
    claimed = [producer_ids.claim() for _ in range(BLOCK_SIZE - PREFETCH_AT)]
    assert claimed == list(range(BLOCK_SIZE - PREFETCH_AT))
    assert producer_ids.wants_block(0)
    give_block(producer_ids, Block(5000, 5999))
    assert not producer_ids.wants_block(0)
    assert [producer_ids.claim() for _ in range(PREFETCH_AT + 1)] == [*range(900, 1000), 5000]


def test_one_request_at_a_time_and_again_after_a_while() -> None:
    producer_ids = ProducerIds()
    producer_ids.requested()
    assert not producer_ids.wants_block(0)
    producer_ids.failed(now_ms=10)
    assert not producer_ids.wants_block(10 + RETRY_MS - 1)
    assert producer_ids.wants_block(10 + RETRY_MS)
    assert producer_ids.claim() is None


@pytest.mark.parametrize("block", [Block(0, 999), Block(999, 1998), Block(2000, 1999)])
def test_a_block_that_would_give_an_id_twice_is_our_own_mistake(block: Block) -> None:
    producer_ids = ProducerIds()
    give_block(producer_ids, Block(0, 999))
    for _ in range(BLOCK_SIZE):
        producer_ids.claim()
    producer_ids.requested()
    with pytest.raises(BrokenInvariant):
        producer_ids.received(block)


@given(st.lists(st.sampled_from(["claim", "claim", "claim", "take", "lose", "fail"]), max_size=200), st.integers(1, 3))
def test_no_id_is_given_out_twice(steps: list[str], brokers: int) -> None:
    """Several brokers and one znode; a write whose answer got lost is simply not used."""
    latest: Block | None = None
    all_ids = [ProducerIds() for _ in range(brokers)]
    given_out: list[int] = []
    for number, step in enumerate(steps):
        producer_ids = all_ids[number % brokers]
        if step == "claim":
            given_out += [found for found in (producer_ids.claim() for _ in range(400)) if found is not None]
        elif producer_ids.wants_block(number * RETRY_MS):
            producer_ids.requested()
            if step == "fail":
                producer_ids.failed(number * RETRY_MS)
            else:
                latest = next_block(latest)
                if step == "lose":
                    latest = next_block(latest)
                producer_ids.received(latest)
    assert len(given_out) == len(set(given_out))
