"""What goes wrong in Spark's workers, told in one sentence.

Spark shows an exception of a Python worker with the worker's whole stack, which hides the sentence that matters. It
leaves the stack out where SPARK_HIDE_TRACEBACK is set. A worker that failed ends at once, so setting that in its own
environment, on the way out, touches nobody else. Whatever is not expected keeps its stack: that is a bug of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from strandline.client.failures import ClientError, NoBroker, NoTopic
from strandline.model.settings import BadSetting

HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"


# Whoever fails inside the client names its settings as the commands take them.
ON_THE_COMMAND_LINE = re.compile(r"-X ([a-z]+(?:\.[a-z]+)+)")


class SparkFailure(Exception):
    """One plain sentence with the next step."""


class BadOption(SparkFailure):
    """An option, or what it says, cannot be used."""


class DataLoss(SparkFailure):
    """Records that were to be read are not there any more."""


class ReadFailed(SparkFailure):
    pass


class WriteFailed(SparkFailure):
    pass


@contextmanager
def in_one_sentence(otherwise: type[SparkFailure] = ReadFailed) -> Iterator[None]:
    """Around everything that Spark calls."""
    try:
        yield
    except SparkFailure:
        os.environ[HIDE_TRACEBACK] = "1"
        raise
    except BadSetting as error:
        os.environ[HIDE_TRACEBACK] = "1"
        raise BadOption(f"option kafka.{error}") from None
    except ClientError as error:
        os.environ[HIDE_TRACEBACK] = "1"
        raise otherwise(_sentence(error)) from None


def _sentence(error: ClientError) -> str:
    if isinstance(error, NoBroker):
        said = str(error).partition(": start one")[0]
        return f"{said}: start one with `strandline serve`, or correct the option kafka.bootstrap.servers"
    if isinstance(error, NoTopic):
        return (
            f"topic {error.topic} does not exist: create it with `strandline topic create {error.topic}`,"
            " or correct the topic's name"
        )
    return ON_THE_COMMAND_LINE.sub(r"the option kafka.\1", str(error))
