"""A broker as a process: how it starts, stops, is killed, and what the next one finds (SPEC L7, L8, L10, M2)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.broker.kafka_peer import WAIT_S
from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.model.failures import ErrorCode
from strandline.program import COMMAND
from strandline.testing import Broker, BrokerFailed
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from strandline.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
MARKER = ".kafka_cleanshutdown"
LATEST = -1


def peer_of(broker: Broker) -> BrokerPeer:
    return BrokerPeer(("127.0.0.1", broker.port))


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def topics_of(peer: BrokerPeer) -> dict[str, list[int]]:
    """The partitions that have a leader, by topic."""
    response = peer.ask(MetadataRequest(None), 12, MetadataResponse)
    return {
        str(topic.name): [each.partition_index for each in topic.partitions if each.leader_id >= 0]
        for topic in response.topics
    }


def end_offsets(peer: BrokerPeer, topics: list[str], timestamp: int = LATEST) -> dict[str, int]:
    """Of the first partition of each."""
    request = ListOffsetsRequest(
        -1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, timestamp)]) for topic in topics]
    )
    response = peer.ask(request, 5, ListOffsetsResponse)
    return {topic.name: topic.partitions[0].offset for topic in response.topics}


# Stopping.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_clean_stop(number: signal.Signals, tmp_path: Path) -> None:
    with Broker(process=True, data=tmp_path) as broker:
        with peer_of(broker) as peer:
            peer.create_topic("orders")
            peer.produce("orders", batch_of(b"one", b"two"), acks=-1)
        assert not (tmp_path / MARKER).exists()
        os.kill(broker.pid, number)
        broker.stop()  # which waits for it, and complains about any other end
    assert (tmp_path / MARKER).exists()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"
    with RunningBroker(str(tmp_path)) as running:
        (directory,) = running.broker.directories.directories
        assert directory.was_clean
        assert directory.findings == []
        assert not (tmp_path / MARKER).exists()


def test_after_a_kill_there_is_no_mark_and_what_was_acknowledged_is_there(tmp_path: Path) -> None:
    with Broker(process=True, data=tmp_path) as broker:
        with peer_of(broker) as peer:
            peer.create_topic("orders")
            peer.produce("orders", batch_of(b"one", b"two"), acks=-1)
            broker.kill()
        assert not (tmp_path / MARKER).exists()
        broker.start()
        with peer_of(broker) as peer:
            assert end_offsets(peer, ["orders"]) == {"orders": 2}


def test_the_second_broker_on_a_directory_says_so_in_one_sentence(tmp_path: Path) -> None:
    with Broker(process=True, data=tmp_path):
        second = subprocess.run(
            [*COMMAND, "serve", "--data", str(tmp_path), "--port", "0"], capture_output=True, text=True, check=False
        )
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr == (
        f"strandline: {tmp_path} is in use by another process; stop it, or choose another directory\n"
    )


def test_serve_says_that_it_has_stopped_and_refuses_a_slip(tmp_path: Path) -> None:
    options = ["serve", "--data", str(tmp_path / "data"), "--port", "0"]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("strandline is ready at ")
        process.terminate()
        assert process.stdout.read() == "strandline has stopped; the data is on the disk.\n"
    slip = subprocess.run([*COMMAND, *options, "--set", "foo=bar"], capture_output=True, text=True, check=False)
    assert (slip.returncode, slip.stderr) == (1, "strandline: foo is no setting of a broker\n")
    properties = tmp_path / "server.properties"
    properties.write_text("foo=bar\n")
    command = [*COMMAND, *options, "-c", str(properties)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("strandline is ready at "), "a file may say more than we know"
        process.terminate()
        assert "settings that have no effect here: foo" in process.stderr.read()


# Coming back.


def commit(peer: BrokerPeer, group: str, topic: str, offset: int) -> int:
    """By a consumer that is no member; its error code."""
    partition = OffsetCommitRequestPartition(0, offset, committed_metadata=group)
    request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions=[partition])])
    return peer.ask(request, 8, OffsetCommitResponse).topics[0].partitions[0].error_code


def committed(peer: BrokerPeer, group: str, topic: str) -> tuple[int, str | None]:
    request = OffsetFetchRequest(group, [OffsetFetchRequestTopic(topic, [0])])
    found = peer.ask(request, 5, OffsetFetchResponse).topics[0].partitions[0]
    return found.committed_offset, found.metadata


def wait_for_coordinator(peer: BrokerPeer) -> None:
    def is_ready() -> bool:
        return peer.ask(FindCoordinatorRequest("any"), 2, FindCoordinatorResponse).error_code == 0

    wait_until(is_ready)


def test_a_thousand_topics_and_their_groups_come_back(tmp_path: Path) -> None:
    names = [f"topic-{number:04d}" for number in range(1_000)]
    groups = {f"group-{number}": (names[number * 10], number) for number in range(100)}
    with Broker(process=True, data=tmp_path) as broker:
        with peer_of(broker) as peer:
            peer.socket.settimeout(60)  # a thousand topics in one question
            request = MetadataRequest([MetadataRequestTopic(name=name) for name in names])
            created = peer.ask(request, 12, MetadataResponse).topics
            assert {topic.error_code for topic in created} == {0}
            for name in names[::10]:
                peer.produce(name, batch_of(name.encode(), b"again"))
            wait_for_coordinator(peer)
            assert {commit(peer, group, topic, offset) for group, (topic, offset) in groups.items()} == {0}
        broker.restart()
        with peer_of(broker) as peer:
            again = peer.ask(MetadataRequest(None), 12, MetadataResponse).topics
            assert {(each.name, each.topic_id) for each in created} == {
                (each.name, each.topic_id) for each in again if not each.is_internal
            }
            assert {each.partitions[0].leader_id for each in again} == {1}
            assert end_offsets(peer, names) == {name: 2 if name in names[::10] else 0 for name in names}
            wait_for_coordinator(peer)
            found = {group: committed(peer, group, topic) for group, (topic, _) in groups.items()}
            assert found == {group: (offset, group) for group, (_, offset) in groups.items()}
            listed = peer.ask(ListGroupsRequest(), 4, ListGroupsResponse).groups
            assert {each.group_id for each in listed} == set(groups)


@pytest.mark.parametrize("version", ["kraft-3.9", "kraft-4.3", "killed-4.3"])
def test_the_data_of_an_apache_kafka_is_adopted(version: str, tmp_path: Path) -> None:
    """Topics with their ids and records; nothing is deleted, for their settings are not known."""
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / version, data)
    folders = sorted(path.name for path in data.iterdir() if path.is_dir())
    topics = [name.rpartition("-")[0] for name in folders]
    segments = {path.name for path in data.glob("*/*.log")}
    settings = {"log.retention.check.interval.ms": 10, "log.initial.task.delay.ms": 1}
    with Broker(settings, process=True, data=data) as broker:
        with peer_of(broker) as peer:
            assert topics_of(peer) == {topic: [0] for topic in topics}
            ends = end_offsets(peer, topics)
            assert all(end > 0 for end in ends.values())
            (result,) = peer.produce(topics[0], batch_of(b"ours"), acks=-1)
            assert (result.error_code, result.base_offset) == (0, ends[topics[0]])
        assert f"adopted topic {topics[0]} with 1 partitions; nothing of it is deleted" in broker.said()
        broker.restart()
        assert "adopted" not in broker.said()
        with peer_of(broker) as peer:
            assert end_offsets(peer, topics) == ends | {topics[0]: ends[topics[0]] + 1}
    assert {path.name for path in data.glob("*/*.log")} >= segments
    assert "cluster.id=c3RyYW5kbGluZS1nb2xkZQ" in (data / "meta.properties").read_text()
    epochs = [line.split() for line in (data / folders[0] / "leader-epoch-checkpoint").read_text().splitlines()[2:]]
    assert [int(epoch) for epoch, _ in epochs] == sorted({int(epoch) for epoch, _ in epochs})
    assert epochs[-1][1] == str(ends[topics[0]]), "our records have an epoch of their own"


def test_a_directory_of_another_broker_is_not_touched(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / "kraft-3.9", data)
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    run = subprocess.run(
        [*COMMAND, "serve", "--data", str(data), "--port", "0", "--set", "broker.id=9"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert run.stderr == (
        f"strandline: {data} is the data of broker 1, and this is broker 9:"
        " set broker.id=1, or choose another directory\n"
    )
    after = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert after == before


# Failing disks.


def test_a_directory_that_goes_takes_its_partitions_with_it_and_the_last_one_the_broker(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    settings = {"log.dirs": f"{one},{two}", "replica.high.watermark.checkpoint.interval.ms": 20}
    broker = Broker(settings, process=True).start()
    with peer_of(broker) as peer:
        for topic in ("first", "second"):
            peer.create_topic(topic)
        assert (one / "first-0").exists()
        assert (two / "second-0").exists()
        two.rename(tmp_path / "gone two")
        peer.produce("second", batch_of(b"x"))  # a high watermark to be written, into a folder that is gone
        wait_until(lambda: f"{two} has failed" in broker.said())
        assert peer.produce("second", batch_of(b"x"))[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert peer.produce("first", batch_of(b"x"))[0].error_code == 0
        request = MetadataRequest([MetadataRequestTopic(name="second")])
        (second,) = peer.ask(request, 12, MetadataResponse).topics
        assert second.partitions[0].offline_replicas == [1]
        assert broker.said().count(f"{two} has failed") == 1
        one.rename(tmp_path / "gone one")
        with suppress(EOFError, ConnectionError):  # it may be gone before it answers
            peer.produce("first", batch_of(b"x"))
    wait_until(lambda: not broker.is_running)
    assert "strandline: every data directory has failed" in broker.said()
    with pytest.raises(BrokerFailed, match="ended with 1 instead of a clean stop"):
        broker.close()


def test_a_partition_on_a_directory_that_is_away_is_not_made_anew(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    settings = {"log.dirs": f"{one},{two}"}
    with Broker(settings, process=True) as broker:
        with peer_of(broker) as peer:
            for topic in ("first", "second"):
                peer.create_topic(topic)
                peer.produce(topic, batch_of(b"kept"))
        broker.stop()
        two.rename(tmp_path / "away")
        two.write_text("not a folder")
        broker.start()
        assert f"{two} cannot be used" in broker.said()
        with peer_of(broker) as peer:
            assert topics_of(peer) == {"first": [0], "second": []}
        broker.stop()
        two.unlink()
        (tmp_path / "away").rename(two)
        broker.start()
        with peer_of(broker) as peer:
            assert end_offsets(peer, ["first", "second"]) == {"first": 1, "second": 1}
