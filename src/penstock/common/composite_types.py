"""Declared types made of others: lists, arrays, maps, tuples, rows and records.

Users import these names from `penstock.common.typeinfo`.
"""

from __future__ import annotations

import array
import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic

import pyarrow as pa

from penstock.common.basic_types import BasicTypeInfo, TypeInformation, shown
from penstock.common.dataclass_defaults import default_maker
from penstock.common.state_aliases import alias_names, aliases_of
from penstock.common.type_variables import K_co, T_co, V_co
from penstock.common.types import Row, RowKind

__all__ = [
    "BasicArrayTypeInfo",
    "FrozenListTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RecordTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]


class _SequenceTypeInfo(TypeInformation[list[T_co]]):
    _name = "LIST"

    def __init__(self, element_type: TypeInformation[T_co]) -> None:
        self._element_type = _checked(element_type, self._name)

    @property
    def element_type(self) -> TypeInformation[T_co]:
        """The type of an element."""
        return self._element_type

    def __repr__(self) -> str:
        return f"{self._name}({self._element_type!r})"

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.list_(self._element_type.arrow_type())

    def coerce(self, value: Any) -> Any:
        """Return a list of coerced elements."""
        if value is None:
            return None
        if not isinstance(value, (list, tuple, array.array)):
            if type(value).__module__ != "numpy" or not hasattr(value, "tolist"):
                self._refuse(value)
            value = value.tolist()
        element = self._element_type
        return _coerce_parts(self, ((f"element {at}", element, item) for at, item in enumerate(value)))

    def need_conversion(self) -> bool:
        """Return whether elements differ from their Arrow form."""
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the list with elements in Arrow form."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.to_internal_type(item) for item in obj]

    def from_internal_type(self, obj: Any) -> Any:
        """Return the list of an Arrow form."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.from_internal_type(item) for item in obj]

    def _identity(self) -> Any:
        return self._element_type


class ListTypeInfo(_SequenceTypeInfo[T_co]):
    """A list."""


class FrozenListTypeInfo(ListTypeInfo[T_co]):
    """A list stored as a tuple, for immutable state."""


class BasicArrayTypeInfo(_SequenceTypeInfo[T_co]):
    """An array of basic values (a list in Python)."""

    _name = "BASIC_ARRAY"


class ObjectArrayTypeInfo(_SequenceTypeInfo[T_co]):
    """An array of any values (a list in Python)."""

    _name = "OBJECT_ARRAY"


class PrimitiveArrayTypeInfo(_SequenceTypeInfo[T_co]):
    """An array of numbers (a list in Python); an array of BYTE is `bytes`."""

    _name = "PRIMITIVE_ARRAY"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.binary() if self.is_bytes else super().arrow_type()

    def coerce(self, value: Any) -> Any:
        """Return a list of coerced numbers, or bytes."""
        if not self.is_bytes:
            return super().coerce(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        numbers = super().coerce(value)
        return None if numbers is None else bytes(number & 0xFF for number in numbers)

    @property
    def is_bytes(self) -> bool:
        """Whether values are `bytes`."""
        return self._element_type == BasicTypeInfo.BYTE_TYPE_INFO()


class MapTypeInfo(TypeInformation[dict[K_co, V_co]], Generic[K_co, V_co]):
    """A dict."""

    def __init__(self, key_type_info: TypeInformation[K_co], value_type_info: TypeInformation[V_co]) -> None:
        self._key_type_info = _checked(key_type_info, "MAP")
        self._value_type_info = _checked(value_type_info, "MAP")

    @property
    def key_type(self) -> TypeInformation[K_co]:
        """The type of a key."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation[V_co]:
        """The type of a value."""
        return self._value_type_info

    def __repr__(self) -> str:
        return f"MAP({self._key_type_info!r}, {self._value_type_info!r})"

    def __str__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.map_(self._key_type_info.arrow_type(), self._value_type_info.arrow_type())

    def coerce(self, value: Any) -> Any:
        """Return a dict of coerced keys and values."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self._refuse(value)
        keys = _coerce_parts(self, (("a key", self._key_type_info, key) for key in value))
        values = _coerce_parts(
            self, ((f"the value of key {shown(key)}", self._value_type_info, item) for key, item in value.items())
        )
        return dict(zip(keys, values, strict=True))

    def need_conversion(self) -> bool:
        """Return True: Arrow takes pairs."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return key and value pairs in Arrow form."""
        if obj is None:
            return None
        key_form, value_form = self._key_type_info.to_internal_type, self._value_type_info.to_internal_type
        return [(key_form(key), value_form(value)) for key, value in obj.items()]

    def from_internal_type(self, obj: Any) -> Any:
        """Return the dict of key and value pairs."""
        if obj is None:
            return None
        key_of, value_of = self._key_type_info.from_internal_type, self._value_type_info.from_internal_type
        return {key_of(key): value_of(value) for key, value in obj}

    def _identity(self) -> Any:
        return self._key_type_info, self._value_type_info


class _FieldsTypeInfo(TypeInformation[T_co]):
    # What rows and tuples have in common: typed fields in order, a struct in Arrow.
    _name = "TUPLE"

    def __init__(self, field_types: Iterable[TypeInformation], field_names: Iterable[str] | None = None) -> None:
        self._field_types = [_checked(field_type, self._name) for field_type in field_types]
        positions = [f"f{position}" for position in range(len(self._field_types))]
        self._field_names = positions if field_names is None else list(field_names)
        if len(self._field_names) != len(self._field_types):
            raise ValueError(
                f"{self._name} got {len(self._field_names)} field names for {len(self._field_types)} types: "
                f"pass one for each"
            )
        if len(set(self._field_names)) != len(self._field_names):
            raise ValueError(f"{self._name} has a field name twice: {', '.join(self._field_names)}")

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields in order."""
        return self._field_types

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type, a struct."""
        types = [field_type.arrow_type() for field_type in self._field_types]
        return pa.struct(list(zip(self._field_names, types, strict=True)))

    def need_conversion(self) -> bool:
        """Return True: Arrow takes dicts."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return the fields in Arrow form by name."""
        if obj is None:
            return None
        values = zip(self._field_names, self._field_types, self._values_of(obj), strict=True)
        return {name: field_type.to_internal_type(value) for name, field_type, value in values}

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an Arrow form."""
        if obj is None:
            return None
        fields = zip(self._field_names, self._field_types, strict=True)
        return self._build(obj, [field_type.from_internal_type(obj[name]) for name, field_type in fields])

    def coerce(self, value: Any) -> Any:
        """Return the value with coerced fields."""
        if value is None:
            return None
        values = self._values_of(value)
        if len(values) != len(self._field_types):
            raise TypeError(
                f"expected {self!r} of {len(self._field_types)} fields, got {len(values)} in {shown(value)}"
            )
        fields = zip(self._field_names, self._field_types, values, strict=True)
        parts = ((f"field {name!r}", field_type, item) for name, field_type, item in fields)
        return self._build(value, _coerce_parts(self, parts))

    def _values_of(self, value: Any) -> Any:
        return value if isinstance(value, (tuple, list)) else self._refuse(value)

    def _build(self, origin: Any, values: list[Any]) -> Any:
        return tuple(values)

    def _identity(self) -> Any:
        return tuple(self._field_names), tuple(self._field_types)


class TupleTypeInfo(_FieldsTypeInfo[tuple[Any, ...]]):
    """A tuple of fixed length."""

    def __init__(self, field_types: Iterable[TypeInformation]) -> None:
        super().__init__(field_types)

    def __repr__(self) -> str:
        return f"TUPLE({', '.join(map(repr, self._field_types))})"

    def __str__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class RowTypeInfo(_FieldsTypeInfo[Row]):
    """A `Row`, with the declared names or f0, f1 and so on.

    Values may be rows without names, tuples and lists, by position; or a Row, dict, named tuple or dataclass with
    exactly these names, in any order.
    """

    _name = "ROW"

    def __init__(self, field_types: Iterable[TypeInformation], field_names: Iterable[str] | None = None) -> None:
        super().__init__(field_types, field_names)
        # One tuple for all rows: it is pickled once a block, not once a row.
        self._row_fields = tuple(self._field_names)
        self._has_names = field_names is not None
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._defaults: dict[str, Any] = {}

    def __repr__(self) -> str:
        if not self._has_names:
            return f"ROW({', '.join(map(repr, self._field_types))})"
        fields = zip(self._field_names, self._field_types, strict=True)
        return f"ROW({', '.join(f'{name}: {field_type!r}' for name, field_type in fields)})"

    def __str__(self) -> str:
        if not self.has_names:
            return f"RowTypeInfo({', '.join(map(str, self._field_types))})"
        fields = zip(self._field_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {field_type}' for name, field_type in fields)})"

    def get_field_names(self) -> list[str]:
        """Return the names of the fields in order (f0, f1, ... if none were declared)."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    @property
    def has_names(self) -> bool:
        """Whether the fields were given names."""
        return self._has_names

    def with_aliases(self, **aliases: str | Iterable[str]) -> RowTypeInfo:
        """Return the type with old names of renamed fields, for reading old state (`new="old"`)."""
        changed = self._copied(aliases)
        changed._aliases.update({new: alias_names(old) for new, old in aliases.items()})
        return changed

    def with_defaults(self, **defaults: Any) -> RowTypeInfo:
        """Return the type with defaults for fields that old state does not have."""
        changed = self._copied(defaults)
        changed._defaults.update(defaults)
        return changed

    def field_aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the old names of fields, by current name."""
        return self._aliases

    def field_defaults(self) -> dict[str, Callable[[], Any]]:
        """Return factories for the defaults of fields, by name."""
        return {name: partial(_given, value) for name, value in self._defaults.items()}

    def _copied(self, named: Iterable[str]) -> RowTypeInfo:
        for name in named:
            if not self.has_names or name not in self._field_names:
                raise ValueError(f"{self!r} has no field {name!r}")
        changed = copy.copy(self)
        changed._aliases, changed._defaults = dict(self._aliases), dict(self._defaults)
        return changed

    def field_values(self, value: Any) -> Sequence[Any]:
        """Return the fields of a row-like value in the order of this type, unchecked; raises TypeError."""
        values: Sequence[Any] = self._values_of(value)
        return values

    def _values_of(self, value: Any) -> Any:
        if isinstance(value, Row):
            return value._values if value._fields in (None, self._row_fields) else self._by_name(value, value.as_dict())
        if isinstance(value, Mapping):
            return self._by_name(value, value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._by_name(value, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
        if self._has_names and isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._by_name(value, dict(zip(value._fields, value, strict=True)))
        if type(self) is RowTypeInfo and self._has_names and not isinstance(value, type) and hasattr(value, "__dict__"):
            # An object of any class, by its attributes, as PyFlink takes it; it may have more of them.
            return [getattr(value, name) for name in self._checked_attributes(value)]
        return super()._values_of(value)

    def _checked_attributes(self, value: Any) -> list[str]:
        missing = [name for name in self._field_names if not hasattr(value, name)]
        if missing:
            raise TypeError(f"expected {self!r}, got {type(value).__name__} without {', '.join(missing)}")
        return self._field_names

    def _by_name(self, value: Any, fields: Mapping[str, Any]) -> list[Any]:
        if fields.keys() != set(self._field_names):
            raise TypeError(
                f"expected {self!r}, got {type(value).__name__} with the fields {', '.join(map(str, fields))}"
            )
        return [fields[name] for name in self._field_names]

    def _build(self, origin: Any, values: list[Any]) -> Any:
        kind = origin.get_row_kind() if isinstance(origin, Row) else RowKind.INSERT
        return Row.of_fields(self._row_fields, values, kind)

    def _identity(self) -> Any:
        return self._row_fields if self._has_names else None, tuple(self._field_types)


class RecordTypeInfo(RowTypeInfo):
    """A dataclass or named tuple; values stay objects of that class."""

    def __init__(self, record_class: type, field_names: Iterable[str], field_types: Iterable[TypeInformation]) -> None:
        super().__init__(field_types, field_names)
        self.record_class = record_class

    def field_aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the names that `state_aliases` declares."""
        return {**aliases_of(self.record_class), **self._aliases}

    def field_defaults(self) -> dict[str, Callable[[], Any]]:
        """Return what makes the default of each field of the class that has one."""
        found: dict[str, Callable[[], Any]] = {}
        if dataclasses.is_dataclass(self.record_class):
            for field in dataclasses.fields(self.record_class):
                make = default_maker(field)
                found |= {} if make is None else {field.name: make}
        else:
            defaults: dict[str, Any] = getattr(self.record_class, "_field_defaults", {})
            found = {name: partial(_given, value) for name, value in defaults.items()}
        return {**found, **super().field_defaults()}

    def __repr__(self) -> str:
        return self.record_class.__qualname__ + super().__repr__().removeprefix("ROW")

    def _build(self, origin: Any, values: list[Any]) -> Any:
        return self.record_class(**dict(zip(self._field_names, values, strict=True)))

    def _identity(self) -> Any:
        return self.record_class, super()._identity()


def _given(value: Any) -> Any:
    return value


def _checked(part: TypeInformation[T_co], whole: str) -> TypeInformation[T_co]:
    if not isinstance(part, TypeInformation):
        raise TypeError(f"{whole} expects types such as Types.INT(), got {type(part).__name__} {shown(part)}")
    return part


def _coerce_parts(whole: TypeInformation, parts: Iterable[tuple[str, TypeInformation, Any]]) -> list[Any]:
    coerced = []
    for where, part_type, value in parts:
        try:
            coerced.append(part_type.coerce(value))
        except TypeError as error:
            raise TypeError(f"{where} of {whole!r}: {error}") from None
    return coerced
