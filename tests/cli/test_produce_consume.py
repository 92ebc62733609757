"""Records in and out of a real broker by the command line: by lines, keys, formats, JSON, offsets, groups."""

from __future__ import annotations

import fcntl
import json
import signal
import sys
import termios
import threading
import time

import pytest
from tests.cli.commands import WAIT_S, Commands

from strandline.testing import Broker


def test_lines_go_in_and_come_out(commands: Commands, topic: str) -> None:
    assert commands("produce", topic, stdin=b"hello\n\nworld") == ""
    assert commands("consume", topic, "-e") == "hello\n\nworld\n"
    assert commands("consume", topic, "-e", "-D", r"\0") == "hello\0\0world\0"


def test_keys_and_null_values(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-K", ":", "-Z", stdin=b"a:1\nb:\n")
    commands("produce", topic, "-k", "fixed", stdin=b"2\n")
    assert commands.lines("consume", topic, "-e", "-K", "=", "-Z") == ["a=1", "b=NULL", "fixed=2"]


def test_a_round_trip_through_json_keeps_everything(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-K", ":", "-Z", "-H", "source=web", "-H", "empty", stdin=b'a:{"x": 1.0}\nb:\n:plain\n')
    commands("produce", topic, "-f", r"%d|%k{hex}|%v{base64}\n", stdin=b"5|ff|//4=\n")
    copied = commands("consume", topic, "-e", "-J")
    commands("produce", f"{topic}-copy", "-J", stdin=copied.encode())
    one, other = (
        [json.loads(line) for line in commands.lines("consume", each, "-eJ")] for each in (topic, f"{topic}-copy")
    )
    assert [{**line, "topic": ""} for line in one] == [{**line, "topic": ""} for line in other]
    assert one[0]["value"] == {"x": 1.0}
    assert one[1]["value"] is None
    assert one[2]["key"] == ""
    assert one[3] | {"topic": ""} == {
        "topic": "", "partition": 0, "offset": 3, "timestamp": 5, "timestamp_type": "create",
        "key_base64": "/w==", "value_base64": "//4=", "headers": [],
    }  # fmt: skip
    assert one[0]["headers"] == [{"key": "source", "value": "web"}, {"key": "empty", "value": None}]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(commands: Commands, topic: str, codec: str) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(1000))
    commands("produce", topic, "-z", codec, stdin=lines)
    assert commands("consume", topic, "-e").encode() == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(commands: Commands, topic: str, acks: str) -> None:
    commands("produce", topic, "--acks", acks, stdin=b"x\n")
    assert commands("consume", topic, "-n", "1") == "x\n"


def test_where_to_begin_and_to_stop(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-f", r"%d %v\n", stdin=b"".join(b"%d v%d\n" % (1000 + n, n) for n in range(10)))
    for offset, values in (
        ("start", range(10)),
        ("7", range(7, 10)),
        ("+8", range(8, 10)),
        ("-3", range(7, 10)),
        ("2:5", range(2, 5)),
        (":2", range(2)),
        ("8:100", range(8, 10)),
        ("end", ()),
        ("@1970-01-01T00:00:01.004Z:1970-01-01T00:00:01.006Z", (4, 5)),
        ("@-1h", ()),
    ):
        assert commands.lines("consume", topic, "-e", "-o", offset) == [f"v{n}" for n in values], offset
    assert commands.lines(
        "consume", topic, "-e", "-o", "s@1970-01-01T00:00:01.008Z", "-o", "e@1970-01-01T00:00:01.009Z"
    ) == ["v8"]
    assert commands.lines("consume", topic, "-n", "2") == ["v0", "v1"]
    assert commands("consume", topic, "-n", "0") == ""


def test_an_offset_that_is_not_there_is_remarked_upon(commands: Commands, topic: str) -> None:
    commands("produce", topic, stdin=b"x\n")
    remark = commands.run("consume", topic, "-e", "-o", "5").stderr
    assert remark == f"strandline: {topic}-0 ends at 1: there is no 5 yet\n"
    assert commands.run("consume", topic, "-e", "-o", "5", "-q").stderr == ""


def test_a_format_of_what_to_print(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-k", "k", "-H", "a=1", stdin=b"v\n")
    assert commands("consume", topic, "-e", "-f", r"%t %p %o %k %v %h %[ %]\n") == f"{topic} 0 0 k v a=1 0 1\n"
    assert json.loads(commands("consume", topic, "-e", "-f", "json"))["value"] == "v"


def test_several_topics_at_once(commands: Commands, topic: str) -> None:
    for name in ("one", "two"):
        commands("produce", f"{topic}-{name}", stdin=name.encode())
    assert sorted(commands.lines("consume", f"{topic}-one", f"{topic}-two", "-e")) == ["one", "two"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("consume", "nosuch", "-e"), "topic nosuch: it does not exist; `strandline topic list` shows what does"),
        (("consume", "exists", "-p", "7", "-e"), "topic exists has no partition 7: it has 0 to 0"),
        (("produce", "exists", "-p", "7"), "topic exists has no partition 7: it has 0 to 0"),
        (("produce", "exists", "-K", ":"), "record 1 of the input: it has no ':' between key and value"),
        (("produce", "exists", "-J"), "record 1 of the input: not a JSON object: it does not begin with {"),
        (("produce", "bad/name"), "topic bad/name: "),
    ],
)
def test_failures_are_one_sentence(commands: Commands, arguments: tuple[str, ...], sentence: str) -> None:
    commands("produce", "exists", stdin=b"x\n")
    assert commands.refused(*arguments, stdin=b"nothing\n").startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("consume", "t", "-o", "five"), "'five' is not an offset"),
        (("consume", "t", "-f", "%q"), "%q is not known"),
        (("consume", "t", "-p", "one"), "'one' is not a list of partitions"),
        (("consume", "t", "-g", "g", "-p", "0"), "with -g the group says which partitions"),
        (("consume", "t", "-g", "g", "-o", "5"), "with -g, -o is for a group that was nowhere yet"),
        (("consume", "t", "-o", "stored"), "-o stored is where a group was: say which with -g"),
        (("consume",), "Missing argument"),
        (("produce", "t", "-J", "-K", ":"), "leave out -f and -K"),
        (("produce", "t", "-f", "%v", "-K", ":"), "leave out -K"),
        (("produce", "t", "-f", "nothing"), "has no token"),
        (("produce", "t", "-D", ""), "a delimiter cannot be empty"),
        (("produce", "t", "-H", "=v"), "has no name before its '='"),
        (("produce", "t", "-z", "rar"), "is not one of"),
    ],
)
def test_misuse_ends_with_2(commands: Commands, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in commands.run(*arguments, exit_code=2).stderr


def test_what_was_good_before_a_bad_line_is_written(commands: Commands, topic: str) -> None:
    assert "record 3 of the input" in commands.refused("produce", topic, "-K", ":", stdin=b"a:1\nb:2\nc\nd:4\n")
    assert commands.lines("consume", topic, "-e") == ["1", "2"]


def test_the_end_is_that_of_the_beginning(commands: Commands, topic: str) -> None:
    """kcat #33: on a busy topic, `-e` must not run after an end that moves."""
    commands("produce", topic, stdin=b"first\n")
    with commands.start("produce", topic) as writer, commands.start("consume", topic, "-e") as reader:
        assert writer.stdin is not None
        assert reader.stdout is not None
        printed: list[bytes] = []
        # All the time: one that begins late has much to print, and would wait for ever in a pipe that nobody reads.
        printing = threading.Thread(target=lambda: printed.extend(reader.stdout or ()))
        printing.start()
        while reader.poll() is None:
            writer.stdin.write(b"more\n" * 100)
            writer.stdin.flush()
        printing.join(WAIT_S)
        assert printed[0] == b"first\n"
        writer.stdin.close()
        assert writer.wait(WAIT_S) == reader.returncode == 0


def test_a_reader_waits_for_more_until_it_is_interrupted(commands: Commands, topic: str) -> None:
    commands("produce", topic, stdin=b"one\n")
    with commands.start("consume", topic) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline() == b"one\n"
        commands("produce", topic, stdin=b"two\n")
        assert reader.stdout.readline() == b"two\n"
        reader.send_signal(signal.SIGINT)
        assert reader.wait(WAIT_S) == 0
        assert reader.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_reader_whose_output_nobody_takes_can_be_ended(commands: Commands, topic: str, number: int) -> None:
    lines = b"".join(b"%07d\n" % each for each in range(100_000))  # more than any pipe holds
    commands("produce", topic, stdin=lines)
    with commands.start("consume", topic, "-g", topic) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        while not _is_full(reader.stdout.fileno()):
            pass
        reader.send_signal(number)
        assert reader.wait(WAIT_S) == 0
        assert reader.stderr.read() == b""
        taken = reader.stdout.read()
    assert lines.startswith(taken)
    again = commands("consume", topic, "-g", topic, "-e").encode()
    assert lines.endswith(again)
    assert len(taken) + len(again) >= len(lines)  # what nobody took is not lost to the group


def _is_full(pipe: int) -> bool:
    """As it stays while nobody reads: the writer waits."""
    before = _held_bytes(pipe)
    time.sleep(0.2)
    return 60_000 < before == _held_bytes(pipe)


def _held_bytes(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_writer_sends_a_line_as_soon_as_it_is_there(commands: Commands, topic: str) -> None:
    with commands.start("produce", topic) as writer:
        assert writer.stdin is not None
        writer.stdin.write(b"now\n")
        writer.stdin.flush()
        while not (_exists(commands, topic) and "now" in commands("consume", topic, "-e")):
            pass
        writer.send_signal(signal.SIGTERM)
        assert writer.wait(WAIT_S) == 0


def _exists(commands: Commands, topic: str) -> bool:
    return topic in commands("topic", "list", "--format", "json")


def test_a_writer_and_a_reader_outlive_restarts_of_the_broker() -> None:
    with Broker(process=True, group_initial_rebalance_delay_ms=0) as broker:
        commands = Commands(broker.bootstrap)
        commands("produce", "lines", stdin=b"0\n")
        with commands.start("produce", "lines") as writer, commands.start("consume", "lines", "-g", "g") as reader:
            assert writer.stdin is not None
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"0\n"
            for number in range(1, 4):
                broker.restart()
                writer.stdin.write(b"%d\n" % number)
                writer.stdin.flush()
                assert reader.stdout.readline() == b"%d\n" % number
            writer.stdin.close()
            assert writer.wait(WAIT_S) == 0
        assert commands.lines("consume", "lines", "-e") == ["0", "1", "2", "3"]


def test_a_group_goes_on_where_it_was(commands: Commands, topic: str) -> None:
    commands("produce", topic, stdin=b"".join(b"%d\n" % number for number in range(10)))
    assert commands.lines("consume", topic, "-g", topic, "-n", "3") == ["0", "1", "2"]
    assert commands.lines("consume", topic, "-g", topic, "-n", "4") == ["3", "4", "5", "6"]
    assert commands.lines("consume", topic, "-g", topic, "-e") == ["7", "8", "9"]
    assert commands.lines("consume", topic, "-g", topic, "-e") == []
    assert commands.lines("consume", topic, "-g", f"{topic}-late", "-o", "end", "-e") == []
    commands("produce", topic, stdin=b"10\n")
    assert commands.lines("consume", topic, "-g", f"{topic}-late", "-e") == ["10"]


def test_an_interrupted_member_does_not_wait_for_a_broker_that_has_gone() -> None:
    with Broker() as broker:
        commands = Commands(broker.bootstrap)
        commands("produce", "lines", stdin=b"one\n")
        with commands.start("consume", "lines", "-g", "readers") as member:
            assert member.stdout is not None
            assert member.stderr is not None
            assert member.stdout.readline() == b"one\n"
            broker.stop()
            member.send_signal(signal.SIGINT)
            said = member.stderr.read()
            assert member.wait(WAIT_S) == 1
    assert b"group readers will be given it again" in said


def test_an_interrupted_member_commits_and_leaves(commands: Commands, topic: str) -> None:
    commands("produce", topic, stdin=b"one\ntwo\n")
    with commands.start("consume", topic, "-g", topic) as member:
        assert member.stdout is not None
        assert [member.stdout.readline() for _ in range(2)] == [b"one\n", b"two\n"]
        member.send_signal(signal.SIGINT)
        assert member.wait(WAIT_S) == 0
    (group,) = [json.loads(line) for line in commands.lines("group", "describe", topic, "--format", "json")]
    assert (group["state"], group["lag"], group["members"]) == ("Empty", 0, 0)
