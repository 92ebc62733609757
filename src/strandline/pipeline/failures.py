"""What goes wrong with a pipeline, told to whoever runs it."""

from __future__ import annotations


class PipelineFailed(Exception):
    """One plain sentence with the next step."""


class BadPipeline(PipelineFailed):
    """The file, or what it says, cannot be used."""
