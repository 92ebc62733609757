"""Steps of a transformation: SQL, a function of Python, a watermark. What can be checked of them without Spark."""

from __future__ import annotations

import ast
import os
import re
from importlib.util import find_spec

from strandline.pipeline.fields import Fields
from strandline.pipeline.spec import PythonFunction, Sql, Step, Watermark

KINDS = ("sql", "python", "watermark")
FUNCTION = re.compile(r"([A-Za-z_][A-Za-z_0-9.]*):([A-Za-z_][A-Za-z_0-9]*)")
DELAY = re.compile(r"[0-9]+ *(milliseconds?|seconds?|minutes?|hours?|days?)")
CLOSING = {"(": ")", "[": "]", "{": "}"}
UNQUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)


def read_steps(fields: Fields, directory: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for section in fields.sections("transform"):
        kinds = [name for name in KINDS if section.has(name)]
        if len(kinds) != 1:
            section.note("", f"has one of {', '.join(KINDS)} in each step, and {', '.join(kinds) or 'none'} is there")
        elif kinds[0] == "sql":
            text = section.text("sql")
            check_query(section, text)
            steps.append(Sql(text))
        elif kinds[0] == "python":
            steps.append(_function(section, section.text("python"), directory))
        else:
            steps.append(_watermark(section.section("watermark")))
        section.end()
    return tuple(steps)


def _watermark(section: Fields) -> Watermark:
    column = section.text("column", needs="name the column of the event's time")
    delay = section.text("delay", needs="say how late a record may come, as in `10 minutes`")
    if delay and not DELAY.fullmatch(delay):
        section.note("delay", f"{delay!r} is not a length of time as in `10 minutes`")
    section.end()
    return Watermark(column, delay)


def check_query(section: Fields, text: str) -> None:
    bare = UNQUOTED.sub(" ", text)
    if not re.match(r"\s*(select|with|from)\b", bare, re.IGNORECASE):
        section.note("sql", "is a query: begin with SELECT or WITH")
    elif not re.search(r"\brecords\b", bare, re.IGNORECASE):
        section.note("sql", "reads nothing of the stream, which is called records: SELECT … FROM records")
    check_sql(section, "sql", text)


def check_sql(section: Fields, name: str, text: str) -> None:
    """Quotes and brackets; the rest is Spark's to say."""
    bare = UNQUOTED.sub(" ", text)
    for quote in "'\"`":
        if quote in bare:
            section.note(name, f"a {quote} is opened and not closed")
            return
    expected: list[str] = []
    for letter in bare:
        if letter in CLOSING:
            expected.append(CLOSING[letter])
        elif letter in CLOSING.values() and (not expected or expected.pop() != letter):
            section.note(name, f"a {letter} closes nothing")
            return
    if expected:
        section.note(name, f"a {expected[-1]} is missing")


def _function(section: Fields, text: str, directory: str) -> PythonFunction:
    match = FUNCTION.fullmatch(text)
    if match is None:
        section.note("python", f"{text!r} is not module:function")
        return PythonFunction("", "")
    module, function = match.groups()
    path = os.path.join(directory, *module.split(".")) + ".py"
    if os.path.isfile(path):
        _check_defined(section, path, function)
    elif not _can_be_found(module):
        section.note(
            "python", f"there is no module {module}: neither {os.path.basename(path)} beside the file, nor installed"
        )
    return PythonFunction(module, function)


def _can_be_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _check_defined(section: Fields, path: str, function: str) -> None:
    """Without running it."""
    try:
        with open(path, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
    except (SyntaxError, UnicodeDecodeError) as error:
        section.note("python", f"{os.path.basename(path)} cannot be read: {error}")
        return
    names = {each.name for each in body if isinstance(each, ast.FunctionDef)}
    names |= {
        each.id for item in body if isinstance(item, ast.Assign) for each in item.targets if isinstance(each, ast.Name)
    }
    if function not in names and not any(isinstance(each, ast.ImportFrom) for each in body):
        section.note("python", f"{os.path.basename(path)} has no function {function}")
