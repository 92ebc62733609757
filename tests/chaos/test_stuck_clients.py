"""A client that has locked itself up is told apart from one that is kept waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer
from tests.chaos import stuck_clients
from tests.chaos.stuck_clients import CHECK_EVERY_S, MAIN_THREAD, STUCK_S, ClientWatch, main_threads, switches_of

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


def test_a_client_without_any_broker_is_not_stuck() -> None:
    """Its main thread wakes by timers of its own."""
    stuck: list[str] = []
    watch = ClientWatch(stuck.append)
    consumer = watch.make("member-0", lambda: Consumer(NOBODY))
    try:
        main = main_thread_of(watch, "member-0")
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


def test_a_thread_that_bears_its_makers_name_for_a_moment_is_not_watched_any_longer() -> None:
    """As those of brokers do, which a client's main thread starts."""
    named, ending = threading.Event(), threading.Event()
    numbers: list[int] = []

    def run() -> None:
        set_own_name(MAIN_THREAD)
        numbers.append(threading.get_native_id())
        named.wait()
        set_own_name("rdk:broker1")
        ending.wait()

    watch = ClientWatch(lambda _: None)
    thread = threading.Thread(target=run, daemon=True)
    watch.make("member-0", lambda: start_and_wait(thread, numbers))
    assert set(numbers) <= watch._watched["member-0"].threads
    named.set()
    wait_until(lambda: switches_of(numbers[0]) is None)
    watch.check()
    assert not set(numbers) & watch._watched["member-0"].threads
    ending.set()
    thread.join()


def test_a_thread_that_ended_has_no_switches() -> None:
    numbers: list[int] = []
    ending = threading.Event()

    def run() -> None:
        set_own_name(MAIN_THREAD)
        numbers.append(threading.get_native_id())
        ending.wait()

    thread = threading.Thread(target=run, daemon=True)
    start_and_wait(thread, numbers)
    assert switches_of(numbers[0]) is not None
    ending.set()
    thread.join()
    wait_until(lambda: switches_of(numbers[0]) is None)


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


def main_thread_of(watch: ClientWatch, name: str) -> int:
    """The only one, when others that were made with it have got names of their own."""

    def remaining() -> set[int]:
        return main_threads() & watch._watched[name].threads

    wait_until(lambda: len(remaining()) == 1)
    return remaining().pop()


def start_and_wait(thread: threading.Thread, numbers: list[int]) -> None:
    thread.start()
    wait_until(lambda: bool(numbers))


def set_own_name(name: str) -> None:
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w", encoding="utf-8") as file:
        file.write(name)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
