"""Requests made once and sent as they are: no client could ask for less, and both sides get the same bytes."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from typing import Any

from benchmarks import load
from benchmarks.compare.percentiles import percentiles_ms
from benchmarks.transacting import POLL_S, WAIT_S, Writer
from strandline.model.failures import ErrorCode


def ask(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """One request after another, each answered before the next is sent."""
    request = _request(task)
    took_s = []
    with load.connect(task["port"]) as connected:
        _first_answer(connected, request)
        yield
        for _ in range(task["requests"]):
            begun_s = time.perf_counter()
            load.ask(connected, request)
            took_s.append(time.perf_counter() - begun_s)
        yield
    return {"requests": task["requests"], **percentiles_ms(took_s)}


def flood(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """Some connections, each with a few requests under way."""
    request = _request(task)
    with load.connect(task["port"]) as connected:
        answer = _first_answer(connected, request)
    yield
    load.flood(
        task["port"],
        request,
        len(answer) + 4,
        connections=task["connections"],
        window=task["window"],
        requests=task["requests"],
    )
    yield
    return {"requests": task["requests"]}


def transact(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """One transaction after another, with one partition and an epoch each, as Kafka 4's own producer has them."""
    took_s = []
    with load.connect(task["port"]) as connected:
        writer = Writer(connected, task["records"], task["topic"], topic=task["topic"])
        writer.write()
        yield
        for _ in range(task["transactions"]):
            begun_s = time.perf_counter()
            writer.write()
            took_s.append(time.perf_counter() - begun_s)
        yield
    return percentiles_ms(took_s)


def _request(task: dict[str, Any]) -> bytes:
    batch = load.sized_batch(task["batch_bytes"]) if task.get("batch_bytes") else load.tiny_batch()
    return load.produce_request(batch, topic=task["topic"], acks=task.get("acks", 1))


def _first_answer(connected: socket.socket, request: bytes) -> bytes:
    """A leader may hear of its leadership after those who ask for it."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        answer = load.ask(connected, request)
        error_code = _error_code_in(answer)
        if error_code == ErrorCode.NONE:
            return answer
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"a produce request was refused: {ErrorCode(error_code).name}")
        time.sleep(POLL_S)


def _error_code_in(answer: bytes) -> int:
    """Of one topic with one partition, in version 9."""
    at = answer.rindex(b"\x02\x00\x00\x00\x00") + 5  # one partition, of index 0
    return int.from_bytes(answer[at : at + 2], "big")
