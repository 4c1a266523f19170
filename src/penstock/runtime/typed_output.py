"""The outgoing side of an operator whose results have a declared type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from penstock.common.conversions import MisfitError, conversion_of
from penstock.common.typeinfo import BasicTypeInfo, RecordTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.errors import DeclaredTypeError
from penstock.runtime.columns import ColumnBlock
from penstock.runtime.output import Output
from penstock.runtime.rows import AnyTimestamps, Timestamps, Values

Failure = Callable[[Exception, str, Any], Exception]
"""What makes the failure of the operator: an error, what was being done, and the record."""


def create_output(
    main: TypeInformation | None,
    sides: Mapping[str, TypeInformation],
    failure: Failure,
    *,
    shares_objects: bool = False,
) -> Output:
    """Return the output of an operator; one without declared types knows nothing of them."""
    checks = {tag: check for tag, check in ((tag, _check(given, tag)) for tag, given in sides.items()) if check}
    of_main = _check(main, None)
    if of_main is None and not checks:
        return Output(shares_objects=shares_objects)
    return TypedOutput(of_main, checks, failure, shares_objects=shares_objects)


class TypedOutput(Output):
    """Converts what is emitted, a block at a time, and refuses what is of another type."""

    def __init__(
        self, main: _Check | None, sides: dict[str, _Check], failure: Failure, *, shares_objects: bool = False
    ) -> None:
        super().__init__(shares_objects=shares_objects)
        self._main = main
        self._sides = sides
        self._failure = failure

    def emit(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Emit records of the main output, of its declared type."""
        if self._main is None:
            super().emit(values, timestamps)
        elif not isinstance(values, ColumnBlock):
            super().emit(self._fitted(self._main, values), timestamps)
        elif self._main.fits_columns(values):
            super().emit(values, timestamps)
        else:
            stamps: Any = timestamps
            made = self._fitted(self._main, values.values())
            super().emit(made, None if stamps is None else stamps.tolist())

    def emit_side(self, tag: str, values: list[Any], timestamps: Timestamps) -> None:
        """Emit records of a side output, of the type of its tag."""
        check = self._sides.get(tag)
        super().emit_side(tag, values if check is None else self._fitted(check, values), timestamps)

    def _fitted(self, check: _Check, values: list[Any]) -> list[Any]:
        try:
            return check.convert(values)
        except MisfitError as misfit:
            unfit = misfit
        advice = "Return values of that type, or declare their actual type."
        error = DeclaredTypeError(f"{check.what}: {unfit}. {advice}")
        raise self._failure(error, "checking the declared type of a result", unfit.value)


class _Check:
    """A declared type, compiled."""

    def __init__(self, type_info: TypeInformation, convert: Callable[[list[Any]], list[Any]], tag: str | None) -> None:
        whose = "its results" if tag is None else f"its side output {tag!r}"
        self.what = f"the operator declares {whose} as {type_info!r}, but returned a different value"
        self.convert = convert
        self._form, self._schema = _columns_of(type_info)

    def fits_columns(self, block: ColumnBlock) -> bool:
        """Whether columns hold just the declared type, so that nothing is to be done."""
        if self._schema is None or block.form != self._form:
            return False
        found = block.batch.schema
        has_names = self._form not in ("tuple", "value")
        return found.types == self._schema.types and (not has_names or found.names == self._schema.names)


def _check(type_info: TypeInformation | None, tag: str | None) -> _Check | None:
    convert = conversion_of(type_info)
    return None if type_info is None or convert is None else _Check(type_info, convert, tag)


def _columns_of(type_info: TypeInformation) -> tuple[Any, pa.Schema | None]:
    """The form and columns of records of a type; None where objects differ from what columns give."""
    form: Any = "value"
    types: list[TypeInformation] = [type_info]
    names = ["value"]
    if isinstance(type_info, RowTypeInfo):
        form = type_info.record_class if isinstance(type_info, RecordTypeInfo) else "row"
        names, types = type_info.get_field_names(), type_info.get_field_types()
    elif isinstance(type_info, TupleTypeInfo):
        form, types = "tuple", type_info.get_field_types()
        names = [str(at) for at in range(len(types))]
    if not all(isinstance(each, BasicTypeInfo) and not each.need_conversion() for each in types):
        return None, None
    return form, pa.schema(list(zip(names, [each.arrow_type() for each in types], strict=True)))
