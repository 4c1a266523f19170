"""A source of records generated as columns, with a function of many record numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.common.basic_types import TypeInformation
from penstock.common.column_block import Form, columns_or_objects, is_plain_record
from penstock.common.composite_types import RecordTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.connectors.generated.numbered import DataGenerator
from penstock.connectors.source import Chunk
from penstock.errors import ConfigurationError, SourceError

_CHUNK = 50_000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


class RandomColumns:
    """Random numbers of many records; those of a record depend only on the seed and its number.

    They are those that a generator of single records is given: `random()` here is `random()` there.
    """

    def __init__(self, seed: int, numbers: npt.NDArray[np.int64]) -> None:
        """Take the records' numbers."""
        stream = _mixed(np.array([(seed * int(_GOLDEN) + 1) & _MASK], np.uint64))
        self._words = _mixed(stream + numbers.astype(np.uint64) * _GOLDEN)

    def random(self) -> npt.NDArray[np.float64]:
        """Next number in [0, 1) of each record."""
        self._words = self._words + _GOLDEN
        return (_mixed(self._words) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: int, high: int) -> npt.NDArray[np.int64]:
        """Next whole number in [low, high) of each record."""
        return low + np.floor(self.random() * (high - low)).astype(np.int64)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class ColumnGenerator(DataGenerator):
    """Records by columns: `function(numbers)` returns the fields of the records of these numbers, as arrays.

    A function of two arguments is also given `RandomColumns`. A record must depend on its own number only, because
    which numbers come together is not the same when a batch is made again.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        count: int | None,
        type_info: TypeInformation | None = None,
        form: Form = "row",
        records_per_second: float | None = None,
        seed: int = 0,
    ) -> None:
        """Check the settings; a declared type decides what a record is, `form` where there is none."""
        super().__init__(function, count, records_per_second, seed)
        self.form = form if type_info is None else _form_of(type_info)
        self.type_info = type_info
        self._schema = None if type_info is None else _schema_of(type_info)

    def gives_columns(self) -> bool:
        """Return that records come as columns."""
        return True

    def produced_type(self) -> TypeInformation | None:
        """Return the declared type."""
        return self.type_info

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[Chunk]:
        """Make the records of the range."""
        for low in range(start, stop, _CHUNK):
            high = min(low + _CHUNK, stop)
            numbers = np.arange(split + low * split_count, split + high * split_count, split_count, dtype=np.int64)
            made = (
                self.function(numbers, RandomColumns(self.seed, numbers))
                if self.takes_random
                else self.function(numbers)
            )
            batch = self._batch(made, len(numbers))
            yield columns_or_objects(batch, self.form), None

    def _batch(self, made: Any, count: int) -> pa.RecordBatch:
        if isinstance(made, (pa.RecordBatch, pa.Table)):
            made = {name: made.column(place) for place, name in enumerate(made.schema.names)}
        if not isinstance(made, Mapping) or not made:
            raise SourceError(
                f"the function of of_columns must return a dict of arrays or a RecordBatch, it returned {made!r:.200}"
            )
        kinds = self._declared(list(map(str, made)))
        arrays = [_column(name, made[name], count, kind) for name, kind in kinds.items()]
        return pa.RecordBatch.from_arrays(arrays, names=list(kinds))

    def _declared(self, names: list[str]) -> dict[str, pa.DataType | None]:
        """The columns that are there, in the order of the record's fields, with their declared types."""
        schema = self._schema
        if self.form == "value" and len(names) != 1:
            raise SourceError(f"the function of of_columns must return one column, it returned {', '.join(names)}")
        if schema is None:
            return dict.fromkeys(names)
        if self.form in ("tuple", "value") and len(names) == len(schema):
            return dict(zip(names, schema.types, strict=True))  # such records know no names
        if set(names) != set(schema.names):
            raise SourceError(
                f"the function of of_columns returned the columns {', '.join(names)}, "
                f"but {', '.join(schema.names)} are declared"
            )
        return dict(zip(schema.names, schema.types, strict=True))


def _column(name: str, made: Any, count: int, kind: pa.DataType | None) -> pa.Array:
    try:
        if isinstance(made, pa.ChunkedArray):
            made = made.combine_chunks()
        array = made if isinstance(made, pa.Array) else pa.array(made)
        array = array if kind is None or array.type == kind else array.cast(kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        wanted = "an Arrow array" if kind is None else f"an array of {kind}"
        raise SourceError(f"the column {name!r} that of_columns' function returned is not {wanted}: {error}") from None
    if len(array) != count:
        raise SourceError(
            f"the column {name!r} that of_columns' function returned has {len(array)} values for {count} records: "
            f"return one for each number it is given"
        )
    return array


def _form_of(type_info: TypeInformation) -> Form:
    if isinstance(type_info, RecordTypeInfo):
        if not is_plain_record(type_info.record_class):
            raise ConfigurationError(
                f"of_columns: {type_info.record_class.__qualname__} is not a dataclass or named tuple whose fields are "
                f"just what it is made from: leave out __post_init__ and __init__, or generate single records."
            )
        return type_info.record_class
    if isinstance(type_info, RowTypeInfo):
        if not type_info.has_names:
            raise ConfigurationError("of_columns: columns have names, so declare the rows with Types.ROW_NAMED(...).")
        return "row"
    return "tuple" if isinstance(type_info, TupleTypeInfo) else "value"


def _schema_of(type_info: TypeInformation) -> pa.Schema:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        whole = type_info.arrow_type()
        names, types = [each.name for each in whole], type_info.get_field_types()
    else:
        names, types = ["value"], [type_info]
    for name, each in zip(names, types, strict=True):
        if each.need_conversion():
            raise ConfigurationError(
                f"of_columns: the field {name!r} of type {each!r} cannot be a column; use a basic type, or a "
                f"generator of single records."
            )
    return pa.schema([(name, each.arrow_type()) for name, each in zip(names, types, strict=True)])
