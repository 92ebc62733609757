"""Lines of JSON: what they mean, and what is no operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strandline.history.checker import check
from strandline.history.lines import LineParser, line_of
from strandline.history.operations import (
    BEGINNING,
    END,
    Assign,
    Client,
    Commit,
    Decision,
    How,
    Isolation,
    Operation,
    Outcome,
    Poll,
    Record,
    Revoke,
    Send,
)
from strandline.history.operations import End as EndOfTransaction
from strandline.history.verdict import Kind
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

ORDERS = TopicPartition("orders", 0)


def parsed(line: str) -> Operation:
    return LineParser().operation(line, 7)


def test_a_send() -> None:
    stamp = '"process":"anna","outcome":"unknown","began_us":1,"ended_us":2'
    assert parsed(f'{{"op":"send",{stamp},"topic":"orders","partition":0,"value":"a"}}') == Send(
        7, "anna", Outcome.UNKNOWN, 1, 2, "orders", ORDERS, "a"
    )


def test_without_times_the_line_is_the_time() -> None:
    assert parsed('{"op":"poll","process":"carl","records":[["orders",0,3,"a"]]}') == Poll(
        7, "carl", Outcome.OK, 7, 7, (Record(ORDERS, 3, "a"),)
    )


def test_positions_have_names() -> None:
    told = '[["orders",0,"beginning"],["orders",0,"end"],["orders",0,null]]'
    positions = ((ORDERS, BEGINNING), (ORDERS, END), (ORDERS, None))
    assert parsed(f'{{"op":"assign","process":"c","how":"seek","positions":{told}}}') == Assign(
        7, "c", Outcome.OK, 7, 7, How.SEEK, positions
    )


def test_a_client_that_does_not_know_its_place_says_so_by_number() -> None:
    """librdkafka's: where its group is, and nowhere."""
    for number in (-1000, -1001):
        unknown = parsed(f'{{"op":"assign","process":"c","how":"rebalance","positions":[["orders",0,{number}]]}}')
        assert unknown == Assign(7, "c", Outcome.OK, 7, 7, How.REBALANCE, ((ORDERS, None),))
        nothing = parsed(f'{{"op":"commit","process":"c","group":"g","offsets":[["orders",0,{number}]]}}')
        assert nothing == Commit(7, "c", Outcome.OK, 7, 7, "g", ())


def test_the_others() -> None:
    assert parsed('{"op":"revoke","process":"c"}') == Revoke(7, "c", Outcome.OK, 7, 7, None)
    assert parsed('{"op":"commit","process":"c","group":"g","offsets":[["orders",0,4]],"transaction":"t"}') == Commit(
        7, "c", Outcome.OK, 7, 7, "g", ((ORDERS, 4),), "t"
    )
    assert parsed(
        '{"op":"end","process":"p","transaction":"t","decision":"abort","outcome":"info"}'
    ) == EndOfTransaction(7, "p", Outcome.UNKNOWN, 7, 7, "t", Decision.ABORT)
    assert parsed('{"op":"client","process":"p","acks":"all","isolation":"read_uncommitted","more":[1]}') == Client(
        7, "p", isolation=Isolation.READ_UNCOMMITTED
    )


def test_a_process_that_is_two_clients() -> None:
    parser = LineParser()
    parser.operation('{"op":"client","process":"p","acks":1,"clock":"here"}', 1)
    client = parser.operation('{"op":"client","process":"p","group":"g","clock":"here"}', 2)
    assert client == Client(2, "p", acks=1, group="g", clock="here", tells_of_producer=False)


