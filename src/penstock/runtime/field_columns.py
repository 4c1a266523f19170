"""Field aggregates of whole columns: which columns can be folded as numbers, and what they fold to for each key.

None is returned where it could not (an unusual type, a sum that may not fit 64 bits), and then the objects are asked.
Keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.column_block import ColumnBlock
from penstock.vocabulary.field_aggregates import FieldAggregate, Measure

Numbers = npt.NDArray[Any]
INT_LIMIT = 2**63 - 1
EXACT_LIMIT = 2**53
"""From here on a float may not hold a whole number exactly."""

_KEY_KINDS = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_boolean,
    pa.types.is_binary,
    pa.types.is_date32,
)
"""Types whose values are equal in Arrow exactly when the Python objects are."""


class NumberColumn(NamedTuple):
    """A column as int64 or float64; `valid` is None where nothing is null. Null places hold any number."""

    values: Numbers
    valid: npt.NDArray[np.bool_] | None

    def take(self, places: Numbers) -> NumberColumn:
        """The values at some places."""
        return NumberColumn(self.values[places], None if self.valid is None else self.valid[places])


FieldNumbers = dict[int | str, NumberColumn]
"""The columns of a block that measures need, by field."""


def numbers_of(block: ColumnBlock, measures: Sequence[Measure]) -> FieldNumbers | None:
    """The fields of measures as numbers; None if one of them is something else."""
    found: FieldNumbers = {}
    for measure in measures:
        if measure.field is None:
            continue
        array = block.batch.column(0) if block.form == "value" and measure.field == 0 else block.column(measure.field)
        column = None if array is None else _numbers(array, measure.kind)
        if column is None:
            return None
        if measure.field not in found or measure.kind != "count":
            found[measure.field] = column
    return found


def _numbers(array: pa.Array, kind: str) -> NumberColumn | None:
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    if kind == "count":
        return NumberColumn(np.empty(len(array), np.int64), valid)
    is_whole, is_bool = pa.types.is_integer(array.type), pa.types.is_boolean(array.type)
    is_broken = pa.types.is_float32(array.type) or pa.types.is_float64(array.type)
    # The smaller of True and False is one of them, and no number.
    if not (is_whole or is_broken or (is_bool and kind == "sum")):
        return None
    if pa.types.is_uint64(array.type) and (pc.max(array).as_py() or 0) > INT_LIMIT:
        return None
    filled = array.fill_null(False if is_bool else 0) if valid is not None else array
    plain = filled.to_numpy(zero_copy_only=False)
    return NumberColumn(plain.astype(np.float64 if is_broken else np.int64, copy=False), valid)


def may_overflow(values: Numbers, held: float = 0) -> bool:
    """Whether a sum of these integers, beginning with `held`, might not fit 64 bits."""
    if not len(values) or values.dtype != np.int64:
        return False
    largest = max(int(values.max()), -int(values.min()))
    return abs(held) + largest * len(values) > INT_LIMIT


# ---- keys ----

KeyPart: TypeAlias = Any
"""A column of keys: an array of numbers, if all are whole numbers of 64 bits, else as Arrow has it."""


class Keys(NamedTuple):
    """Keys of records, as the columns they are made of; tuples may have any number of parts."""

    parts: list[KeyPart]
    is_tuple: bool

    def take(self, places: Numbers) -> Keys:
        """The keys at some places."""
        return Keys(
            [part[places] if isinstance(part, np.ndarray) else part.take(pa.array(places)) for part in self.parts],
            self.is_tuple,
        )

    def kind(self) -> Any:
        """What must be equal for keys to be joined."""
        return self.is_tuple, *(part.dtype if isinstance(part, np.ndarray) else part.type for part in self.parts)

    @staticmethod
    def joined(pieces: list[Keys]) -> Keys:
        """The keys of several pieces of one kind, one after the other."""
        if len(pieces) == 1:
            return pieces[0]
        columns = zip(*(piece.parts for piece in pieces), strict=True)
        return Keys([_joined(parts) for parts in columns], pieces[0].is_tuple)


@dataclass(frozen=True)
class KeyCodes:
    """Keys as numbers below `size`, equal for equal keys; not every number need occur."""

    codes: Numbers
    size: int
    parts: Callable[[Numbers], list[KeyPart]]
    """The parts of the keys with some codes."""


def keys_of(array: pa.Array) -> Keys | None:
    """The keys of a block; None if Arrow's idea of equal keys may not be Python's."""
    is_tuple = pa.types.is_struct(array.type)
    parts = [_key_part(part) for part in (array.flatten() if is_tuple else [array])]
    if any(part is None for part in parts):
        return None
    return Keys(parts, is_tuple)


def _key_part(array: pa.Array) -> KeyPart | None:
    if not any(is_kind(array.type) for is_kind in _KEY_KINDS):
        return None
    if pa.types.is_integer(array.type) and not array.null_count and not pa.types.is_uint64(array.type):
        return array.to_numpy().astype(np.int64, copy=False)
    return array


def _joined(parts: tuple[KeyPart, ...]) -> KeyPart:
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else pa.concat_arrays(parts)


def encoded(keys: Keys) -> KeyCodes:
    """Number the keys; there must be some."""
    whole = _encoded_part(keys.parts[0])
    for each in keys.parts[1:]:
        part = _encoded_part(each)
        if whole.size * part.size <= max(4 * len(whole.codes), 1024):
            whole = _side_by_side(whole, part)
        else:
            # Packed sizes are at most the number of keys, so their product stays far below 64 bits.
            whole = _paired(packed(whole), packed(part))
    return whole


def packed(keys: KeyCodes) -> KeyCodes:
    """The same with every number below `size` in use."""
    is_used = np.zeros(keys.size, np.bool_)
    is_used[keys.codes] = True
    used = np.flatnonzero(is_used)
    rank = np.cumsum(is_used) - 1
    return KeyCodes(rank[keys.codes], len(used), lambda chosen: keys.parts(used[chosen]))


def _side_by_side(left: KeyCodes, right: KeyCodes) -> KeyCodes:
    """Pairs of few codes are their own codes, whether all of them occur or not."""
    size = right.size

    def parts(chosen: Numbers) -> list[KeyPart]:
        return [*left.parts(chosen // size), *right.parts(chosen % size)]

    return KeyCodes(left.codes * size + right.codes, left.size * size, parts)


def _paired(left: KeyCodes, right: KeyCodes) -> KeyCodes:
    size = right.size
    used, codes = np.unique(left.codes * size + right.codes, return_inverse=True)

    def parts(chosen: Numbers) -> list[KeyPart]:
        pairs = used[chosen]
        return [*left.parts(pairs // size), *right.parts(pairs % size)]

    return KeyCodes(codes, len(used), parts)


def _encoded_part(part: KeyPart) -> KeyCodes:
    if not isinstance(part, np.ndarray):
        coded = part.dictionary_encode(null_encoding="encode")
        known = coded.dictionary
        codes = coded.indices.to_numpy().astype(np.int64, copy=False)
        return KeyCodes(codes, len(known), lambda chosen: [known.take(pa.array(chosen))])
    lowest, highest = int(part.min()), int(part.max())
    # Numbers that lie close together are their own codes: much cheaper than a hash of each.
    if highest - lowest <= max(4 * len(part), 1024):
        return KeyCodes(part - lowest, highest - lowest + 1, lambda codes: [codes + lowest])
    coded = pa.array(part).dictionary_encode()
    numbers = coded.dictionary.to_numpy()
    return KeyCodes(coded.indices.to_numpy().astype(np.int64, copy=False), len(numbers), lambda codes: [numbers[codes]])


# ---- one accumulator for each key ----


class Folded(NamedTuple):
    """What records have come to for each key, side by side: keys, each once, the measures, and numbers of records."""

    keys: Keys
    measures: list[NumberColumn]
    counts: Numbers

    def key_objects(self) -> list[Any]:
        """The keys as Python objects."""
        return objects_of(self.keys)

    def accumulators(self) -> list[tuple[Any, ...]]:
        """The accumulators as Python objects."""
        return accumulators_of(self.measures)


def objects_of(keys: Keys) -> list[Any]:
    """Keys as Python objects."""
    columns = [part.tolist() if isinstance(part, np.ndarray) else part.to_pylist() for part in keys.parts]
    return list(zip(*columns, strict=True)) if keys.is_tuple else columns[0]


def accumulators_of(measures: list[NumberColumn]) -> list[tuple[Any, ...]]:
    """Accumulators of the measures' columns, as Python objects."""
    return list(zip(*map(_objects, measures), strict=True))


