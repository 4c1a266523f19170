"""Copies of mutable objects, so that nobody else can change them; immutable objects are passed as they are."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from uuid import UUID

from penstock.common.types import Row

__all__ = ["ATOMS", "are_atoms", "cannot_change", "itself", "own_copies", "own_copy"]

ATOMS: frozenset[type] = frozenset(
    {int, str, float, bool, bytes, complex, type(None), Decimal, Fraction, UUID}
    | {datetime, date, time, timedelta, timezone, range, type, FunctionType, BuiltinFunctionType, ModuleType}
)
"""Types whose objects cannot change, nor hold any that can. Types derived from them are none: they may have fields."""

are_atoms: Callable[[Iterable[type]], bool] = ATOMS.issuperset
"""Whether types are atoms, all of them: `are_atoms(map(type, values))`."""

Memo = dict[int, Any]
"""Copies by the identity of what they are copies of, so that an object that occurs twice is one in the copy too."""

Copier = Callable[[Any, Memo], Any]

_COPIERS_LIMIT = 10_000  # classes may be made without end; their copiers are made anew


def itself(value: Any) -> Any:
    """The object, shared: in place of `own_copy` where the user has asked for that."""
    return value


def own_copy(value: Any) -> Any:
    """The value if it cannot change, otherwise a copy of it and of all that it holds.

    Keys of dicts are taken over: what is hashed does not change. An object that cannot be copied, such as a lock or an
    open file, is handed out as it is.
    """
    kind = value.__class__
    # Flat records of the most common types at once; these lines are run for every record that is not a mere tuple.
    if kind in ATOMS:
        return value
    if kind is dict:
        for item in value.values():
            if item.__class__ not in ATOMS:
                return _copied(value, {})
        return value.copy()
    if kind is tuple:
        for item in value:
            if item.__class__ not in ATOMS:
                return value if _are_flat(value) else _copied(value, {})
        return value
    if kind is list:
        return value.copy() if are_atoms(map(type, value)) else _copied(value, {})
    if kind is Row:
        values = [*value]
        if are_atoms(map(type, values)):
            return value.with_values(values)
    return _copied(value, {})


def own_copies(values: list[Any]) -> list[Any]:
    """The values if none can change, otherwise a list of copies; an object that occurs twice is copied twice."""
    return values if cannot_change(values) else [own_copy(value) for value in values]


def cannot_change(values: list[Any]) -> bool:
    """Whether values certainly cannot change: asked for a whole block, it costs next to nothing."""
    kinds = set(map(type, values))
    return ATOMS.issuperset(kinds) or (kinds == {tuple} and are_atoms(map(type, chain.from_iterable(values))))


def _are_flat(items: tuple[Any, ...]) -> bool:
    """Return whether items are atoms or tuples of them, such as the rows of a pair."""
    for item in items:
        kind = item.__class__
        if kind not in ATOMS and (kind is not tuple or not are_atoms(map(type, item))):
            return False
    return True


def _copied(value: Any, memo: Memo) -> Any:
    kind = value.__class__
    if kind in ATOMS:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    copier = _COPIERS.get(kind)
    if copier is None:
        copier = _made_for(kind)
    return copier(value, memo)


def _made_for(kind: type) -> Copier:
    if len(_COPIERS) > _COPIERS_LIMIT:
        _COPIERS.clear()
        _COPIERS.update(_BUILT_IN)
    copier = _COPIERS[kind] = _copier_of(kind)
    return copier


# ---- containers ----


def _same(value: Any, memo: Memo) -> Any:
    return value


def _copy_mapping(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = value.copy()
    for key, item in value.items():
        if item.__class__ not in ATOMS:
            made[key] = _copied(item, memo)
    return made


def _copy_list(value: list[Any], memo: Memo) -> list[Any]:
    made: list[Any] = []
    memo[id(value)] = made
    made += [item if item.__class__ in ATOMS else _copied(item, memo) for item in value]
    return made


def _copy_deque(value: deque[Any], memo: Memo) -> deque[Any]:
    made: deque[Any] = deque(maxlen=value.maxlen)
    memo[id(value)] = made
    made.extend(_copied(item, memo) for item in value)
    return made


def _copy_tuple(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    items = [item if item.__class__ in ATOMS else _copied(item, memo) for item in value]
    if all(map(_is, items, value)):
        return value
    # Where the tuple holds itself by way of a list, that has made the copy.
    return memo.setdefault(id(value), tuple(items))  # type: ignore[no-any-return]


def _copy_named_tuple(value: Any, memo: Memo) -> Any:
    items = [_copied(item, memo) for item in value]
    return value if all(map(_is, items, value)) else memo.setdefault(id(value), type(value)._make(items))


def _copy_set(value: set[Any], memo: Memo) -> set[Any]:
    made: set[Any] = set()
    memo[id(value)] = made
    made.update(_copied(item, memo) for item in value)
    return made


def _copy_frozen_set(value: frozenset[Any], memo: Memo) -> frozenset[Any]:
    items = [_copied(item, memo) for item in value]
    return value if all(map(_is, items, value)) else frozenset(items)


def _copy_row(value: Row, memo: Memo) -> Row:
    items: list[Any] = []
    made = memo[id(value)] = value.with_values(items)
    items += [item if item.__class__ in ATOMS else _copied(item, memo) for item in value]
    return made


def _copy_bytes(value: bytearray, memo: Memo) -> bytearray:
    return memo.setdefault(id(value), bytearray(value))  # type: ignore[no-any-return]


def _is(first: Any, second: Any) -> bool:
    return first is second


# ---- objects of other classes ----

_VALUES = (int, str, float, bytes, complex, Decimal, Fraction, UUID, date, time, timedelta)
_WAYS_OF_THEIR_OWN = ("__reduce_ex__", "__reduce__", "__getstate__", "__new__", "__setattr__", "__getattribute__")
_HOOKS = ("__deepcopy__", "__copy__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")


def _copier_of(kind: type) -> Copier:
    if _is_unchangeable(kind):
        return _same
    if issubclass(kind, tuple) and hasattr(kind, "_make") and not kind.__dictoffset__:
        return _copy_named_tuple
    return _field_copier(kind) if _holds_plain_fields(kind) else _copy_by_own_rules


def _is_unchangeable(kind: type) -> bool:
    if issubclass(kind, (type, Enum)):
        return True
    if any(each.__module__ == "numpy" and each.__name__ in ("number", "bool_", "bool") for each in kind.__mro__):
        return True
    return issubclass(kind, _VALUES) and not kind.__dictoffset__ and not _slots_of(kind)


def _holds_plain_fields(kind: type) -> bool:
    """Whether an object is just its fields: the class does not customize creation, copying or pickling."""
    is_frozen = _is_frozen_record(kind)
    for name in _WAYS_OF_THEIR_OWN:
        if name == "__setattr__" and is_frozen:
            continue
        if is_frozen and "__slots__" in vars(kind) and name == "__getstate__":
            continue  # the one that a dataclass with slots is given
        if getattr(kind, name) is not getattr(object, name):
            return False
    if any(hasattr(kind, name) for name in _HOOKS if not (is_frozen and name == "__setstate__")):
        return False
    # A type made in C may keep more than its fields: that shows in the size of its objects.
    room = object.__basicsize__ + 8 * (len(_slots_of(kind)) + 2)
    return kind.__basicsize__ <= room and not kind.__itemsize__


def _is_frozen_record(kind: type) -> bool:
    parameters = vars(kind).get("__dataclass_params__")
    return parameters is not None and parameters.frozen


def _slots_of(kind: type) -> list[str]:
    names: list[str] = []
    for each in kind.__mro__:
        slots = vars(each).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = name.startswith("__") and not name.endswith("__")
            names.append(f"_{each.__name__.lstrip('_')}{name}" if hidden else name)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _field_copier(kind: type) -> Copier:
    slots, has_dict, make, set_slot = _slots_of(kind), bool(kind.__dictoffset__), object.__new__, object.__setattr__
    is_frozen = _is_frozen_record(kind)

    def copy_fields(value: Any, memo: Memo) -> Any:
        made: Any = make(kind)
        memo[id(value)] = made
        is_same = True
        if has_dict:
            fields = made.__dict__
            for name, item in value.__dict__.items():
                fields[name] = own = item if item.__class__ in ATOMS else _copied(item, memo)
                is_same = is_same and own is item
        for name in slots:
            if hasattr(value, name):
                item = getattr(value, name)
                own = _copied(item, memo)
                set_slot(made, name, own)
                is_same = is_same and own is item
        if not (is_frozen and is_same):
            return made
        memo[id(value)] = value
        return value

    return copy_fields


def _copy_by_own_rules(value: Any, memo: Memo) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # what has no copy is no data: it can only be shared
        return value


_BUILT_IN: dict[type, Copier] = {
    **dict.fromkeys((dict, OrderedDict, defaultdict, Counter), _copy_mapping),
    list: _copy_list,
    deque: _copy_deque,
    tuple: _copy_tuple,
    set: _copy_set,
    frozenset: _copy_frozen_set,
    Row: _copy_row,
    bytearray: _copy_bytes,
}
_COPIERS = dict(_BUILT_IN)
