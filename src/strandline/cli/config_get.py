"""`strandline config get`: settings, and where each comes from."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand, Failed
from strandline.cli.config_entity import entity_option, hint_at_brokers, resource_of
from strandline.cli.config_rows import CONFIG_COLUMNS, config_row
from strandline.cli.output import counted
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.configs import Config, describe_configs
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Show settings, and where each comes from.")
@click.argument("name")
@click.argument("keys", nargs=-1, metavar="[SETTING]...")
@entity_option
@click.option("-a", "--all", "everything", is_flag=True, help="Defaults too.")
@report_format_option
def get(
    name: str, keys: tuple[str, ...], entity: str, everything: bool, output_format: str, settings: ClientSettings
) -> None:
    """Show settings, and where each comes from.

    Of a topic, unless --entity says otherwise. Without SETTING, those that are not defaults.

    \b
    strandline config get orders
    strandline config get --entity broker 1 log.retention.ms
    """
    resource = resource_of(entity, name)

    async def work(cluster: Cluster) -> list[Config]:
        return await describe_configs(cluster, resource, keys or None)

    with hint_at_brokers(resource):
        configs = run(settings, work)
    missing = set(keys) - {config.name for config in configs}
    if missing:
        raise Failed(f"{resource} has no setting {', '.join(sorted(missing))}")
    shown = [config for config in configs if everything or keys or not config.is_default]
    report = Report(output_format)
    if report.is_text and not shown:
        report.note(f"{resource} has no settings of its own: all {len(configs)} are at the default, -a shows them")
        return
    report.rows(CONFIG_COLUMNS, [config_row(config) for config in shown])
    if report.is_text and len(shown) < len(configs):
        report.note(f"{counted(len(configs) - len(shown), 'more setting')} at the default: -a shows all")
