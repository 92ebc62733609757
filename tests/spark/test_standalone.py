"""A real cluster of Spark's: a master and a worker on the loopback, whose executors have nothing but our code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.spark.our_side import OurSide, numbered
from tests.spark.standalone import StandaloneSpark, environment

from strandline.testing import Broker

PROGRAM = Path(__file__).with_name("standalone_program.py")
WAIT_S = 180


def test_executors_elsewhere_need_only_our_code(tmp_path: Path) -> None:
    with Broker() as broker, StandaloneSpark(tmp_path) as spark:
        ours = OurSide(broker)
        source, sink = broker.create_topic("in", 2), broker.create_topic("out", 2)
        ours.write(source, numbered(range(300)) + numbered(range(300, 600), partition=1))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), spark.master, broker.bootstrap, source, sink, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            env=environment(),
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        assert said["rows"] == 600
        assert said["driver"] not in said["workers"]
        values = sorted(each.value or b"" for each in ours.read(sink, partitions=2, is_committed=True))
        assert values == sorted(b"value %d" % number for number in range(600))
