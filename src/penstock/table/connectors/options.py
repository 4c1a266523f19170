"""The options of a table, read with a clear word where one is missing, unknown or of the wrong kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from penstock.common.secret_references import resolved
from penstock.errors import SqlError

__all__ = ["Options"]

_UNITS = {"ms": 1, "s": 1000, "sec": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


_LOOKED_UP_LATER = frozenset({"url", "username", "password"})
_CLIENT_PROPERTIES = "properties."


class Options(Mapping[str, str]):
    """Options by key, of the table `name`."""

    def __init__(self, values: Mapping[str, str], name: str) -> None:
        """Keep them."""
        self._values = dict(values)
        self.name = name

    def __getitem__(self, key: str) -> str:
        """The value of a key that must be there."""
        if key not in self._values:
            raise SqlError(f"Table {self.name}: option '{key}' is missing; give it in WITH (...).")
        return self._used(key, self._values[key])

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """The value of a key, or the default."""
        return self._used(key, self._values[key]) if key in self._values else default

    def _used(self, key: str, value: str) -> str:
        """What a reference refers to, but where it stands for a secret: there whoever connects looks it up."""
        is_later = key in _LOOKED_UP_LATER or key.startswith(_CLIENT_PROPERTIES)
        return value if is_later else resolved(value, f"Table {self.name}, option {key!r}")

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._values)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        """Whether a key is there."""
        return key in self._values

    def check(self, known: Iterable[str], connector: str) -> None:
        """Refuse options that the connector does not know, by name, with those it knows."""
        known = sorted(known)
        prefixes = tuple(each for each in known if each.endswith("."))
        for key in self._values:
            if key not in known and not key.startswith(prefixes):
                near = get_close_matches(key, known, 1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                raise SqlError(
                    f"Table {self.name}: connector '{connector}' has no option '{key}'.{hint} Its options are: "
                    f"{', '.join(known)}."
                )

    def integer(self, key: str, default: int | None = None) -> int | None:
        """A whole number."""
        text = self.get(key)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            raise SqlError(f"Table {self.name}: option '{key}' must be a whole number, got '{text}'.") from None

    def boolean(self, key: str, default: bool = False) -> bool:
        """`true` or `false`."""
        text = (self.get(key) or str(default)).lower()
        if text not in ("true", "false"):
            raise SqlError(f"Table {self.name}: option '{key}' must be true or false, got '{text}'.")
        return text == "true"

    def choice(self, key: str, choices: Iterable[str], default: str) -> str:
        """One of some words."""
        text = self.get(key) or default
        if text not in choices:
            raise SqlError(f"Table {self.name}: option '{key}' must be one of {', '.join(choices)}, got '{text}'.")
        return text

    def millis(self, key: str, default: int | None = None) -> int | None:
        """A duration such as `10 s`, in milliseconds."""
        text = self.get(key)
        if text is None:
            return default
        digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
        unit = text.strip()[len(digits) :].strip().lower() or "ms"
        if not digits.isdigit() or unit not in _UNITS:
            raise SqlError(f"Table {self.name}: option '{key}' must be a duration such as '10 s', got '{text}'.")
        return int(digits) * _UNITS[unit]

    def under(self, prefix: str) -> dict[str, str]:
        """The options that begin with a prefix, without it."""
        return {key[len(prefix) :]: value for key, value in self._values.items() if key.startswith(prefix)}
