"""What the examples of pipelines share: a broker that comes and goes, records in it, a pipeline run to its end."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings
from strandline.pipeline.running import Run
from strandline.pipeline.session import start_session
from strandline.pipeline.spec import Pipeline
from strandline.pipeline.validation import read_pipeline
from strandline.testing import Broker

HERE = Path(__file__).parent


class Demo:
    def __init__(self, file: str, directory: Path, broker: Broker, session: Any = None) -> None:
        """The file is copied into a directory: what a pipeline writes lies beside its file."""
        self.broker = broker
        self.directory = directory
        path = shutil.copy(HERE / file, directory)
        settings = {"bootstrap.servers": broker.bootstrap}
        self.pipeline: Pipeline = replace(read_pipeline(str(path)), client=settings)
        self.session = session if session is not None else start_session(self.pipeline)
        self.client = Blocking(ClientSettings.of(settings))

    def topics(self, *names: str) -> None:
        for name in names:
            self.broker.create_topic(name, 2)

    def send(self, topic: str, records: Iterable[tuple[str, object]]) -> None:
        """A value is text as it is, None, or anything else as JSON."""

        async def work(cluster: Cluster) -> None:
            async with Producer(cluster) as producer:
                for key, value in records:
                    text = value if isinstance(value, str | None) else json.dumps(value)
                    await producer.send(topic, None if text is None else text.encode(), key=key.encode())
            if producer.failure is not None:
                raise producer.failure

        self.client(work)

    def run(self) -> None:
        """All that is there now."""
        run = Run(self.pipeline, self.session, trigger="once")
        run.wait()
        print(f"{self.pipeline.name}: {run.steps.tally.dead_letters} dead letters")

    def values(self, topic: str) -> list[Any]:
        given = {"kafka.bootstrap.servers": self.broker.bootstrap, "kafka.isolation.level": "read_committed"}
        rows = self.session.read.format("strandline").options(**given, subscribe=topic)
        return sorted(row.value.decode() for row in rows.load().collect())


@contextmanager
def demo(file: str, directory: Path | None = None, session: Any = None) -> Iterator[Demo]:
    """With a Spark of its own unless one is given."""
    with tempfile.TemporaryDirectory() as scratch, Broker() as broker:
        stage = Demo(file, directory or Path(scratch), broker, session)
        try:
            with stage.client:
                yield stage
        finally:
            if session is None:
                stage.session.stop()