def test_a_line_is_written_as_it_is_read() -> None:
    line = line_of("send", process="ännå", topic="orders", partition=0, value='"\n', offset=None)
    assert line.count(b"\n") == 1
    assert b"offset" not in line
    assert LineParser().operation(line, 7) == Send(7, "ännå", Outcome.OK, 7, 7, "orders", ORDERS, '"\n')


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "is not JSON: Expecting value at character 1"),
        ("{", "is not JSON"),
        ("[]", "is not an operation: it must be a JSON object"),
        ("17", "is not an operation: it must be a JSON object"),
        ("null", "is not an operation: it must be a JSON object"),
        ('"send"', "is not an operation: it must be a JSON object"),
        ("[" * 100_000, "is not an operation: it is nested too deep"),
        ("{}", "has no field 'op'"),
        ('{"op":"dance"}', "has an unknown op 'dance': known are client, send, poll"),
        ('{"op":["send"]}', r"has an unknown op \"\['send'\]\": known are client"),
        ('{"op":null}', "has an unknown op 'None'"),
        ('{"op":"send","process":"p"}', "lacks the field 'topic'"),
        ('{"op":"send","topic":"t","value":"v"}', "lacks the field 'process'"),
        ('{"op":"send","process":["p"],"topic":"t","value":"v"}', r"\[\"p\"\] is not a text"),
        ('{"op":"send","process":"p","topic":"t","value":7}', "7 is not a text"),
        ('{"op":"send","process":"p","topic":"t","value":"v","partition":"0"}', '"0" is not a whole number'),
        ('{"op":"send","process":"p","topic":{},"value":"v","partition":0}', "{} is not a text"),
        ('{"op":"send","process":"p","topic":"t","value":"v","partition":{}}', "{} is not a whole number"),
        (
            '{"op":"send","process":"p","topic":"t","value":"v","outcome":"maybe"}',
            '"maybe" is none of ok, fail, unknown',
        ),
        ('{"op":"poll","process":"p","outcome":{},"records":[]}', "{} is none of ok, fail, unknown"),
        ('{"op":"poll","process":"p","began_us":5,"ended_us":4,"records":[]}', "it ended before it began"),
        ('{"op":"poll","process":"p","began_us":true,"records":[]}', "true is not a whole number"),
        (
            '{"op":"poll","process":"p","records":[["t",0,1]]}',
            r"its 'records' must be a list of \[topic, partition, offset, value\]",
        ),
        ('{"op":"poll","process":"p","records":7}', "its 'records' must be a list of"),
        ('{"op":"poll","process":"p","records":null}', "its 'records' must be a list of"),
        (
            '{"op":"commit","process":"p","group":"g","offsets":[7]}',
            r"its 'offsets' must be a list of \[topic, partition, offset\]",
        ),
        ('{"op":"revoke","process":"p","partitions":[[["t"]]]}', r"must be a list of \[topic, partition\]"),
        ('{"op":"assign","process":"p","positions":{"t":0}}', r"must be a list of \[topic, partition, position\]"),
        ('{"op":"assign","process":"p","positions":[["t",0,"middle"]]}', '"middle" is none of beginning, end'),
        ('{"op":"assign","process":"p","positions":[["t",0,[]]]}', "is none of beginning, end"),
        ('{"op":"assign","process":"p","how":"walk"}', '"walk" is none of assign, subscribe, rebalance, seek'),
        ('{"op":"end","process":"p","transaction":"t","decision":"wait"}', '"wait" is none of commit, abort'),
        ('{"op":"poll","process":"p"}', "lacks the field 'records'"),
        ('{"op":"poll","process":"p","record":[["t",0,0,"v"]]}', "a field 'record', .* did you mean 'records'"),
        ('{"op":"poll","process":"p","Records":[["t",0,0,"v"]]}', "a field 'Records', .* did you mean 'records'"),
        ('{"op":"poll","process":"p","records":[],"transacton":"t"}', "'transacton', .* did you mean 'transaction'"),
        ('{"op":"poll","process":"p","records":{}}', "its 'records' must be a list of"),
        ('{"op":"poll","process":"p","records":""}', "its 'records' must be a list of"),
        ('{"op":"poll","process":"p","records":["abcd"]}', "is not a whole number"),
        ('{"op":"poll","process":"p","records":[["t",0,-1,"v"]]}', "-1 is less than 0"),
        ('{"op":"poll","process":"p","records":[["t",-1,0,"v"]]}', "-1 is less than 0"),
        ('{"op":"send","process":"p","topic":"t","partition":0,"value":"v","offset":-1}', "-1 is less .* leave it out"),
        (
            '{"op":"assign","process":"p","positions":[["t",0,-5]]}',
            "-5 is no position: .* or null where it is not known",
        ),
        ('{"op":"commit","process":"p","group":"g","offsets":[["t",0,-1]]}', "-1 is less than 0"),
        ('{"op":"commit","process":"p","group":"g","offsets":[[]]}', "its 'offsets' must be a list of"),
        ('{"op":"commit","process":"p","group":"g","offsets":[{}]}', "its 'offsets' must be a list of"),
        ('{"op":"trim","process":"p","offsets":[["t",0,-1]]}', "-1 is less than 0"),
        ('{"op":"trim","process":"p","offsets":[["t",0,-1001]]}', "-1001 is less than 0"),
        ('{"op":"begin","process":"p","transaction":"t","transaction":"u"}', "has the field 'transaction' twice"),
        ('{"op":"begin","process":"p","transaction":"t","more":{"a":1,"a":1}}', "has the field 'a' twice"),
        ('{"op":"revoke","process":"p","partitions":""}', "its 'partitions' must be a list of"),
        ('{"op":"commit","process":"p","group":"g","offsets":{}}', "its 'offsets' must be a list of"),
        ('{"op":"assign","process":"p","positions":{}}', "its 'positions' must be a list of"),
        ('{"op":"assign","process":"p"}', "lacks the field 'positions'"),
        ('{"op":"assign","process":"p","how":"rebalance"}', "lacks the field 'positions'"),
        ('{"op":"revoke","process":"p","partition":[["t",0]]}', "'partition', .* did you mean 'partitions'"),
        ('{"op":"send","process":"p","topic":"t","value":"v"}', "lacks the field 'partition'"),
        ('{"op":"send","process":"p","topic":"t","value":"v","partition":null}', "lacks the field 'partition'"),
        (
            '{"op":"send","process":"p","topic":"t","partition":0,"value":"v","outcom":"fail"}',
            "'outcom', .* did you mean 'outcome'",
        ),
        (
            '{"op":"send","process":"p","topic":"t","partition":0,"value":"v","ofset":1}',
            "'ofset', .* did you mean 'offset'",
        ),
        ('{"op":"send","proces":"p","topic":"t","value":"v"}', "'proces', .* did you mean 'process'"),
        ('{"op":"end","process":"p","transaction":"t"}', "lacks the field 'decision'"),
        ('{"op":"trim","process":"p"}', "lacks the field 'offsets'"),
        ('{"op":"client","process":"p","idempotence":false}', "'idempotence', .* did you mean 'idempotent'"),
        ('{"op":"client","process":"p","idempotent":"false"}', '"false" is neither true nor false, as JSON has them'),
        ('{"op":"client","process":"p","auto_commit":0}', "0 is neither true nor false"),
        ('{"op":"client","process":"p","acks":2}', '"2" is none of all'),
        ('{"op":"client","process":"p","isolation":{}}', "is none of read_committed, read_uncommitted"),
    ],
)
def test_what_is_no_operation(line: str, why: str) -> None:
    with pytest.raises(CorruptData, match=f"^[^\\n]*{why}"):
        parsed(line)


