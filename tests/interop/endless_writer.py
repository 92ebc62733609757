"""Appends and compacts until it is killed: `python -m tests.interop.endless_writer DIRECTORY TOPIC=ID TOPIC=ID`.

Record N of each topic has offset N and the value "N"; it says "written N" when both topics have it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.interop.ours import Writer, compact, now_ms, strandline

from strandline.model.ids import decode_id
from strandline.model.partitions import TopicPartition
from strandline.records.compression import Codec

KEYS = 7
COMPACTION_INTERVAL = 20


def main(data: Path, topic_ids: list[str]) -> None:
    with strandline(data) as directory:
        writers = {}
        for topic, _, topic_id in (each.partition("=") for each in topic_ids):
            partition = TopicPartition(topic, 0)
            writers[topic] = Writer(directory.create(partition, now_ms=now_ms(), topic_id=decode_id(topic_id)))
        number = 0
        while True:
            for writer in writers.values():
                writer.append([(key_of(number), b"%d" % number)], codec=Codec(number % len(Codec)))
            print(f"written {number}", flush=True)
            number += 1
            if number % COMPACTION_INTERVAL == 0:
                compact(directory, writers["table"].log, now_ms=now_ms())


def key_of(number: int) -> bytes:
    return b"key-%d" % (number % KEYS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
