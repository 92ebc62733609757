"""`strandline config diff`: in which settings two topics, or two brokers, differ."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.config_entity import entity_option, resource_of
from strandline.cli.config_rows import config_row
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.configs import Resource, describe_configs
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Show in which settings two topics or brokers differ.")
@click.argument("first")
@click.argument("second")
@entity_option
@report_format_option
def diff(first: str, second: str, entity: str, output_format: str, settings: ClientSettings) -> None:
    """Show in which settings two topics or brokers differ.

    Where they agree it says so, on standard error.
    """
    resources = [resource_of(entity, name) for name in (first, second)]

    async def work(cluster: Cluster) -> list[dict[str, dict[str, Any]]]:
        return [await _configs(cluster, resource) for resource in resources]

    one, other = run(settings, work)
    columns = (
        Column("name", "setting"),
        Column("first", str(resources[0])),
        Column("second", str(resources[1])),
        Column("first_source", f"source in {first}", is_wide=True),
        Column("second_source", f"source in {second}", is_wide=True),
    )
    names = sorted(name for name in one.keys() | other.keys() if _value(one, name) != _value(other, name))
    rows = [
        {
            "name": name,
            "first": _value(one, name),
            "second": _value(other, name),
            "first_source": one.get(name, {}).get("source"),
            "second_source": other.get(name, {}).get("source"),
        }
        for name in names
    ]
    report = Report(output_format)
    if report.is_text and not rows:
        report.note(f"{resources[0]} and {resources[1]} have the same settings")
        return
    report.rows(columns, rows)


async def _configs(cluster: Cluster, resource: Resource) -> dict[str, dict[str, Any]]:
    return {config.name: config_row(config) for config in await describe_configs(cluster, resource)}


def _value(configs: dict[str, dict[str, Any]], name: str) -> Any:
    return configs.get(name, {}).get("value")