def _objects(column: NumberColumn) -> list[Any]:
    values: list[Any] = column.values.tolist()
    if column.valid is None:
        return values
    return [value if known else None for value, known in zip(values, column.valid.tolist(), strict=True)]


def fold(keys: Keys, numbers: FieldNumbers, measures: Sequence[Measure]) -> Folded:
    """Fold columns whose sums are known to fit; there must be some records."""
    coded = encoded(keys)
    counts = np.bincount(coded.codes, minlength=coded.size)
    present = np.flatnonzero(counts)
    columns = []
    for measure in measures:
        if measure.field is None:
            columns.append(NumberColumn(counts[present], None))
            continue
        values, valid = numbers[measure.field]
        codes, seen = coded.codes, counts
        if valid is not None:
            codes, values = codes[valid], values[valid]
            seen = np.bincount(codes, minlength=coded.size)
        columns.append(_measure_column(measure, codes, values, seen, present))
    return Folded(Keys(coded.parts(present), keys.is_tuple), columns, counts[present])


def _measure_column(measure: Measure, codes: Numbers, values: Numbers, seen: Numbers, present: Numbers) -> NumberColumn:
    if measure.kind == "count":
        return NumberColumn(seen[present], None)
    step, start = fold_of(measure, values.dtype)
    held = np.full(len(seen), start, values.dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are values like others
        step.at(held, codes, values)
    is_known = seen[present] > 0
    return NumberColumn(held[present], None if is_known.all() else is_known)


def fold_of(measure: Measure, dtype: Any) -> tuple[np.ufunc, Any]:
    """The function that takes one more value in, and the value that changes nothing."""
    is_whole = dtype == np.int64
    if measure.kind == "sum":
        return np.add, 0 if is_whole else -0.0  # 0.0 would make a positive zero of a negative one
    # NaN is greater than every number: `fmin` passes it over, `maximum` keeps it.
    if measure.kind == "min":
        return (np.minimum, INT_LIMIT) if is_whole else (np.fmin, np.nan)
    return (np.maximum, -INT_LIMIT - 1) if is_whole else (np.maximum, -np.inf)


# ---- results ----


def result_arrays(
    aggregates: Sequence[FieldAggregate], measures: Sequence[Measure], held: list[NumberColumn]
) -> list[Any]:
    """The aggregates as Arrow columns, of what the measures hold."""
    by_measure = dict(zip(measures, held, strict=True))
    results = []
    for aggregate in aggregates:
        columns = [by_measure[measure] for measure in aggregate.measures()]
        column = columns[0] if len(columns) == 1 else _means(*columns)
        results.append(pa.array(column.values, mask=None if column.valid is None else ~column.valid))
    return results


def _means(sums: NumberColumn, counts: NumberColumn) -> NumberColumn:
    values, numbers = sums.values, np.maximum(counts.values, 1)  # where there is none, the mean is null anyway
    if values.dtype == np.int64 and len(values) and max(int(values.max()), -int(values.min())) >= EXACT_LIMIT:
        # Numpy would round the sum before it divides; Python rounds once.
        quotients = [total / number for total, number in zip(values.tolist(), numbers.tolist(), strict=True)]
        return NumberColumn(np.array(quotients, np.float64), sums.valid)
    with np.errstate(invalid="ignore"):
        return NumberColumn(values / numbers, sums.valid)
