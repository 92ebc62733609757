"""Who looks after Spark in a run: a driver that ends is started again, and each end is counted. No Spark is needed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from tests.chaos.sight import Waited
from tests.chaos.spark_client import KillSpark, SparkClient

from strandline.model.partitions import TopicPartition

WAIT_S = 30.0
# Its first life ends with an error, each later one does a batch that ends at 10 more than the last, and waits.
DRIVER = """
import os, sys, time

directory = sys.argv[4]
lives = len([name for name in os.listdir(directory) if name.startswith("driver-")])
if lives == 1:
    sys.exit("no broker at 10.77.1.1:9092")
batch = lives - 2
for name in ("offsets", "commits"):
    os.makedirs(f"{directory}/query/{name}", exist_ok=True)
    with open(f"{directory}/query/{name}/{batch}.new", "w") as file:
        file.write('v1\\n{"batchTimestampMs": 1}\\n{"orders": {"0": %d}}' % (10 * batch + 10))
    os.replace(f"{directory}/query/{name}/{batch}.new", f"{directory}/query/{name}/{batch}")
time.sleep(600)
"""


@pytest.fixture
def client(tmp_path: Path) -> SparkClient:
    return SparkClient(str(tmp_path), "127.0.0.1:1", "orders", 1, (sys.executable, "-c", DRIVER))


def test_a_driver_that_ends_is_started_again_and_counted(client: SparkClient) -> None:
    client.start()
    try:
        assert (client.fell, client.kills, client.batches) == (["no broker at 10.77.1.1:9092"], 0, 1)
        client.wait_for({TopicPartition("orders", 0): 10, TopicPartition("others", 0): 99})
        kill = KillSpark(client)
        assert kill.felt() == 0
        client.kill()
        deadline = time.monotonic() + WAIT_S
        while client.batches < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert (kill.felt(), len(client.fell)) == (1, 1), "a kill is not counted as an end of its own"
        client.wait_for({TopicPartition("orders", 0): 20})
    finally:
        client.stop()
    assert client.batches == 2


def test_a_spark_that_never_gets_to_work_is_told_of(client: SparkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.chaos.spark_client.START_TIMEOUT_S", 0.0)
    try:
        with pytest.raises(Waited, match=r"Spark's first batch did not come true within 0 s, after 0 batches"):
            client.start()
    finally:
        client.stop()
