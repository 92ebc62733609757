"""The language of offsets: rpk's whole, kcat's two words, and a sentence for everything else."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cli.offset_language import (
    END,
    START,
    Anchor,
    BadOffset,
    OffsetRange,
    Point,
    parse_offsets,
    parse_time,
)

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
DAY = 1_794_700_800_000  # 2026-11-15


def at(offset: int) -> Point:
    return Point(Anchor.OFFSET, offset)


def time(moment_ms: int) -> Point:
    return Point(Anchor.TIME, moment_ms)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("start", START, None),
        ("oldest", START, None),
        ("beginning", START, None),
        ("end", END, None),
        ("latest", END, None),
        ("stored", Point(Anchor.STORED), None),
        ("47", at(47), None),
        ("47:", at(47), None),
        ("+5", Point(Anchor.START, 5), None),
        ("-5", Point(Anchor.END, -5), None),
        (":end", START, END),
        (":10", START, at(10)),
        ("5:10", at(5), at(10)),
        ("5:end", at(5), END),
        ("+5:-5", Point(Anchor.START, 5), Point(Anchor.END, -5)),
        ("@1699999999999", time(1_699_999_999_999), None),
        ("@1699999999", time(1_699_999_999_000), None),
        ("@2026-11-15", time(DAY), None),
        ("@2026-11-15:", time(DAY), None),
        ("@2026-11-15:1h", time(DAY), time(DAY + HOUR_MS)),
        ("@2026-11-15T01:00:00Z:2026-11-15T02:00:00.500Z", time(DAY + HOUR_MS), time(DAY + 2 * HOUR_MS + 500)),
        ("@2026-11-15T02:00:00+01:00", time(DAY + HOUR_MS), None),
        ("@2026-11-15T01:00", time(DAY + HOUR_MS), None),
        ("@-1h", time(NOW_MS - HOUR_MS), None),
        ("@-1d12h3ms", time(NOW_MS - 36 * HOUR_MS - 3), None),
        ("@-2h:-1h", time(NOW_MS - 2 * HOUR_MS), time(NOW_MS - HOUR_MS)),
        ("@-1m:end", time(NOW_MS - 60_000), END),
        ("@:-1h", START, time(NOW_MS - HOUR_MS)),
    ],
)
def test_what_is_meant(text: str, start: Point, end: Point | None) -> None:
    assert parse_offsets((text,), NOW_MS) == OffsetRange(start, end)


def test_kcats_halves() -> None:
    assert parse_offsets(("s@1699999999999",), NOW_MS) == OffsetRange(time(1_699_999_999_999))
    assert parse_offsets(("s@-2h", "e@-1h"), NOW_MS) == OffsetRange(time(NOW_MS - 2 * HOUR_MS), time(NOW_MS - HOUR_MS))
    assert parse_offsets(("e@2026-11-15",), NOW_MS) == OffsetRange(START, time(DAY))


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (("",), "is not an offset"),
        ((":",), "is not an offset"),
        (("@",), "is not an offset"),
        (("five",), "is not an offset: write start, end, 47"),
        (("5;10",), "is not an offset"),
        (("5:ten",), "is not an offset"),
        (("10:5",), "ends before it begins"),
        (("5:5",), "ends before it begins"),
        (("@-1h:-2h",), "ends before it begins"),
        (("@yesterday",), "'yesterday' is not a time"),
        (("@2026-13-45",), "'2026-13-45' is not a time: month must be in"),
        (("@2026-11-15x",), "is not a time"),
        (("@2026-11-15T01:00:00Zjunk",), "is not an offset"),
        (("5", "10"), "give one range, as in 5:10"),
        (("s@-1h", "5"), "go with each other, and with nothing else"),
        (("9" * 30,), "is not an offset"),
    ],
)
def test_what_is_not_meant_is_told(texts: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(BadOffset, match=sentence):
        parse_offsets(texts, NOW_MS)


@given(st.text(alphabet="@:+-0123456789TZ.startendhms ", max_size=30))
def test_any_text_is_a_range_or_a_sentence(text: str) -> None:
    with suppress(BadOffset):
        assert isinstance(parse_offsets((text,), NOW_MS), OffsetRange)


def test_an_end_is_the_present_one_unless_there_is_another() -> None:
    assert OffsetRange(at(3)).until_present_end() == OffsetRange(at(3), END)
    assert OffsetRange(at(3), at(5)).until_present_end() == OffsetRange(at(3), at(5))


def test_a_time_may_have_its_sign() -> None:
    assert parse_time("@-1h", NOW_MS) == parse_time("-1h", NOW_MS) == NOW_MS - HOUR_MS
