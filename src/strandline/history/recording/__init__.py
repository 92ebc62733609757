"""Records what confluent-kafka's clients do, as a history that can be checked.

    with Journal("anna.jsonl", "anna") as journal, RecordingProducer(settings, journal) as producer:
        producer.produce("orders", b"...")

The cluster may be Strandline, Apache Kafka or anything that speaks its protocol. One process, one journal, one file;
give all files to `strandline check-history`. What a consumer read is in the file before the application sees it, so
that killing the application loses none of it; of sends, those outcomes are lost that were still in the journal's
buffer.
"""

from __future__ import annotations

from strandline.history.recording.consumer import RecordingConsumer
from strandline.history.recording.journal import Journal
from strandline.history.recording.producer import RecordingProducer

__all__ = ["Journal", "RecordingConsumer", "RecordingProducer"]
