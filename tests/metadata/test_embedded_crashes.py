"""Power lost between any two steps of the disk: nothing answered is lost, nothing is there by half (SPEC M2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from tests.metadata.benches import DIRECTORY, ignore
from tests.metadata.dumb_store import DumbStore

from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.store import Session
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

State = dict[str, tuple[bytes, int]]


@dataclass
class Promises:
    """The states of the tree after each change asked for, without ephemerals; and how many were answered."""

    dumb: DumbStore = field(default_factory=DumbStore)
    states: list[State] = field(default_factory=lambda: [{"/": (b"", 0)}])
    answered: int = 0

    def note(self, operations: list[Operation]) -> int:
        assert self.dumb.all_or_nothing(1, operations) is None
        self.states.append(
            {path: (node.data, node.version) for path, node in self.dumb.nodes.items() if not node.owner}
        )
        return len(self.states) - 1

    def answer(self, number: int, answer: Answer[Any]) -> None:
        assert answer.error is None
        assert number == self.answered + 1
        self.answered = number


def opened(disk: SimulatedDisk) -> EmbeddedStore:
    # Room for a few changes, so that a new journal is begun several times in a run.
    return EmbeddedStore.open(disk, DIRECTORY, clock_ms=lambda: 1, wake=lambda: None, journal_bytes_max=700)


def session_of(store: EmbeddedStore) -> Session:
    answer = store.open_session(ignore)
    store.settle()
    return answer.value()


def ask(session: Session, promises: Promises, *operations: Operation) -> None:
    number = promises.note(list(operations))
    session.multi(operations).then(partial(promises.answer, number))


def fresh_disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directories(DIRECTORY)
    disk.sync_directory("/")
    return disk


def a_day(disk: SimulatedDisk, promises: Promises) -> None:
    """Alone and in groups, small and above a sector, over a new journal and a restart."""
    store = opened(disk)
    session = session_of(store)
    ask(session, promises, Create("/topics"), Create("/ids"))
    store.settle()
    ask(session, promises, Create("/ids/1", b"broker", ephemeral=True))
    ask(session, promises, Create("/topics/orders", b"x" * 600))
    ask(session, promises, Create("/topics/n", sequential=True))
    store.settle()
    for number in range(4):
        ask(session, promises, SetData("/topics/orders", b"%d" % number * 150), Check("/ids/1"))
        store.settle()
    ask(session, promises, Delete("/topics/orders"), SetData("/topics", b"", 0), Create("/topics/again"))
    ask(session, promises, Delete("/topics/n0000000001"))
    store.settle()
    store.close()
    promises.dumb.end_session(1)
    store = opened(disk)
    session = session_of(store)
    ask(session, promises, SetData("/topics/again", b"after the restart"))
    store.settle()
    assert promises.answered == len(promises.states) - 1


def verify(disk: SimulatedDisk, promises: Promises) -> None:
    store = opened(disk)
    check_promises(store, promises)
    made = session_of(store).create("/afterwards", b"new")
    store.close()
    assert opened(disk).tree.stat("/afterwards") == made.value().stat


def check_promises(store: EmbeddedStore, promises: Promises) -> None:
    found = {path: (node.data, node.version) for path, node in store.tree.nodes.items()}
    assert found in promises.states[promises.answered :], f"{found} after {promises.answered} answers"
    assert store.tree.sessions == {}


def test_power_lost_at_every_step_of_a_day() -> None:
    count = run_with_power_loss_at_every_step(a_day, verify, make_oracle=Promises, make_disk=fresh_disk)
    assert count.steps > 40
    assert count.crashes > 400


def test_power_lost_again_while_the_store_is_opened() -> None:
    """Each opening writes a journal of its own, and the one before stays good until that one has its name."""

    def open_only(disk: SimulatedDisk, _: None) -> None:
        opened(disk).close()

    def verify_twice(disk: SimulatedDisk, promises: Promises) -> None:
        run_with_power_loss_at_every_step(
            open_only,
            lambda found, _: check_promises(opened(found), promises),
            make_oracle=lambda: None,
            make_disk=disk.kill,
            seeds=1,
            corner_cases_max=2,
        )

    count = run_with_power_loss_at_every_step(
        a_day, verify_twice, make_oracle=Promises, make_disk=fresh_disk, seeds=1, corner_cases_max=2
    )
    assert count.crashes > 100


def test_random_days() -> None:
    for seed in range(8):
        run_with_power_loss_at_every_step(
            partial(random_day, seed),
            verify,
            make_oracle=Promises,
            make_disk=fresh_disk,
            seeds=2,
            corner_cases_max=3,
        )


def random_day(seed: int, disk: SimulatedDisk, promises: Promises) -> None:
    random = Random(seed)
    store = opened(disk)
    session = session_of(store)
    names: list[str] = []
    for number in range(12):
        if names and random.random() < 0.3:
            ask(session, promises, Delete(f"/{names.pop(random.randrange(len(names)))}"))
        elif names and random.random() < 0.4:
            ask(session, promises, SetData(f"/{random.choice(names)}", random.randbytes(random.choice([3, 300]))))
        else:
            names.append(f"n{number}")
            ask(session, promises, Create(f"/n{number}", random.randbytes(random.choice([0, 200, 900]))))
        if random.random() < 0.5:
            store.settle()
    store.settle()
