"""Where to begin and where to stop reading, in the words of rpk and of kcat.

    start, end           the first record there is; the next one to come (also oldest, newest; beginning, latest …)
    stored               where the group was (with -g)
    N  +N  -N            an offset; N after the start; N before the end
    :end  :N  N:M  N:end  until the present end; until an offset (which is not read any more)
    @T  @T:  @:T  @T:U   from the first record of a time on; until the first of another
    s@T  e@T             the same two, as kcat writes them

A time T is 1700000000000 (milliseconds), 1700000000 (seconds), 2026-11-15, 2026-11-15T04:12:42Z, or how long ago: -1h,
-1d12h; U may also be `end`, or a length of time after T: @2026-11-15:1h. Every end is fixed when reading begins.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from strandline.client.moments import DURATION, INSTANT, BadMoment, parse_moment
from strandline.model.lazy_dataclass import dataclass

WORDS_FOR_START = ("start", "oldest", "beginning", "earliest")
WORDS_FOR_END = ("end", "newest", "latest")
STORED = "stored"
NUMBER = re.compile(r"[0-9]{1,19}")
RELATIVE = re.compile(r"[+-][0-9]{1,18}")


class BadOffset(ValueError):
    """One sentence that says what would do."""


class Anchor(Enum):
    START = auto()
    END = auto()
    OFFSET = auto()  # itself
    TIME = auto()  # the first record at or after it
    STORED = auto()  # what the group has committed


class Point(NamedTuple):
    anchor: Anchor
    number: int = 0  # to add to START or END; the offset; the milliseconds


START = Point(Anchor.START)
END = Point(Anchor.END)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    start: Point = START
    end: Point | None = None  # None: for ever

    def until_present_end(self) -> OffsetRange:
        return self if self.end is not None else OffsetRange(self.start, END)


def parse_offsets(texts: tuple[str, ...], now_ms: int) -> OffsetRange:
    """All that was given with -o: one range, or kcat's two halves."""
    kcat = {text[0]: text[2:] for text in texts if text[:2] in ("s@", "e@")}
    if kcat:
        if len(kcat) != len(texts):
            raise BadOffset(f"{' '.join(texts)!r}: s@TIME and e@TIME go with each other, and with nothing else")
        start = Point(Anchor.TIME, parse_time(kcat["s"], now_ms)) if "s" in kcat else START
        end = Point(Anchor.TIME, parse_time(kcat["e"], now_ms)) if "e" in kcat else None
        return _checked(OffsetRange(start, end), " ".join(texts))
    if len(texts) > 1:
        raise BadOffset(f"{' '.join(texts)!r}: give one range, as in 5:10 or @-2h:-1h")
    text = texts[0]
    found = _parse_times(text[1:], now_ms) if text.startswith("@") else _parse_numbers(text)
    return _checked(found, text)


def _parse_numbers(text: str) -> OffsetRange:
    if text == STORED:
        return OffsetRange(Point(Anchor.STORED))
    before, colon, after = text.partition(":")
    start = _point(before, text) if before else START
    if not before and not after:
        raise _unclear(text)
    return OffsetRange(start, _point(after, text) if colon and after else None)


def _point(word: str, text: str) -> Point:
    if word in WORDS_FOR_START:
        return START
    if word in WORDS_FOR_END:
        return END
    if RELATIVE.fullmatch(word):
        return Point(Anchor.START if word[0] == "+" else Anchor.END, int(word))
    if NUMBER.fullmatch(word):
        return Point(Anchor.OFFSET, int(word))
    raise _unclear(text)


def _parse_times(text: str, now_ms: int) -> OffsetRange:
    first, second = _cut_times(text)
    if not first and not second:
        raise _unclear("@" + text)
    start, base_ms = START, now_ms
    if first:
        at_ms = parse_time(first, now_ms)
        start = Point(Anchor.TIME, at_ms)
        base_ms = now_ms if DURATION.fullmatch(first) else at_ms
    if second is None or not second:
        return OffsetRange(start)
    end = END if second in WORDS_FOR_END else Point(Anchor.TIME, parse_time(second, base_ms))
    return OffsetRange(start, end)


def _cut_times(text: str) -> tuple[str, str | None]:
    """At the colon between two times, which may hold colons themselves."""
    instant = INSTANT.match(text)
    first = instant.group() if instant else text.partition(":")[0]
    rest = text[len(first) :]
    if not rest:
        return first, None
    if not rest.startswith(":"):
        raise _unclear("@" + text)
    return first, rest[1:]


def parse_time(text: str, base_ms: int) -> int:
    """Milliseconds; a length of time counts from `base_ms`."""
    try:
        return parse_moment(text, base_ms)
    except BadMoment as error:
        raise BadOffset(str(error)) from None


def _checked(found: OffsetRange, text: str) -> OffsetRange:
    start, end = found.start, found.end
    if end is not None and start.anchor is end.anchor and end.number <= start.number and start != START:
        raise BadOffset(f"{text!r} ends before it begins")
    return found


def _unclear(text: str) -> BadOffset:
    return BadOffset(f"{text!r} is not an offset: write start, end, 47, +5, -5, 5:10, :end, @-1h or @2026-11-15:1h")
