"""What the settings of a client say, read as librdkafka reads them.

Truth may be written as `True`, `"true"`, `"t"` or `1`, words in any case. Settings of topics may stand with the others,
with a `topic.` before them, or under `default.topic.config`, which comes last. Of two names of one setting the later
counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRUE_WORDS = {"true", "t", "1"}
OTHER_NAMES = {"request.required.acks": "acks"}
RESETS = {
    "smallest": "beginning",
    "earliest": "beginning",
    "beginning": "beginning",
    "largest": "end",
    "latest": "end",
    "end": "end",
}


class ClientSettings:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings: dict[str, Any] = {}
        for each in (settings, settings.get("default.topic.config", {})):
            for name, value in each.items():
                plain = name.removeprefix("topic.")
                self._settings[OTHER_NAMES.get(plain, plain)] = value

    def _word(self, name: str, default: str) -> str:
        return str(self._settings.get(name, default)).strip().lower()

    @property
    def is_idempotent(self) -> bool:
        return bool(self._settings.get("transactional.id")) or self._word("enable.idempotence", "false") in TRUE_WORDS

    @property
    def acks(self) -> str:
        """Brokers refuse more than 1: what they do not write they do not promise."""
        acks = self._word("acks", "all")
        if self.is_idempotent or acks in ("all", "-1"):
            return "all"
        return "0" if acks == "0" else "1"

    @property
    def group(self) -> str:
        return str(self._settings["group.id"])

    @property
    def commits_by_itself(self) -> bool:
        return self._word("enable.auto.commit", "true") in TRUE_WORDS

    @property
    def isolation(self) -> str:
        return self._word("isolation.level", "read_committed")

    @property
    def reset(self) -> str | None:
        """Where a group begins that has committed nothing, by the names of histories."""
        return RESETS.get(self._word("auto.offset.reset", "latest"))
