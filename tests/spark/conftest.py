"""One Spark for all its tests: it takes ten seconds to come up, and half a gigabyte.

With pytest-xdist every test that uses it goes to the same worker (`--dist loadgroup`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
# Hadoop's other way of writing checkpoints forks a process for each file.
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
            # PySpark leaves its sockets to the collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture
def spark(spark_session: Any) -> Any:
    """The session, active in the JVM's thread that serves ours. `writeStream.start` looks for a source written in
    Python in the active session alone, and a connection that was broken off comes back to a thread that has none."""
    spark_session.createDataFrame([], "nothing int")
    return spark_session


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores of this machine, whose workers are this Python with this checkout."""
    from pyspark.sql import SparkSession

    from strandline.spark.data_source import StrandlineDataSource
    from strandline.spark.segments_source import SegmentsSource

    ways = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", f"{SOURCE}{os.pathsep}{ways}" if ways else SOURCE)
        builder = SparkSession.builder.master("local[2]").appName("strandline tests")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        # Spark finds them by itself, as in all programs that these tests start; this is for a lookup that fails once.
        for source in (StrandlineDataSource, SegmentsSource):
            session.dataSource.register(source)
        yield session
        session.stop()
