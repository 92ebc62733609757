"""Settings as a test writes them, in the form that a broker reads.

{"num.partitions": 3, "auto.create.topics.enable": False}      by Kafka's names
num_partitions=3                                               as a keyword: dots become underscores
"""

from __future__ import annotations

from collections.abc import Mapping

EARLY = "strandline.internal.topics.early"
JOURNAL_ENABLE, JOURNAL = "strandline.journal.enable", "__strandline_journal"
INTERNAL_TOPICS = {
    JOURNAL: "strandline.journal.replication.factor",
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
}
# The same for a cluster: what has to be waited for comes sooner.
FOR_CLUSTERS = {
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.backoff.ms": "100",
    EARLY: "true",  # a test may kill a broker before its first group
}
# What makes a test quicker and changes nothing that a test can see. Given settings win.
FOR_TESTS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


def gather_properties(settings: Mapping[str, object], keywords: Mapping[str, object]) -> dict[str, str]:
    """For a broker."""
    by_keyword = {_kafka_name(name): value for name, value in keywords.items()}
    return FOR_TESTS | text_properties(settings) | text_properties(by_keyword)


def gather_cluster_properties(
    settings: Mapping[str, object], keywords: Mapping[str, object], broker_count: int
) -> dict[str, str]:
    """For every broker of a cluster; as many replicas of everything as a cluster of this size would have."""
    factor = str(min(3, broker_count))
    factors = {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "strandline.journal.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": "2" if broker_count >= 3 else "1",
    }
    return FOR_CLUSTERS | factors | gather_properties(settings, keywords)


def internal_topics(properties: Mapping[str, str], broker_count: int) -> list[str]:
    """Those that a cluster makes by itself, as there are brokers enough."""
    topics = set(INTERNAL_TOPICS) if properties[EARLY] == "true" else {JOURNAL}
    if properties.get(JOURNAL_ENABLE) == "false":
        topics.remove(JOURNAL)
    return [topic for topic in topics if int(properties[INTERNAL_TOPICS[topic]]) <= broker_count]


def text_properties(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(name, value) for name, value in settings.items()}


def _kafka_name(keyword: str) -> str:
    name = keyword.replace("_", ".")
    if "." not in name:
        raise TypeError(f"Broker() has no argument {keyword!r}, and no setting of Kafka has that name")
    return name


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(_text(name, item) for item in value)
    raise TypeError(f"{name}={value!r}: a setting is text, a number, a boolean or a list of these")
