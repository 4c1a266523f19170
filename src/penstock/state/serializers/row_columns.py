"""Rows that are columns as bytes of state: those that the serializer of the row's type gives row by row.

MessagePack puts the parts of an array one behind the other. So the bytes of many rows are made field by field: of each,
a small table of bytes (a mark with a number, or with the length of a text), and texts as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.typeinfo import TypeInformation
from penstock.state.serializers.encoding import HEAD_BYTES, TYPED
from penstock.state.serializers.serializer import serializer_for

__all__ = ["RowPacker", "array_head"]

Bytes = npt.NDArray[np.uint8]
_NULL, _FALSE, _TRUE, _DOUBLE = 0xC0, 0xC2, 0xC3, 0xCB
_POSITIVE, _NEGATIVE = (np.zeros(10, np.uint8) for _ in range(2))
"""The marks of numbers, by how many bytes they take with it."""
_POSITIVE[[2, 3, 5, 9]] = [0xCC, 0xCD, 0xCE, 0xCF]
_NEGATIVE[[2, 3, 5, 9]] = [0xD0, 0xD1, 0xD2, 0xD3]
_TEXT, _RAW = (np.zeros(6, np.uint8) for _ in range(2))
"""The marks of texts and bytes, by how many bytes they take with their length."""
_TEXT[[2, 3, 5]] = [0xD9, 0xDA, 0xDB]
_RAW[[2, 3, 5]] = [0xC4, 0xC5, 0xC6]
_SHORT_TEXT, _SHORT_ARRAY = 32, 16


class _Small(NamedTuple):
    """A few bytes of each row: the last `widths` of each line of a table."""

    table: Bytes
    widths: npt.NDArray[np.int64]


class RowPacker:
    """Packs rows of a type, given as the columns of their fields."""

    def __init__(self, row_type: TypeInformation) -> None:
        self._serializer = serializer_for(row_type, "rows")
        self.head = TYPED + self._serializer.number
        """What stands before the bytes of a row that is a value of its own."""
        self._dumps = self._serializer.dumps_unchecked or self._serializer.dumps

    def packed(self, columns: Sequence[pa.Array], before: bytes = b"") -> pa.Array:
        """The bytes of each row, with some bytes before them."""
        makers = [_maker(column.type) for column in columns]
        if None in makers:
            rows = zip(*[column.to_pylist() for column in columns], strict=True)
            return pa.array([before + self.packed_row(row) for row in rows], pa.large_binary())
        pieces: list[Any] = [pa.scalar(before + array_head(len(columns)), pa.large_binary())]
        waiting: list[_Small] = []
        for column, make in zip(columns, makers, strict=True):
            assert make is not None
            small, texts = make(column)
            waiting.append(small)
            if texts is not None:
                pieces += [_together(waiting), texts]
                waiting = []
        pieces += [_together(waiting)] if waiting else []
        return pc.binary_join_element_wise(*pieces, pa.scalar(b"", pa.large_binary()), null_handling="replace")

    def packed_groups(self, columns: Sequence[pa.Array], counts: npt.NDArray[Any]) -> list[bytes]:
        """The bytes of rows one behind the other, for the first so many rows, for so many after them, and so on."""
        rows = self.packed(columns)
        _, offsets, data = rows.buffers()
        whole = b"" if data is None else data.to_pybytes()
        starts = np.frombuffer(offsets, np.int64, len(rows) + 1, 8 * rows.offset)
        ends = starts[np.cumsum(counts)].tolist()
        return [whole[begin:end] for begin, end in zip([int(starts[0]), *ends], ends, strict=False)]

    def packed_row(self, row: tuple[Any, ...]) -> bytes:
        """The bytes of one row."""
        return self._dumps(row)[HEAD_BYTES:]


def array_head(count: int) -> bytes:
    """What stands before the parts of an array of so many."""
    if count < _SHORT_ARRAY:
        return bytes([0x90 | count])
    return b"\xdc" + count.to_bytes(2, "big") if count < 2**16 else b"\xdd" + count.to_bytes(4, "big")


_Made = tuple[_Small, Any]
_Maker = Callable[[pa.Array], _Made]


def _maker(kind: pa.DataType) -> _Maker | None:
    for is_kind, maker in _MAKERS:
        if is_kind(kind):
            return maker
    return None


def _together(smalls: list[_Small]) -> pa.Array:
    """The bytes of several fields as one column."""
    table = np.concatenate([small.table for small in smalls], axis=1)
    is_used = np.concatenate(
        [np.arange(small.table.shape[1]) >= (small.table.shape[1] - small.widths)[:, None] for small in smalls], axis=1
    )
    offsets = np.zeros(len(table) + 1, np.int64)
    np.cumsum(sum(small.widths for small in smalls), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(table[is_used])]
    return pa.Array.from_buffers(pa.large_binary(), len(table), buffers)


def _whole(column: pa.Array) -> _Made:
    """Whole numbers in as few bytes as they need."""
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    widths = np.ones(len(numbers), np.int64)
    for step, above, below in ((1, 2**7 - 1, -(2**5)), (1, 2**8 - 1, -(2**7)), (2, 2**16 - 1, -(2**15))):
        widths += step * ((numbers > above) | (numbers < below))
    widths += 4 * ((numbers > 2**32 - 1) | (numbers < -(2**31)))
    table = np.empty((len(numbers), 9), np.uint8)
    table[:, 1:] = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    marks = np.where(numbers < 0, _NEGATIVE[widths], _POSITIVE[widths])
    return _marked(table, widths, marks, column), None


def _broken(column: pa.Array) -> _Made:
    numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    table = np.empty((len(numbers), 9), np.uint8)
    table[:, 1:] = numbers.astype(">f8").view(np.uint8).reshape(-1, 8)
    widths = np.full(len(numbers), 9, np.int64)
    return _marked(table, widths, np.full(len(numbers), _DOUBLE, np.uint8), column), None


def _boolean(column: pa.Array) -> _Made:
    is_true = column.fill_null(False).to_numpy(zero_copy_only=False)
    table = np.where(is_true, _TRUE, _FALSE).astype(np.uint8).reshape(-1, 1)
    return _marked(table, np.ones(len(table), np.int64), np.zeros(len(table), np.uint8), column), None


def _text(column: pa.Array) -> _Made:
    made, lengths = _lengths(column, _TEXT, 1 + (_byte_lengths(column) >= _SHORT_TEXT))
    is_short = lengths < _SHORT_TEXT
    made.table[is_short, -1] |= 0xA0
    return _with_nulls(made, column), column.cast(pa.large_binary())


def _raw(column: pa.Array) -> _Made:
    made, _ = _lengths(column, _RAW, 2)
    return _with_nulls(made, column), column.cast(pa.large_binary())


def _byte_lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _lengths(column: pa.Array, marks: Bytes, least: Any) -> tuple[_Small, npt.NDArray[np.int64]]:
    lengths = _byte_lengths(column)
    widths = least + (lengths > 2**8 - 1) + 2 * (lengths > 2**16 - 1)
    table = np.empty((len(lengths), 5), np.uint8)
    table[:, 1:] = lengths.astype(">u4").view(np.uint8).reshape(-1, 4)
    return _marked(table, widths.astype(np.int64), marks[widths], None), lengths


def _marked(table: Bytes, widths: npt.NDArray[np.int64], marks: Bytes, column: pa.Array | None) -> _Small:
    """Lines with their marks, where they have one, as narrow as the widest needs."""
    width = table.shape[1]
    has_mark = np.flatnonzero(marks)
    table[has_mark, width - widths[has_mark]] = marks[has_mark]
    made = _Small(table[:, width - int(widths.max(initial=1)) :], widths)
    return made if column is None else _with_nulls(made, column)


def _with_nulls(made: _Small, column: pa.Array) -> _Small:
    if column.null_count:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        made.widths[is_null] = 1
        made.table[is_null, -1] = _NULL
    return made


_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], _Maker], ...] = (
    (pa.types.is_signed_integer, _whole),
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_float64, _broken),
    (pa.types.is_float32, _broken),
    (pa.types.is_binary, _raw),
    (pa.types.is_large_binary, _raw),
)
