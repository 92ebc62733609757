"""Makes everything under tests/golden again: `python -m tests.golden.make` from the root of the checkout.

Real brokers write the folders, so topic ids, times and producer ids come out new each time; the batches come
out the same.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.interop.broker import Broker, format_directory, kraft_broker, zookeeper, zookeeper_broker
from tests.interop.kafka import Kafka, fetch

GOLDEN = Path(__file__).resolve().parent
CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
DUMP_FLAGS = ("--print-data-log", "--deep-iteration")
DUMPED_BATCHES = (
    "v2-nulls",
    "v2-headers",
    "v2-times",
    "v2-log-append-time",
    "v2-sequence-wrap",
    "v2-transactions",
    "v2-leader-change",
    "v2-snapshot-header",
    "v2-snapshot-footer",
    "v2-kraft-version",
    "v2-kraft-voters",
    "v2-compacted-gaps",
    "v2-compacted-empty",
    "v2-delete-horizon-marker",
    "v0-nulls",
    "v0-lz4",
    "v1-nulls",
    "v1-gzip-gaps",
    "v1-gzip-log-append-time",
    "mixed-formats",
)
QUICK_CLEANER = {"log.cleaner.backoff.ms": "100"}
CLEANING_TIMEOUT_SECONDS = 30


def main() -> None:
    old, new = fetch("3.9"), fetch("4.3")
    make_batches(old, new)
    make_directory(old, GOLDEN / "kraft-3.9", ["orders-0", "payments-0", "accounts-0", "clicks-0"])
    make_directory(new, GOLDEN / "kraft-4.3", ["payments-0", "accounts-0"])
    make_killed_directory(new, GOLDEN / "killed-4.3")
    make_legacy_directory(old, GOLDEN / "zookeeper-3.9")


def make_batches(old: Kafka, new: Kafka) -> None:
    batches = GOLDEN / "batches"
    shutil.rmtree(batches, ignore_errors=True)
    _run(old, "MakeGolden.java", str(batches))
    with tempfile.TemporaryDirectory() as temporary:
        logs = [as_log(name, Path(temporary)) for name in DUMPED_BATCHES]
        for kafka in (old, new):
            text = kafka.dump_log_segments(logs, *DUMP_FLAGS, folder=Path(temporary))
            (GOLDEN / f"batches.dump-{kafka.series}.txt").write_text(text.stdout)


def as_log(name: str, folder: Path) -> Path:
    """The batches of one case as a segment, where Kafka's tool will read it: NAME/<base offset>.log."""
    expected = json.loads((GOLDEN / "batches" / f"{name}.json").read_text())
    log = Path(name) / f"{expected['batches'][0]['base_offset']:020}.log"
    (folder / name).mkdir()
    shutil.copy(GOLDEN / "batches" / f"{name}.bin", folder / log)
    return log


def make_directory(kafka: Kafka, golden: Path, partitions: Sequence[str]) -> None:
    """Three lives of one broker, each ended cleanly; the last one writes nothing but a leader epoch."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        data = work / "data"
        format_directory(kafka, data, work)
        with kraft_broker(kafka, data, work, QUICK_CLEANER) as broker:
            _workload(kafka, broker, "create", segment_bytes_property(kafka))
            _workload(kafka, broker, "first")
            await_cleaning(data, "accounts")
        with kraft_broker(kafka, data, work, QUICK_CLEANER) as broker:
            _workload(kafka, broker, "second")
            await_cleaning(data, "accounts")
            _workload(kafka, broker, "open")
        with kraft_broker(kafka, data, work):
            pass
        _keep(data, golden, partitions)
        keep_transaction_state(kafka, data)
    _keep_dumps(kafka, golden, partitions)


def keep_transaction_state(kafka: Kafka, data: Path) -> None:
    """What the coordinator wrote down of the workload's transactions."""
    (log,) = (data / "__transaction_state-0").glob("*.log")
    shutil.copy(log, GOLDEN / f"transaction-state-{kafka.series}.log")


def make_killed_directory(kafka: Kafka, golden: Path) -> None:
    """Ended by kill -9: no mark of a clean stop, indexes as long as they were allocated."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        data = work / "data"
        format_directory(kafka, data, work)
        with kraft_broker(kafka, data, work) as broker:
            _workload(kafka, broker, "create", segment_bytes_property(kafka))
            _workload(kafka, broker, "orders")
            broker.server.kill()
        _keep(data, golden, ["orders-0"])
    _keep_dumps(kafka, golden, ["orders-0"])


def make_legacy_directory(kafka: Kafka, golden: Path) -> None:
    """A broker that speaks as 2.8 did still writes the old formats: one topic goes from v0 to v1 to v2."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        data = work / "data"
        settings = {"inter.broker.protocol.version": "2.8"}
        with zookeeper(kafka, work / "zookeeper", work) as address:
            for message_format in ("0.9.0", "0.10.2", "2.8"):
                with zookeeper_broker(kafka, data, work, address, settings) as broker:
                    _workload(kafka, broker, "legacy", message_format)
        _keep(data, golden, ["ledger-0"])
    _keep_dumps(kafka, golden, ["ledger-0"])


def segment_bytes_property(kafka: Kafka) -> str:
    """Kafka 4 refuses `segment.bytes` below a megabyte; its own tests use this name instead (KIP-1030)."""
    return "segment.bytes" if kafka.series == "3.9" else "internal.segment.bytes"


def _workload(kafka: Kafka, broker: Broker, *arguments: str) -> None:
    _run(kafka, "Workload.java", broker.bootstrap, *arguments)


def _run(kafka: Kafka, program: str, *arguments: str) -> None:
    done = kafka.run(str(GOLDEN / program), *arguments)
    if done.exit_code != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr}")


def await_cleaning(data: Path, topic: str) -> None:
    """Until the cleaner's checkpoint has reached the active segment of a compacted topic."""
    deadline = time.monotonic() + CLEANING_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        active = max(int(log.stem) for log in (data / f"{topic}-0").glob("*.log"))
        if f"{topic} 0 {active}\n" in (data / "cleaner-offset-checkpoint").read_text():
            return
        time.sleep(0.1)
    raise RuntimeError("the cleaner did not reach the active segment")


def _keep(data: Path, golden: Path, partitions: Sequence[str]) -> None:
    shutil.rmtree(golden, ignore_errors=True)
    golden.mkdir()
    for name in ("meta.properties", ".kafka_cleanshutdown", *CHECKPOINTS):
        if (data / name).exists():
            shutil.copy(data / name, golden / name)
    for partition in partitions:
        shutil.copytree(data / partition, golden / partition)


def _keep_dumps(kafka: Kafka, golden: Path, partitions: Sequence[str]) -> None:
    for partition in partitions:
        text = kafka.dump_log_segments(dumped_files(golden, partition), *DUMP_FLAGS, folder=golden)
        (golden / f"{partition}.dump.txt").write_text(text.stdout)


def dumped_files(golden: Path, partition: str) -> list[Path]:
    """In the order of the text: by name, so that the files of a segment stand together."""
    return sorted(path.relative_to(golden) for path in (golden / partition).iterdir() if path.suffix in SUFFIXES)


if __name__ == "__main__":
    main()
