"""`Configuration`, settings by case-sensitive Flink keys."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from penstock.common.config_options import ConfigOption
from penstock.common.time import Duration
from penstock.errors import ConfigurationError

__all__ = ["Configuration"]

T = TypeVar("T")
D = TypeVar("D")

_BOOLEAN_TEXTS = {"true": True, "false": False}


class Configuration:
    """Settings by key. A value set as text can be read as a number or boolean, and the other way round."""

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Return a configuration of these keys and values."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    def get(self, option: ConfigOption[T]) -> T | None:
        """Return the value of an option, its default if it is not set."""
        return self._read(option.key, _READERS[option.value_type], option.default)

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set the value of an option."""
        return self._put(option.key, value)

    def get_string(self, key: str, default_value: D) -> str | D:
        """Return the value as text."""
        return self._read(key, _read_string, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a text."""
        return self._put(key, str(value))

    def get_integer(self, key: str, default_value: D) -> int | D:
        """Return the value as an integer."""
        return self._read(key, _read_integer, default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set an integer."""
        return self._put(key, _converted(key, _read_integer, value))

    def get_boolean(self, key: str, default_value: D) -> bool | D:
        """Return the value as a boolean."""
        return self._read(key, _read_boolean, default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a boolean."""
        return self._put(key, _converted(key, _read_boolean, value))

    def get_float(self, key: str, default_value: D) -> float | D:
        """Return the value as a floating-point number."""
        return self._read(key, _read_float, default_value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a floating-point number."""
        return self._put(key, _converted(key, _read_float, value))

    def get_bytearray(self, key: str, default_value: D) -> bytearray | D:
        """Return the value as bytes."""
        return self._read(key, _read_bytes, default_value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set bytes."""
        return self._put(key, _converted(key, _read_bytes, value))

    def get_duration(self, key: str, default_value: D) -> Duration | D:
        """Return the value as a length of time, written `500 ms`, `10 s`, `2 min`; a number is milliseconds."""
        return self._read(key, _read_duration, default_value)

    def key_set(self) -> AbstractSet[str]:
        """Return all keys that are set."""
        return frozenset(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Copy all settings into a dict."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Copy all settings of another configuration, with a prefix before each key if given."""
        for key, value in other._values.items():
            self._put((prefix or "") + key, value)
        return self

    def contains_key(self, key: str) -> bool:
        """Return whether the key is set."""
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """Return all settings as text."""
        return {key: _read_string(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Forget a key; return whether it was set."""
        return self._values.pop(key, self) is not self

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """Return the items of a list written `a;b;c`, `[a, 'b', c]`, or a line each (`- a`); None has none."""
        text = "" if value is None else value.strip()
        if text.startswith("- "):
            return [line.strip().removeprefix("- ").strip().strip("'\"") for line in text.splitlines() if line.strip()]
        if not (text.startswith("[") and text.endswith("]")):
            return [item.strip() for item in text.split(";") if item.strip()]
        try:
            return [str(item) for item in ast.literal_eval(text)]
        except (ValueError, SyntaxError):
            return [item.strip().strip("'\"") for item in text[1:-1].split(",") if item.strip()]

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Configuration) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.to_dict().items())))

    def __str__(self) -> str:
        return "{" + ", ".join([f"{key}={value}" for key, value in self.to_dict().items()]) + "}"

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"

    def _put(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"a configuration key is a non-empty string, got {key!r}")
        if value is None:
            raise ConfigurationError(f"{key} was set to None: leave it out, or remove it with remove_config")
        self._values[key] = value
        return self

    def _read(self, key: str, read: Callable[[Any], T], default_value: D) -> T | D:
        if key not in self._values:
            return default_value
        return _converted(key, read, self._values[key])


def _converted(key: str, read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{key}: {error}") from None


def _read_string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ";".join(map(_read_string, value))
    return str(value)


def _read_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(f"expected a whole number, got {value!r}")
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"expected a whole number, got {value!r}") from None


def _read_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"expected a number, got {value!r}")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"expected a number, got {value!r}") from None


def _read_boolean(value: Any) -> bool:
    found = value if isinstance(value, bool) else _BOOLEAN_TEXTS.get(str(value).strip().lower())
    if found is None:
        raise ValueError(f"expected true or false, got {value!r}")
    return bool(found)


def _read_bytes(value: Any) -> bytearray:
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"expected bytes, got {value!r}")
    return bytearray(value)


def _read_duration(value: Any) -> Duration:
    return value if isinstance(value, Duration) else Duration.parse(str(value))


_READERS: dict[type, Callable[[Any], Any]] = {
    bool: _read_boolean,
    int: _read_integer,
    float: _read_float,
    str: _read_string,
}
