"""How a state's type may change while its bytes stay: fields added, removed, renamed, numbers widened.

Whether a pickle can be read as a type shows when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common.avro_type import GenericRecordAvroTypeInfo
from penstock.common.typeinfo import MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.errors import StateError
from penstock.state.serializers.avro_forms import avro_evolution
from penstock.state.serializers.avro_rules import avro_incompatibility
from penstock.state.serializers.descriptions import described
from penstock.state.serializers.encoding import NULL, encoding_of
from penstock.state.serializers.forms import form_of
from penstock.state.serializers.schemas import Schema, layout_of, schema_of
from penstock.state.values import load_value

if TYPE_CHECKING:
    from penstock.state.serializers.serializer import StateSerializer

_INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
_WIDER: dict[str, tuple[str, ...]] = {
    **{name: (*_INTEGERS[at + 1 :], "FLOAT", "DOUBLE", "BIG_DEC") for at, name in enumerate(_INTEGERS)},
    "FLOAT": ("DOUBLE",),
    "CHAR": ("STRING",),
}
_COMPOSITE = frozenset({"LIST", "MAP", "TUPLE", "ROW", "RECORD", "AVRO"})
Adapter = Callable[[Any], Any]


def incompatibility(written: Schema, wanted: Schema) -> str | None:
    """Return why bytes of one schema cannot be read as another, in words; None if they can be."""
    return None if layout_of(written) == layout_of(wanted) else _reason(written, wanted, "it")


def _reason(old: Schema, new: Schema, what: str) -> str | None:
    kinds = old["type"], new["type"]
    if old["type"] == "PICKLE":
        return None
    if kinds[0] != kinds[1]:
        return None if kinds[1] in _WIDER.get(kinds[0], ()) else _changed(old, new, what)
    if kinds[0] == "LIST":
        return _reason(old["element"], new["element"], f"an element of {what}")
    if kinds[0] == "MAP":
        key = _reason(old["key"], new["key"], f"a key of {what}")
        return key or _reason(old["value"], new["value"], f"a value of {what}")
    if kinds[0] in ("TUPLE", "ROW"):
        return _reason_of_positions(old, new, what)
    if kinds[0] == "RECORD":
        return _reason_of_fields(old, new, what)
    return avro_incompatibility(old["schema"], new["schema"], what) if kinds[0] == "AVRO" else None


def _changed(old: Schema, new: Schema, what: str) -> str:
    if new["type"] == "PICKLE":
        return f"{what} was {described(old)} and has no declared type now: declare its type again"
    allowed = _WIDER.get(old["type"], ())
    if old["type"] in _COMPOSITE:
        rule = "its fields may change, but not what it is"
    elif allowed:
        rule = f"{old['type']} may only become {', '.join(allowed[:-1])}{' or ' if allowed[:-1] else ''}{allowed[-1]}"
    else:
        rule = f"{old['type']} must stay {old['type']}"
    return f"{what} was {described(old)} and is {described(new)} now: {rule}"


def _reason_of_positions(old: Schema, new: Schema, what: str) -> str | None:
    before, after = old["fields"], new["fields"]
    if len(before) != len(after):
        return (
            f"{what} had {len(before)} fields and has {len(after)} now: fields without names cannot be added or "
            "removed; use a dataclass, a named tuple or Types.ROW_NAMED in a state with another name"
        )
    reasons = (_reason(*pair, f"field f{at} of {what}") for at, pair in enumerate(zip(before, after, strict=True)))
    return next(filter(None, reasons), None)


def _reason_of_fields(old: Schema, new: Schema, what: str) -> str | None:
    before = {field["name"]: field["type"] for field in old["fields"]}
    claimed: dict[str, str] = {}
    for field in new["fields"]:
        name, part = field["name"], f"field {field['name']!r}{'' if what == 'it' else f' of {what}'}"
        source = source_of(field, before)
        if source is None:
            if field.get("default"):
                continue
            return (
                f"{part} is new and has no default: give it one, or declare its old name as an alias if it was renamed"
            )
        if source in claimed:
            return f"fields {claimed[source]!r} and {name!r} both stand for the old field {source!r}: remove an alias"
        claimed[source] = name
        reason = _reason(before[source], field["type"], part)
        if reason is not None:
            return reason
    return None


def source_of(field: dict[str, Any], before: dict[str, Any]) -> str | None:
    """Return the old field that a wanted one stands for: that of its name or, if there is none, of an alias."""
    names = (field["name"], *field.get("aliases", ()))
    return next((name for name in names if name in before), None)


def reader_for(written: Schema, wanted: StateSerializer) -> Callable[[bytes], Any]:
    """Return what reads bytes of an old schema as values of the wanted type; raises StateError if there is no way."""
    reason = incompatibility(written, wanted.schema)
    if reason is not None:
        raise StateError(f"State {wanted.state_name!r} cannot be read as its current type: {reason}.")
    if written["type"] == "PICKLE":
        return wanted.loads
    unpack, adapt = encoding_of(written).unpack, _adapter(written, wanted.type_info)
    from_plain = form_of(wanted.type_info).from_plain

    def read(data: bytes) -> Any:
        if data[:1] == NULL:
            return None
        plain = unpack(data)
        if adapt is not None:
            plain = adapt(plain)
        return plain if from_plain is None else from_plain(plain)

    return read


def _adapter(old: Schema, wanted: TypeInformation) -> Adapter | None:
    """What turns plain data of a schema into those of a type; None where they are the same."""
    new = schema_of(wanted)
    if layout_of(old) == layout_of(new):
        return None
    kind = new["type"]
    if old["type"] == "PICKLE":
        to_plain = form_of(wanted).to_plain
        return lambda data: None if data is None else to_plain(load_value(data, "a part of it"))
    if old["type"] in _INTEGERS and kind in ("FLOAT", "DOUBLE"):
        return form_of(wanted).to_plain
    if old["type"] in _INTEGERS and kind == "BIG_DEC":
        return lambda plain: None if plain is None else str(plain)
    if kind == "LIST":
        return _list_adapter(_adapter(old["element"], getattr(wanted, "element_type")))  # noqa: B009 - four classes
    if isinstance(wanted, MapTypeInfo):
        return _map_adapter(_adapter(old["key"], wanted.key_type), _adapter(old["value"], wanted.value_type))
    if isinstance(wanted, GenericRecordAvroTypeInfo):
        evolve, encode = avro_evolution(old["schema"], wanted.canonical_text()), form_of(wanted).to_plain
        return lambda data: encode(evolve(data))
    if isinstance(wanted, TupleTypeInfo) or (isinstance(wanted, RowTypeInfo) and not wanted.has_names):
        return _fields_adapter(
            len(old["fields"]), list(enumerate(map(_adapter, old["fields"], wanted.get_field_types())))
        )
    if isinstance(wanted, RowTypeInfo):
        return _record_adapter(old, new, wanted)
    return None


def _list_adapter(adapt: Adapter | None) -> Adapter | None:
    if adapt is None:
        return None
    return lambda plain: None if plain is None else [adapt(each) for each in plain]


def _map_adapter(key: Adapter | None, value: Adapter | None) -> Adapter | None:
    adapt_key, adapt_value = key or _same, value or _same
    return lambda plain: None if plain is None else {adapt_key(each): adapt_value(held) for each, held in plain.items()}


def _same(plain: Any) -> Any:
    return plain


def _record_adapter(old: Schema, new: Schema, wanted: RowTypeInfo) -> Adapter:
    before = {field["name"]: at for at, field in enumerate(old["fields"])}
    defaults, types = wanted.field_defaults(), wanted.get_field_types()
    sources: list[tuple[int | None, Adapter | None]] = []
    for field, field_type in zip(new["fields"], types, strict=True):
        source = source_of(field, before)
        if source is None:
            sources.append((None, _default_maker(defaults[field["name"]], field_type)))
        else:
            at = before[source]
            sources.append((at, _adapter(old["fields"][at]["type"], field_type)))
    return _fields_adapter(len(before), sources)


def _default_maker(make: Callable[[], Any], field_type: TypeInformation) -> Adapter:
    to_plain = form_of(field_type).to_plain
    return lambda _: to_plain(make())


def _fields_adapter(count: int, sources: list[tuple[int | None, Adapter | None]]) -> Adapter:
    """Fields by their old positions, adapted; one without a position is made of nothing."""

    def adapt(plain: Any) -> Any:
        if plain is None:
            return None
        fields = []
        for at, convert in sources:
            part = None if at is None else plain[at]
            fields.append(part if convert is None else convert(part))
        # What comes behind the fields is the kind of a row.
        return (*fields, *plain[count:])

    return adapt
