"""A client that has locked itself up is told apart from one that is kept waiting."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Consumer
from tests.chaos import stuck_clients
from tests.chaos.stuck_clients import CHECK_EVERY_S, STUCK_S, ClientWatch, main_threads, switches_of

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


def test_a_client_without_any_broker_is_not_stuck() -> None:
    """Its main thread wakes by timers of its own."""
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    consumer = watch.make("member-0", lambda: Consumer(NOBODY))
    try:
        (main,) = main_threads() & watch._watched["member-0"].threads
        for _ in range(2 * int(STUCK_S / CHECK_EVERY_S)):
            before, deadline = switches_of(main), time.monotonic() + 10
            watch.check()
            while switches_of(main) == before:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert stuck == []
    finally:
        consumer.close()


def test_one_whose_main_thread_stands_still_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stuck_clients, "main_threads", iter([set(), {7}, set(), {8}]).__next__)
    turns = iter(range(1000))
    monkeypatch.setattr(stuck_clients, "switches_of", lambda thread: 41 if thread == 7 else next(turns))
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    watch.make("member-0", object)
    watch.make("member-1", object)
    for _ in range(6):
        watch.check()
    assert stuck == []
    for _ in range(6):
        watch.check()
    assert stuck == ["member-0"]


def test_a_living_thread_of_somebody_else_does_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that others made at the same time are in its set."""
    monkeypatch.setattr(stuck_clients, "main_threads", iter([set(), {7, 8}]).__next__)
    turns = iter(range(1000))
    monkeypatch.setattr(stuck_clients, "switches_of", lambda thread: 41 if thread == 7 else next(turns))
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    watch.make("member-0", object)
    for _ in range(9):
        watch.check()
    assert stuck == ["member-0"]


def test_a_thread_that_has_gone_does_not_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of somebody else, who has ended; its number may come again, for a thread that nobody watches."""
    monkeypatch.setattr(stuck_clients, "main_threads", iter([set(), {7, 8}]).__next__)
    turns, of_another = iter(range(1000)), iter([41, 41, None])
    monkeypatch.setattr(
        stuck_clients, "switches_of", lambda thread: next(of_another, 41) if thread == 7 else next(turns)
    )
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    watch.make("member-0", object)
    for _ in range(20):
        watch.check()
    assert stuck == []
    assert watch._watched["member-0"].threads == {8}


def test_a_thread_that_ended_has_no_switches() -> None:
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(threading.get_native_id()))
    thread.start()
    thread.join()
    deadline = time.monotonic() + 10
    while switches_of(ended[0]) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_client_that_ends_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stuck_clients, "main_threads", iter([set(), {7}]).__next__)
    monkeypatch.setattr(stuck_clients, "switches_of", lambda _: 41)
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    watch.make("member-0", object)
    watch.forget("member-0")
    for _ in range(9):
        watch.check()
    assert stuck == []
