"""SIGKILL in the middle of transactions, on one broker: its coordinator and what its partitions know of producers are
rebuilt from the log, and every transaction ends as its producer said (SPEC P3)."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from strandline.testing import Broker

LIVES = 4
WAIT_S = 60.0
QUIET = {"log_level": 0, "log.connection.close": False}


def test_transactions_outlive_their_broker(mortal_broker: Broker, topic: str) -> None:
    broker = mortal_broker
    broker.create_topic(topic, 2)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            **QUIET,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": topic,
            "retry.backoff.ms": 20,
            "retry.backoff.max.ms": 100,
            "reconnect.backoff.max.ms": 100,
            **QUIET,
        }
    )
    producer.init_transactions(WAIT_S)
    for life in range(LIVES):
        producer.begin_transaction()
        for partition in range(2):
            producer.produce(topic, str(life).encode(), partition=partition)
        assert producer.flush(WAIT_S) == 0
        broker.kill()
        broker.start()
        end(producer, commits=life % 2 == 0)
    committed = [str(life).encode() for life in range(0, LIVES, 2)]
    for partition in range(2):
        consumer.assign([TopicPartition(topic, partition, 0)])
        assert [message.value() for message in consumer.consume(len(committed), WAIT_S)] == committed
    consumer.close()


def end(producer: Producer, *, commits: bool) -> None:
    """Again, as long as the producer says that it may be tried again."""
    while True:
        try:
            producer.commit_transaction(WAIT_S) if commits else producer.abort_transaction(WAIT_S)
            return
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
