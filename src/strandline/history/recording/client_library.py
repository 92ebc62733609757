"""The library whose clients are recorded. Strandline itself does without it, so it may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from strandline.model.extras import how_to_install


@contextmanager
def needing_confluent_kafka() -> Iterator[None]:
    """Around an import of it."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name != "confluent_kafka":
            raise
        sentence = (
            "clients are recorded with confluent-kafka, which is not installed:"
            f" run `pip install 'confluent-kafka>=2.12'`, or {how_to_install('history')}"
        )
        raise ModuleNotFoundError(sentence, name=missing.name) from None
