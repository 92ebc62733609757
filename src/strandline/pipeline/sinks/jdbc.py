"""Tables of a database, through JDBC: Spark puts the batch into a table beside, then one transaction moves it over.

The same transaction notes the number of the batch in the table `strandline_batches`, so that the database itself knows
what it has. All of it is plain SQL, which every database speaks that Spark can write to.
"""

from __future__ import annotations

from typing import Any

from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.sinks.rows import DELETED, table_rows
from strandline.pipeline.spec import UPSERT, JdbcSink

NOTES = "strandline_batches"
KEY_TYPE = "VARCHAR(255)"  # of keys that are text: not every database compares its long texts


def write_jdbc(frame: Any, sink: JdbcSink, key: BatchKey) -> None:
    connection = _connect(frame.sparkSession, sink)
    try:
        if _last_batch(connection, key.run_id) >= key.batch_id:
            return
        rows = table_rows(frame, sink.rows)
        beside = f"{sink.table}_strandline"
        _spark_write(rows, sink, beside, "overwrite")
        columns = [name for name in rows.columns if name != DELETED]
        _spark_write(rows.select(*columns).limit(0), sink, sink.table, "append")
        _move(connection, sink, beside, columns, key)
    finally:
        connection.close()


def _connect(session: Any, sink: JdbcSink) -> Any:
    jvm = session._jvm
    properties = jvm.java.util.Properties()
    for name, value in sink.options.items():
        properties.setProperty(name, value)
    if "driver" in sink.options:
        jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(sink.options["driver"])
    return jvm.java.sql.DriverManager.getConnection(sink.url, properties)


def _spark_write(rows: Any, sink: JdbcSink, table: str, mode: str) -> None:
    texts = [field.name for field in rows.schema.fields if field.dataType.simpleString() == "string"]
    types = ", ".join(f"`{name}` {KEY_TYPE}" for name in sink.rows.key if name in texts)
    writer = rows.write.format("jdbc").mode(mode).options(**sink.options, url=sink.url, dbtable=table)
    (writer.option("createTableColumnTypes", types) if types else writer).save()


def _last_batch(connection: Any, run_id: str) -> int:
    if not _has_table(connection, NOTES):
        _execute(connection, f"CREATE TABLE {NOTES} (run VARCHAR(64) PRIMARY KEY, batch BIGINT)")
    statement = connection.prepareStatement(f"SELECT batch FROM {NOTES} WHERE run = ?")
    statement.setString(1, run_id)
    found = statement.executeQuery()
    batch = int(found.getLong(1)) if found.next() else -1
    statement.close()
    return batch


def _has_table(connection: Any, name: str) -> bool:
    found = connection.getMetaData().getTables(None, None, "%", None)
    while found.next():
        if str(found.getString("TABLE_NAME")).lower() == name.lower():
            return True
    return False


def _move(connection: Any, sink: JdbcSink, beside: str, columns: list[str], key: BatchKey) -> None:
    quote = str(connection.getMetaData().getIdentifierQuoteString()).strip()
    listed = ", ".join(f"{quote}{name}{quote}" for name in columns)
    connection.setAutoCommit(False)
    wanted = ""
    if sink.rows.mode == UPSERT:
        same = " AND ".join(
            f"{beside}.{quote}{name}{quote} = {sink.table}.{quote}{name}{quote}" for name in sink.rows.key
        )
        _execute(connection, f"DELETE FROM {sink.table} WHERE EXISTS (SELECT 1 FROM {beside} WHERE {same})")
        wanted = f" WHERE NOT {beside}.{quote}{DELETED}{quote}"
    _execute(connection, f"INSERT INTO {sink.table} ({listed}) SELECT {listed} FROM {beside}{wanted}")
    _execute(connection, f"DELETE FROM {NOTES} WHERE run = '{key.run_id}'")
    _execute(connection, f"INSERT INTO {NOTES} VALUES ('{key.run_id}', {key.batch_id})")
    connection.commit()
    connection.setAutoCommit(True)
    _execute(connection, f"DROP TABLE {beside}")


def _execute(connection: Any, text: str) -> None:
    statement = connection.createStatement()
    statement.executeUpdate(text)
    statement.close()
