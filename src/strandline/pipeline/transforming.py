"""The steps of a transformation, one after the other: SQL over `records`, a function of Python, a watermark."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.spark_errors import sentence_of
from strandline.pipeline.spec import PythonFunction, Sql, Step, Watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIEW = "records"
# Steps that look at one row at a time. Whatever else a plan has may need rows of other batches.
ROW_BY_ROW = frozenset(
    "Project Filter SubqueryAlias View Generate Expand MapInPandas MapInArrow MapElements MapPartitions"  # noqa: SIM905
    " DeserializeToObject SerializeFromObject ArrowEvalPython BatchEvalPython Repartition RepartitionByExpression"
    " StreamingRelationV2 LocalRelation OneRowRelation".split()
)
NODE = re.compile(r"[\s:+|-]*(?:!|\()?'?([A-Za-z0-9]+)")


def transform(frame: DataFrame, steps: Iterable[Step], directory: str) -> DataFrame:
    for step in steps:
        if isinstance(step, Sql):
            frame.createOrReplaceTempView(VIEW)
            frame = frame.sparkSession.sql(step.text)
        elif isinstance(step, Watermark):
            frame = frame.withWatermark(step.column, step.delay)
        else:
            frame = _call(step, frame, directory)
    return frame


def _call(step: PythonFunction, frame: DataFrame, directory: str) -> DataFrame:
    """A module beside the pipeline's file comes before one that is installed, and goes to the executors, too."""
    path = os.path.join(directory, *step.module.split(".")) + ".py"
    if directory not in sys.path:
        sys.path.insert(0, directory)
    if os.path.isfile(path) and "." not in step.module:
        frame.sparkSession.sparkContext.addPyFile(path)
    name = f"{step.module}:{step.function}"
    try:
        function = getattr(import_module(step.module), step.function)
    except (ImportError, AttributeError) as error:
        raise BadPipeline(f"{name} cannot be used: {error}") from None
    except (Exception, SystemExit) as error:
        raise BadPipeline(f"{name} cannot be used: {_told(error)}") from error
    try:
        result: Any = function(frame)
    except (Exception, SystemExit) as error:
        raise BadPipeline(f"{name} failed: {_told(error)}") from error
    if not hasattr(result, "schema") or not hasattr(result, "isStreaming"):
        raise BadPipeline(f"{name} gives {type(result).__name__}, and not a DataFrame: let it return one")
    return result


def _told(error: BaseException) -> str:
    """Whatever a function of a user's throws, and what Spark says of what it did."""
    said = sentence_of(error)
    name = type(error).__name__
    return said if said.startswith(name) or hasattr(error, "getCondition") else f"{name}: {said}"


def remembers(frame: Any) -> bool:
    """Whether what a stream gives depends on more than one row: then Spark has to keep state between batches."""
    plan = frame._jdf.queryExecution().analyzed().treeString()
    nodes = [NODE.match(line) for line in plan.splitlines() if line.strip()]
    return any(node is None or node.group(1) not in ROW_BY_ROW for node in nodes)
