"""States and their order, as Kafka has them."""

from __future__ import annotations

import pytest

from strandline.model.failures import BrokenInvariant
from strandline.transactions.states import BY_TITLE, MAY_BECOME, TransactionState, check_transition

# Kafka's TransactionState (4.x): name, number, the states it may come from, whether its id may expire.
KAFKAS = {
    "Empty": (0, {"Empty", "CompleteCommit", "CompleteAbort"}, True),
    "Ongoing": (1, {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"}, False),
    "PrepareCommit": (2, {"Ongoing"}, False),
    "PrepareAbort": (3, {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"}, False),
    "CompleteCommit": (4, {"PrepareCommit"}, True),
    "CompleteAbort": (5, {"PrepareAbort"}, True),
    "Dead": (6, {"Empty", "CompleteAbort", "CompleteCommit"}, False),
    "PrepareEpochFence": (7, {"Ongoing"}, False),
}


@pytest.mark.parametrize("title", KAFKAS)
def test_a_state_is_kafkas(title: str) -> None:
    number, previous, may_expire = KAFKAS[title]
    state = BY_TITLE[title]
    assert state == number
    assert state.may_expire is may_expire
    assert {before.title for before in TransactionState if state in MAY_BECOME[before]} == previous


def test_no_other_way() -> None:
    with pytest.raises(BrokenInvariant, match="pay cannot go from PrepareCommit to PrepareAbort"):
        check_transition("pay", TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
