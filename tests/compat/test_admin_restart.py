"""A broker process with a thousand topics, each with settings of its own: stopped, killed, and everything is back."""

from __future__ import annotations

from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from strandline.testing import Broker

WAIT_S = 120.0
TOPICS = 1000
NAMES = [f"topic-{number:04}" for number in range(TOPICS)]


def admin_of(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def ids_of(admin: AdminClient) -> dict[str, str]:
    described: Any = admin.describe_topics(TopicCollection(NAMES), request_timeout=WAIT_S)
    return {name: str(future.result(WAIT_S).topic_id) for name, future in described.items()}


def retention_of(admin: AdminClient, names: list[str]) -> list[str]:
    found = []
    for name in names:
        (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]).values()
        found.append(future.result(WAIT_S)["retention.ms"].value)
    return found


def test_a_thousand_topics_are_back() -> None:
    sample = [NAMES[0], NAMES[499], NAMES[-1]]
    with Broker(process=True) as broker:
        admin = admin_of(broker)
        new = [NewTopic(name, 1, 1, config={"retention.ms": str(10**6 + n)}) for n, name in enumerate(NAMES)]
        created = admin.create_topics(new, request_timeout=WAIT_S, operation_timeout=WAIT_S)
        assert {future.result(WAIT_S) for future in created.values()} == {None}
        ids = ids_of(admin)
        assert len(set(ids.values())) == TOPICS
        for begin_again in (broker.restart, broker.kill):
            begin_again()
            if not broker.is_running:
                broker.start()
            again = admin_of(broker)
            assert ids_of(again) == ids
            assert retention_of(again, sample) == ["1000000", "1000499", "1000999"]
        admin = admin_of(broker)
        deleted = admin.delete_topics(NAMES, request_timeout=WAIT_S, operation_timeout=WAIT_S)
        assert {future.result(WAIT_S) for future in deleted.values()} == {None}
        broker.restart()
        assert admin_of(broker).list_topics(timeout=WAIT_S).topics == {}
