"""Slices of files on their way out: by sendfile, to slow readers, from a cold disk (SPEC P5)."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from struct import unpack

import pytest
from tests.broker.kafka_peer import KafkaPeer, echo_request, framed_request
from tests.broker.running_server import RunningServer

from strandline.broker.network_settings import NetworkSettings
from strandline.log import page_cache
from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.log.log_slice import LogSlice
from strandline.wire.versions import ApiKey

FILE_BYTES = 12 * 2**20
FETCH = framed_request(ApiKey.FETCH, 11, correlation_id=9)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealFile]:
    path: Path = tmp_path_factory.mktemp("segments") / "0.log"
    path.write_bytes(random.Random(1).randbytes(FILE_BYTES))
    opened = RealFileSystem().open(str(path))
    opened.sync()
    yield opened
    opened.close()


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data).hexdigest()


def read_fetch_response(peer: KafkaPeer, piece_bytes: int = 2**16) -> str:
    """Digest of the slice, which is not kept."""
    size, correlation_id = unpack(">ii", peer.read(8))
    assert correlation_id == 9
    assert peer.read(4) == b"head"
    left, digest = size - 12, hashlib.blake2b()
    while left:
        piece = peer.read(min(left, piece_bytes))
        digest.update(piece)
        left -= len(piece)
    assert peer.read(4) == b"tail"
    return digest.hexdigest()


class TestSendfile:
    def test_a_slice_larger_than_the_sockets_to_a_slow_reader_takes_no_memory(self, file: RealFile) -> None:
        whole = LogSlice(file, 1, FILE_BYTES - 2)
        expected = digest_of(whole.read())
        with RunningServer(slice_to_send=whole) as running, KafkaPeer(running.address, 16_384) as peer:
            tracemalloc.start()
            peer.send(FETCH + FETCH + echo_request(2))
            digests = [read_fetch_response(peer), read_fetch_response(peer)]
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peer.response() == (2, b"")
        assert digests == [expected, expected]
        assert peak_bytes < 2**20

    def test_a_reader_that_stops_holds_up_nobody(self, file: RealFile) -> None:
        whole = LogSlice(file, 0, FILE_BYTES)
        with RunningServer(slice_to_send=whole) as running:
            with KafkaPeer(running.address, 4096) as stuck, KafkaPeer(running.address) as good:
                stuck.send(FETCH * 3)
                good.send(FETCH)
                assert read_fetch_response(good) == digest_of(whole.read())
                good.echo(2)
            running.wait_until(lambda: running.server.connection_count == 0)

    def test_an_empty_slice_does_not_delay_its_head(self, file: RealFile) -> None:
        with RunningServer(slice_to_send=LogSlice(file, 5, 0)) as running, KafkaPeer(running.address) as peer:
            peer.send(FETCH)
            assert peer.response() == (9, b"headtail")

    def test_a_disk_that_fails_closes_the_connection_and_is_told(
        self, file: RealFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def sendfile(*_: int) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "sendfile", sendfile)
        monkeypatch.setattr(page_cache, "is_resident", lambda *_: True)
        with RunningServer(slice_to_send=LogSlice(file, 0, 50_000)) as running, KafkaPeer(running.address) as peer:
            peer.send(FETCH)
            with pytest.raises(EOFError):
                peer.response()
        assert "closed amid an answer" in caplog.text

    def test_a_file_that_ends_too_early_closes_the_connection(self, file: RealFile) -> None:
        beyond = LogSlice(file, FILE_BYTES - 10, 20)
        with RunningServer(slice_to_send=beyond) as running, KafkaPeer(running.address) as peer:
            peer.send(FETCH)
            with pytest.raises(EOFError):
                peer.response()


class TestColdReads:
    def test_a_thread_reads_and_the_page_cache_forgets(self, file: RealFile) -> None:
        whole = LogSlice(file, 0, FILE_BYTES)
        expected = digest_of(whole.read())
        file.read_nothing_ahead()  # as who reads a log does
        whole.drop_from_page_cache()
        assert not page_cache.is_resident(file.fileno(), 0, FILE_BYTES)
        with RunningServer(slice_to_send=whole) as running, KafkaPeer(running.address) as peer:
            peer.send(FETCH + echo_request(2, b"after"))
            assert read_fetch_response(peer) == expected
            assert peer.response() == (2, b"after")
            assert running.call(lambda: running.server.counters.cold_reads) > 1
        resident = page_cache.resident_bytes(file.fileno(), 0, FILE_BYTES)
        assert resident is not None
        assert resident < FILE_BYTES // 2

    @pytest.mark.parametrize("receive_buffer_bytes", [0, 4096])
    def test_cold_and_warm_alike(
        self, file: RealFile, monkeypatch: pytest.MonkeyPatch, receive_buffer_bytes: int
    ) -> None:
        """Every second question finds the disk cold, whatever the machine has in memory."""
        asked: list[int] = []

        def is_resident(_: int, position: int, __: int) -> bool:
            asked.append(position)
            return len(asked) % 2 == 0

        monkeypatch.setattr(page_cache, "is_resident", is_resident)
        part = LogSlice(file, 4321, 3 * 2**20)
        settings = NetworkSettings(socket_send_buffer_bytes=65_536)
        with RunningServer(settings, slice_to_send=part) as running:
            with KafkaPeer(running.address, receive_buffer_bytes) as peer:
                peer.send(FETCH * 3)
                assert [read_fetch_response(peer) for _ in range(3)] == [digest_of(part.read())] * 3
            assert running.call(lambda: running.server.counters.cold_reads) >= 12

    def test_a_slice_that_was_cold_says_nothing_of_the_next(
        self, file: RealFile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers = [True, True, False, False]  # the thread asks too
        monkeypatch.setattr(page_cache, "is_resident", lambda *_: answers.pop())
        part = LogSlice(file, 0, 100_000)
        with RunningServer(slice_to_send=part) as running, KafkaPeer(running.address) as peer:
            for _ in range(3):
                peer.send(FETCH)
                assert read_fetch_response(peer) == digest_of(part.read())
            assert running.call(lambda: running.server.counters.cold_reads) == 1

    def test_a_peer_that_goes_while_a_thread_reads(self, file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(page_cache, "is_resident", lambda *_: False)
        with RunningServer(slice_to_send=LogSlice(file, 0, FILE_BYTES)) as running:
            with KafkaPeer(running.address, 4096) as peer:
                peer.send(FETCH)
                assert peer.read(16)
            running.wait_until(lambda: running.server.connection_count == 0)

    def test_a_cold_file_that_ends_too_early(self, file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(page_cache, "is_resident", lambda *_: False)
        beyond = LogSlice(file, FILE_BYTES - 10, 20)
        with RunningServer(slice_to_send=beyond) as running, KafkaPeer(running.address) as peer:
            peer.send(FETCH)
            with pytest.raises(EOFError):
                peer.response()
