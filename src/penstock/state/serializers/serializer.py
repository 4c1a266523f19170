"""What turns values of one state into bytes and back, bytes of its older types included."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo, MapTypeInfo
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from penstock.errors import StateError
from penstock.state.serializers.basic_forms import MisfitError
from penstock.state.serializers.descriptions import described
from penstock.state.serializers.encoding import HEAD_BYTES, NULL, PICKLED, TYPED, encoding_of
from penstock.state.serializers.evolution import reader_for
from penstock.state.serializers.forms import form_of
from penstock.state.serializers.schemas import PICKLE, Schema, number_of, schema_of
from penstock.state.values import dump_value, load_value

# Encoding takes these as they are and refuses what is not of the type, all in C.
_SELF_CHECKING = frozenset({"BYTE", "SHORT", "INT", "LONG", "STRING"})
# It takes for these whatever Python can make a float of, decimals and fractions too.
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_REFUSALS = (struct.error, TypeError, OverflowError, AttributeError, ValueError)


# Types whose values are plain data as they are.
_PLAIN = frozenset({"BOOLEAN", "LONG", "STRING", "BYTES"})


def _is_plain(type_info: TypeInformation) -> bool:
    """Whether values of a type, if they are of that type, are plain data as they are."""
    if isinstance(type_info, TupleTypeInfo):
        return all(map(_is_plain, type_info.get_field_types()))
    if isinstance(type_info, FrozenListTypeInfo):
        return _is_plain(type_info.element_type)
    if isinstance(type_info, MapTypeInfo):
        return _is_plain(type_info.key_type) and _is_plain(type_info.value_type)
    return bool(schema_of(type_info)["type"] in _PLAIN)


class StateSerializer(ABC):
    """Bytes of the values of one state, whose type `schema` tells.

    `dumps` and `loads` are attributes, not methods: what they do is put together for the type, for they are called for
    every value that is read or written.
    """

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]
    dumps_unchecked: Callable[[Any], bytes] | None = None
    """The same as `dumps` for values that are known to be of the type, where leaving the check out saves something."""

    def __init__(self, type_info: TypeInformation, schema: Schema, state_name: str) -> None:
        self.type_info = type_info
        self.schema = schema
        self.state_name = state_name
        self.number = number_of(schema)

    @property
    def is_pickle(self) -> bool:
        """Whether values are pickled as a whole."""
        return bool(self.schema["type"] == "PICKLE")

    @abstractmethod
    def learn(self, written: Schema) -> None:
        """Read bytes of another schema from now on; raises StateError where that cannot be."""

    @abstractmethod
    def check(self, value: Any) -> None:
        """Refuse a value of another type."""


class TypedSerializer(StateSerializer):
    """Values of a declared type.

    `dumps` refuses values of another type. `loads` takes bytes of this type, of older types it was told about by
    `learn`, and pickles of values that are of this type.
    """

    def __init__(self, type_info: TypeInformation, state_name: str) -> None:
        """Compile the serializer of a type that has a schema."""
        super().__init__(type_info, schema_of(type_info), state_name)
        self._form = form_of(type_info)
        self._encoding = encoding_of(self.schema)
        self._older: dict[bytes, Callable[[bytes], Any]] = {}
        self.dumps = self._make_dumps()
        self.loads = self._make_loads()
        if self.schema["type"] in ("TUPLE", "MAP") and _is_plain(type_info):
            self.dumps_unchecked = self._encoding.pack

    def learn(self, written: Schema) -> None:
        """Read bytes of another schema from now on; raises StateError where that cannot be."""
        number = number_of(written)
        if number != self.number and number not in self._older:
            self._older[number] = reader_for(written, self)

    def check(self, value: Any) -> None:
        """Refuse a value of another type."""
        try:
            self._form.to_plain(value)
        except MisfitError as misfit:
            raise self._refusal(misfit) from None

    def _make_dumps(self) -> Callable[[Any], bytes]:
        pack, careful, to_plain = self._encoding.pack, self._dump_carefully, self._form.to_plain
        if self.schema["type"] in _SELF_CHECKING:

            def dump_itself(value: Any) -> bytes:
                try:
                    return pack(value)
                except _REFUSALS:
                    return careful(value)

            return dump_itself
        if self.schema["type"] in _FLOATS:

            def dump_float(value: Any) -> bytes:
                try:
                    return pack(value) if type(value) is float else careful(value)
                except OverflowError:
                    return careful(value)

            return dump_float
        if not self._encoding.takes_none:
            return careful

        def dump(value: Any) -> bytes:
            try:
                return pack(to_plain(value))
            except MisfitError as misfit:
                raise self._refusal(misfit) from None

        return dump

    def _dump_carefully(self, value: Any) -> bytes:
        if value is None:
            return self._encoding.null
        try:
            return self._encoding.pack(self._form.to_plain(value))
        except MisfitError as misfit:
            raise self._refusal(misfit) from None

    def _make_loads(self) -> Callable[[bytes], Any]:
        head, unpack, other = self._encoding.head, self._encoding.unpack, self._load_other
        from_plain = self._form.from_plain
        if from_plain is None:

            def load_plain(data: bytes) -> Any:
                return unpack(data) if data[:HEAD_BYTES] == head else other(data)

            return load_plain

        def load(data: bytes) -> Any:
            return from_plain(unpack(data)) if data[:HEAD_BYTES] == head else other(data)

        return load

    def _load_other(self, data: bytes) -> Any:
        """Take bytes that are not of this schema."""
        mark, number = data[:1], data[1:HEAD_BYTES]
        if mark == PICKLED:
            return self._fitted(load_value(data, self.state_name))
        if mark == NULL:
            return None
        if mark == TYPED and number in self._older:
            return self._evolved(data, number)
        raise StateError(
            f"State {self.state_name!r} contains bytes of a type that the checkpoint does not describe: it is damaged, "
            "or "
            "was written by a newer version."
        )

    def _evolved(self, data: bytes, number: bytes) -> Any:
        try:
            return self._older[number](data)
        except StateError:
            raise
        except Exception as error:
            # A default that does not fit, a class that refuses old values, a number that the wider type cannot hold.
            raise StateError(
                f"State {self.state_name!r} holds a value of an older type that cannot be read as "
                f"{described(self.schema)} ({type(error).__name__}: {error}): change the type so that it can be."
            ) from error

    def _fitted(self, value: Any) -> Any:
        """A value that was pickled, before the state was given a type."""
        try:
            plain = self._form.to_plain(value)
        except MisfitError as misfit:
            raise StateError(
                f"State {self.state_name!r} was pickled, and contains a value that does not have its current type "
                f"({misfit}): remove the type again, or give the typed state another name."
            ) from None
        return plain if self._form.from_plain is None else self._form.from_plain(plain)

    def _refusal(self, misfit: MisfitError) -> StateError:
        return StateError(
            f"State {self.state_name!r} is declared as {described(self.schema)}, but was given another value: {misfit}."
        )


class PickleSerializer(StateSerializer):
    """Any object, pickled: the last resort, because the bytes name the classes of what is in them."""

    def __init__(self, state_name: str) -> None:
        super().__init__(Types.PICKLED_BYTE_ARRAY(), PICKLE, state_name)
        # Partials, because they add no Python call to those of values without a type.
        self.dumps = partial(dump_value, state_name=state_name)
        self.loads = partial(load_value, state_name=state_name)

    def learn(self, written: Schema) -> None:
        """Refuse any other schema: without the type that was declared, its bytes would come back as something else."""
        if number_of(written) != self.number:
            reader_for(written, self)

    def check(self, value: Any) -> None:
        """Take anything."""


def serializer_for(type_info: TypeInformation | None, state_name: str) -> StateSerializer:
    """Return the serializer of a state with this type; what has no schema is pickled."""
    if type_info is None or schema_of(type_info) == PICKLE:
        return PickleSerializer(state_name)
    return TypedSerializer(type_info, state_name)
