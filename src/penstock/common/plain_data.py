"""Plain data as bytes: the one encoding of what Penstock itself keeps on disk. No name of a class is in it.

Plain data are None, bool, int of any size, float, str, bytes, list, tuple, dict, Decimal, date, time, datetime, Arrow
schemas, and objects of classes that were given a name for the disk (`kept_as`). `pack` makes bytes of them and `unpack`
gives back the same, type by type. The bytes are MessagePack with a few extension types; docs/formats_on_disk.md lists
them. Nothing of this is ever unpickled.

What users hand to Penstock without a type may be any object. Wrap it in `UserValue` before packing: what is plain data
stays so, anything else is pickled into a frame of its own, and comes back as a `UserPickle`. Nothing is unpickled until
whoever needs the object asks for it with `loaded`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgpack
import pyarrow as pa

from penstock.common import user_pickles
from penstock.errors import CheckpointError, StateError

TUPLE, BIG_INT, KEPT, USER_PLAIN, USER_PICKLE, DECIMAL, DATE, TIME, DATETIME, ARROW_SCHEMA = range(1, 11)
"""Numbers of the extension types. They are on disk: never give one another meaning."""

_ATOMS = frozenset({type(None), bool, int, float, str, bytes, Decimal, date, pa.Schema})

_KEPT_BUFFER_BYTES = 256 * 1024

C = TypeVar("C", bound=type)


class NotPlainError(TypeError):
    """Something is not plain data."""


@dataclass(frozen=True)
class UserPickle:
    """An object of the user's as it is on disk: a pickle that nobody has loaded."""

    data: bytes

    def load(self) -> Any:
        """Return the object."""
        try:
            return user_pickles.load(self.data)
        except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError) as error:
            raise StateError(
                f"the checkpoint contains an object of the program that can no longer be loaded ({error}): keep its "
                "class importable under its old name"
            ) from error


@dataclass(frozen=True)
class UserValue:
    """An object of the user's that is to be packed, whatever it is."""

    value: Any


@dataclass(frozen=True)
class UnknownRecord:
    """An object whose class has not been imported in this process: it is handed on as it is."""

    name: str
    version: int
    plain: Any


def loaded(value: Any) -> Any:
    """Return an object of the user's that came from disk; only here a pickle of the user's is loaded."""
    if type(value) is UserPickle:
        return value.load()
    return value.value if type(value) is UserValue else value


class _Kept(NamedTuple):
    """How objects of a class are on disk."""

    name: str
    version: int
    cls: type
    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any, int], Any]


_by_name: dict[str, _Kept] = {}
_by_class: dict[type, _Kept] = {}


def keep_as(
    cls: type, name: str, to_plain: Callable[[Any], Any], from_plain: Callable[[Any, int], Any], version: int = 1
) -> None:
    """Give a class the name and version that its objects have on disk.

    `to_plain(object)` returns plain data, `from_plain(plain, version)` the object. Raise the version when the plain
    data change, and let `from_plain` read the older ones.
    """
    assert name not in _by_name, f"{name!r} is the name of {_by_name[name].cls.__qualname__}"
    _by_name[name] = _by_class[cls] = _Kept(name, version, cls, to_plain, from_plain)


def kept_as(name: str, version: int = 1) -> Callable[[C], C]:
    """Decorate a class that has the methods `to_plain()` and, as a class method, `from_plain(plain, version)`."""

    def register(cls: C) -> C:
        keep_as(cls, name, cls.to_plain, cls.from_plain, version)  # type: ignore[attr-defined]
        return cls

    return register


def names_on_disk() -> dict[str, type]:
    """Return the classes that have a name on disk, by name."""
    return {name: kept.cls for name, kept in _by_name.items()}


