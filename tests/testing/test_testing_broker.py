"""`strandline.testing.Broker`: what a person's first test of their own code against us does with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.broker.kafka_peer import KafkaPeer

from strandline.testing import Broker, BrokerFailed
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

both_kinds = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
WAIT_S = 10.0


def is_answering(broker: Broker) -> bool:
    with KafkaPeer(("127.0.0.1", broker.port)) as peer:
        return peer.ask_api_versions(3).error_code == 0


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@both_kinds
def test_in_a_with_statement_it_can_be_used_at_once_and_leaves_nothing_behind(process: bool) -> None:
    with Broker(process=process) as broker:
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        assert is_answering(broker)
        assert os.path.isdir(broker.data)
    assert not os.path.exists(os.path.dirname(broker.data))
    with pytest.raises(OSError, match="refused"):
        KafkaPeer(("127.0.0.1", broker.port))


@both_kinds
def test_a_restart_keeps_port_and_data(process: bool) -> None:
    with Broker(process=process) as broker:
        port = broker.port
        (Path(broker.data) / "mine.txt").write_text("still here")
        broker.restart()
        assert broker.port == port
        assert (Path(broker.data) / "mine.txt").read_text() == "still here"
        assert is_answering(broker)


def test_data_that_was_given_is_kept(tmp_path: Path) -> None:
    with Broker(data=tmp_path / "kept") as broker:
        assert broker.data == str(tmp_path / "kept")
    assert (tmp_path / "kept" / "meta.properties").exists()


@both_kinds
def test_settings_go_by_kafkas_names_or_as_keywords(process: bool) -> None:
    with Broker({"num.partitions": 3, "broker.id": "7"}, process=process, auto_create_topics_enable=True) as broker:
        assert metadata_of(broker, "orders") == (7, 3)
    keywords: dict[str, Any] = {"num.partitions": 2}
    with Broker(process=process, **keywords) as broker:
        assert metadata_of(broker, "orders") == (1, 2)


def metadata_of(broker: Broker, topic: str) -> tuple[int, int]:
    """The broker's id, and how many partitions the topic has that this question creates."""
    with KafkaPeer(("127.0.0.1", broker.port)) as peer:
        response = peer.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 1, MetadataResponse)
    return response.brokers[0].node_id, len(response.topics[0].partitions)


@both_kinds
def test_topics_with_partitions_and_settings(process: bool) -> None:
    with Broker(process=process) as broker:
        assert broker.create_topic("orders", partitions=3, settings={"retention.ms": 1000}) == "orders"
        assert metadata_of(broker, "orders") == (1, 3)
        with pytest.raises(BrokerFailed, match="cannot create topic 'orders': TOPIC_ALREADY_EXISTS: "):
            broker.create_topic("orders")
        with pytest.raises(BrokerFailed, match="cannot create topic 'a/b': INVALID_TOPIC_EXCEPTION: "):
            broker.create_topic("a/b")
    with pytest.raises(BrokerFailed, match="cannot create topic 'late'"):
        broker.create_topic("late")


@both_kinds
def test_what_keeps_it_from_starting_is_said_in_a_sentence(process: bool, tmp_path: Path) -> None:
    with pytest.raises(BrokerFailed, match=r"did not start: num.partitions='many': expected a whole number"):
        Broker(process=process, num_partitions="many").start()
    with (
        Broker(data=tmp_path),
        pytest.raises(BrokerFailed, match="in use by another process"),
    ):
        Broker(process=process, data=tmp_path).start()
    with Broker() as first:
        told = rf"did not start: port {first.port} is in use; end whoever listens there, choose another port, or leave"
        with pytest.raises(BrokerFailed, match=told):
            Broker(process=process, port=first.port).start()


def test_an_argument_that_means_nothing_is_refused_and_not_ignored() -> None:
    with pytest.raises(TypeError, match="no argument 'proces'"):
        Broker(proces=True)
    with pytest.raises(TypeError, match=r"num.partitions=None: a setting is text"):
        Broker({"num.partitions": None})


@both_kinds
def test_a_setting_that_nobody_knows_is_a_slip(process: bool) -> None:
    told = "num.partitoins is no setting of a broker; did you mean num.partitions"
    with pytest.raises(BrokerFailed, match=told):
        Broker(process=process, num_partitoins=3).start()
    with Broker({"num.network.threads": 3, "ssl.protocol": "TLSv1.3"}, process=process) as broker:
        assert broker.is_running, "what Kafka knows passes, though it has no effect"


def test_only_a_process_can_be_killed() -> None:
    with Broker() as broker, pytest.raises(BrokerFailed, match="process=True"):
        broker.kill()


def test_after_a_kill_it_starts_on_the_same_data_and_port() -> None:
    with Broker(process=True) as broker:
        port = broker.port
        broker.kill()
        assert not broker.is_running
        broker.start()
        assert broker.port == port
        assert is_answering(broker)


def test_a_broker_that_ended_by_itself_is_told_at_its_stop() -> None:
    with pytest.raises(BrokerFailed, match="ended with -9 instead of a clean stop"), Broker(process=True) as broker:
        os.kill(broker.pid, signal.SIGKILL)


def test_it_is_started_once_and_has_an_address_only_then() -> None:
    broker = Broker()
    with pytest.raises(BrokerFailed, match="has not been started"):
        _ = broker.bootstrap
    with broker, pytest.raises(BrokerFailed, match="runs already"):
        broker.start()
    with pytest.raises(BrokerFailed, match="is closed"):
        broker.start()


def test_as_an_async_context_manager() -> None:
    async def use() -> None:
        async with Broker() as broker:
            assert await asyncio.to_thread(is_answering, broker)

    asyncio.run(use())


def test_a_broker_process_ends_with_the_test_run_that_started_it() -> None:
    script = """
import os, signal, strandline.testing
print(strandline.testing.Broker(process=True).start().pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=False)
    pid = int(run.stdout)
    wait_until(lambda: has_ended(pid))


def has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"  # nobody waits for it here
