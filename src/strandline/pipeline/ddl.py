"""Schemas as Spark's DDL writes them, read without Spark: `order_id BIGINT NOT NULL, tags ARRAY<STRING>`.

Spark reads the same text when a pipeline runs. This is here so that a mistake is found before Spark is started, which
takes ten seconds, and so that it is told by its place.

    columns   column (`,` column)*
    column    name [`:`] type [`NOT NULL`] [`COMMENT` 'text']
    type      word [`(` number (`,` number)* `)`] | ARRAY<type> | MAP<type, type> | STRUCT<columns>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from strandline.pipeline.failures import BadPipeline

TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.|'')*')|([A-Za-z_0-9]+)|([<>(),:]))")
SIMPLE_TYPES = frozenset(
    "boolean byte tinyint short smallint int integer long bigint float real double date timestamp timestamp_ntz"  # noqa: SIM905
    " timestamp_ltz string binary variant".split()
)
DEPTH_MAX = 50
SIZED_TYPES = frozenset(("decimal", "dec", "numeric"))
PRECISION_MAX = 38
FOR_TABLES = ("char", "varchar")


class Column(NamedTuple):
    name: str
    type_name: str  # as Spark writes it: bigint, array<string>
    is_required: bool


def quoted(name: str) -> str:
    """As Spark's SQL takes any name."""
    return "`" + name.replace("`", "``") + "`"


class Token(NamedTuple):
    text: str
    position: int
    is_quoted: bool = False

    @property
    def word(self) -> str:
        return "" if self.is_quoted else self.text.lower()


END = ""


def parse_ddl(text: str) -> list[Column]:
    reader = _Reader(text)
    columns = reader.columns()
    reader.expect(END, "a comma or the end")
    names = [column.name.lower() for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise BadPipeline(f"column {name} is there twice")
    return columns


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def columns(self) -> list[Column]:
        found = [self._column()]
        while self._takes(","):
            found.append(self._column())
        return found

    def _column(self) -> Column:
        name = self._name("a column's name")
        self._takes(":")
        type_name = self._type(name)
        is_required = False
        while self._token.word in ("not", "comment"):
            if self._takes("not"):
                self.expect("null", "NULL after NOT")
                is_required = True
            else:
                self._next += 1
                if not self._token.text.startswith("'"):
                    raise self._unexpected("a text in '…' after COMMENT")
                self._next += 1
        return Column(name, type_name, is_required)

    def _type(self, column: str) -> str:
        token = self._token
        word = token.word
        inner = {"array": lambda: self._type(column), "map": lambda: self._pair(column), "struct": self._struct}
        if word in inner:
            self._next += 1
            return f"{word}<{self._inner(column, inner[word])}>"
        if word in SIMPLE_TYPES:
            self._next += 1
            return word
        if word in SIZED_TYPES:
            self._next += 1
            return word + self._sizes(column)
        if word in FOR_TABLES:
            raise BadPipeline(
                f"{word.upper()} is for tables, and not for what is read (of column {column}): use STRING"
            )
        if not token.text or token.text in ",<>():":
            raise self._unexpected(f"the type of column {column}")
        raise BadPipeline(f"{token.text!r} is no type that Spark knows (of column {column}){_guess(word)}")

    def _inner(self, column: str, read: Callable[[], str]) -> str:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise BadPipeline(f"the type of column {column} lies in more than {DEPTH_MAX} others")
        self.expect("<", "<")
        text = read()
        self.expect(">", ">")
        self._depth -= 1
        return text

    def _pair(self, column: str) -> str:
        key = self._type(column)
        self.expect(",", "a comma between the two types of a map")
        return f"{key},{self._type(column)}"

    def _struct(self) -> str:
        return ",".join(
            f"{quoted(column.name)}:{column.type_name}" + (" NOT NULL" if column.is_required else "")
            for column in self.columns()
        )

    def _sizes(self, column: str) -> str:
        if not self._takes("("):
            return ""
        numbers = [self._number()]
        while self._takes(","):
            numbers.append(self._number())
        self.expect(")", ")")
        precision, scale = [*map(int, numbers), 0][:2]
        if len(numbers) > 2 or not 0 < precision <= PRECISION_MAX or scale > precision:
            said = f"DECIMAL({','.join(numbers)}) cannot be (of column {column})"
            raise BadPipeline(f"{said}: at most {PRECISION_MAX} digits, as in DECIMAL(10,2)")
        return f"({','.join(numbers)})"

    def _number(self) -> str:
        if not self._token.text.isdigit():
            raise self._unexpected("a number")
        self._next += 1
        return self._tokens[self._next - 1].text

    def _name(self, what: str) -> str:
        token = self._token
        if not token.text or token.text in ",<>():" or token.text.startswith("'"):
            raise self._unexpected(what)
        self._next += 1
        return token.text

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _takes(self, word: str) -> bool:
        if self._token.word != word:
            return False
        self._next += 1
        return True

    def expect(self, word: str, what: str) -> None:
        if self._token.word != word:
            raise self._unexpected(what)
        self._next += bool(word)

    def _unexpected(self, what: str) -> BadPipeline:
        found = repr(self._token.text) if self._token.text else "the end"
        return BadPipeline(f"{what} is expected at position {self._token.position + 1}, and {found} is there")


def _tokens(text: str) -> list[Token]:
    found, position = [], 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise BadPipeline(f"{text[start]!r} at position {start + 1} cannot be part of a schema")
        quoted, string, word, sign = match.groups()
        if quoted:
            found.append(Token(quoted[1:-1].replace("``", "`"), match.start(1), is_quoted=True))
        else:
            found.append(Token(string or word or sign, match.end() - len(string or word or sign)))
        position = match.end()
    return [*found, Token(END, len(text))]


def _guess(word: str) -> str:
    from difflib import get_close_matches  # only for those who mistype

    known = {"number": "double", "text": "string", "str": "string", "datetime": "timestamp", "bool": "boolean"}
    close = known.get(word) or next(iter(get_close_matches(word, [*SIMPLE_TYPES, *SIZED_TYPES], n=1)), "")
    return f"; did you mean {close}?" if close else ""
