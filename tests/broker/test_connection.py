"""The connection without its socket: order, parking, bounds, endings (performance rules 2 and 3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.scripted_handler import ScriptedHandler, framed, joined

from strandline.broker.connection import Connection, Part
from strandline.model.failures import BrokenInvariant
from strandline.wire import framing


class Peer:
    """A connection with a scripted handler, and all that it has sent."""

    def __init__(self, response_bytes_max: int = 2**20) -> None:
        self.handler = ScriptedHandler()
        self.wakes = 0
        self.connection = Connection(self.handler, self._wake, response_bytes_max=response_bytes_max)
        self.sent = b""

    def _wake(self) -> None:
        self.wakes += 1

    def send(self, stream: bytes) -> bytes:
        return self._keep(self.connection.receive(memoryview(stream)))

    def proceed(self) -> bytes:
        return self._keep(self.connection.proceed())

    def _keep(self, parts: list[Part]) -> bytes:
        self.sent += joined(parts)
        return joined(parts)


def test_requests_of_one_receive_are_answered_together_and_in_order() -> None:
    peer = Peer()
    assert peer.send(framed(b"one", b"list", b"three")) == framed(b"one", b"list", b"three")


def test_a_request_without_answer_leaves_no_gap() -> None:
    peer = Peer()
    assert peer.send(framed(b"n", b"e1", b"n", b"e2")) == framed(b"e1", b"e2")
    assert peer.connection.takes_more


def test_a_large_frame_is_received_straight_into_its_room() -> None:
    peer = Peer()
    stream = framed(b"e" * 300_000)
    assert peer.send(stream[:1000]) == b""
    position = 1000
    while position < len(stream):
        room = peer.connection.room()
        if room is None:
            peer.send(stream[position:])
            break
        count = min(len(room), 50_000, len(stream) - position)
        room[:count] = stream[position : position + count]
        position += count
        peer.sent += joined(peer.connection.filled(count))
    assert peer.sent == stream


def test_the_room_of_a_large_frame_is_used_again_wherever_its_end_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last bytes often come into the shared buffer, with the beginning of the next frame."""
    made: list[bytearray] = []
    monkeypatch.setattr(framing, "spares", made)
    peer = Peer()
    body = b"e" * 1_000_000
    stream = framed(body, body, body)
    position = 0
    while position < len(stream):
        room = peer.connection.room()
        count = min(len(stream) - position, 70_000 if room is None else min(len(room), 50_000))
        if room is None:
            peer.send(stream[position : position + count])
        else:
            room[:count] = stream[position : position + count]
            peer.sent += joined(peer.connection.filled(count))
        position += count
    assert peer.sent == stream
    assert len(made) == 1, "one buffer was made, and is there for the next"


class TestParked:
    def test_requests_behind_it_wait_their_turn(self) -> None:
        """Rows "second request pipelined" and KAFKA-7639: in order, one at a time."""
        peer = Peer()
        assert peer.send(framed(b"e1", b"poll", b"e2")) == framed(b"e1")
        assert peer.handler.seen == [b"e1", b"poll"]
        assert not peer.connection.takes_more
        assert peer.connection.buffered_bytes == 2
        peer.handler.answer_first_parked()
        assert peer.wakes == 1
        assert peer.proceed() == framed(b"poll", b"e2")
        assert peer.connection.takes_more
        assert peer.connection.buffered_bytes == 0

    def test_two_in_a_row_are_handled_one_after_the_other(self) -> None:
        peer = Peer()
        peer.send(framed(b"p1", b"p2"))
        assert peer.handler.seen == [b"p1"]
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"p1")
        assert peer.handler.seen == [b"p1", b"p2"]
        assert not peer.connection.takes_more

    def test_a_frame_that_had_begun_goes_on_afterwards(self) -> None:
        peer = Peer()
        stream = framed(b"poll", b"e-later")
        peer.send(stream[:-3])
        assert peer.connection.is_within_frame
        peer.handler.answer_first_parked()
        peer.proceed()
        assert peer.send(stream[-3:]) == framed(b"e-later")

    def test_bytes_that_come_between_the_answer_and_its_sending_stay_behind(self) -> None:
        peer = Peer()
        peer.send(framed(b"poll", b"e1"))
        peer.handler.answer_first_parked()
        assert peer.send(framed(b"e2")) == framed(b"poll")
        assert peer.proceed() == framed(b"e1", b"e2")

    def test_an_answer_for_a_peer_that_has_gone_wakes_nobody(self) -> None:
        peer = Peer()
        peer.send(framed(b"poll"))
        peer.connection.is_closed = True
        peer.handler.answer_first_parked()
        assert peer.wakes == 0

    def test_what_it_had_received_goes_with_the_peer(self) -> None:
        """3,000 peers that were cut off amid a megabyte held three gigabytes until Python looked for cycles."""
        peer = Peer()
        peer.send(framed(b"p", b"held") + framed(b"e" * 300_000)[:200_000])
        assert peer.connection.buffered_bytes >= 200_000
        peer.connection.close()
        assert peer.connection.buffered_bytes == 0

    def test_a_second_answer_is_our_bug(self) -> None:
        peer = Peer()
        peer.send(framed(b"poll"))
        pending, _ = peer.handler.parked[0]
        pending.deliver([])
        with pytest.raises(BrokenInvariant):
            pending.deliver([])


