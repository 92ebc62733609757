"""The file that `strandline pipeline init` writes: it runs as it is, and says what else there is."""

from __future__ import annotations

EXAMPLE = """\
# A pipeline. `strandline pipeline validate FILE` checks it, `strandline pipeline run FILE` runs it.
name: @NAME@
brokers: localhost:9092           # other settings of a client by Kafka's names: `kafka: {client.id: me}`

source:
  topics: [orders]                # or `pattern: orders[.].*`
  start: earliest                 # of the first run: earliest, latest, @-1h, 2026-11-15T04:12:42Z
  max_records_per_batch: 100000

parse:
  format: json                    # json, csv, text, or avro with `schema_file: order.avsc`
  schema: order_id BIGINT NOT NULL, customer STRING, amount DOUBLE, at TIMESTAMP
  on_error: dead-letter           # or drop, fail: what becomes of a record that cannot be read

expect:                           # of each record that could be read
  - name: the amount is above zero
    rule: amount > 0
    otherwise: dead-letter        # or warn, drop, fail

transform:                        # steps: sql over `records`, `python: module:function`, `watermark: {column, delay}`
  # the record itself is in _key, _topic, _partition, _offset, _timestamp, _headers
  - sql: SELECT order_id, customer, amount, at FROM records

sink:                             # one, or a list of them
  parquet:
    path: @NAME@-rows
  # topic: {topic: orders.checked, key: cast(order_id AS STRING)}
  # delta: {path: table, mode: upsert, key: [order_id]}
  # iceberg: {table: shop.orders, catalog: {uri: "sqlite:///catalog.db", warehouse: "file:///tmp/warehouse"}}
  # jdbc: {url: "jdbc:postgresql://localhost/shop", table: orders, options: {user: shop}}
  # console: {rows: 20}

dead_letter: orders.dead          # look at it with `strandline dlq list orders.dead`
delivery: exactly-once            # into topics; or at-least-once, for brokers without transactions
trigger: 10 seconds               # or once: what is there now, and then end
checkpoint: .strandline/@NAME@    # how far it is; one for each pipeline, never shared
master: local[*]                  # spark://host:7077, yarn, k8s://…
spark: {spark.sql.shuffle.partitions: 4}
"""


def example(name: str) -> str:
    return EXAMPLE.replace("@NAME@", name)
