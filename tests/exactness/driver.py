"""The driver, which dies and is started again: a pipeline and a copy of its topic, side by side, to the input's end.

    python -m tests.exactness.driver PIPELINE SOURCE COPY

Ends with 0 when both have read all there is.
"""

from __future__ import annotations

import sys

from strandline.pipeline.running import Run
from strandline.pipeline.session import start_session
from strandline.pipeline.topics import client_options
from strandline.pipeline.validation import read_pipeline


def main(file: str, source: str, copy: str) -> None:
    pipeline = read_pipeline(file)
    session = start_session(pipeline)
    options = client_options(pipeline.client)
    rows = session.readStream.format("strandline").options(**options, subscribe=source, startingOffsets="earliest")
    rows = rows.option("maxOffsetsPerTrigger", str(pipeline.source.records_per_batch_max)).load()
    writer = rows.select("key", "value").writeStream.format("strandline").queryName("copy")
    writer = writer.options(**options, topic=copy, delivery="exactly-once")
    copying = writer.option("checkpointLocation", f"{pipeline.directory}/copy").trigger(availableNow=True).start()
    run = Run(pipeline, session)
    try:
        run.wait()
        copying.awaitTermination()
    finally:
        copying.stop()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
