"""Our steps in a file of Spark Declarative Pipelines, as `spark-pipelines run` runs it (SPEC D3)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
from tests.spark.our_side import OurSide, Sent

from strandline.pipeline.dead_letter_headers import origin_of
from strandline.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "declarative"
WAIT_S = 300


def test_good_orders_are_a_table_and_bad_ones_dead_letters(tmp_path: Path) -> None:
    with Broker() as broker:
        ours = OurSide(broker)
        orders, dead = broker.create_topic("orders", 1), broker.create_topic("orders.dead", 1)
        amounts = {"ann": 5.5, "bob": -1.0, "eve": 2.0}
        rows = [
            {"order_id": at, "customer": name, "amount": amount} for at, (name, amount) in enumerate(amounts.items())
        ]
        ours.write(orders, [Sent(0, json.dumps(row).encode()) for row in rows] + [Sent(0, b"nonsense")])
        run(specification(tmp_path, broker.bootstrap), tmp_path)
        letters = {origin_of(each.headers).offset: each.value for each in ours.read(dead)}
        assert letters == {1: json.dumps(rows[1]).encode(), 3: b"nonsense"}
        assert table(tmp_path / "tables" / "orders") == [rows[0], rows[2]]
        assert table(tmp_path / "tables" / "spending") == [
            {"customer": "ann", "spent": 5.5},
            {"customer": "eve", "spent": 2.0},
        ]


def specification(folder: Path, bootstrap: str) -> Path:
    """The example's own, with a broker and a place of the test's."""
    shutil.copytree(EXAMPLE, folder / "example")
    file = folder / "example" / "spark-pipeline.yml"
    text = file.read_text().replace("localhost:9092", bootstrap)
    file.write_text(text.replace("storage: storage", f"storage: file://{folder}/storage"))
    return file


def run(specification: Path, folder: Path) -> None:
    from pyspark.find_spark_home import _find_spark_home

    settings = {
        "spark.sql.warehouse.dir": str(folder / "tables"),
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [f"{_find_spark_home()}/bin/spark-pipelines", *options, "run", "--spec", str(specification)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        env=os.environ
        | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def table(folder: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pyarrow.parquet.read_table(folder).to_pylist()
    return sorted(rows, key=lambda row: str(row["customer"]))
