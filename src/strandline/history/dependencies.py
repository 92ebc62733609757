"""Who depends on whom: the graph in which anomalies are cycles (Adya's, as Elle builds it for Jepsen).

A node is a transaction, or a send or a poll of its own. Edges from A to B:

ww        a record of A lies right before one of B in a partition.
wr        B read a record of A.
process   A ended before B began, in one process.
realtime  the same between processes that share a clock.

What comes before what in time would need an edge for each pair. Instead there are moments, which are nodes too: who
ended before one leads to it, it leads to the next and to who began after it. So edges stay as few as nodes.

rw edges (A read the end of a log before B wrote to it) are not drawn: Kafka promises nothing about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from strandline.history.index import History
from strandline.history.operations import Begin, Outcome, Poll, Send
from strandline.history.transaction import Fate, Transaction


class Span(NamedTuple):
    began_us: int
    ended_us: int | None  # None: nobody knows when, or whether
    node: int


class Dependencies:
    def __init__(self, history: History) -> None:
        self.history = history
        self.operations: list[Send | Poll | Transaction | None] = []  # by node; None for a moment
        self._node_of_transaction: dict[str, int] = {}
        self._node_of_send: dict[int, int] = {}
        self._node_of_poll: dict[int, int] = {}
        self._spans: dict[tuple[str, Hashable], list[Span]] = defaultdict(list)  # by process and timeline
        self._add_nodes()
        self.edges: dict[str, list[list[int]]] = {
            "ww": self._write_edges(),
            "wr": self._read_edges(),
        }
        by_process, by_clock = self._time_edges()
        self.edges["process"], self.edges["realtime"] = by_process, by_clock
        for edges in self.edges.values():  # moments were added while others were drawn
            edges.extend([] for _ in range(len(self.operations) - len(edges)))

    # Nodes.

    def _add_nodes(self) -> None:
        for transaction in self.history.transactions.by_name.values():
            if transaction.fate is not Fate.ABORTED:
                self._node_of_transaction[transaction.name] = self._add(transaction)
                self._span_transaction(transaction)
        for send in self.history.sends:
            if send.transaction is None and send.outcome is not Outcome.FAIL:
                node = self._node_of_send[send.number] = self._add(send)
                ended_us = send.ended_us if send.outcome is Outcome.OK else None
                self._span(send, ended_us, node)
        for poll in self.history.polls:
            if poll.transaction not in self._node_of_transaction and poll.records:
                node = self._node_of_poll[poll.number] = self._add(poll)
                self._span(poll, poll.ended_us, node)

    def _span_transaction(self, transaction: Transaction) -> None:
        begin, end = transaction.begin, transaction.acknowledged_end
        if begin is not None:
            if end is not None and not self.history.lives.share_clock(begin, end):
                end = None  # nobody knows when, by the clock of its begin
            ended_us = None if end is None else end.ended_us
            self._span(begin, ended_us, self._node_of_transaction[transaction.name])

    def _span(self, operation: Begin | Send | Poll, ended_us: int | None, node: int) -> None:
        timeline = self.history.lives.timeline(operation)
        self._spans[operation.process, timeline].append(Span(operation.began_us, ended_us, node))

    def _add(self, operation: Send | Poll | Transaction | None) -> int:
        self.operations.append(operation)
        return len(self.operations) - 1

    def _writer_node(self, send: Send | None) -> int | None:
        if send is None:
            return None
        if send.transaction is not None:
            return self._node_of_transaction.get(send.transaction)
        return self._node_of_send.get(send.number)

    # Edges.

    def _write_edges(self) -> list[list[int]]:
        edges: list[list[int]] = [[] for _ in self.operations]
        for log in self.history.logs.values():
            last: int | None = None
            for offset in log.known:
                value = log.claims[offset].value
                if offset in log.contradictions or log.place_of[value] != offset:
                    continue  # told of elsewhere; as edges they would only say the same again
                node = self._writer_node(self.history.writer(log.partition.topic, value))
                if node is not None:
                    if last is not None and last != node:
                        edges[last].append(node)
                    last = node
        return edges

    def _read_edges(self) -> list[list[int]]:
        edges: list[list[int]] = [[] for _ in self.operations]
        for poll in self.history.polls:
            reader = self._node_of_transaction.get(poll.transaction) if poll.transaction is not None else None
            if reader is None:
                reader = self._node_of_poll.get(poll.number)
            is_committed = self.history.lives.reads_committed(poll)
            last: int | None = None
            for partition, _, value in poll.records if reader is not None else ():
                writer = self.history.writer(partition.topic, value)
                # Who reads uncommitted records may well read two open transactions crosswise.
                if writer is None or (writer.transaction is not None and not is_committed):
                    continue
                node = self._writer_node(writer)
                if node is not None and node != reader and node != last:
                    assert reader is not None
                    edges[node].append(reader)
                    last = node
        return edges

    def _time_edges(self) -> tuple[list[list[int]], list[list[int]]]:
        by_clock: dict[str, list[Span]] = defaultdict(list)
        for (_, timeline), spans in self._spans.items():
            if isinstance(timeline, str):  # a clock's name
                by_clock[timeline] += spans
        return self._moments(self._spans.values()), self._moments(by_clock.values())

    def _moments(self, timelines: Iterable[list[Span]]) -> list[list[int]]:
        edges: list[list[int]] = [[] for _ in self.operations]
        for spans in timelines:
            ends = sorted((span.ended_us, span.node) for span in spans if span.ended_us is not None)
            done = 0
            moment: int | None = None  # or the one operation that stands for it
            entered: dict[int, int | None] = {}
            for span in sorted(spans, key=lambda span: span.began_us):
                arrived = done
                while arrived < len(ends) and ends[arrived][0] < span.began_us:
                    arrived += 1
                if arrived == done + 1 and entered[ends[done][1]] == moment:
                    moment = ends[done][1]  # it has an edge from the moment before already
                elif arrived > done:
                    moment = self._new_moment(edges, moment, [node for _, node in ends[done:arrived]])
                done = arrived
                entered[span.node] = moment
                if moment is not None:
                    edges[moment].append(span.node)
        return edges

    def _new_moment(self, edges: list[list[int]], before: int | None, ended: list[int]) -> int:
        moment = self._add(None)
        edges.append([])
        for node in ended if before is None else [*ended, before]:
            edges[node].append(moment)
        return moment
