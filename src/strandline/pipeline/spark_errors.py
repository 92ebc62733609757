"""What Spark says when something went wrong, down to the sentence that matters."""

from __future__ import annotations

import re

OURS = re.compile(
    r"(?:BadOption|DataLoss|ReadFailed|WriteFailed|BadPipeline|PipelineFailed|ClientError)\w*: (?P<said>[^\n]+)"
)
CONDITION = re.compile(r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\] (?P<said>[^\n]+)")
PYTHON = re.compile(r"^(?P<said>[A-Za-z_][\w.]*(?:Error|Exception|Failed): [^\n]+)", re.MULTILINE)
JAVA = re.compile(r"^(?:: |Caused by: )(?:[\w$]+[./])*(?P<kind>[\w$]+)(?:: (?P<said>[^\n]+))?$", re.MULTILINE)
SHOWN_MAX = 300
SQL_STATE = re.compile(r"\s*SQLSTATE: \w+.*")


def sentence_of(error: BaseException) -> str:
    text = str(error).partition("JVM stacktrace")[0]
    found = OURS.search(text)
    if found:
        return found["said"].strip()
    conditions = [each for each in CONDITION.finditer(text) if each["condition"] != "STREAM_FAILED"]
    if conditions:
        chosen = conditions[-1]
        return f"{SQL_STATE.sub('', chosen['said']).strip()} ({chosen['condition']})"
    python = PYTHON.findall(text)
    if python:
        return str(python[-1]).strip()
    java = JAVA.findall(text)
    if java:
        kind, said = java[-1]
        return f"{said} ({kind})" if said else kind
    words = " ".join(text.split()).rstrip(";")
    return words[:SHOWN_MAX] or type(error).__name__
