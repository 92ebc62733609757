"""By what name a sink knows a batch when it comes again."""

from __future__ import annotations

from typing import NamedTuple


class BatchKey(NamedTuple):
    pipeline: str
    run_id: str  # as old as the checkpoint: with another one, numbers begin anew
    batch_id: int

    @property
    def folder(self) -> str:
        return f"{self.run_id[:12]}-{self.batch_id:08d}"