class TestDeferred:
    """One write for all the produce requests of a receive, and then one send (rule 3)."""

    def test_settled_once_for_all_frames_of_the_receive(self) -> None:
        peer = Peer()
        assert peer.send(framed(b"d1", b"d2", b"e", b"d3")) == framed(b"d1", b"d2", b"e", b"d3")
        assert peer.handler.settled_frames == [3]
        assert peer.wakes == 0  # the answers go out with this receive
        assert peer.connection.takes_more

    def test_what_settle_leaves_open_is_waited_for(self) -> None:
        peer = Peer()
        assert peer.send(framed(b"d1", b"da", b"e")) == framed(b"d1")
        assert not peer.connection.takes_more
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"da", b"e")

    def test_answers_that_come_in_another_order_leave_in_order(self) -> None:
        peer = Peer()
        peer.send(framed(b"da1", b"da2"))
        peer.handler.parked.reverse()
        peer.handler.answer_first_parked()
        assert peer.proceed() == b""
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"da1", b"da2")

    def test_nothing_is_handled_while_any_of_them_is_open(self) -> None:
        peer = Peer()
        peer.send(framed(b"da1", b"da2", b"poll", b"e"))
        peer.handler.parked.sort(key=lambda parked: parked[1], reverse=True)
        for _ in ("poll", "da2"):
            peer.handler.answer_first_parked()
            peer.proceed()
        assert b"e" not in peer.handler.seen
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"da1", b"da2", b"poll", b"e")

    def test_bytes_that_come_while_it_waits_are_held(self) -> None:
        peer = Peer()
        peer.send(framed(b"da"))
        peer.send(framed(b"e"))
        assert peer.handler.seen == [b"da"]

    def test_a_settle_that_fails_ends_the_connection_unanswered(self) -> None:
        peer = Peer()
        peer.handler.settles_well = False
        assert peer.send(framed(b"e", b"d1", b"d2")) == framed(b"e")
        assert peer.connection.is_finished


class TestOutputBound:
    def test_no_request_is_handled_while_too_much_is_to_be_sent(self) -> None:
        peer = Peer(response_bytes_max=100)
        requests = [b"e" * 90] * 5
        assert peer.send(framed(*requests)) == framed(*requests[:2])
        assert len(peer.handler.seen) == 2
        assert peer.connection.can_proceed
        assert peer.proceed() == framed(*requests[:2])
        assert peer.proceed() == framed(requests[4])
        assert peer.connection.takes_more

    def test_answers_that_wait_behind_another_count(self) -> None:
        peer = Peer(response_bytes_max=100)
        peer.send(framed(b"da", *[b"l" * 90] * 5))
        assert len(peer.handler.seen) == 3


