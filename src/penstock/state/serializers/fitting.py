"""What a state with a declared type keeps of a value it is given.

A value that is only checked when it is written would be one thing until the batch ends and another one afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.avro_type import GenericRecordAvroTypeInfo
from penstock.common.typeinfo import TypeInformation
from penstock.errors import StateError
from penstock.state.serializers.basic_forms import MisfitError
from penstock.state.serializers.descriptions import described
from penstock.state.serializers.forms import form_of
from penstock.state.serializers.schemas import PICKLE, schema_of

Fit = Callable[[Any], Any]


def fit_for(type_info: TypeInformation | None, state_name: str) -> Fit | None:
    """Return what makes a value of the declared type or refuses it; None where any object is kept as it is."""
    if type_info is None or isinstance(type_info, GenericRecordAvroTypeInfo) or schema_of(type_info) == PICKLE:
        return None
    form, declared = form_of(type_info, keeps_objects=True), described(schema_of(type_info))
    to_plain, from_plain = form.to_plain, form.from_plain

    def fit(value: Any) -> Any:
        try:
            plain = to_plain(value)
        except MisfitError as misfit:
            text = str(misfit)
        else:
            return plain if from_plain is None else from_plain(plain)
        raise StateError(f"State {state_name!r} is declared as {declared}, but was given another value: {text}.")

    return fit
