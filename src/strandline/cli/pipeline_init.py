"""`strandline pipeline init`."""

from __future__ import annotations

import os
import re

import click

from strandline.cli.client_options import Failed
from strandline.cli.pipeline_command import PipelineCommand, file_argument
from strandline.pipeline.example import example


@click.command(cls=PipelineCommand, short_help="Write an example of a pipeline, with all there is in comments.")
@file_argument
def init(file: str) -> None:
    """Write an example of a pipeline, with all there is in comments.

    Nothing is written over a file that is there.
    """
    name = re.sub(r"[^a-z0-9._-]+", "-", os.path.basename(file).rpartition(".")[0].lower()).strip("-.") or "pipeline"
    try:
        with open(file, "x", encoding="utf-8") as target:
            target.write(example(name))
    except FileExistsError:
        raise Failed(f"{file} is there already: choose another name") from None
    except FileNotFoundError:
        raise Failed(f"there is no folder {os.path.dirname(file)}: create it, or choose another place") from None
    click.echo(f"{file} is written: change it, then `strandline pipeline validate {file}`.")
