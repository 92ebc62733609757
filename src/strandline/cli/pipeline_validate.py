"""`strandline pipeline validate`."""

from __future__ import annotations

import click

from strandline.cli.output import EXIT_FAULT, Output, counted, format_option
from strandline.cli.pipeline_command import PipelineCommand, file_argument
from strandline.pipeline.spec import SINK_NAMES
from strandline.pipeline.validation import check_pipeline


@click.command(cls=PipelineCommand, short_help="Find every mistake in a pipeline's file, without starting Spark.")
@file_argument
@format_option
@click.pass_context
def validate(ctx: click.Context, file: str, output_format: str) -> None:
    """Find every mistake in a pipeline's file, without starting Spark.

    Exits with 1 if there is one. What only Spark can tell (a column that is not there) is told when it runs.
    """
    output = Output(output_format)
    pipeline, problems = check_pipeline(file)
    for problem in problems:
        if output.is_json:
            output.object(problem._asdict())
        else:
            output.line(f"{file}:{problem.line}: {problem.field + ': ' if problem.field else ''}{problem.sentence}")
    if problems:
        output.note(f"{counted(len(problems), 'mistake')} in {file}")
        ctx.exit(EXIT_FAULT)
    assert pipeline is not None
    if not output.is_json:
        sinks = ", ".join(SINK_NAMES[type(sink)] for sink in pipeline.sinks)
        source = pipeline.source.pattern or ", ".join(pipeline.source.topics)
        output.line(f"{file} is sound: {pipeline.name} reads {source} and writes to {sinks}")