class TestTurns:
    def test_what_came_together_is_handled_a_turn_at_a_time(self) -> None:
        """However little it takes to ask for much: one at least in each turn, and none is lost or out of order."""
        now_s = 0.0
        peer = Peer()
        peer.connection = Connection(peer.handler, peer._wake, clock=lambda: now_s)
        requests = [b"e%d" % number for number in range(5)]
        peer.connection.turn_ends_s = 1.0
        assert peer.send(framed(*requests[:2])) == framed(*requests[:2])
        now_s = 1.0
        assert peer.send(framed(*requests[2:])) == b""
        assert peer.connection.can_proceed
        assert not peer.connection.takes_more
        assert peer.proceed() == framed(requests[2])
        peer.connection.turn_ends_s = 2.0
        assert peer.proceed() == framed(*requests[3:])
        assert peer.connection.takes_more

    def test_those_that_share_a_write_are_settled_all_the_same(self) -> None:
        now_s = 0.0
        peer = Peer()
        peer.connection = Connection(peer.handler, peer._wake, clock=lambda: now_s)
        peer.connection.turn_ends_s = 0.0
        peer.send(framed(b"d1", b"d2", b"e"))
        while peer.connection.can_proceed:
            peer.proceed()
        assert peer.sent == framed(b"d1", b"d2", b"e")


class TestEndings:
    @pytest.mark.parametrize("ending", [framed(b"c"), framed(b"x"), b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff"])
    def test_after_the_answers_before_it(self, ending: bytes) -> None:
        peer = Peer()
        assert peer.send(framed(b"e1") + ending + framed(b"e2")) == framed(b"e1")
        assert peer.connection.is_finished
        assert not peer.connection.takes_more
        assert b"e2" not in peer.handler.seen

    def test_a_handler_that_closes_complains_of_nothing(self) -> None:
        peer = Peer()
        peer.send(framed(b"c"))
        assert peer.connection.complaint == ""

    def test_bad_bytes_behind_a_parked_request_end_it_after_its_answer(self) -> None:
        peer = Peer()
        peer.send(framed(b"poll", b"e") + b"\x16\x03\x01\x02\x00")
        assert not peer.connection.is_finished
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"poll", b"e")
        assert peer.connection.is_finished
        assert "TLS" in peer.connection.complaint

    def test_an_ending_drops_what_is_held(self) -> None:
        peer = Peer()
        peer.send(framed(b"p", b"c", b"e"))
        peer.handler.answer_first_parked()
        assert peer.proceed() == framed(b"p")
        assert peer.connection.is_finished
        assert peer.connection.buffered_bytes == 0


REQUESTS = st.lists(st.sampled_from([b"e", b"l", b"n", b"p", b"d", b"da", b"e" * 40, b"l" * 70]), max_size=20)


@settings(max_examples=150)
@given(REQUESTS, st.lists(st.integers(1, 60), min_size=1), st.sampled_from([30, 10_000]), st.data())
def test_any_cut_of_the_stream_and_any_delay_give_the_same_answers(
    requests: list[bytes], cuts: list[int], response_bytes_max: int, data: st.DataObject
) -> None:
    """Fed as the server feeds it: no bytes while it takes none, parked answers whenever they come."""
    peer = Peer(response_bytes_max)
    stream = framed(*requests)
    position = step = 0
    while position < len(stream) or peer.handler.parked or peer.connection.can_proceed:
        if peer.connection.can_proceed:
            peer.proceed()
        elif peer.connection.takes_more:
            count = cuts[step % len(cuts)]
            step += 1
            peer.send(stream[position : position + count])
            position += count
        else:
            index = data.draw(st.integers(0, len(peer.handler.parked) - 1))
            peer.handler.parked.insert(0, peer.handler.parked.pop(index))
            peer.handler.answer_first_parked()
            peer.proceed()
        assert peer.connection.buffered_bytes <= max(cuts) + 80
    assert peer.handler.seen == requests
    assert peer.sent == framed(*[body for body in requests if body != b"n"])
    assert peer.connection.takes_more
    assert peer.connection.buffered_bytes == 0