def test_fields_that_nobody_knows_are_left_alone() -> None:
    """Also where a name like it is there already, or where it says more than one: a recorder may note what it likes."""
    more = '"key":"k","time":1.5,"process_id":7,"partitions":3,"transactional_id":"x","":0'
    parsed(f'{{"op":"send","process":"p","topic":"t","partition":0,"value":"v",{more}}}')


def test_a_send_that_failed_need_not_know_its_partition() -> None:
    for outcome in ("fail", "unknown"):
        parsed(f'{{"op":"send","process":"p","topic":"t","value":"v","outcome":"{outcome}"}}')


def test_who_only_asked_its_group_need_not_know_its_partitions() -> None:
    assert parsed('{"op":"assign","process":"p","how":"subscribe"}') == Assign(
        7, "p", Outcome.OK, 7, 7, How.SUBSCRIBE, ()
    )


NUMBERS = [
    '{"op":"poll","process":"p","records":[["t",0,%s,"v"]]}',
    '{"op":"poll","process":"p","records":[["t",%s,0,"v"]]}',
    '{"op":"send","process":"p","topic":"t","value":"v","partition":0,"offset":%s}',
    '{"op":"commit","process":"p","group":"g","offsets":[["t",0,%s]]}',
    '{"op":"assign","process":"p","positions":[["t",0,%s]]}',
    '{"op":"poll","process":"p","began_us":%s,"records":[]}',
    '{"op":"poll","process":"p","began_us":0,"ended_us":%s,"records":[]}',
]


@pytest.mark.parametrize("line", NUMBERS)
def test_numbers_are_those_of_kafka(line: str) -> None:
    """Larger ones are nobody's offset or time, and from 4,300 digits on Python does not even print them."""
    parsed(line % (2**63 - 1))
    for number in (2**63, 10**40, "9" * 4300):
        with pytest.raises(CorruptData, match="is not an operation: a number has more than 64 bits"):
            parsed(line % number)
    with pytest.raises(CorruptData, match="is not an operation: it is nested too deep, or a number has too many"):
        parsed(line % ("9" * 4301))


def test_a_field_that_is_nested_deep() -> None:
    """However deep: there may be depths that can be read and not be printed."""
    for depth in [*range(1, 1100), *range(1100, 20_000, 100)]:
        with pytest.raises(CorruptData, match=r"is not a text|nested too deep|its fields are not"):
            parsed(f'{{"op":"send","process":{"[" * depth}{"]" * depth},"topic":"t","value":"v"}}')


def test_a_partition_is_a_whole_number_also_where_it_is_known() -> None:
    """To Python 0, 0.0 and false are the same key."""
    parser = LineParser()
    parser.operation('{"op":"poll","process":"p","records":[["t",0,0,"v"]]}', 1)
    for number in ("0.0", "false"):
        with pytest.raises(CorruptData, match="is not a whole number"):
            parser.operation(f'{{"op":"poll","process":"p","records":[["t",{number},0,"v"]]}}', 2)


def test_the_example_of_the_documentation_is_a_history() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "history.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    parser = LineParser()
    operations = [parser.operation(line, number) for number, line in enumerate(example.splitlines(), 1)]
    verdict = check(operations)
    assert verdict.findings == {}
    assert verdict.operation_count == len(operations) - 3, "two clients, and a commit that was asked for and answered"


def test_the_documentation_lists_every_anomaly() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "history.md").read_text(encoding="utf-8")
    table = page.partition("## The anomalies")[2]
    assert [kind for kind in Kind if f"`{kind}`" not in table] == []
