"""SPEC L1, L8: the small files that say whose a folder is, and how it was left."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.clean_shutdown import decode_clean_shutdown, encode_clean_shutdown
from strandline.log.java_properties import format_properties, parse_properties
from strandline.log.meta_properties import MetaProperties, decode_meta_properties, encode_meta_properties
from strandline.log.partition_metadata import decode_partition_metadata, encode_partition_metadata
from strandline.model.failures import CorruptData
from strandline.model.ids import decode_id, encode_id

TOPIC_ID = UUID("3244d168-4439-460a-af1b-1e2467d4b5b8")


def test_a_topic_id_in_kafkas_text() -> None:
    assert encode_id(UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert encode_partition_metadata(TOPIC_ID) == b"version: 0\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1uA"
    assert decode_partition_metadata(b"version: 0\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1uA\n") == TOPIC_ID
    assert decode_partition_metadata(b"version: 1\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1uA==") == TOPIC_ID


@given(st.uuids())
def test_every_id_comes_back(identity: UUID) -> None:
    assert decode_id(encode_id(identity)) == identity


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"version: x\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1uA",
        b"version: 0",
        b"version: 0\ntopic_id:",
        b"version: 0\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1u",
        b"version: 0\ntopic_id: MkTRaEQ5RgqvGx4kZ9S1+/",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"\xff\xff",
    ],
)
def test_a_damaged_partition_metadata_is_told(damaged: bytes) -> None:
    with pytest.raises(CorruptData):
        decode_partition_metadata(damaged)


def test_meta_properties_of_a_zookeeper_cluster() -> None:
    written_by_kafka = (
        b"#\n#Sun Nov 15 03:53:12 UTC 2026\nbroker.id=1\ndirectory.id=MkTRaEQ5RgqvGx4kZ9S1uA\n"
        b"version=0\ncluster.id=6PbMvOoxSGqwS1i_J8M6zA\n"
    )
    properties = decode_meta_properties(written_by_kafka)
    assert properties == MetaProperties(node_id=1, cluster_id="6PbMvOoxSGqwS1i_J8M6zA", directory_id=TOPIC_ID)
    assert encode_meta_properties(properties, ["", "Sun Nov 15 03:53:12 UTC 2026"]) == written_by_kafka


def test_meta_properties_of_a_kraft_cluster() -> None:
    properties = decode_meta_properties(b"node.id=3\nversion=1\ncluster.id=abc\n")
    assert (properties.version, properties.node_id, properties.cluster_id) == (1, 3, "abc")
    assert decode_meta_properties(encode_meta_properties(properties)) == properties


def test_a_first_start_has_no_names_yet() -> None:
    assert decode_meta_properties(b"") == MetaProperties()
    assert encode_meta_properties(MetaProperties()) == b"#\nversion=0\n"


def test_keys_of_a_newer_kafka_survive_rewriting() -> None:
    properties = decode_meta_properties(b"version=0\nbroker.id=1\nshelf=top\nnode.id=9\n")
    assert properties.others == {"shelf": "top", "node.id": "9"}
    assert encode_meta_properties(properties) == b"#\nbroker.id=1\nversion=0\nshelf=top\nnode.id=9\n"


@pytest.mark.parametrize(
    "damaged",
    [
        b"version=2\n",
        b"version=zero\n",
        b"broker.id=one\n",
        b"version=1\nnode.id=1\n",
        b"version=1\ncluster.id=a\n",
        b"directory.id=short\n",
        b"cluster.id=\\u12\n",
    ],
)
def test_damaged_meta_properties_are_told(damaged: bytes) -> None:
    with pytest.raises(CorruptData):
        decode_meta_properties(damaged)


def test_every_way_java_writes_a_property() -> None:
    text = b"# note\n! note\n\n  a = 1\nb:2\nc 3\nd\ne=\\\n   x\\\\\n\\ f\\:g=\\ \\u00e9\\t\\q\r\nlast=one\\"
    assert parse_properties(text) == {
        "a": "1", "b": "2", "c": "3", "d": "", "e": "x\\", " f:g": " é\tq", "last": "one",
    }  # fmt: skip


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4))
def test_any_property_comes_back(properties: dict[str, str]) -> None:
    assert parse_properties(format_properties(properties)) == properties


def test_the_marker_of_a_clean_shutdown() -> None:
    assert encode_clean_shutdown(5) == b'{"version":0,"brokerEpoch":5}'
    assert decode_clean_shutdown(encode_clean_shutdown(2**40)) == 2**40


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"brokerEpoch":null}', b'{"brokerEpoch":"5"}', b"\xff"])
def test_an_older_kafkas_marker_counts_without_an_epoch(data: bytes) -> None:
    assert decode_clean_shutdown(data) == -1
