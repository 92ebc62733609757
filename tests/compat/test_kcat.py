"""kcat, as Debian has it: what people type first."""

from __future__ import annotations

import json
import subprocess

import pytest

WAIT_S = 20


def kcat(bootstrap: str, *arguments: str, given: str = "") -> str:
    command = ["kcat", "-b", bootstrap, *arguments]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_list_of_brokers_and_topics(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, given="hello\n")
    listed = json.loads(kcat(bootstrap, "-L", "-J"))
    assert [broker["id"] for broker in listed["brokers"]] == [1]
    (found,) = [each for each in listed["topics"] if each["topic"] == topic]
    assert [partition["leader"] for partition in found["partitions"]] == [1]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produce_and_consume(bootstrap: str, topic: str, codec: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, "-z", codec, "-K", ":", "-H", "trace=1", given="k1:v1\nk2:v2\n")
    assert kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-f", "%o %k %s %h\n") == "0 k1 v1 trace=1\n1 k2 v2 trace=1\n"


def test_offsets_from_the_end_and_by_time(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, given="a\nb\nc\n")
    assert kcat(bootstrap, "-C", "-t", topic, "-o", "-1", "-e", "-q") == "c\n"
    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:-1") == f"{topic} [0] offset 3\n"
    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:0") == f"{topic} [0] offset 0\n"
