"""A Spark session for a pipeline, or one sentence that says what is missing for it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from importlib.util import find_spec
from typing import Any

from strandline.model.extras import how_to_install
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.spark_errors import sentence_of
from strandline.pipeline.spec import NO_MASTER, Pipeline, is_master

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
}
# Which write every mistake in a query to the terminal, with Java's stack in JSON, before it is told in a sentence.
QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def require_spark() -> None:
    """Before anything that imports it."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise PipelineFailed(f"PySpark is not installed: {how_to_install('spark')}")
    home = os.environ.get("JAVA_HOME")
    if home and not os.access(f"{home}/bin/java", os.X_OK):
        raise PipelineFailed(f"there is no bin/java in {home}, which JAVA_HOME names: correct it, or unset it")
    if not home and shutil.which("java") is None:
        raise PipelineFailed("Spark needs Java 17 or later, and there is none: install one, or set JAVA_HOME")


def start_session(pipeline: Pipeline) -> Any:
    """Python workers on this machine are this Python, so that they have what this one has."""
    require_spark()
    if not is_master(pipeline.master):
        raise PipelineFailed(f"{pipeline.master!r} {NO_MASTER}")
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    for name in QUERY_LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if pipeline.master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(pipeline.master).appName(f"strandline {pipeline.name}")
    for name, value in (DEFAULTS | pipeline.spark).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise PipelineFailed(f"Spark does not start: {first}; does `java -version` show 17 or later?") from None
    except Exception as error:  # of Py4J, with Java's whole stack in it
        raise PipelineFailed(f"Spark does not start with master {pipeline.master}: {sentence_of(error)}") from None
