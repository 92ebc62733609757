"""A real ZooKeeper server as a process: started, found again, stopped, killed; and what can go wrong with it."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.zookeeper_bench import ZooKeeperBench

from strandline.cluster.ports import HOST, PortInUse
from strandline.cluster.process import ProcessFailed
from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import find_installation


def directory_of(zookeeper: ZooKeeperEnsemble) -> str:
    return os.path.dirname(zookeeper.servers[0].directory)


def test_a_server_is_found_again_by_its_directory(zookeeper: ZooKeeperEnsemble) -> None:
    """As `cluster stop` does, in another process than the one that started it."""
    found = ZooKeeperEnsemble.find(directory_of(zookeeper), find_installation())
    (server,) = found.servers
    assert found.connect == zookeeper.connect
    assert server.process.pid == zookeeper.servers[0].process.pid
    assert server.mode() == "standalone"
    server.stop()
    assert not zookeeper.servers[0].is_running
    found.start()
    assert zookeeper.servers[0].is_running
    assert found.leader() is None


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_what_was_answered_is_there_after_a_restart(zookeeper: ZooKeeperEnsemble, ending: str) -> None:
    bench = ZooKeeperBench(zookeeper)
    for number in range(20):
        bench.result(bench.session().create(f"{bench.root}/{number:02}"))
    server = zookeeper.servers[0]
    getattr(server, ending)()
    server.start()
    server.wait_until_ready()
    bench.close()
    names = bench.result(bench.session().children(bench.root)).names
    assert names == tuple(f"{number:02}" for number in range(20))
    bench.close()


def test_a_server_that_hangs_does_not_serve(zookeeper: ZooKeeperEnsemble) -> None:
    (server,) = zookeeper.servers
    server.pause()
    try:
        assert server.mode(timeout_s=0.05) is None
        assert server.is_running
    finally:
        server.resume()
    server.wait_until_ready()


def test_a_server_that_does_not_start_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    without_jars = replace(find_installation(), jars=(str(tmp_path / "nothing.jar"),))
    ensemble = ZooKeeperEnsemble.create(str(tmp_path), without_jars, client_ports=(0, 0, 0))
    with pytest.raises(
        ProcessFailed, match=r"^zookeeper 1 has ended while it was waited for; the last line of .*QuorumPeerMain"
    ):
        ensemble.start()
    assert not any(server.is_running for server in ensemble.servers)
    ensemble.close()


def test_a_port_in_use_is_told_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"Port {port} cannot be had"):
            ZooKeeperEnsemble.create(str(tmp_path), find_installation(), client_ports=(port,))
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_a_server_is_told(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ProcessFailed, match=f"^There is no ZooKeeper in {directory}"):
            ZooKeeperEnsemble.find(str(directory), find_installation())
