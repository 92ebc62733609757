"""What a dump noticed on its way, told at its end on stderr, in Kafka's words where Kafka has some."""

from __future__ import annotations

import os

from strandline.cli.output import EXIT_FAULT, EXIT_UNREADABLE, Output

PAIRS_TOLD_MAX = 100  # of one kind and file: a compacted log of any size must not fill the memory

Pair = tuple[int, int]


class Findings:
    def __init__(self) -> None:
        self.has_damage = False
        self._is_unreadable = False
        self._sentences: list[str] = []
        self._pairs: dict[tuple[str, str], list[Pair]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def unreadable(self, sentence: str) -> None:
        """Once for each file, however many others need it."""
        self._is_unreadable = True
        if sentence not in self._sentences:
            self._sentences.append(sentence)

    def damage(self, sentence: str) -> None:
        self.has_damage = True
        self._sentences.append(sentence)

    def gap(self, path: str, offset: int, following: int) -> None:
        """Not damage: compaction leaves gaps."""
        self._add("gap", path, (offset, following))

    def offset_mismatch(self, path: str, indexed: int, found: int) -> None:
        self._add("offset_mismatch", path, (indexed, found))

    def timestamp_mismatch(self, path: str, indexed: int, found: int) -> None:
        self._add("timestamp_mismatch", path, (indexed, found))

    def timestamp_out_of_order(self, path: str, indexed: int, previous: int) -> None:
        self._add("timestamp_out_of_order", path, (indexed, previous))

    def offset_not_found(self, path: str, indexed: int, found: int) -> None:
        self._add("offset_not_found", path, (indexed, found))

    def _add(self, kind: str, path: str, pair: Pair) -> None:
        pairs = self._pairs.setdefault((kind, path), [])
        self._counts[kind, path] = self._counts.get((kind, path), 0) + 1
        if len(pairs) < PAIRS_TOLD_MAX:
            pairs.append(pair)
        if kind != "gap":
            self.has_damage = True

    def tell(self, output: Output) -> None:
        for kind, (title, line) in FORMS.items():
            for (found_kind, path), pairs in self._pairs.items():
                if found_kind == kind:
                    self._tell_pairs(output, kind, path, pairs, title, line)
        for sentence in self._sentences:
            output.note(f"strandline: {sentence}")

    def _tell_pairs(self, output: Output, kind: str, path: str, pairs: list[Pair], title: str, line: str) -> None:
        if output.is_json:
            for first, second in pairs:
                output.object({"type": kind, "path": path, "first": first, "second": second})
            return
        output.note(title.format(path=os.path.abspath(path)))
        for first, second in pairs:
            output.note(line.format(first=first, second=second))
        left_out = self._counts[kind, path] - len(pairs)
        if left_out:
            output.note(f"  and {left_out} more")

    @property
    def exit_code(self) -> int:
        if self._is_unreadable:
            return EXIT_UNREADABLE
        return EXIT_FAULT if self.has_damage else 0


FORMS = {
    "offset_mismatch": ("Mismatches in :{path}", "  Index offset: {first}, log offset: {second}"),
    "timestamp_mismatch": (
        "Found timestamp mismatch in :{path}",
        "  Index timestamp: {first}, log timestamp: {second}",
    ),
    "timestamp_out_of_order": (
        "Found out of order timestamp in :{path}",
        "  Index timestamp: {first}, Previously indexed timestamp: {second}",
    ),
    "offset_not_found": (
        "The following indexed offsets are not found in the log.",
        "Indexed offset: {first}, found log offset: {second}",
    ),
    "gap": ("Non-consecutive offsets in {path}", "  {first} is followed by {second}"),
}
