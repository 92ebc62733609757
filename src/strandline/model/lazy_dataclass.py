"""`dataclass`, made in a tenth of the time: what a class seldom needs is made when it first needs it.

`dataclasses.dataclass` writes the source of five methods for each class and compiles it at import. With four hundred
classes that is half of the time in which a broker starts. Here all classes share their `__repr__`, `__eq__`,
`__hash__` and `__setattr__`, and `__init__` is written when the first object is made.

To its users such a class is a dataclass: `fields`, `replace`, `asdict`, `copy` and `match` work, and a test compares it
with the real one. Only what we use is there: no `order`, no `unsafe_hash`, no `InitVar`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from inspect import get_annotations
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple


class Parameters(NamedTuple):
    """By the names that `pprint` and others look for."""

    frozen: bool
    eq: bool
    init: bool = True
    repr: bool = True


FIELD_MARK = dataclasses._FIELD  # type: ignore[attr-defined]  # by which `fields` knows one from a class variable


def lazy_dataclass(
    decorated: type[Any] | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> Any:
    """As `dataclasses.dataclass`."""

    def decorate(cls: type[Any]) -> type[Any]:
        own = _own_fields(cls, kw_only)
        inherited = {name: each for base in cls.__mro__[:0:-1] for name, each in _fields_of(base).items()}
        for name, each in own.items():
            if each.default is not MISSING:
                setattr(cls, name, each.default)
            elif name in cls.__dict__:
                delattr(cls, name)
        cls.__dataclass_fields__ = inherited | own
        cls.__dataclass_params__ = Parameters(frozen, eq)
        _add_methods(cls, frozen=frozen, eq=eq)
        made = _with_slots(cls, own, frozen=frozen) if slots else cls
        if "__init__" not in made.__dict__:
            made.__init__ = _init_on_first_use(made)
        return made

    return decorate if decorated is None else decorate(decorated)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = lazy_dataclass


def _fields_of(cls: type[Any]) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = cls.__dict__.get("__dataclass_fields__", {})
    return found


def _own_fields(cls: type[Any], kw_only: bool) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for name, annotation in get_annotations(cls).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        given = cls.__dict__.get(name, MISSING)
        each: Any = given if isinstance(given, Field) else field(default=given)
        if each.default.__class__.__hash__ is None:
            raise ValueError(f"a mutable default for {cls.__name__}.{name}: use default_factory")
        each.name, each.type, each._field_type = name, annotation, FIELD_MARK
        if each.kw_only is MISSING:
            each.kw_only = kw_only
        found[name] = each
    return found


def _with_slots(cls: type[Any], own: dict[str, Field[Any]], *, frozen: bool) -> type[Any]:
    """Slots can only be given to a class when it is made: so it is made again."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in {*own, "__dict__", "__weakref__"}}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace["__qualname__"] = cls.__qualname__
    if frozen and "__getstate__" not in namespace:
        namespace["__getstate__"], namespace["__setstate__"] = _get_state, _set_state
    make: Any = type(cls)
    made: type[Any] = make(cls.__name__, cls.__bases__, namespace)
    return made


def _add_methods(cls: type[Any], *, frozen: bool, eq: bool) -> None:
    methods: dict[str, Any] = {"__repr__": _repr}
    names = tuple(cls.__dataclass_fields__)
    if eq:
        methods["__eq__"] = _eq
        methods["__hash__"] = _hash if frozen else None
        compared = tuple(name for name, each in cls.__dataclass_fields__.items() if each.compare)
        cls.__compared__ = staticmethod(_getter(compared))
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _set_unless_frozen, _delete_unless_frozen
    own = cls.__dict__
    has_own_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    for name, method in methods.items():
        if not has_own_hash if name == "__hash__" else name not in own:
            setattr(cls, name, method)
    if "__match_args__" not in cls.__dict__:
        chosen = cls.__dataclass_fields__
        matched = tuple(name for name in names if chosen[name].init and not chosen[name].kw_only)
        setattr(cls, "__match_args__", matched)  # noqa: B010 (the type checker knows better)


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these attributes, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self.__compared__(self) == self.__compared__(other)


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _set_unless_frozen(self: Any, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete_unless_frozen(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:
    """A plain class that inherits from a frozen one may have attributes of its own."""
    return "__dataclass_params__" in type(self).__dict__ or name in self.__dataclass_fields__


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


# The first object of a class.


def _init_on_first_use(cls: type[Any]) -> Callable[..., None]:
    def init(self: object, *values: Any, **named: Any) -> None:
        cls.__init__ = _init_of(cls)
        cls.__init__(self, *values, **named)

    return init


def _init_of(cls: type[Any]) -> Callable[..., None]:
    """What one would write by hand."""
    chosen: list[Field[Any]] = [each for each in cls.__dataclass_fields__.values() if each.init]
    named = [_parameter(each) for each in chosen if each.kw_only]
    parameters = ["self", *(_parameter(each) for each in chosen if not each.kw_only), *(["*", *named] if named else [])]
    lines = [f"def __init__({', '.join(parameters)}):"]
    known: dict[str, Any] = {"MISSING": MISSING, "set_attribute": object.__setattr__}
    for each in cls.__dataclass_fields__.values():
        lines += _assignment(each, cls.__dataclass_params__.frozen)
        known[f"default_{each.name}"] = each.default
        known[f"make_{each.name}"] = each.default_factory
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    lines.append("    return None")
    exec("\n".join(lines), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(each: Field[Any]) -> str:
    if each.default is not MISSING:
        return f"{each.name}=default_{each.name}"
    return f"{each.name}=MISSING" if each.default_factory is not MISSING else each.name


def _assignment(each: Field[Any], frozen: bool) -> list[str]:
    name = each.name
    if each.default_factory is not MISSING:
        value = f"make_{name}() if {name} is MISSING else {name}" if each.init else f"make_{name}()"
    elif each.init:
        value = name
    elif each.default is not MISSING:
        value = f"default_{name}"
    else:
        return []  # `__post_init__` sets it
    return [f"    set_attribute(self, {name!r}, {value})" if frozen else f"    self.{name} = {value}"]
