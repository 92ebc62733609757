"""`strandline pipeline` as people use it: a file, a run, its status, a replay; what it says when it cannot (D3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.spark.our_side import OurSide, numbered

from strandline.cli.main import cli
from strandline.client.blocking import Blocking
from strandline.client.failures import NoTopic
from strandline.client.settings import ClientSettings
from strandline.pipeline import session as sessions
from strandline.pipeline.own_topics import make_sure_of_topics
from strandline.pipeline.validation import read_pipeline
from strandline.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


def strandline(*arguments: str | Path, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["pipeline", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == exit_code, result.output
    return result


def refused(*arguments: str | Path) -> str:
    """The one sentence that goes with exit code 1."""
    result = strandline(*arguments, exit_code=1)
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("strandline: ").rstrip("\n")


SHOUTING = """
from pyspark.sql.functions import udf


def louder(text):
    return text.upper()


def shout(frame):
    return frame.withColumn("value", udf(louder)("value"))
"""


class Shared:
    """The tests' Spark, which a command must not stop."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> None:
        pass


@pytest.fixture
def shared(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "start_session", lambda _: Shared(spark))


def test_an_example_is_written_and_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "My orders.yaml"
    assert "is written: change it" in strandline("init", path).stdout
    assert "is there already: choose another name" in refused("init", path)
    nowhere = tmp_path / "nowhere" / "a.yaml"
    assert refused("init", nowhere) == f"there is no folder {nowhere.parent}: create it, or choose another place"
    assert strandline("validate", path).stdout.endswith(" is sound: my-orders reads orders and writes to parquet\n")


def test_mistakes_are_listed_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: a\nsource: {topics: [x], begin: now}\n")
    result = strandline("validate", path, exit_code=1)
    assert result.stdout.splitlines() == [
        f"{path}:1: sink: is missing: say where rows go, as in `sink: {{console: {{}}}}`",
        f"{path}:2: source.begin: is not a field",
    ]
    assert result.stderr == f"2 mistakes in {path}\n"
    lines = strandline("validate", path, "--format", "json", exit_code=1).stdout.splitlines()
    assert [json.loads(line)["field"] for line in lines] == ["sink", "source.begin"]


def write_file(broker: Broker, directory: Path, topic: str, name: str) -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(
        f"name: {name}\nbrokers: {broker.bootstrap}\nsource: {{topics: [{topic}], start: earliest}}\n"
        "transform:\n  - sql: SELECT value, _offset AS at FROM records\n  - python: shouting:shout\n"
        "sink: {parquet: {path: table}}\n"
    )
    (directory / "shouting.py").write_text(SHOUTING)
    return path


