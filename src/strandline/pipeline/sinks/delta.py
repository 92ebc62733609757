"""Delta tables, through `deltalake`: the number of the batch is part of the table's own transaction."""

from __future__ import annotations

from typing import Any

from strandline.model.extras import how_to_install
from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.sinks.rows import DELETED, table_rows
from strandline.pipeline.spec import UPSERT, DeltaSink


def write_delta(frame: Any, sink: DeltaSink, key: BatchKey) -> None:
    delta = _deltalake()
    if delta.DeltaTable.is_deltatable(sink.path):
        version = delta.DeltaTable(sink.path).transaction_version(key.run_id)
        if version is not None and version >= key.batch_id:
            return
    rows = table_rows(frame, sink.rows).toArrow()
    if not rows.num_rows:
        return
    properties = delta.CommitProperties(app_transactions=[delta.Transaction(key.run_id, key.batch_id)])
    partition_by = list(sink.partition_by) or None
    if sink.rows.mode != UPSERT:
        delta.write_deltalake(sink.path, rows, mode="append", partition_by=partition_by, commit_properties=properties)
        return
    table = delta.DeltaTable.create(
        sink.path, schema=rows.drop_columns([DELETED]).schema, mode="ignore", partition_by=partition_by
    )
    _merge(table, rows, sink, properties)


def _merge(table: Any, rows: Any, sink: DeltaSink, properties: Any) -> None:
    same = " AND ".join(f'target."{name}" = source."{name}"' for name in sink.rows.key)
    columns = {f'"{name}"': f'source."{name}"' for name in rows.schema.names if name != DELETED}
    merge = table.merge(
        rows, predicate=same, source_alias="source", target_alias="target", commit_properties=properties
    )
    merge = merge.when_matched_delete(predicate=f"source.{DELETED}")
    merge = merge.when_matched_update(updates=columns)
    merge.when_not_matched_insert(updates=columns, predicate=f"NOT source.{DELETED}").execute()


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError:
        raise BadPipeline(f"deltalake is not installed: {how_to_install('lakehouse')}") from None
    return deltalake
