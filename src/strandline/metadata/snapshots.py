"""A whole tree as bytes, from which the transactions after it go on.

    int64 zxid
    int32 count, then for each open session: int64 id
    int32 count, then for each node, parents before their children:
        text path, data, int64 × 8: created_zxid, modified_zxid, children_zxid, created_ms, modified_ms, owner, version,
        children_made

Who has which children and which ephemerals follows from the paths and the owners.
"""

from __future__ import annotations

from struct import Struct

from strandline.metadata.fields import FieldReader, FieldWriter
from strandline.metadata.operations import name_of, parent_of
from strandline.metadata.store import NO_OWNER
from strandline.metadata.tree import Tree, Znode
from strandline.model.failures import CorruptData

NUMBERS = Struct(">8q")


def write_snapshot(writer: FieldWriter, tree: Tree) -> None:
    writer.int64(tree.zxid)
    writer.int32(len(tree.sessions))
    for session_id in sorted(tree.sessions):
        writer.int64(session_id)
    writer.int32(len(tree.nodes))
    for path in sorted(tree.nodes):  # a path sorts after every part of it
        _write_node(writer, path, tree.nodes[path])


def _write_node(writer: FieldWriter, path: str, node: Znode) -> None:
    writer.text(path).data(node.data)
    writer.raw(
        NUMBERS.pack(
            node.created_zxid,
            node.modified_zxid,
            node.children_zxid,
            node.created_ms,
            node.modified_ms,
            node.owner,
            node.version,
            node.children_made,
        )
    )


def read_snapshot(reader: FieldReader) -> Tree:
    tree = Tree()
    tree.nodes.clear()
    tree.zxid = reader.int64()
    for _ in range(reader.int32()):
        tree.sessions[reader.int64()] = set()
    for _ in range(reader.int32()):
        path = reader.text()
        _attach(tree, path, _read_node(reader))
    if "/" not in tree.nodes:
        raise CorruptData("a snapshot without a root")
    return tree


def _read_node(reader: FieldReader) -> Znode:
    data, numbers = reader.data(), NUMBERS.unpack(reader.raw(NUMBERS.size))
    return Znode(data, *numbers)


def _attach(tree: Tree, path: str, node: Znode) -> None:
    if path != "/":
        parent = tree.nodes.get(parent_of(path))
        if parent is None or path in tree.nodes:
            raise CorruptData(f"a snapshot with {path!r} out of place")
        parent.children.add(name_of(path))
    tree.nodes[path] = node
    if node.owner != NO_OWNER:
        if node.owner not in tree.sessions:
            raise CorruptData(f"a snapshot with {path!r} of a session that is not open")
        tree.sessions[node.owner].add(path)
