"""Spark's DDL text of columns as an Arrow schema: the way back of `penstock.formats.ddl`; needs no Spark."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from penstock.errors import ConfigurationError

ZONE = "UTC"
"""The zone of timestamps that have one: that of the sessions which Penstock makes."""

_TOKEN = re.compile(r"\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<word>\w+)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<sign>[<>(),:]))")
_SIMPLE: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "BYTE": pa.int8(),
    "SMALLINT": pa.int16(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "REAL": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", ZONE),
    "TIMESTAMP_LTZ": pa.timestamp("us", ZONE),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


def ddl_to_arrow(ddl: str) -> pa.Schema:
    """The columns of a DDL text such as `id BIGINT, tags ARRAY<STRING>`.

    >>> ddl_to_arrow("id BIGINT NOT NULL, price DECIMAL(10, 2)")
    id: int64
    price: decimal128(10, 2)
    """
    reader = _Reader(ddl)
    fields = reader.fields(end=None)
    if not fields:
        raise reader.wrong("it has no columns")
    return pa.schema(fields)


class _Reader:
    """Reads a DDL text from left to right."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens = self._split(ddl)
        self._at = 0
        self._nested: dict[str, Callable[[], pa.DataType]] = {
            "ARRAY": self._array,
            "MAP": self._map,
            "STRUCT": self._struct,
        }

    def wrong(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"the schema {self._ddl!r} cannot be read: {why}.")

    def _split(self, ddl: str) -> list[str]:
        tokens: list[str] = []
        at = 0
        while ddl[at:].strip():
            found = _TOKEN.match(ddl, at)
            if found is None:
                raise self.wrong(f"{ddl[at:].strip()[:20]!r} is not expected")
            tokens.append(found.group().strip())
            at = found.end()
        return tokens

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token is None or (wanted and token.upper() not in wanted):
            expected = " or ".join(map(repr, wanted)) or "a name"
            raise self.wrong(f"{expected} is expected {'at its end' if token is None else f'where {token!r} is'}")
        self._at += 1
        return token

    def fields(self, end: str | None) -> list[pa.Field]:
        found: list[pa.Field] = []
        while self._peek() != end:
            if found:
                self._take(",")
            name = self._take()
            if self._peek() == ":":
                self._take()
            found.append(pa.field(_unquoted(name), self._type()))
            self._skip_notes()
        return found

    def _skip_notes(self) -> None:
        """NOT NULL and comments change nothing of what is read."""
        while (token := self._peek()) is not None and token.upper() in ("NOT", "COMMENT"):
            self._take()
            self._take()

    def _type(self) -> pa.DataType:
        name = self._take().upper()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in self._nested:
            return self._nested[name]()
        numbers = self._numbers()
        if name in ("DECIMAL", "DEC", "NUMERIC"):
            return pa.decimal128(*((numbers or [10]) + [0])[:2])
        if name in ("VARCHAR", "CHAR", "CHARACTER"):
            return pa.string()
        raise self.wrong(f"there is no type {name}")

    def _numbers(self) -> list[int]:
        found: list[int] = []
        if self._peek() == "(":
            self._take()
            while self._peek() != ")":
                found.append(int(self._take()))
                if self._peek() == ",":
                    self._take()
            self._take()
        return found

    def _array(self) -> pa.DataType:
        self._take("<")
        element = self._type()
        self._take(">")
        return pa.list_(element)

    def _map(self) -> pa.DataType:
        self._take("<")
        key = self._type()
        self._take(",")
        item = self._type()
        self._take(">")
        return pa.map_(key, item)

    def _struct(self) -> pa.DataType:
        self._take("<")
        fields = self.fields(end=">")
        self._take(">")
        return pa.struct(fields)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
