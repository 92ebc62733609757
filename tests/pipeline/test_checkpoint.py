"""A checkpoint: whose it is, how far it is, what is damaged; and words for progress and for Spark's failures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from strandline.cli.pipeline_replay import targets_of
from strandline.model.partitions import TopicPartition
from strandline.pipeline.batches import Tally
from strandline.pipeline.checkpoint import BatchEnd, Checkpoint
from strandline.pipeline.failures import BadPipeline, PipelineFailed
from strandline.pipeline.lag import Lag
from strandline.pipeline.progress import progress_line
from strandline.pipeline.replay import redirected
from strandline.pipeline.running import _first_starts
from strandline.pipeline.spark_errors import sentence_of
from strandline.pipeline.spec import ParquetSink, Pipeline, Source, TopicSink

ORDERS = TopicPartition("orders", 0)


def test_a_checkpoint_belongs_to_one_pipeline(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "c"))
    run_id = checkpoint.claim("mine")
    assert checkpoint.claim("mine") == run_id, "as long as it lives"
    with pytest.raises(BadPipeline, match=r"is of another pipeline.*'mine'.*give this one a checkpoint of its own"):
        checkpoint.claim("yours")
    for damaged in (b"{}", b"[1]", b"\xff", b""):
        (tmp_path / "c" / "pipeline.json").write_bytes(damaged)
        with pytest.raises(BadPipeline, match="is damaged: give the pipeline another checkpoint"):
            checkpoint.claim("mine")


def test_a_checkpoint_that_has_lost_whose_it_is_begins_nothing_under_new_numbers(tmp_path: Path) -> None:
    """Sinks know a batch by the id of its runs: a batch that Spark runs again would be written twice."""
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim("mine")
    (tmp_path / "query").mkdir()
    (tmp_path / "pipeline.json").unlink()
    with pytest.raises(BadPipeline, match=r"pipeline\.json is gone, and the query is there: give the pipeline another"):
        checkpoint.claim("mine")


def test_a_batch_is_done_when_spark_has_committed_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    assert checkpoint.last_done() is None
    for name in ("offsets", "commits"):
        (tmp_path / "query" / name).mkdir(parents=True)
    for batch, offset in ((9, 40), (10, 50)):
        text = f'v1\n{{"batchTimestampMs": {batch}}}\n{{"orders": {{"0": {offset}}}}}'
        (tmp_path / "query" / "offsets" / str(batch)).write_text(text)
    (tmp_path / "query" / "commits" / "9").write_text("v1\n{}")
    assert checkpoint.last_done() == BatchEnd(9, {ORDERS: 40}, 9)
    assert checkpoint.batch_end(10) == BatchEnd(10, {ORDERS: 50}, 10)
    (tmp_path / "query" / "offsets" / "10").write_text("v1\n{}\nnothing")
    with pytest.raises(BadPipeline, match="batch 10 is damaged"):
        checkpoint.batch_end(10)


def test_the_first_batch_begins_where_the_source_does() -> None:
    ends = {ORDERS: 50}
    assert _first_starts("earliest", ends) == {ORDERS: -2}
    assert _first_starts('{"orders": {"0": 7}}', ends) == {ORDERS: 7}
    for moving in ("latest", "@-1h", '{"orders": {"0": -1}}'):
        assert _first_starts(moving, ends) == ends, "the first batch of such a source is empty"


def test_a_replay_goes_somewhere_else() -> None:
    both = (TopicSink(topic="out"), ParquetSink(path="/rows"))
    pipeline = Pipeline(name="p", directory="/", source=Source(topics=("orders",)), sinks=both, dead_letter="dead")
    moved = redirected(pipeline, {"parquet": "/again"})
    assert (moved.sinks, moved.dead_letter) == ((ParquetSink(path="/again"),), ""), "and dead letters nowhere"
    for into, sentence in (
        ({"": "/again"}, "the pipeline has several sinks: say --into topic=… --into parquet=…"),
        ({"delta": "/again"}, "the pipeline has no sink delta: it has topic, parquet"),
        ({"topic": "out"}, "out is where the pipeline itself writes"),
        ({"topic": "orders"}, "orders is what the pipeline reads: a replay goes somewhere else"),
        ({"topic": "dead"}, "dead is where the pipeline itself writes"),
        ({"topic": "a b"}, "'a b' is not a topic name"),
        ({"parquet": ""}, "--into names no place"),
    ):
        with pytest.raises(PipelineFailed, match=sentence):
            redirected(pipeline, into)
    for dead_letter, sentence in (
        ("orders", "orders is what the pipeline reads"),
        ("out", "out is where the pipeline itself writes"),
        ("again", "--dead-letter and --into name the same topic"),
        ("a b", "'a b' is not a topic name"),
    ):
        with pytest.raises(PipelineFailed, match=sentence):
            redirected(pipeline, {"topic": "again"}, dead_letter)
    assert redirected(pipeline, {"topic": "again"}, "dead").dead_letter == "dead", "which is for bad records"


def test_the_places_of_a_replay_are_named_once() -> None:
    assert targets_of(("parquet=/a", "topic=b")) == {"parquet": "/a", "topic": "b"}
    assert targets_of(("jdbc:derby:/x",)) == {"": "jdbc:derby:/x"}
    for into in (("/a", "/b"), ("topic=a", "topic=b")):
        with pytest.raises(PipelineFailed, match="--into is given twice"):
            targets_of(into)
    with pytest.raises(PipelineFailed, match="--into names some sinks, and one place for the only sink"):
        targets_of(("/a", "topic=b"))


def test_progress_is_a_line() -> None:
    progress = {
        "batchId": 3,
        "durationMs": {"triggerExecution": 2400},
        "processedRowsPerSecond": 41270.3,
        "sources": [{"numInputRows": 100_000}],
    }
    tally = Tally(dead_letters=7, dropped=1, warnings=Counter({"large": 2}))
    assert progress_line(progress, tally, Lag(12_000, 3.4)) == (
        "batch 3  100,000 rows  41,270 rows/s  2.4 s  lag 12,000 records, 3 s  7 dead letters  1 dropped  2 not 'large'"
    )
    assert "lag unknown" in progress_line(progress, tally, None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[STREAM_FAILED] Query [id = 1] ended: Traceback\nstrandline.spark.failures.ReadFailed: topic x went\nat",
            "topic x went",
        ),
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `a` cannot be resolved. SQLSTATE: 42703; line 1\n'Project",
            "A column `a` cannot be resolved. (UNRESOLVED_COLUMN.WITH_SUGGESTION)",
        ),
        ("Job aborted\n  File x\nZeroDivisionError: division by zero\n", "ZeroDivisionError: division by zero"),
        (
            (
                "An error occurred while calling o1.parquet.\n: org.apache.spark.SparkException: Aborted\n\tat x\n"
                "Caused by: java.io.IOException: in between\n\tat z\n"
                "Caused by: org.apache.hadoop.fs.ParentNotDirectoryException: /out is not a directory\n\tat q"
            ),
            "/out is not a directory (ParentNotDirectoryException)",
        ),
        (
            (
                "An error occurred while calling z:java.sql.DriverManager.getConnection.\n: java.sql.SQLException:"
                " No suitable driver found for jdbc:nosuch:x\n\tat java.sql/java.sql.DriverManager.getConnection(D:1)"
            ),
            "No suitable driver found for jdbc:nosuch:x (SQLException)",
        ),
        ("An error occurred while calling o1.x.\n: java.lang.StackOverflowError\n\tat a.b", "StackOverflowError"),
        ("Sorting is not supported;", "Sorting is not supported"),
        (
            "Generic LocalFileSystem error\n  not a directory: /out",
            "Generic LocalFileSystem error not a directory: /out",
        ),
        ("", "ValueError"),
    ],
)
def test_what_spark_says_is_cut_to_a_sentence(text: str, sentence: str) -> None:
    assert sentence_of(ValueError(text)) == sentence
