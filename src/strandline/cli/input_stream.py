"""Standard input as chunks, without blocking the event loop and without a thread that could not be stopped."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator

CHUNK_BYTES = 64 * 1024


async def input_chunks() -> AsyncIterator[bytes]:
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, io.UnsupportedOperation):  # not a stream of the operating system
        yield sys.stdin.buffer.read()
        return
    while True:
        await _readable(descriptor)
        chunk = os.read(descriptor, CHUNK_BYTES)
        if not chunk:
            return
        yield chunk


async def _readable(descriptor: int) -> None:
    """Each time anew: a wake-up left over from before would let the next read block everything."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:
        return  # a file is always readable, and the kernel says so in this way
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


def input_size() -> int:
    """Of a file that is read from its beginning to its end; 0 where the size is not known."""
    try:
        return os.fstat(sys.stdin.fileno()).st_size
    except (OSError, io.UnsupportedOperation):
        return 0
