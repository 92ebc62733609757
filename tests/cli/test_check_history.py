"""`strandline check-history`: what it says, and with which exit code."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.history.planting import Line, assign, begin, client, commit, end, poll, send

from strandline.cli.main import cli
from strandline.cli.output import EXIT_VOID
from strandline.history.lines import line_of

SENDS = [send("anna", "a", 0), send("anna", "b", 1), send("anna", "c", 2)]
READS = [assign("carl", "beginning"), poll("carl", (0, "a"), (1, "b"), (2, "c"))]
READS_WITH_A_HOLE = [assign("carl", "beginning"), poll("carl", (0, "a"), (2, "c"))]


def write(path: Path, *lines: Line) -> str:
    path.write_bytes(b"".join(line_of(op, **fields) for op, fields in lines))
    return str(path)


def check(*arguments: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["check-history", *arguments])
    assert result.exit_code == exit_code, result.output
    return result


def test_a_history_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS)
    assert check(path).stdout == (
        "Sound: 5 operations of 2 processes (assign 1 ok; poll 1 ok; send 3 ok), 3 records read from 1 partition.\n"
    )


def test_anomalies_with_their_places(tmp_path: Path) -> None:
    """Each process wrote its own file; together they are one history."""
    anna, carl = write(tmp_path / "anna", *SENDS), write(tmp_path / "carl", *READS_WITH_A_HOLE)
    result = check(anna, carl, exit_code=1)
    lost = (
        "'b' was acknowledged to anna at offset 1 of orders-0 and is gone: readers came past it to offset 2 and nobody"
        " read it"
    )
    assert result.stdout.splitlines() == [
        f"lost-write (bad): {lost} [{anna}:2]",
        f"int-poll-skip (bad): carl was at offset 1 of orders-0 and went on at 2, past 1 ('b') [{carl}:2]",
        "lost-write: 1 bad, 0 allowed",
        "int-poll-skip: 1 bad, 0 allowed",
        "5 operations of 2 processes (assign 1 ok; poll 1 ok; send 3 ok), 2 records read from 1 partition.",
    ]
    assert result.stderr == "strandline: 2 bad anomalies\n"


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    """Values are quoted; names of processes and topics are printed as they are, but for what is no text."""
    lost = {"topic": "or\nders", "partition": 0, "process": "a\x1b[2Jnna"}
    sends = [("send", {**lost, "value": value, "offset": offset}) for offset, value in enumerate("ab")]
    reads = [
        assign("carl", 0),
        ("poll", {"process": "ännå", "records": [["or\nders", 0, 1, "b"], ["or\nders", 0, 0, "x"]]}),
    ]
    path = write(tmp_path / "h.jsonl", *sends, *reads)
    result = check(path, exit_code=1)
    assert all(character.isprintable() for line in result.stdout.splitlines() for character in line)
    assert "acknowledged to a\\x1b[2Jnna" in result.stdout
    assert "ännå was at offset 2 of or\\nders-0" in result.stdout
    first, *_ = rows(check(path, "--format", "json", exit_code=1))
    assert "\x1b" not in first["sentence"]
    assert first["partition"] == "or\nders-0"


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS_WITH_A_HOLE)
    lost, skip, summary = rows(check(path, "--format", "json", exit_code=1))
    assert (lost["type"], lost["kind"], lost["is_bad"]) == ("anomaly", "lost-write", True)
    assert (lost["partition"], lost["offsets"], lost["values"]) == ("orders-0", [1], ["b"])
    assert (lost["processes"], lost["operations"]) == (["anna"], [f"{path}:2"])
    assert skip["kind"] == "int-poll-skip"
    assert summary["type"] == "summary"
    assert (summary["sound"], summary["void"], summary["records_read"]) == (False, False, 2)
    assert summary["operations"] == {"assign_ok": 1, "poll_ok": 1, "send_ok": 3}
    assert summary["anomalies"]["lost-write"] == {"bad": 1, "allowed": 0}


def test_what_is_allowed_is_only_counted_until_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS[:1], poll("carl", (0, "a")))
    result = check(path)
    first, last = result.stdout.splitlines()
    assert first == "unseen: 0 bad, 2 allowed (--allowed shows them)"
    assert last.startswith("Sound: ")
    assert [row["type"] for row in rows(check(path, "--format", "json"))] == ["summary"]
    shown = check(path, "--allowed").stdout.splitlines()
    assert [line.partition(":")[0] for line in shown] == ["unseen (allowed)"] * 2 + ["unseen", "Sound"]
    assert shown[2] == "unseen: 0 bad, 2 allowed"
    told = rows(check(path, "--allowed", "--format", "json"))
    assert [row.get("is_bad") for row in told] == [False, False, None]


def test_no_line_is_long_however_many_claim_an_offset_or_long_a_value_is(tmp_path: Path) -> None:
    polls = [poll("carl", (0, f"v{number}")) for number in range(3000)]
    repeats = [poll("dora", (number, "again"), partition=1) for number in range(3000)]
    long = [send("anna", "x" * 100_000, 0, 2), poll("erna", (1, "y"), partition=2)]
    path = write(tmp_path / "h.jsonl", *long, assign("erna", 0, 2), send("anna", "again", 0, 1), *polls, *repeats)
    for options in ([], ["--allowed"]):
        assert max(map(len, check(path, *options, exit_code=1).stdout.splitlines())) < 3000 + 20 * len(path)
    several, *_ = rows(check(path, "--format", "json", exit_code=1))
    assert several["kind"] == "inconsistent-offsets"
    assert "and 2988 more" in several["sentence"]
    assert len(several["operations"]) == len(several["values"]) == 12


def test_what_is_known_of_the_run_changes_what_is_bad(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS_WITH_A_HOLE)
    assert "lost-write: 0 bad, 1 allowed" in check(path, "--may-delete").stdout
    topics = ["--may-delete-topic", "others", "--may-delete-topic", "orders"]
    assert "lost-write: 0 bad, 1 allowed" in check(path, *topics).stdout
    assert "lost-write: 1 bad, 0 allowed" in check(path, *topics[:2], exit_code=1).stdout
    group = [client("carl", group="kitchen"), commit("carl", 2), assign("carl", "beginning", how="rebalance")]
    forgotten = write(tmp_path / "forgotten", *SENDS, *READS, *group)
    assert "lost-commit: 1 bad, 0 allowed" in check(forgotten, exit_code=1).stdout
    assert "lost-commit: 0 bad, 1 allowed" in check(forgotten, "--may-forget-offsets").stdout
    unseen = write(tmp_path / "unseen", *SENDS)
    assert "unseen: 0 bad, 3 allowed" in check(unseen, exit_code=EXIT_VOID).stdout
    assert "unseen: 3 bad, 0 allowed" in check(unseen, "--read-to-end", exit_code=1).stdout
    foreign = write(tmp_path / "foreign", *READS)
    assert "3 records came from writers that are not in the history." in check(foreign, exit_code=EXIT_VOID).stdout
    assert "phantom: 3 bad" in check(foreign, "--all-writers", exit_code=1).stdout


def test_too_little_proves_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS)
    result = check(path, "--at-least", "6", exit_code=EXIT_VOID)
    assert result.stderr == "strandline: 5 operations are too few to say anything\n"
    assert not result.stdout.startswith("Sound")
    check(path, "--at-least", "5")


NOTHING_READ = {
    "sends-alone": SENDS,
    "a-reader-that-read-nothing": [*SENDS, assign("carl", "beginning"), poll("carl")],
    "a-poll-that-failed": [*SENDS, poll("carl", (0, "a"), outcome="fail")],
    "no-send-either": [assign("carl", "beginning"), poll("carl")],
}


@pytest.mark.parametrize("lines", NOTHING_READ.values(), ids=NOTHING_READ)
def test_where_nothing_was_read_nothing_can_be_said(tmp_path: Path, lines: list[Line]) -> None:
    path = write(tmp_path / "h.jsonl", *lines)
    result = check(path, exit_code=EXIT_VOID)
    assert "Sound" not in result.output
    assert result.stdout.splitlines()[-1].startswith("Void: ")
    assert result.stderr == (
        "strandline: no record was read, so nothing can be said: give the files of the readers too\n"
    )
    *_, summary = rows(check(path, "--format", "json", exit_code=EXIT_VOID))
    assert (summary["sound"], summary["void"]) == (False, True)
    assert summary["void_because"].startswith("no record was read")


def test_files_of_producers_alone_count_with_those_of_readers(tmp_path: Path) -> None:
    anna, carl = write(tmp_path / "anna", *SENDS), write(tmp_path / "carl", *READS)
    assert check(anna, carl, "--read-to-end").stdout.startswith("Sound: 5 operations")
    assert "unseen: 3 bad" in check(anna, "--read-to-end", exit_code=1).stdout


@pytest.mark.parametrize(
    ("sends", "reads"),
    [
        (SENDS, [assign("carl", 7), poll("carl", (7, "somebody else's"))]),
        ([send(process, value) for process in ("anna", "bert") for value in "abc"], READS),
        ([], READS),
        ([], [poll("carl", (0, "a"))]),
        ([send("anna", "z", outcome="unknown")], READS),
    ],
    ids=["others-records", "values-sent-twice", "readers-alone", "a-lone-poll", "nobody-knows-of-the-only-send"],
)
def test_where_nothing_of_what_was_sent_was_read_nothing_can_be_said(
    tmp_path: Path, sends: list[Line], reads: list[Line]
) -> None:
    path = write(tmp_path / "h.jsonl", *sends, *reads)
    result = check(path, exit_code=EXIT_VOID)
    assert "Sound" not in result.output
    assert "none of the records that were read is known to be one that was sent" in result.stderr


def test_a_broken_promise_is_worse_than_a_void_history(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS)
    result = check(path, "--read-to-end", "--at-least", "100", exit_code=1)
    assert result.stderr == "strandline: 3 bad anomalies\n"
    *_, summary = rows(check(path, "--read-to-end", "--format", "json", exit_code=1))
    assert (summary["sound"], summary["void"], summary["void_because"]) == (False, False, None)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"op":"poll","process":"carl"}', "lacks the field 'records'"),
        (
            b'{"op":"poll","process":"carl","record":[["orders",0,0,"a"]]}',
            "has a field 'record', which nobody knows: did you mean 'records'?",
        ),
    ],
)
def test_a_poll_without_records(tmp_path: Path, line: bytes, why: str) -> None:
    path = Path(write(tmp_path / "h.jsonl", *SENDS))
    path.write_bytes(path.read_bytes() + line + b"\n")
    for options in ([], ["--format", "json"]):
        result = check(str(path), *options, exit_code=2)
        assert (result.stdout, result.stderr) == ("", f"strandline: {path}:4 {why}\n")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"garbage", b'{"op":"se', b'{"op":"client","process":"anna"}\n'],
    ids=["empty", "blank", "garbage", "torn", "clients"],
)
def test_without_an_operation_nothing_is_sound(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(content)
    is_torn = content and not content.endswith(b"\n")
    torn = ": what is there is a line that is not whole" if is_torn else ""
    for options in ([], ["--at-least", "1"], ["--format", "json"]):
        result = check(str(path), *options, exit_code=2)
        assert (result.stdout, result.stderr) == ("", f"strandline: there is no operation in {path}{torn}\n")
    result = check(str(path), "/dev/null", exit_code=2)
    assert result.stderr == f"strandline: there is no operation in any of the 2 files{torn}\n"


def test_the_example_is_the_one_of_the_docs() -> None:
    checkout = Path(__file__).parents[2]
    example = checkout / "examples" / "history.jsonl"
    assert f"```json\n{example.read_text()}```" in (checkout / "docs" / "history.md").read_text()
    assert check(str(example)).stdout.startswith("Sound: 8 operations of 2 processes")


def test_a_dash_is_no_file() -> None:
    assert check("-", exit_code=2).stderr == "strandline: there is no history -: standard input is /dev/stdin\n"


def test_a_topic_that_is_not_there_cannot_be_excused(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, *READS)
    told = check(path, "--may-delete-topic", "oders").stderr
    assert told == "strandline: no operation is of the topic oders that --may-delete-topic names\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"foo":1}', "has no field 'op'"),
        (b'{"op":"sendd","process":"anna"}', "has an unknown op 'sendd'"),
        (b'{"op":"send","process":"anna"}', "lacks the field 'topic'"),
    ],
)
def test_a_last_line_that_is_whole_and_no_operation(tmp_path: Path, line: bytes, why: str) -> None:
    """Only its line end is missing: nobody was killed while writing it."""
    path = Path(write(tmp_path / "h.jsonl", *SENDS))
    path.write_bytes(path.read_bytes() + line)
    assert check(str(path), exit_code=2).stderr.startswith(f"strandline: {path}:4 {why}")


def test_a_line_that_is_no_operation(tmp_path: Path) -> None:
    first = write(tmp_path / "first", *SENDS)
    second = tmp_path / "second"
    second.write_bytes(b'\n{"op":"dance"}\n')
    result = check(first, str(second), exit_code=2)
    assert result.stderr.startswith(f"strandline: {second}:2 has an unknown op 'dance'")
    assert result.stdout == ""


def test_operations_that_contradict_each_other(tmp_path: Path) -> None:
    anna = write(tmp_path / "anna", *SENDS, end("anna", "t1"))
    bert = write(tmp_path / "bert", *READS, begin("anna", "t1"))
    result = check(anna, bert, exit_code=2)
    assert result.stderr == f"strandline: transaction 't1' ended before it began [{anna}:4, {bert}:3]\n"
    assert result.stdout == ""


def test_a_last_line_that_is_not_whole(tmp_path: Path) -> None:
    """Its writer was killed. What it had written before counts."""
    path = Path(write(tmp_path / "h.jsonl", *SENDS, *READS))
    whole = path.read_bytes()
    for torn in (b'{"op":"se', b'{"op":"send","process":"\xc3'):
        path.write_bytes(whole + torn)
        result = check(str(path))
        assert result.stderr == f"strandline: the last line of {path} is not whole and was left out\n"
        assert result.stdout.startswith("Sound: 5 operations")


@pytest.mark.parametrize("between", [b"", b" ", b"\r"])
def test_operations_without_line_feeds_are_no_torn_line(tmp_path: Path, between: bytes) -> None:
    """A whole history would be left out as one that its writer did not finish."""
    path = Path(write(tmp_path / "h.jsonl", *SENDS, *READS))
    path.write_bytes(between.join(path.read_bytes().splitlines()))
    assert "each operation has a line of its own" in check(str(path), exit_code=2).stderr


def test_a_line_that_has_many_fields_twice_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text("{" + ",".join(f'"f{number // 2}":1' for number in range(100_000)) + "}\n")
    assert "twice" in check(str(path), exit_code=2).stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Not the hint that files of a broker get: no broker removes histories."""
    path = write(tmp_path / "h.jsonl", *SENDS, *READS)
    missing = tmp_path / "missing"
    for paths in ([str(missing)], [path, str(missing)]):
        assert check(*paths, exit_code=2).stderr == f"strandline: there is no history {missing}\n"
    pattern = f"{tmp_path}/none/*.jsonl"
    assert check(pattern, exit_code=2).stderr == f"strandline: there is no history {pattern}\n"
    assert check(exit_code=2).stderr.count("Missing argument") == 1


