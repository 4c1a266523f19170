"""Values of state as JSON: typed ones by their schema, without the classes of the program."""

from __future__ import annotations

import base64
import dataclasses
import io
import math
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.errors import QueryError, StateError
from penstock.state.serializers import Schema, number_of, plain_reader
from penstock.state.serializers.encoding import HEAD_BYTES, NULL, PICKLED
from penstock.state.values import load_value

Convert = Callable[[Any], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ValueReader:
    """Reads the bytes of one state's values as JSON can have them.

    Pickles that hold nothing but numbers, texts and collections of them are read by an unpickler that knows no class
    and so cannot run any code. Others are loaded only with `allows_pickles`.
    """

    def __init__(self, state: str, schemas: list[Schema], *, allows_pickles: bool) -> None:
        """Know the schemas that values may have."""
        self._state = state
        self._allows_pickles = allows_pickles
        self._readers = {number_of(schema): _json_reader(schema) for schema in schemas}

    def read(self, data: bytes) -> Any:
        """Return a value as JSON can have it."""
        mark = data[:1]
        if mark == PICKLED:
            return as_json(self._unpickled(data))
        if mark == NULL:
            return None
        reader = self._readers.get(data[1:HEAD_BYTES])
        if reader is None:
            raise QueryError(f"state {self._state!r} holds a value of a type that is not described: it is damaged", 500)
        return reader(data)

    def _unpickled(self, data: bytes) -> Any:
        if self._allows_pickles:
            try:
                return load_value(data, self._state)
            except StateError as error:
                raise QueryError(str(error), 409) from None
        try:
            return _DataUnpickler(io.BytesIO(data)).load()
        except Exception:  # whatever hostile bytes lead to
            raise QueryError(
                f"state {self._state!r} holds objects without a declared type, which are not loaded here: declare the "
                "type in its descriptor, or, if you trust everybody who can write the checkpoint directory, let the "
                "replica load pickles (--allow-pickle)",
                409,
            ) from None


class _DataUnpickler(pickle.Unpickler):
    """Reads numbers, texts and collections of them; there is no class that it would find."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not data")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("named objects are not data")


def _json_reader(schema: Schema) -> Callable[[bytes], Any]:
    read, convert = plain_reader(schema), json_form(schema)
    return lambda data: convert(read(data))


def json_form(schema: Schema) -> Convert:
    """Return what makes JSON of plain values of a schema (`penstock.state.serializers.plain`)."""
    kind = schema["type"]
    if kind == "INSTANT":
        return _unless_none(lambda micros: (_EPOCH + timedelta(microseconds=micros)).isoformat())
    if kind == "LIST":
        element = json_form(schema["element"])
        return _unless_none(lambda values: [element(each) for each in values])
    if kind == "MAP":
        return _unless_none(_map_form(schema))
    if kind in ("TUPLE", "ROW"):
        parts = [(f"f{at}", json_form(part)) for at, part in enumerate(schema["fields"])]
        return _unless_none(lambda value: [part(value[name]) for name, part in parts])
    if kind == "RECORD":
        fields = [(field["name"], json_form(field["type"])) for field in schema["fields"]]
        return _unless_none(lambda value: {name: part(value[name]) for name, part in fields})
    return as_json


def _map_form(schema: Schema) -> Convert:
    key, value = json_form(schema["key"]), json_form(schema["value"])
    if schema["key"]["type"] == "STRING":
        return lambda pairs: {str(each): value(held) for each, held in pairs}
    return lambda pairs: [[key(each), value(held)] for each, held in pairs]


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def as_json(value: Any) -> Any:
    """Return a plain value as JSON can have it: times in ISO 8601, decimals as text, bytes in base64."""
    convert = _BY_TYPE.get(type(value))
    if convert is not None:
        return convert(value)
    if isinstance(value, dict):
        return _json_of_pairs(value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "as_dict") and callable(value.as_dict):  # a Row
        return _row(value)
    return repr(value)


def _row(value: Any) -> Any:
    try:
        return as_json(value.as_dict())
    except Exception:
        return [as_json(each) for each in value]


def _json_of_pairs(pairs: Any) -> Any:
    found = [(key, as_json(value)) for key, value in pairs]
    if all(isinstance(key, str) for key, _ in found):
        return dict(found)
    return [[as_json(key), value] for key, value in found]


def _float(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _same(value: Any) -> Any:
    return value


def _text_of_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


_BY_TYPE: dict[type, Convert] = {
    type(None): _same,
    bool: _same,
    int: _same,
    str: lambda value: value.encode("utf-8", "replace").decode(),
    float: _float,
    bytes: _text_of_bytes,
    bytearray: _text_of_bytes,
    Decimal: str,
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: timedelta.total_seconds,
    UUID: str,
}
