"""Event time that is a field of the record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.common.record_fields import Field, read_field
from penstock.common.time import Instant

__all__ = ["FieldTimestamp"]

_UNITS_IN_A_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}


@dataclass(frozen=True)
class FieldTimestamp:
    """Reads a field: whole milliseconds since 1970, a datetime (without a zone: in UTC) or an `Instant`."""

    field: Field

    def __call__(self, value: Any, record_timestamp: int) -> Any:
        """Return the milliseconds of a record; what is no point in time is returned as it is, and refused then."""
        found = read_field(value, self.field)
        if isinstance(found, datetime):
            found = Instant.of_datetime(found)
        return found.to_epoch_milli() if isinstance(found, Instant) else found

    def of_columns(self, block: ColumnBlock) -> npt.NDArray[np.int64] | None:
        """The milliseconds of all records of a block; None where the objects have to be asked, or to complain."""
        column = block.column(self.field)
        if column is None or column.null_count:
            return None
        kind = column.type
        if pa.types.is_signed_integer(kind):
            return column.to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]
        if pa.types.is_timestamp(kind) and kind.unit in _UNITS_IN_A_MILLISECOND:
            # Rounded down, as Instant does.
            return column.cast(pa.int64()).to_numpy() // _UNITS_IN_A_MILLISECOND[kind.unit]  # type: ignore[no-any-return]
        return None
