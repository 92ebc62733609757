"""How many topics are removed in one write (SPEC T3)."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.controller.shell import Shell

from strandline.controller import draft
from strandline.controller.requests import CreateTopicRequest, DeleteTopicRequest

TOPICS = ("a", "b", "c")
NODES_OF_ONE = 6  # with one partition


@pytest.mark.parametrize(
    ("nodes_max", "expected"),
    [
        (3 * NODES_OF_ONE, ["remove topic a; remove topic b; remove topic c"]),
        (3 * NODES_OF_ONE - 1, ["remove topic a; remove topic b", "remove topic c"]),
        (1, ["remove topic a", "remove topic b", "remove topic c"]),  # one goes whatever its size
    ],
)
def test_as_many_as_a_multi_may_carry(monkeypatch: pytest.MonkeyPatch, nodes_max: int, expected: list[str]) -> None:
    monkeypatch.setattr(draft, "NODES_REMOVED_PER_WRITE_MAX", nodes_max)
    shell = Shell()
    shell.brokers(1)
    shell.take_over()
    for number, topic in enumerate(TOPICS):
        shell.step(CreateTopicRequest(request=number, topic=topic, topic_id=UUID(int=number + 1), placement={0: (1,)}))
    shell.step(*(DeleteTopicRequest(request=10 + number, topic=topic) for number, topic in enumerate(TOPICS)))
    shell.lines = []
    shell.answer_stops(1)
    written = [line.split(" ", 2)[2] for line in shell.lines if line.startswith("write #")]
    assert written == expected
    assert not shell.store.topics
