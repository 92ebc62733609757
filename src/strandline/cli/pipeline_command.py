"""What the commands about pipelines share: the file, and failures in one sentence."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import Failed
from strandline.cli.output import ToolCommand
from strandline.client.failures import ClientError, NoBroker
from strandline.pipeline.failures import PipelineFailed

file_argument = click.argument("file", type=click.Path(dir_okay=False))


class PipelineCommand(ToolCommand):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NoBroker as error:
            said = str(error).partition(": start one")[0]
            raise Failed(
                f"{said}: start one with `strandline serve`, or correct `brokers` in {ctx.params['file']}"
            ) from None
        except (PipelineFailed, ClientError) as error:
            raise Failed(str(error)) from None
