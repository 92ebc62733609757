"""What else may lie in a partition's folder: it is passed over, and the log beside it opens as if it were not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.log.making_logs import append, batch_of, make_log, records_in

BASE = f"{0:020d}"
FOLDERS = ["backup.tmp", f"{BASE}.log.deleted", f"{BASE}.log.cleaned", f"{BASE}.log.swap", f"{5:020d}.log"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = make_log(tmp_path)
    append(log, batch_of("a"), batch_of("b"))
    log.close(now_ms=0)
    return tmp_path


def assert_opens(folder: Path, *, is_clean: bool = False) -> None:
    log = make_log(folder, is_clean=is_clean)
    append(log, batch_of("c"))
    assert [record.value for record in records_in(log)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_with_the_name_of_a_file_stays(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    assert_opens(folder)
    assert (folder / name).is_dir()


@pytest.mark.parametrize("target", ["nowhere", f"{5:020d}.log"], ids=["to nothing", "to itself"])
def test_a_link_that_leads_to_no_file_is_no_segment(folder: Path, target: str) -> None:
    os.symlink(target, folder / f"{5:020d}.log")
    assert_opens(folder)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", f"{2:020d}.snapshot", f"{BASE}.txnindex"])
def test_a_small_file_of_a_terabyte_is_not_read(folder: Path, name: str, is_clean: bool) -> None:
    """A hole that nobody wrote: there is no memory for it, nor a need."""
    (folder / name).touch()
    os.truncate(folder / name, 2**40)
    assert_opens(folder, is_clean=is_clean)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("offset", [2**63, 10**20 - 1])
def test_a_number_that_is_no_offset_names_no_segment(folder: Path, offset: int, is_clean: bool) -> None:
    """Kafka's offsets have 63 bits; the name has room for more."""
    for kind in (".log", ".index", ".snapshot"):
        (folder / f"{offset:020d}{kind}").write_bytes(b"")
    assert_opens(folder, is_clean=is_clean)
