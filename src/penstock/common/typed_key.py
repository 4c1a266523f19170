"""A key selector with a declared type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.conversions import MisfitError, conversion_of
from penstock.common.typeinfo import TypeInformation
from penstock.errors import DeclaredTypeError

__all__ = ["TypedKey"]


class TypedKey:
    """Selects keys and makes them of their declared type, so that `Row(x, y)`, `Row(y, x)` and `Row(1, 2)` are one key.

    `select` is the user's selector alone. `of_all` is for the keys of many records, which cost less together.
    """

    def __init__(self, select: Callable[[Any], Any], type_info: TypeInformation) -> None:
        """Take a type that has something to convert (`conversion_of`)."""
        convert = conversion_of(type_info)
        assert convert is not None
        self.select = select
        self.type_info = type_info
        self._convert = convert

    def __call__(self, record: Any) -> Any:
        """Return the key of one record."""
        return self.of_all([self.select(record)])[0]

    def of_all(self, keys: list[Any]) -> list[Any]:
        """Make keys that were selected of the declared type; `DeclaredTypeError.value` is one that cannot be."""
        try:
            return self._convert(keys)
        except MisfitError as misfit:
            unfit = misfit
        raise DeclaredTypeError(
            f"the key is declared as {self.type_info!r}, but a record has a key of another type: {unfit}. Select a key "
            "of that type, or change key_type.",
            unfit.value,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedKey, (self.select, self.type_info)
