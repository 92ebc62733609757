"""What a user would submit to a cluster: a topic into another, exactly once, by executors elsewhere.

python standalone_program.py MASTER BOOTSTRAP FROM TO DIRECTORY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.standalone import settings

WAIT_S = 120


def main(master: str, bootstrap: str, source: str, sink: str, directory: str) -> None:
    builder = SparkSession.builder.master(master).appName("standalone")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    for name, value in (settings(Path(directory)) | quiet).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    brokers = {"kafka.bootstrap.servers": bootstrap}
    rows = session.readStream.format("strandline").options(**brokers, subscribe=source, startingOffsets="earliest")
    copied = rows.load().select("key", "value").writeStream.format("strandline")
    copied = copied.options(**brokers, topic=sink, delivery="exactly-once")
    query = copied.option("checkpointLocation", f"{directory}/checkpoint").trigger(availableNow=True).start()
    assert query.awaitTermination(WAIT_S), "it did not end"
    written = session.read.format("strandline").options(**brokers, subscribe=sink)
    written = written.option("kafka.isolation.level", "read_committed").load()
    places = session.sparkContext.parallelize(range(4), 4).map(lambda _: Path("/proc/self").resolve().name).collect()
    print(json.dumps({"rows": written.count(), "workers": places, "driver": Path("/proc/self").resolve().name}))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
