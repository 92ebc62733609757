"""What our group coordinator stores, Kafka's own tool decodes: offsets, classic groups, consumer groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.kafka import Kafka
from tests.interop.tools import Tools

from strandline.testing import Broker

pytestmark = pytest.mark.interop


def test_offsets_and_groups(kafka: Kafka, tmp_path: Path) -> None:
    with Broker(process=True, data=tmp_path) as broker:
        tools = Tools(kafka, broker.bootstrap)
        tools("kafka-console-producer", "--topic", "orders", stdin="a\nb\nc\n")
        for protocol in ("classic", "consumer"):
            tools(
                "kafka-console-consumer", "--topic", "orders", "--from-beginning", "--max-messages", "3",
                "--timeout-ms", "20000", "--group", f"{protocol}-readers",
                "--consumer-property", f"group.protocol={protocol}",
            )  # fmt: skip
    dumped = kafka.dump_log_segments(
        sorted(tmp_path.glob("__consumer_offsets-*/*.log")), "--offsets-decoder", "--deep-iteration"
    )
    assert dumped.exit_code == 0, dumped.stderr
    for protocol in ("classic", "consumer"):
        offsets = [line for line in dumped.stdout.splitlines() if f"{protocol}-readers" in line and "orders" in line]
        assert any('"offset":3' in line or "offset=3" in line for line in offsets), dumped.stdout
    assert "classic-readers" in dumped.stdout
