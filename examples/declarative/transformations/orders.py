"""Orders of a topic into a table, and those that are bad into a dead-letter topic: two flows over the same steps."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession, functions

from strandline.pipeline import dead_letters, expect_or_dead_letter, good_rows, parse_json, topic

BROKERS = SparkSession.active().conf.get("orders.brokers", "localhost:9092")


def judged() -> DataFrame:
    records = topic("orders", start="earliest", brokers=BROKERS)
    orders = parse_json(records, "order_id BIGINT NOT NULL, customer STRING, amount DOUBLE")
    return expect_or_dead_letter(orders, "the amount is above zero", "amount > 0")


@dp.table(comment="Good orders, one row each")
def orders() -> DataFrame:
    return good_rows(judged()).select("order_id", "customer", "amount")


@dp.materialized_view(comment="What each customer has spent")
def spending() -> DataFrame:
    good = SparkSession.active().read.table("orders")
    return good.groupBy("customer").agg(functions.sum("amount").alias("spent"))


dp.create_sink("dead", "strandline", {"kafka.bootstrap.servers": BROKERS, "topic": "orders.dead"})


@dp.append_flow(target="dead")
def bad_orders() -> DataFrame:
    return dead_letters(judged(), "orders")
