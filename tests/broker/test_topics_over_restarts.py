"""Topics over restarts, crashes and failing directories: the store has the last word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer, topic
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.metadata import paths
from strandline.model.failures import ErrorCode
from strandline.wire.messages.create_topics import CreateTopicsRequest


def test_many_topics_with_their_settings_are_back(tmp_path: Path) -> None:
    """Of a broker process with a thousand of them: tests/compat/test_admin_restart.py."""
    names = [f"topic-{number:03}" for number in range(200)]
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        results = peer.create(
            *(topic(name, 1, 1, configs={"retention.ms": str(10**6 + n)}) for n, name in enumerate(names))
        )
        assert {result.error_code for result in results} == {0}
        ids = {result.name: result.topic_id for result in results}
        peer.fill("topic-050", b"kept")
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        assert {found.name: found.topic_id for found in peer.metadata(*names).topics} == ids
        assert peer.setting("retention.ms", "topic-199").value == "1000199"
        assert peer.produce("topic-050", batch_of(b"next"))[0].base_offset == 1
        gone = peer.delete(*names)
        assert {result.error_code for result in gone} == {0}
    with RunningBroker(str(tmp_path)) as broker:
        assert broker.call(lambda: len(broker.broker.image.topics)) == 0
    assert not [path for path in tmp_path.iterdir() if path.is_dir()], "what was deleted is gone at the next start"


def test_a_stop_waits_for_topics_that_are_being_created(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        peer.tell(CreateTopicsRequest([topic(f"topic-{number}", 3, 1) for number in range(100)], 5_000), 7)
        broker.wait_until(lambda: not broker.store.is_idle)
    assert [record.getMessage() for record in caplog.records] == []
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        assert len(peer.metadata(*(f"topic-{number}" for number in range(100))).topics) == 100
        assert peer.partition_count("topic-99") == 3


def test_a_restarted_broker_leads_in_a_new_epoch(tmp_path: Path) -> None:
    """What it lost and what it writes in its place must not look the same to whoever copied it (KAFKA-7235)."""
    for life in range(3):
        with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
            if life == 0:
                peer.create_one("orders", 2)
            assert {each.leader_epoch for each in peer.metadata("orders").topics[0].partitions} == {life}
            assert peer.produce("orders", batch_of(b"more"))[0].base_offset == life
    epochs = (tmp_path / "orders-0" / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    assert epochs == ["0 0", "1 1", "2 2"]


def test_a_deletion_that_a_crash_interrupted_is_finished(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders", 2)
        peer.create_one("views")
        broker.call(lambda: broker.broker.session.create(paths.delete_topic_path("orders")))
        broker.wait_until(lambda: broker.store.is_idle)
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        orders, views = peer.metadata("orders", "views").topics
        assert (orders.error_code, views.error_code) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
        peer.create_one("orders")


def test_a_topic_without_its_folders_gets_them(tmp_path: Path) -> None:
    """A crash between the write that decides and the folders."""
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        topic_id = peer.create_one("orders", 2)
    shutil.rmtree(tmp_path / "orders-1")
    (tmp_path / "orders-0" / "partition.metadata").unlink()
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        peer.fill("orders", b"0")
        assert broker.call(lambda: set(broker.broker.directories.directories[0].topic_ids.values())) != set()
        assert peer.metadata("orders").topics[0].topic_id == topic_id
    assert (tmp_path / "orders-0" / "partition.metadata").exists()
    assert (tmp_path / "orders-1").is_dir()


def test_a_directory_that_was_away_does_not_bring_a_deleted_topic_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its folder is set aside, as Kafka does, and a topic of the same name begins with nothing."""
    data = str(tmp_path / "data")
    with RunningBroker(data) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders")
        peer.fill("orders", b"of the first life")
    shutil.copytree(tmp_path / "data" / "orders-0", tmp_path / "away")
    with RunningBroker(data) as broker, AdminPeer.of(broker) as peer:
        peer.delete("orders")
    shutil.copytree(tmp_path / "away", tmp_path / "data" / "orders-0")
    caplog.clear()
    with RunningBroker(data) as broker, AdminPeer.of(broker) as peer:
        assert peer.metadata("orders").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        peer.create_one("orders")
        assert peer.produce("orders", batch_of(b"of the second"))[0].base_offset == 0
    assert any("set aside" in record.getMessage() for record in caplog.records)
    (stray,) = (tmp_path / "data").glob("orders-0.*-stray")
    assert b"of the first life" in (stray / f"{0:020}.log").read_bytes()
    shutil.rmtree(tmp_path / "data" / "orders-0")
    shutil.copytree(tmp_path / "away", tmp_path / "data" / "orders-0")
    with RunningBroker(data) as broker, AdminPeer.of(broker) as peer:
        assert peer.produce("orders", batch_of(b"again"))[0].base_offset == 0, "another id is another topic"


def test_a_new_partition_has_a_place_while_one_directory_is_away(tmp_path: Path) -> None:
    """What lies in the directory that failed is offline, and is not begun anew elsewhere."""
    both = f"{tmp_path / 'one'},{tmp_path / 'two'}"
    with RunningBroker(both) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders", 2)
        away = broker.call(lambda: list(broker.broker.directories.directories[1].logs))
    assert len(away) == 1
    shutil.rmtree(tmp_path / "two")
    (tmp_path / "two").write_bytes(b"a file where a directory should be")
    with RunningBroker(both) as broker, AdminPeer.of(broker) as peer:
        found = {each.partition_index: each.leader_id for each in peer.metadata("orders").topics[0].partitions}
        assert found == {index: -1 if away[0].partition == index else 1 for index in range(2)}
        peer.create_one("views", 2)
        assert {each.leader_id for each in peer.metadata("views").topics[0].partitions} == {1}
    assert not (tmp_path / "one" / str(away[0])).exists()
