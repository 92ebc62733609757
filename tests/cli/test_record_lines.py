"""Records as text and back: JSON that keeps every byte, formats to print by, formats to read by."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strandline.cli.record_format import BadFormat, Shown, compile_format, unescape
from strandline.cli.record_input import RecordInput, format_shape, json_shape, line_shape, with_constants
from strandline.cli.record_json import BadRecordLine, RecordLine, format_record, parse_record
from strandline.client.fetched import ConsumedRecord, FetchedPartition
from strandline.model.partitions import TopicPartition
from strandline.records.record import Headers

ORDERS = TopicPartition("orders", 2)


def consumed(
    key: bytes | None = None, value: bytes | None = None, headers: Headers = (), timestamp: int = 1_700_000_000_123
) -> ConsumedRecord:
    return ConsumedRecord(ORDERS, 47, timestamp, key, value, headers, 3, False)


def shown(record: ConsumedRecord, number: int = 0, null_text: bytes = b"") -> Shown:
    return Shown(record, FetchedPartition(ORDERS, 40, memoryview(b""), 60, 55, 30), number, null_text)


header_keys = st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape"))
json_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
).map(lambda value: json.dumps(value).encode())
contents = st.none() | st.binary() | st.text().map(str.encode) | json_documents


@given(contents, contents, st.lists(st.tuples(header_keys, st.none() | st.binary(max_size=8)), max_size=3).map(tuple))
@example(b'{"a": 1.0,  "b" : 1e400}', b"[ ]", ())
@example(b'{"a":NaN}', b'{"a":1} ', (("", b""),))
@example(b'{"a":\n1}', b"{}{}", (("\udcff", b"\xff"),))
@example(b'"quoted"', b"7", ())
@example('{"\u2028":1}'.encode(), b"null", ())
@example(b"[" * 5000 + b"]" * 5000, b'{"a":' + b"1" * 5000 + b"}", ())
@example(b'{"a":"\\ud800"}', b"true", ())
def test_what_consume_prints_produce_reads_to_the_byte(
    key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    line = format_record(consumed(key, value, headers))
    assert b"\n" not in line
    assert parse_record(line) == RecordLine(key, value, headers, 1_700_000_000_123, None)


def test_a_line_is_json_for_others_too() -> None:
    line = json.loads(format_record(consumed(b"k", b'{"total": 3}', (("source", b"web"), ("n", None)))))
    assert line == {
        "topic": "orders",
        "partition": 2,
        "offset": 47,
        "timestamp": 1_700_000_000_123,
        "timestamp_type": "create",
        "key": "k",
        "value": {"total": 3},
        "headers": [{"key": "source", "value": "web"}, {"key": "n", "value": None}],
    }
    assert json.loads(format_record(consumed(b"\xff", None)))["key_base64"] == "/w=="


def test_a_time_that_a_record_does_not_have_is_not_written_back() -> None:
    assert parse_record(format_record(consumed(value=b"x", timestamp=-1))).timestamp_ms is None


def test_lines_of_kcat_and_lines_by_hand_are_read() -> None:
    kcat = (
        b'{"topic":"t","partition":0,"offset":1,"ts":5,"tstype":"create","headers":["a","1"],"key":"k","payload":"v"}'
    )
    assert parse_record(kcat) == RecordLine(b"k", b"v", (("a", b"1"),), 5, None)
    assert parse_record(b' { "value" : 7 } ') == RecordLine(None, b"7", (), None, None)
    assert parse_record(b'{"value":{"a": 1}}').value == b'{"a": 1}'
    assert parse_record(b'{"value":null}') == RecordLine(None, None, (), None, None)
    assert parse_record(b'{"value":"","headers":[{"key":"a","value":1}]}').headers == (("a", b"1"),)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"", "not a JSON object"),
        (b"hello", "does not begin with {"),
        (b'["value"]', "does not begin with {"),
        (b'{"value":1', "a comma or } was expected"),
        (b'{"value" 1}', "a colon was expected"),
        (b"{value:1}", "a name was expected"),
        (b'{"value":1} {}', "there is more after the object"),
        (b'{"value":tru}', "not a JSON object"),
        (b"\xff", "not a JSON object"),
        (b'{"value_base64":"!"}', "value_base64 is not base 64"),
        (b'{"value_base64":7}', "value_base64 is not a string"),
        (b'{"timestamp":"now"}', "timestamp is not a whole number"),
        (b'{"timestamp":true}', "timestamp is not a whole number"),
        (b'{"headers":{"a":1}}', "headers is not a list"),
        (b'{"headers":["a"]}', "not a list of names and values"),
        (b'{"headers":[{"value":"x"}]}', "a header has no key"),
        (b'{"headers":[7]}', "a header is not an object"),
        (b'{"value":"\\ud800"}', "half of a surrogate pair"),
    ],
)
def test_lines_that_are_none_are_told(line: bytes, sentence: str) -> None:
    with pytest.raises(BadRecordLine, match=sentence.replace("{", r"\{").replace("}", r"\}")):
        parse_record(line)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_a_sentence(line: bytes) -> None:
    with suppress(BadRecordLine):
        assert isinstance(parse_record(line), RecordLine)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%t-%p@%o %k=%v\\n", b"orders-2@47 key=value\n"),
        ("%s %S %K %V %T %d", b"value 5 3 5 1700000000123 1700000000123"),
        ("%h|%H", b"a=1,b=|2"),
        ("%h{<%k:%v>}", b"<a:1><b:>"),
        ("%h{%k{hex} }", b"61 62 "),
        ("%e %i %[ %| %]", b"3 9 30 55 60"),
        ("%v{hex} %k{base64}", b"76616c7565 a2V5"),
        ("%V{big32}%V{little16}%o{hex64} %p{hex4} %p{ascii}", b"\0\0\0\x05\x05\x00000000000000002f 2 2"),
        ("%d{strftime[%Y-%m-%d %H:%M]}", b"2023-11-14 22:13"),
        (r"\x41\t\r\\%%%{%}\q", b"A\t\r\\%{}\\q"),
        ("plain", b"plain"),
        ("", b""),
    ],
)
def test_formats_to_print_by(form: str, text: bytes) -> None:
    record = consumed(b"key", b"value", (("a", b"1"), ("b", None)))
    assert compile_format(form)(shown(record, number=9)) == text


def test_null_is_nothing_or_what_stands_for_it() -> None:
    form = compile_format("%k:%v %K %v{hex}")
    assert form(shown(consumed())) == b": -1 "
    assert form(shown(consumed(), null_text=b"NULL")) == b"NULL:NULL -1 NULL"


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    assert compile_format("%d{strftime[%F]}")(shown(consumed(timestamp=2**62))) == b"%d" % 2**62


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("%q", "%q is not known"),
        ("100%", "ends in a single %"),
        ("%v{rot13}", r"\{rot13\} is not known for bytes"),
        ("%o{base64}", r"\{base64\} is not known for numbers"),
        ("%o{big4}", "is not known for numbers"),
        ("%v{hex", "is not closed"),
        ("%h{%q}", "%q is not known"),
    ],
)
def test_formats_that_are_none_are_told(form: str, sentence: str) -> None:
    with pytest.raises(BadFormat, match=sentence):
        compile_format(form)


def test_escapes_are_bytes() -> None:
    assert unescape(r"\xff\0\n\\") == b"\xff\0\n\\"


def read(source: RecordInput, *chunks: bytes) -> list[RecordLine]:
    return [record for chunk in chunks for record in source.records(chunk)] + list(source.last())


def test_lines_are_cut_wherever_the_chunks_end() -> None:
    whole = b"first\nsecond\n\nlast"
    for size in range(1, len(whole) + 1):
        chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
        values = [record.value for record in read(RecordInput(line_shape(b"\n", None), 100), *chunks)]
        assert values == [b"first", b"second", b"", b"last"]


def test_keys_are_cut_at_the_first_delimiter() -> None:
    records = read(RecordInput(line_shape(b"||", b"::"), 100), b"k::v::w||::||a::b")
    assert [(record.key, record.value) for record in records] == [(b"k", b"v::w"), (b"", b""), (b"a", b"b")]
    with pytest.raises(BadRecordLine, match="record 2 of the input: it has no '::' between key and value"):
        read(RecordInput(line_shape(b"\n", b"::"), 100), b"a::b\nnothing\n")


@pytest.mark.parametrize(
    ("form", "data", "record"),
    [
        (r"%k %v\n", b"key some value\n", RecordLine(b"key", b"some value", (), None, None)),
        (r"%v\n", b"\n", RecordLine(None, b"", (), None, None)),
        (r"%p|%d|%k{hex}|%s{base64};", b"2|5|ff|dg==;", RecordLine(b"\xff", b"v", (), 5, 2)),
        (r"<%T> %v", b"<7> x\n", RecordLine(None, b"x", (), 7, None)),
    ],
)
def test_formats_to_read_by(form: str, data: bytes, record: RecordLine) -> None:
    assert read(RecordInput(format_shape(form), 100), data) == [record]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("nothing", "has no token"),
        ("%k%v", "nothing between them"),
        ("%k %k", "has the key twice"),
        ("%o %v", "%o cannot be read"),
        ("%v{rot13}", "is not known: hex and base64 are"),
    ],
)
def test_formats_that_nothing_can_be_read_by_are_told(form: str, sentence: str) -> None:
    with pytest.raises(BadFormat, match=sentence):
        format_shape(form)


@pytest.mark.parametrize("line", [b"no separator", b"xx|zz", b"1.5|00"])
def test_what_does_not_fit_a_format_is_told(line: bytes) -> None:
    with pytest.raises(BadRecordLine, match=r"record 1 of the input: it does not fit the format '%p\|%v\{hex\}"):
        read(RecordInput(format_shape(r"%p|%v{hex}\n"), 100), line)


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    source = RecordInput(line_shape(b"\n", None), 10)
    with pytest.raises(BadRecordLine, match=r"record 2 is longer than max\.request\.size=10"):
        read(source, b"short\n", b"x" * 8, b"x" * 8)


def test_json_lines_are_an_input_like_others() -> None:
    lines = b"".join(format_record(consumed(value=value)) + b"\n" for value in (b"a", None, b"\xff"))
    assert [record.value for record in read(RecordInput(json_shape(), 1000), lines)] == [b"a", None, b"\xff"]


def test_options_say_something_about_every_record() -> None:
    record = RecordLine(b"own", b"", (("a", b"1"),), 5, None)
    assert with_constants(record, None, (), None, False) == record
    assert with_constants(record, b"k", (("b", None),), 3, True) == RecordLine(
        b"k", None, (("a", b"1"), ("b", None)), 5, 3
    )


@pytest.mark.parametrize("line", [b'{"id": 7, "total": 5}', b'{"key": "a"}', b'{"valu": "x"}', b"{}"])
def test_a_line_without_a_value_is_refused(line: bytes) -> None:
    """It is an ordinary document, more likely than not: written as a tombstone it would be lost."""
    with pytest.raises(BadRecordLine, match="it has no value"):
        parse_record(line)
