"""Whom a command talks to, and how its failures are told."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from tests.cli.commands import ROOT

from strandline.cli.client_options import ClientCommand, SettingAssignment, was_given
from strandline.cli.main import cli
from strandline.client.failures import ClientError
from strandline.client.settings import LISTED, ClientSettings
from strandline.cluster.cluster_plan import ClusterPlan
from strandline.model.settings import property_name


@click.command(cls=ClientCommand, client_defaults={"acks": "1", "linger.ms": "9"})
@click.option("--fail", is_flag=True)
def show(fail: bool, settings: ClientSettings) -> None:
    if fail:
        raise ClientError("it went wrong")
    click.echo(f"{','.join(settings.bootstrap_servers)} {settings.acks} {settings.linger_ms} {was_given('acks')}")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("STRANDLINE_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.delenv("STRANDLINE_PROFILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "strandline").mkdir()
    (tmp_path / "strandline" / "home.properties").write_text("bootstrap.servers=profile:1\nlinger.ms=1\n")
    return tmp_path


def shown(*arguments: str) -> str:
    return run(*arguments).stdout.strip()


def run(*arguments: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(show, arguments)
    assert result.exit_code == exit_code, result.output
    return result


@pytest.mark.usefixtures("environment")
def test_the_more_particular_wins(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown() == "localhost:9092 1 9 False"
    monkeypatch.setenv("STRANDLINE_BOOTSTRAP_SERVERS", "variable:1")
    assert shown() == "variable:1 1 9 False"
    assert shown("--profile", "home") == "profile:1 1 1 False"
    monkeypatch.setenv("STRANDLINE_PROFILE", "home")
    assert shown() == "profile:1 1 1 False"
    file = environment / "client.properties"
    file.write_text("bootstrap.servers=file:1\nacks=0\n")
    assert shown("-F", str(file)) == "file:1 0 1 True"
    assert shown("-F", str(file), "-b", "option:1,option:2") == "option:1,option:2 0 1 True"
    assert shown("-b", "option:1", "-X", "bootstrap.servers=setting:1", "-X", "acks=all") == "setting:1 all 1 True"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-X", "acks"), "'acks' has no '=': write name=value"),
        (("-X", "=1"), "has no '='"),
        (("-X", "ack=1"), "ack is not a setting of the client; did you mean acks?"),
        (("-X", "acks=2"), "acks='2': choose from 0, 1, all, -1"),
        (("-X", "linger.ms=soon"), "linger.ms='soon': expected a whole number"),
        (("-X", "security.protocol=TLS"), "security.protocol='TLS': choose from PLAINTEXT, SSL"),
        (("-b", "host:port"), "'host:port' is not the address of a broker"),
        (("-b", ""), "bootstrap.servers is empty"),
        (("-F", "nowhere.properties"), "cannot read nowhere.properties: No such file"),
        (("--profile", "nobody"), "nobody.properties: No such file"),
    ],
)
@pytest.mark.usefixtures("environment")
def test_a_misuse_is_told_and_ends_with_2(arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in run(*arguments, exit_code=2).stderr


@pytest.mark.usefixtures("environment")
def test_a_failure_is_one_sentence_and_ends_with_1() -> None:
    assert run("--fail", exit_code=1).stderr == "strandline: it went wrong\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("topic", "list"),
        ("topic", "create", "t"),
        ("group", "list"),
        ("config", "get", "t"),
        ("cluster", "health"),
        ("offsets", "t"),
        ("consume", "t"),
        ("produce", "t"),
        ("bench", "produce", "t"),
    ],
)
def test_where_nobody_listens_every_command_says_how_to_start_somebody(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*arguments, "-b", "127.0.0.1:1"], input=b"x\n")
    assert result.exit_code == 1
    assert result.stderr.startswith("strandline: no broker at 127.0.0.1:1: start one with `strandline serve`")
    assert result.stderr.count("\n") == 1


def test_a_broker_of_the_cluster_beside_us_that_is_down_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster").mkdir()
    ClusterPlan({1: 1, 2: 2, 3: 3}).save("cluster")
    said = CliRunner().invoke(cli, ["topic", "list", "-b", "localhost:1"]).stderr
    assert "the cluster in ./cluster has broker 1 there: `strandline cluster start 1`" in said
    assert said.endswith(", or name its others with -b localhost:2,localhost:3\n")
    assert "./cluster" not in CliRunner().invoke(cli, ["topic", "list", "-b", "localhost:4"]).stderr


def test_an_assignment_may_hold_further_signs() -> None:
    assert SettingAssignment().convert("a = b=c", None, None) == ("a", " b=c")


def test_every_setting_of_the_client_is_listed_where_a_slip_points_to() -> None:
    """`-X foo.bar` names docs/commands.md where nothing is alike."""
    said = CliRunner().invoke(cli, ["topic", "list", "-X", "foo.bar=1"]).stderr
    assert f"foo.bar is not a setting of the client; {LISTED} lists them" in said
    text = (ROOT / LISTED).read_text()
    assert [name for entry in fields(ClientSettings) if f"`{(name := property_name(entry.name))}`" not in text] == []


def test_a_command_that_is_mistyped() -> None:
    assert "there is no command 'topci': did you mean 'topic'?" in CliRunner().invoke(cli, ["topci"]).stderr
    said = CliRunner().invoke(cli, ["dlq", "xyzzy"]).stderr
    assert "there is no command 'xyzzy': they are list, show, redrive, purge" in said
