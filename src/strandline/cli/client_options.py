"""What every command that talks to a broker shares: whom it talks to, and how its failures are told.

Settings come from the least to the most particular: the environment's default address, a profile, a file (-F), the
address (-b), single settings (-X). A failure is one sentence on stderr and exit code 1; a misuse is exit code 2.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from strandline.cli.output import EXIT_FAULT, CannotRead, ToolCommand
from strandline.client.failures import ClientError, NoBroker
from strandline.client.settings import ClientSettings
from strandline.model.failures import CorruptData
from strandline.model.settings import BadSetting

BOOTSTRAP_VARIABLE = "STRANDLINE_BOOTSTRAP_SERVERS"
PROFILE_VARIABLE = "STRANDLINE_PROFILE"
GIVEN = "strandline.given"
CLUSTER_DIRECTORY = "cluster"
OPTIONS_PARAMETERS = ("bootstrap", "assignments", "properties_file", "profile")


class Failed(CannotRead):
    """One plain sentence on stderr, exit 1."""

    exit_code = EXIT_FAULT


class ClientCommand(ToolCommand):
    """Adds the options of a client, gives the command its settings as `settings`, tells failures in sentences."""

    def __init__(self, *arguments: Any, client_defaults: Mapping[str, str] | None = None, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.client_defaults = client_defaults or {}  # where the command differs from Kafka's
        self.params += _client_options()

    def invoke(self, ctx: click.Context) -> Any:
        properties = gather_properties(**{name: ctx.params.pop(name) for name in OPTIONS_PARAMETERS})
        ctx.meta[GIVEN] = frozenset(properties)
        try:
            ctx.params["settings"] = ClientSettings.of({**self.client_defaults, **properties})
        except BadSetting as error:
            raise click.UsageError(str(error)) from None
        try:
            return super().invoke(ctx)
        except NoBroker as error:
            raise Failed(f"{error}{_hint_at_cluster(ctx.params['settings'])}") from None
        except ClientError as error:
            raise Failed(str(error)) from None


class SettingAssignment(click.ParamType[tuple[str, str]]):
    """`name=value`."""

    name = "K=V"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, assigned = value.partition("=")
        if not equals or not key.strip():
            self.fail(f"{value!r} has no '=': write name=value", param, ctx)
        return key.strip(), assigned


def _client_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["-b", "--bootstrap-server", "bootstrap"],
            metavar="HOST:PORT",
            help=f"A broker, or several with commas.  [default: ${BOOTSTRAP_VARIABLE} or localhost:9092]",
        ),
        click.Option(
            ["-X", "assignments"],
            multiple=True,
            type=SettingAssignment(),
            help="A setting of the client by Kafka's name; repeatable.",
        ),
        click.Option(["-F", "--command-config", "properties_file"], metavar="FILE", help="Settings from a file."),
        click.Option(
            ["--profile", "profile"],
            metavar="NAME",
            help=f"Settings from ~/.config/strandline/NAME.properties.  [default: ${PROFILE_VARIABLE}]",
        ),
    ]


def _hint_at_cluster(settings: ClientSettings) -> str:
    """Whose broker it may be that is not there: that of a cluster in the folder where `cluster up` puts it."""
    if not os.path.exists(f"{CLUSTER_DIRECTORY}/cluster.json"):
        return ""
    from strandline.cluster.cluster_plan import ClusterRefused, load_plan

    try:
        brokers = load_plan(CLUSTER_DIRECTORY).brokers
    except ClusterRefused:
        return ""
    asked = {address.port for address in settings.addresses()}
    down = [broker_id for broker_id, port in brokers.items() if port in asked]
    others = ",".join(f"localhost:{port}" for port in brokers.values() if port not in asked)
    if not down:
        return ""
    elsewhere = f", or name its others with -b {others}" if others else ""
    return (
        f"; the cluster in ./{CLUSTER_DIRECTORY} has broker {down[0]} there:"
        f" `strandline cluster start {down[0]}`{elsewhere}"
    )


def was_given(name: str) -> bool:
    """Whether the user set this property, rather than the command."""
    return name in click.get_current_context().meta[GIVEN]


def gather_properties(
    bootstrap: str | None,
    assignments: tuple[tuple[str, str], ...],
    properties_file: str | None,
    profile: str | None,
) -> dict[str, str]:
    properties: dict[str, str] = {}
    if BOOTSTRAP_VARIABLE in os.environ:
        properties["bootstrap.servers"] = os.environ[BOOTSTRAP_VARIABLE]
    profile = profile or os.environ.get(PROFILE_VARIABLE)
    if profile:
        properties |= _read_properties(profile_path(profile))
    if properties_file is not None:
        properties |= _read_properties(properties_file)
    if bootstrap is not None:
        properties["bootstrap.servers"] = bootstrap
    return properties | dict(assignments)


def profile_path(name: str) -> str:
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "strandline", f"{name}.properties")


def _read_properties(path: str) -> dict[str, str]:
    from strandline.log.java_properties import parse_properties

    try:
        with open(path, "rb") as file:
            return parse_properties(file.read())
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {error.strerror}") from None
    except CorruptData as error:
        raise click.UsageError(f"{path}: {error}") from None


def changed(settings: ClientSettings, **values: Any) -> ClientSettings:
    """The settings with some of them as the command has it."""
    return replace(settings, **values)
