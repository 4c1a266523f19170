"""The connector 'python-lookup': tables that a class of the user finds rows of, for lookup joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.common.types import Row
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.runtime.lookups import AsyncLookup, Fields, Lookup
from penstock.table.connectors.contract import Connector, LookupOffer, LookupRequest, TableContext, TableSource
from penstock.table.connectors.lookup_caches import CACHE_KEYS, cache_of
from penstock.table.lookup_functions import AsyncLookupFunction, LookupFunction, lookup_class
from penstock.vocabulary.sql.external_values import internal_row, to_external
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["PythonLookupConnector"]


class PythonLookupConnector(Connector):
    """A LookupFunction or AsyncLookupFunction as a table."""

    name = "python-lookup"

    def keys(self) -> Mapping[str, str]:
        """The class, what it is made with, the cache."""
        return {
            "class": "module.Class of a LookupFunction or AsyncLookupFunction",
            "parameters.": "keyword arguments of the class, as texts",
            **CACHE_KEYS,
        }

    def source(self, table: TableContext) -> TableSource:
        """What is looked up."""
        return _LookedUp(table)


class _LookedUp(TableSource):
    can_be_looked_up = True

    def __init__(self, table: TableContext) -> None:
        self.table = table

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        raise SqlError(
            f"Table {self.table.name} can only be looked up: JOIN {self.table.path[-1]} FOR SYSTEM_TIME AS OF o.now, "
            f"where now AS PROCTIME() is a column of the left side."
        )

    def lookup(self, request: LookupRequest) -> LookupOffer:
        function = self._function()
        rows = _Rows(self.table.physical_type, request)
        return LookupOffer(
            _Blocking(function, rows) if isinstance(function, LookupFunction) else None,
            _Asynchronous(function, rows) if isinstance(function, AsyncLookupFunction) else None,
            cache_of(self.table.options),
        )

    def _function(self) -> Any:
        path = self.table.options["class"]
        try:
            made = lookup_class(path)(**self.table.options.under("parameters."))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise SqlError(f"Table {self.table.name}: '{path}' cannot be made: {error}") from error
        if not isinstance(made, (LookupFunction, AsyncLookupFunction)):
            raise SqlError(
                f"Table {self.table.name}: '{path}' must be a subclass of penstock.table.LookupFunction or "
                f"AsyncLookupFunction."
            )
        return made


class _Rows:
    """Between keys and rows of a query and those of a function, which has all columns; picklable until `made`."""

    def __init__(self, whole: LogicalType, request: LookupRequest) -> None:
        self.whole = whole
        self.names = request.row_type.names
        self.key_names = tuple([self.names[each] for each in request.keys])

    def made(self) -> tuple[Callable[[Fields], Row], Callable[[Any], list[Fields]]]:
        """What makes a key of the function, and rows of what it returns."""
        types = dict(zip(self.whole.names, self.whole.parts, strict=True))
        converts = [to_external(types[each]) for each in self.key_names]
        names, convert = self.key_names, internal_row(self.whole)
        places = [self.whole.names.index(each) + 1 for each in self.names]

        def key_row(key: Fields) -> Row:
            return Row.of_fields(names, [each(value) for each, value in zip(converts, key, strict=True)])

        def rows(found: Any) -> list[Fields]:
            return [tuple([row[place] for place in places]) for row in map(convert, found or ())]

        return key_row, rows


class _Blocking(Lookup):
    def __init__(self, function: LookupFunction, rows: _Rows) -> None:
        self.function = function
        self.rows = rows

    def open(self, context: Any) -> None:
        self._key_row, self._found = self.rows.made()
        self.function.open(context)

    def close(self) -> None:
        self.function.close()

    def find(self, keys: Sequence[Fields]) -> list[list[Fields]]:
        found = list(self.function.lookup_all([self._key_row(key) for key in keys]))
        if len(found) != len(keys):
            name = type(self.function).__name__
            raise ValueError(f"lookup_all of {name} returned {len(found)} results for {len(keys)} keys")
        return [self._found(rows) for rows in found]


class _Asynchronous(AsyncLookup):
    def __init__(self, function: AsyncLookupFunction, rows: _Rows) -> None:
        self.function = function
        self.rows = rows

    def open(self, context: Any) -> None:
        self._key_row, self._found = self.rows.made()
        self.function.open(context)

    def close(self) -> None:
        self.function.close()

    async def find(self, key: Fields) -> list[Fields]:
        return self._found(await self.function.async_lookup(self._key_row(key)))
