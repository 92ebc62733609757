"""A segment's files change their names one by one, and a crash may keep any of the changes (KAFKA-6264).

Recovery goes by the `.log` file, so it is renamed last when the segment becomes `.swap`, for then all the others are
ready; and first, and durably, when the segment takes its place or leaves it: an index without a `.log` file is seen to
belong to nothing, while a `.log` file is not seen to miss its index of aborted transactions.
"""

from __future__ import annotations

from collections.abc import Iterable

from strandline.log import names
from strandline.log.filesystem import FileSystem


def rename_segment(filesystem: FileSystem, path: str, old_suffix: str, new_suffix: str) -> None:
    """`path` has the old suffix and no kind; kinds that are not there are passed over."""
    stem = path.removesuffix(old_suffix)
    if new_suffix == names.SWAP:
        _rename(filesystem, stem, (*names.INDEX_SUFFIXES, names.LOG), old_suffix, new_suffix)
        return
    _rename(filesystem, stem, (names.LOG,), old_suffix, new_suffix)
    filesystem.sync_directory(path.rpartition("/")[0])
    _rename(filesystem, stem, names.INDEX_SUFFIXES, old_suffix, new_suffix)


def _rename(filesystem: FileSystem, stem: str, kinds: Iterable[str], old_suffix: str, new_suffix: str) -> None:
    for kind in kinds:
        if filesystem.exists(stem + kind + old_suffix):
            filesystem.rename(stem + kind + old_suffix, stem + kind + new_suffix)