@pytest.mark.usefixtures("shared")
def test_a_pipeline_runs_shows_its_status_and_is_replayed(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    topic = broker.create_topic("words", 1)
    path = write_file(broker, tmp_path, topic, "words")
    assert refused("status", path) == "words has not run yet: start it with `strandline pipeline run`"
    ours.write(topic, numbered(range(10)))
    progress = strandline("run", path, "--once").stderr.splitlines()
    assert progress[0].startswith("batch 0  10 rows  ")
    assert progress[-1].endswith("  lag 0 records, 0 s  0 dead letters")
    ours.write(topic, numbered(range(10, 13)))
    [row] = map(json.loads, strandline("status", path, "--format", "json").stdout.splitlines())
    assert row == {"topic": topic, "partition": 0, "done": 10, "committed": 10, "end": 13, "lag": 3}
    assert "lag: 3 records, " in strandline("status", path).stdout

    live = sorted(str(each) for each in (tmp_path / ".strandline" / "words").rglob("*"))
    for _ in range(2):
        again = strandline("replay", path, "--from", "4", "--to", "6", "--into", tmp_path / "again")
        assert again.stderr.endswith("replayed 2 records: 0 dead letters, 0 dropped\n")
    rows = spark.read.parquet(str(tmp_path / "again")).collect()
    assert sorted((row.at, row.value) for row in rows) == [(4, "VALUE 4"), (5, "VALUE 5")], "once, though asked twice"
    assert live == sorted(str(each) for each in (tmp_path / ".strandline" / "words").rglob("*")), "not touched"
    assert "is where the pipeline itself writes" in refused(
        "replay", path, "--from", "start", "--into", tmp_path / "table"
    )
    assert refused("replay", path, "--from", "end", "--into", "x") == "there are no records between --from and --to"


@pytest.mark.usefixtures("shared")
def test_a_replay_reads_what_the_pipelines_pattern_finds_and_says_which_range_it_goes_on_with(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    path = write_file(broker, tmp_path, "[]", "found")
    path.write_text(path.read_text().replace("topics: [[]]", "pattern: sorted"))
    again = ("replay", path, "--into", tmp_path / "again", "--checkpoint", tmp_path / "mine", "--from", "start")
    assert refused(*again) == "no topic has sorted in its name"
    for name in ("sorted", "all-sorted-things"):
        ours.write(broker.create_topic(name, 1), numbered(range(2)))
    assert "replayed 4 records" in strandline(*again).stderr
    assert spark.read.parquet(str(tmp_path / "again")).count() == 4
    ours.write("sorted", numbered(range(2, 5)))
    told = strandline(*again).stderr
    assert "holds a replay of other offsets, and goes on with these (4 records)" in told
    assert "replayed 4 records" in told


@pytest.mark.usefixtures("shared")
def test_records_that_retention_took_are_told_of(broker: Broker, ours: OurSide, tmp_path: Path) -> None:
    topic = broker.create_topic("expired", 1)
    path = write_file(broker, tmp_path, topic, "expired")
    ours.write(topic, numbered(range(5)))
    ours.delete_before(topic, 3)
    path.write_text(path.read_text().replace("earliest", json.dumps(json.dumps({topic: {"0": 1}}))))
    told = strandline("run", path, "--once", exit_code=1).stderr.splitlines()[-1]
    assert "expired-0" in told
    assert 'failOnDataLoss to "false"' in told


def test_what_is_missing_is_one_sentence(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(broker, tmp_path, "nowhere", "missing")
    assert "topic nowhere: it does not exist" in refused("run", path)
    path = write_file(broker, tmp_path, broker.create_topic("somewhere", 1), "java")
    with monkeypatch.context() as patch:
        patch.setenv("JAVA_HOME", str(tmp_path))
        assert (
            refused("run", path)
            == f"there is no bin/java in {tmp_path}, which JAVA_HOME names: correct it, or unset it"
        )
    with monkeypatch.context() as patch:
        patch.delenv("JAVA_HOME", raising=False)
        patch.setenv("PATH", str(tmp_path))
        assert refused("run", path).startswith("Spark needs Java 17 or later, and there is none")
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "find_spec", lambda _: None)
        assert (
            refused("run", path) == "PySpark is not installed: in Strandline's checkout run `pip install -e '.[spark]'`"
        )
    path.write_text(path.read_text().replace(broker.bootstrap, "127.0.0.1:1"))
    path.write_text(path.read_text() + "kafka: {default.api.timeout.ms: 500}\n")
    assert f"start one with `strandline serve`, or correct `brokers` in {path}" in refused("run", path)


def test_a_pipeline_makes_its_own_topics_and_not_those_it_reads(tmp_path: Path) -> None:
    """README as pasted: `topic create` for the source, and `run` makes orders.dead and what it writes to."""
    path = tmp_path / "orders.yaml"
    text = "source: {topics: [orders]}\nsink: {topic: {topic: orders.checked}}\ndead_letter: orders.dead\n"
    with Broker() as broker:
        path.write_text(f"name: orders\nbrokers: {broker.bootstrap}\n{text}")
        pipeline = read_pipeline(str(path))
        with Blocking(ClientSettings.of(pipeline.client)) as client:
            with pytest.raises(NoTopic, match="topic create orders"):
                client(lambda cluster: make_sure_of_topics(cluster, pipeline))
            assert client(lambda cluster: cluster.refresh(None)).topics == {}, "nothing is made of what cannot run"
            broker.create_topic("orders")
            for _ in range(2):
                client(lambda cluster: make_sure_of_topics(cluster, pipeline))
            made = client(lambda cluster: cluster.refresh(None)).topics
    assert made.keys() == {"orders", "orders.checked", "orders.dead"}


def test_a_topic_that_no_producer_may_make_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    text = "source: {topics: [orders]}\nsink: {topic: {topic: orders.checked}}\n"
    with Broker(auto_create_topics_enable=False) as broker:
        broker.create_topic("orders")
        settings = "kafka: {topic.metadata.propagation.max.ms: 200}"
        path.write_text(f"name: orders\nbrokers: {broker.bootstrap}\n{settings}\n{text}")
        assert "`strandline topic create orders.checked` makes it" in refused("run", path)
