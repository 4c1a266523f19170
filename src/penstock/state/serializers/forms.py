"""Values of any declared type as plain data and back. Compiled once for each state.

Fields are checked by code that is made for the type: a loop over fields would cost as much as the pickling.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.own_copies import own_copy
from penstock.common.typeinfo import MapTypeInfo, RecordTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.common.types import Row, RowKind
from penstock.state.serializers.avro_forms import avro_form
from penstock.state.serializers.basic_forms import BASIC, Form, MisfitError
from penstock.state.serializers.descriptions import described
from penstock.state.serializers.schemas import schema_of
from penstock.state.values import dump_value, load_value


def form_of(type_info: TypeInformation, keeps_objects: bool = False) -> Form:
    """Return how values of a declared type become plain data; parts that are pickled may become copies instead."""
    part_of = partial(form_of, keeps_objects=keeps_objects)
    schema = schema_of(type_info)
    kind = schema["type"]
    if kind in BASIC:
        return BASIC[kind]
    expected = described(schema)
    if kind == "LIST":
        element = part_of(getattr(type_info, "element_type"))  # noqa: B009 - four classes have it
        form = _list_form(expected, element)
        return _frozen(form, element) if isinstance(type_info, FrozenListTypeInfo) else form
    if kind == "AVRO":
        return avro_form(expected, schema["schema"])
    if isinstance(type_info, MapTypeInfo):
        return _map_form(expected, part_of(type_info.key_type), part_of(type_info.value_type))
    if isinstance(type_info, TupleTypeInfo):
        return _tuple_form(expected, list(map(part_of, type_info.get_field_types())))
    if isinstance(type_info, RecordTypeInfo):
        return _record_form(expected, type_info, list(map(part_of, type_info.get_field_types())))
    if isinstance(type_info, RowTypeInfo):
        return _row_form(expected, type_info, list(map(part_of, type_info.get_field_types())))
    return _KEPT if keeps_objects else _PICKLED


# A part that is pickled is bytes in the plain data, so that these can be read without the user's classes.
_PICKLED = Form(
    lambda value: None if value is None else dump_value(value, "a part of it"),
    lambda data: None if data is None else load_value(data, "a part of it"),
)
_KEPT = Form(own_copy)


def _within(convert: Callable[[Any], Any], part: str) -> Callable[[Any], Any]:
    def named(value: Any) -> Any:
        try:
            return convert(value)
        except MisfitError as misfit:
            raise misfit.within(part) from None

    return named


def _converted_all(form: Form, part: str) -> Callable[[Any], list[Any]]:
    """What makes plain data of all items of a collection, at C speed where they are of one kind."""
    convert, exact, packed = _within(form.to_plain, part), form.exact, form.packed
    if packed:

        def convert_numbers(items: Any) -> list[Any]:
            try:
                return array(packed, items).tolist()
            except (TypeError, OverflowError):
                return [convert(each) for each in items]

        return convert_numbers
    if exact is None:
        to_plain = form.to_plain

        def convert_parts(items: Any) -> list[Any]:
            try:
                return [to_plain(each) for each in items]
            except MisfitError as misfit:
                raise misfit.within(part) from None

        return convert_parts
    kinds = {exact}

    def convert_objects(items: Any) -> list[Any]:
        return list(items) if set(map(type, items)) <= kinds else [convert(each) for each in items]

    return convert_objects


def _list_form(expected: str, element: Form) -> Form:
    convert = _converted_all(element, "an element")

    def to_plain(value: Any) -> Any:
        if type(value) is list:
            return convert(value)
        return None if value is None else convert(_as_list(expected, value))

    back = element.from_plain
    if back is None:
        return Form(to_plain, lambda plain: None if plain is None else list(plain))
    return Form(to_plain, lambda plain: None if plain is None else [back(each) for each in plain])


def _frozen(form: Form, element: Form) -> Form:
    """The same with tuples for lists, also as plain data, which may then be the key of a map."""
    to_list, from_plain, convert = form.to_plain, form.from_plain or _same, _converted_all(element, "an element")
    is_as_read = element.from_plain is None

    def to_plain(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(convert(value)) if value else value
        return None if value is None else tuple(to_list(value))

    def back(plain: Any) -> Any:
        if plain is None or (is_as_read and type(plain) is tuple):
            return plain
        return tuple(from_plain(plain))

    return Form(to_plain, back)


def _as_list(expected: str, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    # numpy's arrays and those of the standard library
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        found = value.tolist()
        if isinstance(found, list):
            return found
    raise MisfitError(expected, value)


def _map_form(expected: str, key: Form, item: Form) -> Form:
    convert_keys, convert_items = _converted_all(key, "a key"), _converted_all(item, "a value")

    def to_plain(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise MisfitError(expected, value)
        keys, items = convert_keys(value), convert_items(value.values())
        try:
            return dict(zip(keys, items, strict=True))
        except TypeError:
            raise MisfitError(expected, value, hint=": lists cannot be in keys, declare a tuple") from None

    if key.from_plain is None and item.from_plain is None:
        return Form(to_plain)
    key_back, item_back = key.from_plain or _same, item.from_plain or _same
    return Form(
        to_plain,
        lambda plain: None if plain is None else {key_back(each): item_back(held) for each, held in plain.items()},
    )


def _same(value: Any) -> Any:
    return value


def _tuple_form(expected: str, parts: list[Form]) -> Form:
    count = len(parts)

    def other(value: Any) -> Any:
        if not isinstance(value, (tuple, list)) or len(value) != count:
            raise MisfitError(expected, value)
        return value

    to_plain = _fields_to_plain(parts, [f"f{at}" for at in range(count)], _TUPLE.format(count=count), other=other)
    back = _fields_from_plain(parts)
    return Form(to_plain, None if back is None else lambda plain: None if plain is None else back(plain))


def _row_form(expected: str, type_info: RowTypeInfo, parts: list[Form]) -> Form:
    names = tuple(type_info.get_field_names())
    fields, back = _fields_to_plain(parts, list(names)), _fields_from_plain(parts) or _same
    count = len(parts)

    def to_plain(value: Any) -> Any:
        if value is None:
            return None
        is_row = type(value) is Row
        if is_row and (value._fields is None or value._fields == names):
            values = value._values
        else:
            values = _row_values(expected, value, type_info)
        if len(values) != count:
            raise MisfitError(expected, value)
        plain = fields(values)
        # The kind of a row is one field more; most rows are inserted ones.
        if not is_row or value._row_kind is RowKind.INSERT:
            return plain
        return (*plain, value._row_kind.value)

    def from_plain(plain: Any) -> Any:
        if plain is None:
            return None
        kind = RowKind.INSERT if len(plain) == count else RowKind(plain[count])
        return Row.of_fields(names, list(back(plain[:count])), kind)

    return Form(to_plain, from_plain)


def _row_values(expected: str, value: Any, type_info: RowTypeInfo) -> Sequence[Any]:
    try:
        return type_info.field_values(value)
    except TypeError:
        raise MisfitError(expected, value) from None


def _record_form(expected: str, type_info: RecordTypeInfo, parts: list[Form]) -> Form:
    cls: Any = type_info.record_class
    names = type_info.get_field_names()
    back = _fields_from_plain(parts) or _same
    is_dataclass = dataclasses.is_dataclass(cls)
    count = len(names)

    def other(value: Any) -> Any:
        # A subclass would come back as its parent, so it is not taken for one.
        if is_dataclass or type(value) is not tuple or len(value) != count:
            raise MisfitError(expected, value)
        return value

    source = _DATACLASS if is_dataclass else _NAMED_TUPLE
    to_plain = _fields_to_plain(parts, names, source, other=other, cls=cls, get=_getter(names))
    make = _maker(cls, names) if is_dataclass else cls._make
    return Form(to_plain, lambda plain: None if plain is None else make(back(plain[:count])))


def _getter(names: list[str]) -> Callable[[Any], Any]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _maker(cls: Any, names: list[str]) -> Callable[[Sequence[Any]], Any]:
    if any(each.kw_only for each in dataclasses.fields(cls)):
        return lambda values: cls(**dict(zip(names, values, strict=True)))
    return lambda values: cls(*values)


_TUPLE = """
    if type(values) is not tuple or len(values) != {count}:
        if values is None: return None
        values = other(values)
