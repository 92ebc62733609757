"""The same Spark as that of tests/spark: there is one in a process."""

from __future__ import annotations

from tests.spark.conftest import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.spark.conftest import spark as spark
from tests.spark.conftest import spark_session as spark_session
