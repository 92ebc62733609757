"""Our dataclasses are dataclasses: whatever can be asked of one is answered as by the real one."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import partial
from typing import Any, ClassVar

import pytest

from strandline.model import lazy_dataclass

WAYS = [dataclasses.dataclass, lazy_dataclass.dataclass]
OPTIONS = [
    {},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"slots": True, "eq": False},
]


def outcome(work: Callable[[], Any]) -> Any:
    """What comes of it, be it a failure."""
    try:
        return work()
    except Exception as failure:
        return type(failure)


def make(way: Any, options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    @way(**options)
    class Point:
        KIND: ClassVar[str] = "point"
        x: int
        y: int = 7
        names: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)

        @property
        def total(self) -> int:
            return self.x + self.y

    @way(**options)
    class Place(Point):
        z: int = 1

    return Point, Place


QUESTIONS: dict[str, Callable[[type[Any]], Any]] = {
    "defaults": lambda cls: [getattr(cls(x=1), each.name) for each in fields(cls)],
    "by position": lambda cls: cls(1, 2, ["a"], "n").names,
    "by name": lambda cls: cls(x=1, y=2, names=["a"], note="n").note,
    "too few": lambda cls: cls(),
    "unknown": lambda cls: cls(x=1, w=2),
    "repr": lambda cls: repr(cls(x=1)),
    "lists are their own": lambda cls: cls(x=1).names is cls(x=1).names,
    "equal": lambda cls: cls(x=1) == cls(x=1),
    "not compared": lambda cls: cls(x=1, note="a") == cls(x=1, note="b"),
    "unequal": lambda cls: cls(x=1) == cls(x=2),
    "other class": lambda cls: cls(x=1) == 1,
    "hash": lambda cls: len({cls(x=1, names=()), cls(x=1, names=())}),
    "has a hash": lambda cls: cls.__hash__ is None,
    "set": lambda cls: setattr(cls(x=1), "x", 2),
    "delete": lambda cls: delattr(cls(x=1), "x"),
    "fields": lambda cls: [(each.name, each.type, each.kw_only, each.init, each.compare) for each in fields(cls)],
    "is one": lambda cls: dataclasses.is_dataclass(cls),
    "replaced": lambda cls: replace(cls(x=1), y=3).total,
    "as a dictionary": lambda cls: asdict(cls(x=1, names=["a"])),
    "copied": lambda cls: copy.copy(cls(x=1, y=2)).y,
    "copied deeply": lambda cls: copy.deepcopy(cls(x=1, names=["a"])).names,
    "matched": lambda cls: cls.__match_args__,
    "slots": lambda cls: cls.__dict__.get("__slots__"),
    "has a dictionary": lambda cls: hasattr(cls(x=1), "__dict__"),
    "class variable": lambda cls: cls.KIND,
    "name": lambda cls: (cls.__name__, cls.__qualname__, cls.__module__),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "plain")
def test_it_answers_as_the_real_one(question: str, options: dict[str, bool]) -> None:
    real, ours = ([outcome(partial(QUESTIONS[question], cls)) for cls in make(way, options)] for way in WAYS)
    assert ours == real


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Stored:
    value: int
    text: str = "a"


def test_it_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Stored(5))) == Stored(5)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_class_defines_itself_stays(way: Any) -> None:
    @way(frozen=True, slots=True)
    class Own:
        a: int
        b: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", self.a + 1)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and other.b == self.b

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            return "own"

    make: Any = Own
    assert (make(1).b, repr(make(1)), hash(make(1)), make(1) == make(1)) == (2, "own", 1, True)


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_class_below_a_frozen_one_may_have_attributes(way: Any) -> None:
    @way(frozen=True)
    class Frozen:
        a: int

    class Below(Frozen):
        pass

    make: Any = Below
    below = make(1)
    below.extra = 2
    assert below.extra == 2
    with pytest.raises(FrozenInstanceError):
        below.a = 3


@pytest.mark.parametrize("way", WAYS)
def test_a_mutable_default_is_a_mistake(way: Any) -> None:
    with pytest.raises(ValueError, match="mutable"):

        @way
        class Mistaken:
            values: list[int] = []  # noqa: RUF012
