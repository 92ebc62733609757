"""What the one who ran the clients knows of the run, and the history does not tell."""

from __future__ import annotations

from typing import NamedTuple


class Expectations(NamedTuple):
    """The defaults suit a history of which nothing is known: what they leave open is told, and not called bad."""

    is_read_to_end: bool = False
    """After the last send somebody read every partition to its end, so what nobody read is not merely late,
    nor what the last one to look did not find."""

    may_delete: bool = False
    """Retention or compaction may have taken records away, so what is missing is not lost."""

    is_every_writer_recorded: bool = False
    """Nobody wrote to these topics but the recorded processes, so a value that none of them sent is wrong."""

    may_delete_topics: frozenset[str] = frozenset()
    """The same as `may_delete`, of these topics alone."""

    may_forget_offsets: bool = False
    """Offsets of groups may have expired or been deleted, so that `auto.offset.reset` led a group."""

    def may_delete_from(self, topic: str) -> bool:
        return self.may_delete or topic in self.may_delete_topics
