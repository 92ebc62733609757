"""From a frame to its handler: what is answered, what closes, what is logged."""

from __future__ import annotations

import logging
from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.kafka_peer import request_frame

from strandline.broker.connection import CLOSE, Connection, Part
from strandline.broker.dispatch import Body, Dispatch, Handler, Instead, Request
from strandline.broker.handlers.api_versions import api_versions_handler
from strandline.model.failures import ProtocolError
from strandline.wire.versions import ApiKey


def nothing() -> None: ...


def connection_to(dispatch: Dispatch) -> Connection:
    return Connection(dispatch, nothing)


def dispatch_heartbeat(answer: Body | Instead) -> Dispatch:
    return Dispatch({ApiKey.HEARTBEAT: lambda _: answer})


def heartbeat(version: int = 3) -> memoryview:
    return memoryview(request_frame(ApiKey.HEARTBEAT, version, correlation_id=7, body=b"body"))


class TestAnswers:
    def test_bytes_get_size_and_header(self) -> None:
        dispatch = dispatch_heartbeat(b"abc")
        assert dispatch.handle(heartbeat(3), connection_to(dispatch)) == pack(">ii", 7, 7) + b"abc"

    def test_flexible_versions_have_tags_in_the_header(self) -> None:
        dispatch = dispatch_heartbeat(b"abc")
        assert dispatch.handle(heartbeat(4), connection_to(dispatch)) == pack(">iix", 8, 7) + b"abc"

    def test_parts_stay_parts(self) -> None:
        parts: list[Part] = [b"ab", memoryview(b"cde")]
        dispatch = dispatch_heartbeat((parts, 5))
        assert dispatch.handle(heartbeat(), connection_to(dispatch)) == [pack(">ii", 9, 7), b"ab", b"cde"]

    def test_none_and_closing(self) -> None:
        for instead, reply in ((Instead.NO_ANSWER, None), (Instead.CLOSE, CLOSE)):
            dispatch = dispatch_heartbeat(instead)
            assert dispatch.handle(heartbeat(), connection_to(dispatch)) is reply

    def test_the_handler_sees_the_request(self) -> None:
        seen: list[Request] = []

        def handler(request: Request) -> bytes:
            seen.append(request)
            assert bytes(request.body) == b"body"
            return b""

        dispatch = Dispatch({ApiKey.HEARTBEAT: handler})
        connection = connection_to(dispatch)
        dispatch.handle(heartbeat(2), connection)
        assert (seen[0].api_version, seen[0].client_id, seen[0].connection) == (2, "tester", connection)


class TestLater:
    def test_a_parked_request_is_answered_through_its_connection(self) -> None:
        kept: list[Request] = []

        def park(request: Request) -> Instead:
            kept.append(request)
            return Instead.PARKED

        connection = connection_to(Dispatch({ApiKey.HEARTBEAT: park}))
        frame = heartbeat()
        assert connection.receive(memoryview(pack(">i", len(frame)) + frame)) == []
        assert connection.is_waiting
        kept[0].answer(b"late")
        assert connection.proceed() == [pack(">ii", 8, 7) + b"late"]

    def test_deferred_requests_are_answered_by_settle(self) -> None:
        kept: list[Request] = []

        def defer(request: Request) -> Instead:
            kept.append(request)
            return Instead.DEFERRED

        def settle() -> None:
            for request in kept:
                request.answer(([bytes(request.body)], 4))

        connection = connection_to(Dispatch({ApiKey.HEARTBEAT: defer}, settle))
        frame = pack(">i", len(heartbeat())) + heartbeat()
        assert connection.receive(memoryview(frame + frame)) == [pack(">ii", 8, 7), b"body"] * 2

    def test_what_waits_after_settle_keeps_no_bytes(self) -> None:
        kept: list[Request] = []

        def defer(request: Request) -> Instead:
            kept.append(request)
            return Instead.DEFERRED

        connection = connection_to(Dispatch({ApiKey.HEARTBEAT: defer}, nothing))
        connection.receive(memoryview(pack(">i", len(heartbeat())) + heartbeat()))
        assert len(kept[0].body) == 0


class TestNotServed:
    def test_an_api_without_a_handler(self) -> None:
        dispatch = dispatch_heartbeat(b"")
        with pytest.raises(ProtocolError, match="Fetch is not served"):
            dispatch.handle(memoryview(request_frame(ApiKey.FETCH, 12)), connection_to(dispatch))

    @pytest.mark.parametrize(("api_key", "version"), [(999, 0), (ApiKey.HEARTBEAT, 5), (ApiKey.HEARTBEAT, -1), (4, 0)])
    def test_unknown_keys_and_versions(self, api_key: int, version: int) -> None:
        dispatch = dispatch_heartbeat(b"")
        with pytest.raises(ProtocolError, match="not served"):
            dispatch.handle(memoryview(pack(">hhih", api_key, version, 1, -1)), connection_to(dispatch))

    @pytest.mark.parametrize("frame", [b"", b"\0\x0c\0\x03\0\0", pack(">hhih", 12, 3, 1, 99)])
    def test_headers_cut_short(self, frame: bytes) -> None:
        dispatch = dispatch_heartbeat(b"")
        with pytest.raises(ProtocolError):
            dispatch.handle(memoryview(frame), connection_to(dispatch))


@given(st.binary(max_size=60), st.sampled_from([b"", b"\0\x0c\0\x04", b"\0\x12\0\x03", b"\0\x12\0\x63"]))
def test_any_bytes_are_answered_or_break_the_protocol(noise: bytes, start: bytes) -> None:
    handlers: dict[ApiKey, Handler] = {
        ApiKey.HEARTBEAT: lambda request: bytes(request.body),
        ApiKey.API_VERSIONS: api_versions_handler([]),
    }
    dispatch = Dispatch(handlers)
    with suppress(ProtocolError):
        assert isinstance(dispatch.handle(memoryview(start + noise), connection_to(dispatch)), bytes)
    assert dispatch.failures == 0


class TestUnforeseen:
    @pytest.mark.parametrize("failure", [KeyError("topic"), RuntimeError("no"), MemoryError()])
    def test_an_exception_closes_and_is_logged_once(self, failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
        """KAFKA-14034: never UNKNOWN_SERVER_ERROR to a producer."""

        def fail(_: Request) -> bytes:
            raise failure

        dispatch = Dispatch({ApiKey.PRODUCE: fail})
        frame = memoryview(request_frame(ApiKey.PRODUCE, 9))
        with caplog.at_level(logging.INFO):
            assert dispatch.handle(frame, connection_to(dispatch)) is CLOSE
        assert [record.getMessage() for record in caplog.records] == [
            "Produce version 9 failed; its connection is closed"
        ]
        assert dispatch.failures == 1

    def test_bad_bytes_that_a_handler_finds_are_no_failure_of_ours(self) -> None:
        def refuse(_: Request) -> bytes:
            raise ProtocolError("an array of -7 entries")

        handlers: dict[ApiKey, Handler] = {ApiKey.HEARTBEAT: refuse}
        dispatch = Dispatch(handlers)
        with pytest.raises(ProtocolError):
            dispatch.handle(heartbeat(), connection_to(dispatch))
        assert dispatch.failures == 0

    def test_a_settle_that_fails_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail() -> None:
            raise RuntimeError("the disk")

        assert not Dispatch({}, fail).settle()
        assert len(caplog.records) == 1