def test_a_folder(tmp_path: Path) -> None:
    result = check(str(tmp_path), exit_code=2)
    assert result.stderr == f"strandline: {tmp_path} is a folder: give the files in it, such as {tmp_path}/*.jsonl\n"


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hint about a broker's user: histories are nobody's but their writer's. A socket cannot be opened, by
    root neither."""
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        with pytest.raises(OSError, match="s") as refused:
            Path("s").read_bytes()
        result = check("s", exit_code=2)
    assert result.stderr == f"strandline: s cannot be read: {refused.value.strerror}\n"


def test_names_of_files_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a\x1b[2J", *SENDS, *READS_WITH_A_HOLE))
    whole = path.read_bytes()
    for content in (whole, whole + b'{"op":"se', whole + b"{}\n", b""):
        path.write_bytes(content)
        for paths in ([path], [path, path], [path, tmp_path / "b\x1b[2J"]):
            result = CliRunner().invoke(cli, ["check-history", *map(str, paths)])
            assert result.exit_code in (1, 2)
            assert "a\\x1b[2J" in result.output or "b\\x1b[2J" in result.output
            assert "\x1b" not in result.output
    (tmp_path / "c\x1b[2J").mkdir()
    assert "\x1b" not in check(str(tmp_path / "c\x1b[2J"), exit_code=2).output


def test_a_history_out_of_a_pipe() -> None:
    """As a shell gives one for `<(zcat h.jsonl.gz)`."""
    lines = b"".join(line_of(op, **fields) for op, fields in [*SENDS, *READS])
    reading, writing = os.pipe()
    os.write(writing, lines)
    os.close(writing)
    try:
        assert check(f"/dev/fd/{reading}").stdout.startswith("Sound: 5 operations")
    finally:
        os.close(reading)


def test_a_file_that_is_given_twice(tmp_path: Path) -> None:
    """Each record would look as if it had been sent twice."""
    path = write(tmp_path / "h.jsonl", *SENDS, *READS)
    other = write(tmp_path / "other", *SENDS)
    result = check(path, other, path, exit_code=2)
    assert (result.stdout, result.stderr) == ("", f"strandline: {path} is given twice\n")
    (tmp_path / "link").symlink_to("h.jsonl")
    result = check(path, str(tmp_path / "link"), exit_code=2)
    assert result.stderr == f"strandline: {path} and {tmp_path / 'link'} are the same file\n"
    os.link(path, tmp_path / "hard")
    result = check(path, str(tmp_path / "hard"), exit_code=2)
    assert result.stderr == f"strandline: {path} and {tmp_path / 'hard'} are the same file\n"


def test_values_sent_twice_are_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *SENDS, send("bert", "a", 3), *READS)
    assert "1 value sent twice: judged only where acknowledged." in check(path).stdout
