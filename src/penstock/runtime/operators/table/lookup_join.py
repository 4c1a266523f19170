"""Lookup joins: each row beside what a table outside has for it when it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from penstock.common.time import Time
from penstock.runtime.calls import Call
from penstock.runtime.lookups import AsyncLookup, CacheSettings, Fields, Lookup, LookupCache
from penstock.runtime.operators.async_wait import AsyncWaitOperator
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.table.expressions import block_function, row_function
from penstock.runtime.operators.table.operator import Row, TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.async_descriptor import AsyncFunctionDescriptor
from penstock.vocabulary.async_retry_predicates import empty_result_predicate
from penstock.vocabulary.async_retry_strategies import AsyncRetryStrategy
from penstock.vocabulary.functions import AsyncFunction, RuntimeContext
from penstock.vocabulary.sql.typed_expressions import TypedExpression


@dataclass(frozen=True)
class LookupTerms:
    """What is looked up for a row, and what becomes of it.

    The key is the values of `key_fields`, then `constants`. A row with NULL in its key, or for which `before` is not
    true, finds nothing. What is found is filtered and projected by `found_condition` and `projections`, over the
    columns that were looked up, to `width` fields. `condition` is over both. `is_left`: a row that finds nothing
    leaves with NULLs.
    """

    key_fields: tuple[int, ...]
    constants: Fields
    width: int
    is_left: bool
    before: TypedExpression | None = None
    found_condition: TypedExpression | None = None
    projections: tuple[TypedExpression, ...] | None = None
    condition: TypedExpression | None = None
    zone: str = "UTC"


class _Joining:
    """The terms as code."""

    def __init__(self, operator: StreamOperator, terms: LookupTerms) -> None:
        places = [field + 1 for field in terms.key_fields]
        self.select = itemgetter(*places) if len(places) > 1 else _tuple_getter(places)
        self.constants = terms.constants
        self.before = None if terms.before is None else row_function(operator, terms.before, terms.zone)
        is_plain = terms.found_condition is None and terms.projections is None
        self.calc = None if is_plain else block_function(operator, terms.found_condition, terms.projections, terms.zone)
        self.meets = None if terms.condition is None else row_function(operator, terms.condition, terms.zone)
        self.is_left = terms.is_left
        self.nulls = (None,) * terms.width

    def key(self, row: Row) -> Fields | None:
        """What to look up for a row; None: nothing."""
        if self.before is not None and self.before(row) is not True:
            return None
        key = self.select(row)
        return None if None in key else key + self.constants

    def usable(self, rows: Iterable[Fields]) -> list[Fields]:
        """Rows as they were found, filtered and projected."""
        if self.calc is None:
            return list(rows)
        return [row[1:] for row in self.calc([(0, *row) for row in rows])]

    def join(self, row: Row, found: Iterable[Fields], results: list[Row]) -> None:
        """Put out a row with each of the rows that it found."""
        before = len(results)
        pairs = [row + each for each in found]
        results += pairs if self.meets is None else [pair for pair in pairs if self.meets(pair) is True]
        if self.is_left and len(results) == before:
            results.append(row + self.nulls)


def _tuple_getter(places: list[int]) -> Callable[[Row], Fields]:
    return lambda row: tuple([row[place] for place in places])


class LookupJoinOperator(TableOperator):
    """Looks up the keys of a block together, those that the cache does not have; each key once."""

    kind = "lookup join"
    state_identity = "LookupJoinOperator"

    def __init__(self, *, lookup: Lookup, terms: LookupTerms, cache: CacheSettings | None = None) -> None:
        self.lookup = lookup
        self.terms = terms
        self.cache = cache

    def open(self) -> None:
        """Make the code, open the lookup."""
        self._finder = BlockFinder(self, self.lookup, self.terms, self.cache)

    def close(self) -> None:
        """Close the lookup."""
        self.close_function(self.lookup)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block."""
        results: list[Row] = []
        join, consumed = self._finder.join, iter(values)
        found = self._finder.found(values)
        try:
            for rows, row in zip(found, consumed, strict=True):
                join(row, rows, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)


