"""Typed configuration keys."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")


class ConfigOption(Generic[T]):
    """A key with the type of its value and a default (None if it has none)."""

    def __init__(self, key: str, value_type: type[T], default: T | None = None) -> None:
        self.key = key
        self.value_type = value_type
        self.default = default

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigOption):
            return NotImplemented
        return (self.key, self.value_type, self.default) == (other.key, other.value_type, other.default)

    def __hash__(self) -> int:
        return hash((ConfigOption, self.key))

    def __repr__(self) -> str:
        return f"ConfigOption({self.key!r}, {self.value_type.__name__}, default={self.default!r})"


class ConfigOptions:
    """Makes options: `ConfigOptions.key("my.key").int_type().default_value(3)`."""

    def __init__(self, key: str) -> None:
        self._key = key

    class OptionBuilder:
        """Chooses the type of an option."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Take a boolean."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take an integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take an integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Take a floating-point number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Take a floating-point number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Take text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Chooses the default of an option."""

        def __init__(self, key: str, value_type: type[T]) -> None:
            self._key = key
            self._value_type = value_type

        def default_value(self, value: Any) -> ConfigOption[T]:
            """Return the option with a default."""
            return ConfigOption(self._key, self._value_type, value)

        def no_default_value(self) -> ConfigOption[T]:
            """Return the option without a default."""
            return ConfigOption(self._key, self._value_type)

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Start an option with this key."""
        return ConfigOptions.OptionBuilder(key)
