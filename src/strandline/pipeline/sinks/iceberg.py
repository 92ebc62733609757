"""Iceberg tables, through `pyiceberg`: the number of the batch is a property of the snapshot that it made."""

from __future__ import annotations

from typing import Any

from strandline.model.extras import how_to_install
from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.judging import without_record_columns
from strandline.pipeline.spec import IcebergSink

RUN, BATCH = "strandline.run", "strandline.batch"


def write_iceberg(frame: Any, sink: IcebergSink, key: BatchKey) -> None:
    catalog = _catalog(sink)
    if catalog.table_exists(sink.table) and _last_batch(catalog.load_table(sink.table), key.run_id) >= key.batch_id:
        return
    rows = without_record_columns(frame).toArrow()
    if not rows.num_rows:
        return
    catalog.create_namespace_if_not_exists(sink.table.rpartition(".")[0])
    table = catalog.create_table_if_not_exists(sink.table, schema=rows.schema)
    table.append(rows, snapshot_properties={RUN: key.run_id, BATCH: str(key.batch_id)})


def _last_batch(table: Any, run_id: str) -> int:
    batches = [-1]
    for snapshot in table.metadata.snapshots:
        properties = snapshot.summary.additional_properties if snapshot.summary else {}
        if properties.get(RUN) == run_id:
            batches.append(int(properties[BATCH]))
    return max(batches)


def _catalog(sink: IcebergSink) -> Any:
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError:
        raise BadPipeline(f"pyiceberg is not installed: {how_to_install('lakehouse')}") from None
    return load_catalog("strandline", **sink.catalog)