def pack(value: Any) -> bytes:
    """Return the bytes of plain data; raises `NotPlainError` for anything else."""
    try:
        return _packb(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotPlainError(str(error)) from None


def unpack(data: bytes) -> Any:
    """Return the plain data of some bytes; raises `ValueError` if they are no such bytes."""
    try:
        return _unpackb(data)
    except (msgpack.UnpackException, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"no plain data: {error}") from None


def pack_record(value: Any, version: int) -> bytes:
    """Return plain data with the version of their form in front, as one byte."""
    return bytes([version]) + pack(value)


def unpack_record(data: bytes, version: int, place: str) -> Any:
    """Return what `pack_record` packed; another version is refused with what to do. `place` says whose it is."""
    if data[:1] != bytes([version]):
        raise CheckpointError(other_format(place, data[0] if data else 0, version))
    try:
        return unpack(data[1:])
    except ValueError as error:
        raise CheckpointError(
            f"{place} is damaged ({error}): restore it from a copy, or go back to an older version"
        ) from None


def other_format(place: str, found: object, known: object) -> str:
    """Return the sentence for something of another format."""
    return (
        f"{place} has format {found}, and this version of Penstock reads format {known}: start the job in a new "
        "checkpoint directory, or run it with the version of Penstock that wrote it"
    )


def is_plain(value: Any) -> bool:
    """Tell whether a value is plain data, exactly: objects of subclasses are not, they would come back as others."""
    kind = type(value)
    if kind in _ATOMS or kind in _by_class or kind is UnknownRecord:
        return True
    if kind is datetime or kind is time:
        # A zone with rules would come back as the offset it had, and the second of two equal times as the first.
        return type(value.tzinfo) in (type(None), timezone) and value.fold == 0
    if kind is list or kind is tuple:
        return _ATOMS.issuperset(map(type, value)) or all(map(is_plain, value))
    if kind is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return False


def _tuple_extension(value: tuple[Any, ...]) -> msgpack.ExtType:
    return msgpack.ExtType(TUPLE, _packb(list(value)))


def _big_int_extension(value: int) -> msgpack.ExtType:
    return msgpack.ExtType(BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _text_extension(number: int, text: Callable[[Any], str]) -> Callable[[Any], msgpack.ExtType]:
    return lambda value: msgpack.ExtType(number, text(value).encode("ascii"))


def _user_extension(wrapped: UserValue) -> msgpack.ExtType:
    value = wrapped.value
    if type(value) is UserPickle:
        return msgpack.ExtType(USER_PICKLE, value.data)
    try:
        if is_plain(value):
            return msgpack.ExtType(USER_PLAIN, _packb(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # nested too deeply, or in itself: pickle knows how
    return msgpack.ExtType(USER_PICKLE, _pickled(value))


def _pickled(value: Any) -> bytes:
    try:
        return user_pickles.dump(value)
    except Exception as error:
        raise StateError(
            f"an object of type {type(value).__qualname__} cannot be kept in a checkpoint ({error}): keep only "
            "picklable objects in it"
        ) from error


def _unknown_extension(value: UnknownRecord) -> msgpack.ExtType:
    return msgpack.ExtType(KEPT, _packb([value.name, value.version, value.plain]))


_EXTENSIONS: dict[type, Callable[[Any], msgpack.ExtType]] = {
    tuple: _tuple_extension,
    int: _big_int_extension,
    UserValue: _user_extension,
    UserPickle: lambda value: msgpack.ExtType(USER_PICKLE, value.data),
    UnknownRecord: _unknown_extension,
    Decimal: _text_extension(DECIMAL, str),
    date: _text_extension(DATE, date.isoformat),
    time: _text_extension(TIME, time.isoformat),
    datetime: _text_extension(DATETIME, datetime.isoformat),
    pa.Schema: lambda value: msgpack.ExtType(ARROW_SCHEMA, value.serialize().to_pybytes()),
}


def _extension_of(value: Any) -> msgpack.ExtType:
    """What MessagePack asks for whatever it does not know."""
    kind = type(value)
    extension = _EXTENSIONS.get(kind)
    if extension is not None:
        return extension(value)
    kept = _by_class.get(kind)
    if kept is None:
        raise NotPlainError(f"{kind.__module__}.{kind.__qualname__} is no plain data")
    return msgpack.ExtType(KEPT, _packb([kept.name, kept.version, kept.to_plain(value)]))


def _kept(data: bytes) -> Any:
    name, version, plain = _unpackb(data)
    kept = _by_name.get(name)
    if kept is None:
        return UnknownRecord(name, version, plain)
    if version > kept.version:
        raise CheckpointError(other_format(f"a record {name!r}", version, kept.version))
    return kept.from_plain(plain, version)


_READERS: dict[int, Callable[[bytes], Any]] = {
    TUPLE: lambda data: tuple(_unpackb(data)),
    BIG_INT: lambda data: int.from_bytes(data, "big", signed=True),
    KEPT: _kept,
    USER_PLAIN: lambda data: _unpackb(data),
    USER_PICKLE: UserPickle,
    DECIMAL: lambda data: Decimal(data.decode("ascii")),
    DATE: lambda data: date.fromisoformat(data.decode("ascii")),
    TIME: lambda data: time.fromisoformat(data.decode("ascii")),
    DATETIME: lambda data: datetime.fromisoformat(data.decode("ascii")),
    ARROW_SCHEMA: lambda data: pa.ipc.read_schema(pa.py_buffer(data)),
}


def _object_of(number: int, data: bytes) -> Any:
    return _READERS[number](data)


def _packing(**settings: Any) -> Callable[[Any], bytes]:
    """What packs, with packers that are used again: to make one costs more than to pack something small."""
    make = partial(msgpack.Packer, default=_extension_of, unicode_errors="surrogatepass", **settings)
    idle: list[Any] = []  # each is in one hand at a time: other threads, and tuples within tuples, take another one

    def packed(value: Any) -> bytes:
        packer = idle.pop() if idle else make()
        data: bytes = packer.pack(value)
        if len(data) < _KEPT_BUFFER_BYTES:  # a packer keeps the memory it needed once
            idle.append(packer)
        return data

    return packed


_packb: Callable[[Any], bytes] = _packing(strict_types=True)
_unpackb: Callable[[bytes], Any] = partial(
    msgpack.unpackb, ext_hook=_object_of, strict_map_key=False, unicode_errors="surrogatepass"
)

# A schema tells what such data are: tuples need no mark, which makes this several times as fast.
pack_untagged: Callable[[Any], bytes] = _packing()
"""Bytes of plain data in which tuples and lists are not told apart; for data that a schema describes."""

unpack_untagged: Callable[[bytes], Any] = partial(
    msgpack.unpackb, use_list=False, ext_hook=_object_of, strict_map_key=False, unicode_errors="surrogatepass"
)
"""The data that `pack_untagged` gave bytes for, with a tuple for every list."""