class BlockFinder:
    """Finds the rows of whole blocks, for operators that join them."""

    def __init__(
        self, operator: StreamOperator, lookup: Lookup, terms: LookupTerms, cache: CacheSettings | None
    ) -> None:
        self._operator = operator
        self._lookup = lookup
        self._joining = _Joining(operator, terms)
        self._cache = None if cache is None else LookupCache(cache, operator.context.clock)
        self.join = self._joining.join
        lookup.open(operator.runtime_context())

    def found(self, rows: list[Row]) -> list[list[Fields]]:
        """What each row finds."""
        consumed = iter(rows)
        try:
            keys = [self._joining.key(row) for row in consumed]
        except Exception as error:
            raise self._operator.record_failure(error, rows, consumed) from None
        known: dict[Fields | None, list[Fields]] = {None: []}
        wanted: dict[Fields, Row] = {}
        cache = self._cache
        for key, row in zip(keys, rows, strict=True):
            if key is None or key in known or key in wanted:
                continue
            cached = None if cache is None else cache.get(key)
            if cached is None:
                wanted[key] = row
            else:
                known[key] = cached
        if wanted:
            known.update(self._look_up(wanted))
        return [known[key] for key in keys]

    def _look_up(self, wanted: dict[Fields, Row]) -> dict[Fields, list[Fields]]:
        keys = list(wanted)
        try:
            found = [self._joining.usable(rows) for rows in self._lookup.find(keys)]
        except Exception as error:
            # Many keys are asked for at once, so nobody can say which of their rows it was.
            only = wanted[keys[0]] if len(keys) == 1 else None
            raise self._operator.failure(error, f"looking up {len(keys)} keys", only) from None
        made = dict(zip(keys, found, strict=True))
        if self._cache is not None:
            for key, rows in made.items():
                self._cache.put(key, rows)
        return made


class AsyncLookupJoinOperator(AsyncWaitOperator):
    """Looks up the key of each row by a call of its own, up to `capacity` at the same time.

    `max_attempts` tries for a key that finds nothing, `delay_ms` apart; rows that were cached need no call.
    """

    kind = "async lookup join"
    state_identity = "AsyncLookupJoinOperator"

    def __init__(
        self,
        *,
        lookup: AsyncLookup,
        terms: LookupTerms,
        cache: CacheSettings | None = None,
        timeout_ms: int,
        capacity: int,
        is_ordered: bool,
        max_attempts: int = 0,
        delay_ms: int = 0,
    ) -> None:
        mode = AsyncFunctionDescriptor.OutputMode
        retry = AsyncRetryStrategy.no_restart()
        if max_attempts:
            retry = AsyncRetryStrategy.fixed_delay(max_attempts, delay_ms, empty_result_predicate, None)
        super().__init__(
            AsyncFunctionDescriptor(
                LookupCalls(lookup),
                Time.milliseconds(timeout_ms),
                capacity,
                retry,
                mode.ORDERED if is_ordered else mode.UNORDERED,
            )
        )
        self.terms = terms
        self.cache = cache

    def open(self) -> None:
        """Make the code, open the lookup."""
        self._joining = _Joining(self, self.terms)
        cache = None if self.cache is None else LookupCache(self.cache, self.context.clock)
        assert isinstance(self.function, LookupCalls)
        self.function.prepare(self._joining, cache)
        super().open()

    def emit_finished(self, calls: list[Call]) -> None:
        """Join rows whose calls are over with what they found."""
        results: list[Row] = []
        for call in calls:
            assert call.results is not None
            try:
                found = () if call.results == NOTHING_TO_ASK else self._joining.usable(call.results)
                self._joining.join(call.value, found, results)
            except Exception as error:
                raise self.failure(error, "joining what was looked up", call.value) from None
        self.output.emit(results, None)


NOTHING_TO_ASK = [None]
"""What a row finds that has no key to look up: not nothing, for which it would be asked again."""


class LookupCalls(AsyncFunction[Row, Any]):
    """The calls of an asynchronous lookup join: of each row, the rows that its key has outside."""

    def __init__(self, lookup: AsyncLookup) -> None:
        """Take the lookup."""
        self.lookup = lookup
        self._cache: LookupCache | None = None

    def prepare(self, joining: _Joining, cache: LookupCache | None) -> None:
        """Take the code that finds the key of a row, and a cache."""
        self._key = joining.key
        self._cache = cache

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the lookup."""
        self.lookup.open(runtime_context)

    def close(self) -> None:
        """Close the lookup."""
        self.lookup.close()

    async def async_invoke(self, value: Row) -> list[Any]:
        """Look up the key of a row."""
        key = self._key(value)
        if key is None:
            return NOTHING_TO_ASK
        found = None if self._cache is None else self._cache.get(key)
        if found is None:
            found = list(await self.lookup.find(key))
            if self._cache is not None:
                self._cache.put(key, found)
        return found

    def timeout(self, value: Row) -> list[Any]:
        """Fail, as Flink does."""
        raise TimeoutError("the lookup of this row has timed out; see 'table.exec.async-lookup.timeout'")
