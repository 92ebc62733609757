"""Changes to settings: what was, what is to be, and what the broker said."""

from __future__ import annotations

from collections.abc import Sequence

import click

from strandline.cli.config_entity import hint_at_brokers
from strandline.cli.outcomes import outcome, show_outcomes
from strandline.cli.reports import Column
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.configs import Change, Operation, Resource, alter_configs, describe_configs
from strandline.client.failures import BrokerRefused
from strandline.client.settings import ClientSettings

CHANGE_COLUMNS = (
    Column("entity"),
    Column("name", "setting"),
    Column("before"),
    Column("after"),
    Column("status"),
)

dry_run_option = click.option("--dry-run", is_flag=True, help="Ask the broker whether it would, and change nothing.")


def changes_of(assignments: Sequence[tuple[str, str]], unset: Sequence[str]) -> list[Change]:
    changes = [Change(name, Operation.SET, value) for name, value in assignments]
    changes += [Change(name, Operation.DELETE) for name in unset]
    if not changes:
        raise click.UsageError("say what to change: name=value, or a name to unset")
    names = [change.name for change in changes]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"{name} is given twice")
    return changes


def change_entity(
    resource: Resource, changes: Sequence[Change], settings: ClientSettings, output_format: str, *, dry_run: bool
) -> None:
    """What `config set` and `config unset` do, but for the changes."""

    async def work(cluster: Cluster) -> list[dict[str, object]]:
        return await change_configs(cluster, resource, changes, dry_run=dry_run)

    with hint_at_brokers(resource):
        rows = run(settings, work)
    show_outcomes(output_format, CHANGE_COLUMNS, rows)


async def change_configs(
    cluster: Cluster, resource: Resource, changes: Sequence[Change], *, dry_run: bool
) -> list[dict[str, object]]:
    names = [change.name for change in changes]
    before = {config.name: config.value for config in await describe_configs(cluster, resource, names)}
    refusal = None
    try:
        await alter_configs(cluster, resource, changes, validate_only=dry_run)
    except BrokerRefused as error:
        refusal = error
    after = {change.name: change.value for change in changes}
    if refusal is None and not dry_run:
        after |= {config.name: config.value for config in await describe_configs(cluster, resource, names)}
    return [
        {
            "entity": str(resource),
            "name": name,
            "before": before.get(name),
            "after": before.get(name) if refusal is not None else after.get(name),
            **outcome(refusal, "would be changed" if dry_run else "changed"),
        }
        for name in names
    ]
