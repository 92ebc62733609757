"""The dump of `.index` and `.timeindex`, each entry compared with the log on the way, as Kafka's tool does."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.cli.dump_batches import DumpOptions
from strandline.cli.dump_findings import Findings
from strandline.cli.output import Output, sentence_of
from strandline.cli.targets import base_offset_of, filesystem, sibling
from strandline.log import names
from strandline.log.filesystem import File
from strandline.log.offset_index import OffsetIndex
from strandline.log.scan import PEEK, PEEK_BYTES, find_batch
from strandline.log.time_index import TimeIndex
from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2, NO_TIMESTAMP
from strandline.records.record import read_records

NOT_FOUND = -1


def dump_offset_index(path: str, options: DumpOptions, output: Output, findings: Findings) -> None:
    index = OffsetIndex(filesystem, path, base_offset_of(path), writable=False)
    log = _open_log(path, output, findings)
    log_bytes = log.size() if log is not None else 2**31 - 1
    if index.entry_count == 0:
        if not output.is_json:
            output.line(f"{path} is empty.")
    elif options.checks_index_sanity:
        index.sanity_check(log_bytes)
        _tell_sane(path, output)
    else:
        for offset, position in _until_zeros(index.entries(), 0, index.base_offset):
            if log is not None:
                last_offset = _last_offset_at(log, position)
                if last_offset != offset:
                    findings.offset_mismatch(path, offset, last_offset)
            if options.verifies_index_only or offset not in options.offsets:
                continue
            if output.is_json:
                output.object({"path": path, "type": "index_entry", "offset": offset, "position": position})
            else:
                output.line(f"offset: {offset} position: {position}")


def dump_time_index(path: str, options: DumpOptions, output: Output, findings: Findings) -> None:
    index = TimeIndex(filesystem, path, base_offset_of(path), writable=False)
    if options.checks_index_sanity:
        index.sanity_check()
        _tell_sane(path, output)
        return
    log = _open_log(path, output, findings)
    offsets = OffsetIndex(filesystem, sibling(path, names.OFFSET_INDEX), index.base_offset, writable=False)
    previous = NO_TIMESTAMP
    for timestamp, offset in _until_zeros(index.entries(), 1, index.base_offset):
        is_found = log is not None and _compare(path, log, offsets, timestamp, offset, findings)
        if is_found and previous >= timestamp:
            findings.timestamp_out_of_order(path, timestamp, previous)
        previous = timestamp
        if options.verifies_index_only or offset not in options.offsets:
            continue
        if output.is_json:
            output.object({"path": path, "type": "timeindex_entry", "timestamp": timestamp, "offset": offset})
        else:
            output.line(f"timestamp: {timestamp} offset: {offset}")


def _until_zeros(entries: Iterator[tuple[int, int]], offset_column: int, base_offset: int) -> Iterator[tuple[int, int]]:
    """After a crash an index has zeros behind its entries, which read as the base offset over and over."""
    for number, entry in enumerate(entries):
        if number and entry[offset_column] == base_offset:
            return
        yield entry


def _open_log(path: str, output: Output, findings: Findings) -> File | None:
    log_path = sibling(path, names.LOG)
    if filesystem.exists(log_path):
        try:
            return filesystem.open(log_path, writable=False)
        except OSError as error:
            findings.unreadable(sentence_of(error))
            return None
    output.note(f"strandline: {log_path} is not there, so the entries are not compared with it")
    return None


def _tell_sane(path: str, output: Output) -> None:
    if output.is_json:
        output.object({"path": path, "type": "sanity_check", "passed": True})
    else:
        output.line(f"{path} passed sanity check.")


def _last_offset_at(log: File, position: int) -> int:
    peeked = log.read(position, PEEK_BYTES) if position >= 0 else b""
    if len(peeked) < PEEK_BYTES:
        return NOT_FOUND
    base_offset, _, magic, last_offset_delta = PEEK.unpack(peeked)
    return int(base_offset + last_offset_delta if magic >= MAGIC_V2 else base_offset)


def _position(offsets: OffsetIndex, offset: int, findings: Findings) -> int:
    try:
        return offsets.lookup(offset)[1]
    except OSError as error:
        findings.unreadable(sentence_of(error))
        return 0


def _compare(path: str, log: File, offsets: OffsetIndex, timestamp: int, offset: int, findings: Findings) -> bool:
    """Whether the offset was found; its batch must end with it and have the entry's time as its greatest."""
    try:
        found = find_batch(log, _position(offsets, offset, findings), log.size(), offset)
        batch = b"" if found is None else log.read(*found)
        last_offset = NOT_FOUND if found is None else _last_offset_at(log, found[0])
        if last_offset != offset:
            findings.offset_not_found(path, offset, last_offset)
            return False
        greatest = max((record.timestamp for record in read_records(batch)), default=NO_TIMESTAMP)
    except CorruptData as error:
        findings.damage(f"{path}: the log cannot be read at offset {offset}: {error}")
        return False
    if greatest != timestamp:
        findings.timestamp_mismatch(path, timestamp, greatest)
    return True