"""
_NAMED_TUPLE = """
    if type(values) is not cls:
        if values is None: return None
        values = other(values)
"""
_DATACLASS = """
    if type(values) is cls: values = get(values)
    elif values is None: return None
    else: values = other(values)
"""


def _fields_to_plain(parts: list[Form], names: list[str], start: str = "", **scope: Any) -> Callable[[Any], Any]:
    """A function of the fields, or of a value that `start` gets them from."""
    scope |= {f"convert{at}": _within(part.to_plain, f"field {names[at]!r}") for at, part in enumerate(parts)}
    lines = ["def fields(values):", *start.strip("\n").splitlines()]
    if parts:
        lines.append(f"    {_variables(parts)} = values")
    for at, part in enumerate(parts):
        if part.guard is None:
            lines.append(f"    v{at} = convert{at}(v{at})")
        else:
            lines.append(f"    if not ({part.guard.format(v=f'v{at}')}): v{at} = convert{at}(v{at})")
    lines.append(f"    return ({_variables(parts)})")
    return _defined("\n".join(lines), "fields", scope)


def _fields_from_plain(parts: list[Form]) -> Callable[[Any], tuple[Any, ...]] | None:
    """None where the plain data are the fields."""
    converters = {f"back{at}": part.from_plain for at, part in enumerate(parts) if part.from_plain is not None}
    if not converters:
        return None
    fields = "".join(f"back{at}(v{at}), " if f"back{at}" in converters else f"v{at}, " for at in range(len(parts)))
    return _defined(f"def back(values):\n    {_variables(parts)} = values\n    return ({fields})", "back", converters)


def _variables(parts: list[Form]) -> str:
    return "".join(f"v{at}, " for at in range(len(parts)))


def _defined(source: str, name: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The function of a source text. Nothing in it comes from outside: fields have numbers there, not their names."""
    scope = dict(names)
    exec(source, scope)
    made: Callable[[Any], Any] = scope[name]
    return made
