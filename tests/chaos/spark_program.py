"""What the Spark of a run does: a topic into another, exactly once, for as long as it lives.

    python -m tests.chaos.spark_program BOOTSTRAP SOURCE TARGET DIRECTORY

A record's key in the target is where it stood in the source, `partition:offset`; its headers, with the recorder's mark,
go along. The driver is small, and a task is tried four times, as on a cluster of Spark's. When the query ends, so does
the program, with the reason as its last line: whoever started it starts it again.
"""

from __future__ import annotations

import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.chaos.spark_client import TRANSACTION_TIMEOUT_MS

from strandline.pipeline.spark_errors import sentence_of

MASTER = "local[2,4]"
DRIVER_MEMORY = "1g"
BATCH_OFFSETS_MAX = 20_000
SETTINGS = {
    "spark.driver.memory": DRIVER_MEMORY,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def main(bootstrap: str, source: str, target: str, directory: str) -> None:
    builder = SparkSession.builder.master(MASTER).appName("chaos")
    for name, value in (SETTINGS | {"spark.sql.warehouse.dir": f"{directory}/warehouse"}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    brokers = {"kafka.bootstrap.servers": bootstrap}
    rows = session.readStream.format("strandline").options(**brokers, subscribe=source, startingOffsets="earliest")
    rows = rows.options(maxOffsetsPerTrigger=str(BATCH_OFFSETS_MAX), includeHeaders="true")
    found = rows.option("kafka.isolation.level", "read_committed").load()
    copied = found.selectExpr("concat(partition, ':', offset) AS key", "value", "headers").writeStream
    sink = copied.format("strandline").options(**brokers, topic=target, delivery="exactly-once")
    sink = sink.option("kafka.transaction.timeout.ms", str(TRANSACTION_TIMEOUT_MS))
    sink = sink.option("checkpointLocation", f"{directory}/query").trigger(processingTime="1 second")
    sink.start().awaitTermination()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PySparkException as failure:
        sys.exit(sentence_of(failure))
