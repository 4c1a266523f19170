"""The kinds of values that settings have: how a text or object becomes one, and how a default is shown.

A conversion raises ValueError with the rest of a sentence that begins with the key and its value: "it must be ...".
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.common.time import Duration
from penstock.keys.groups import MAX_PARALLELISM_LIMIT

_STATE_BACKENDS = {"hashmap": "heap", "rocksdb": "rocksdb", "lmdb": "lmdb", "heap": "heap", "memory": "heap"}
_MEMORY_SIZE = re.compile(r"\s*(\d+)\s*(|b|bytes|[kmgt]i?b?|kibibytes|mebibytes|gibibytes|tebibytes)\s*", re.IGNORECASE)
_RESTART_STRATEGIES = ("none", "off", "disable", "fixed-delay", "failure-rate", "exponential-delay")
_LOG_FORMATS = ("text", "json")
_LAST_PORT = 65535
_TIME_UNITS = ((3_600_000, "h"), (60_000, "min"), (1_000, "s"))


@dataclass(frozen=True)
class Kind:
    """A kind of value: its name for readers, how it is converted, how a converted one is shown."""

    name: str
    convert: Callable[[Any], Any]
    show: Callable[[Any], str] = str


def whole_number(value: Any) -> int:
    """Convert to a whole number."""
    try:
        if isinstance(value, (bool, float)):
            raise ValueError
        return int(value)
    except (ValueError, TypeError):
        raise ValueError("it must be a whole number") from None


def positive(value: Any) -> int:
    """Convert to a whole number of 1 or more."""
    number = whole_number(value)
    if number < 1:
        raise ValueError("it must be 1 or more")
    return number


def max_parallelism(value: Any) -> int:
    """Convert to a number of key groups."""
    number = whole_number(value)
    if not 1 <= number <= MAX_PARALLELISM_LIMIT:
        raise ValueError(f"it must be from 1 to {MAX_PARALLELISM_LIMIT}")
    return number


def port(value: Any) -> int:
    """Convert to a port to listen on; 0 is any that is free."""
    number = whole_number(value)
    if not 0 <= number <= _LAST_PORT:
        raise ValueError(f"it must be from 0 to {_LAST_PORT}")
    return number


def ports(value: Any) -> range:
    """Convert a port, or a range of ports with both ends."""
    first, dash, last = str(value).strip().partition("-")
    try:
        found = range(int(first), int(last if dash else first) + 1)
    except ValueError:
        found = range(0)
    if not found or found[0] < 1 or found[-1] > _LAST_PORT:
        raise ValueError(f"it must be a port from 1 to {_LAST_PORT}, or a range of ports such as 9249-9260")
    return found


def log_format(value: Any) -> str:
    """Convert to one of the formats of log lines."""
    text = str(value).strip().lower()
    if text not in _LOG_FORMATS:
        raise ValueError(f"it must be one of {', '.join(_LOG_FORMATS)}")
    return text


def boolean(value: Any) -> bool:
    """Convert true/false in any case."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text == "true"


def non_empty(value: Any) -> str:
    """Convert to text that is not blank."""
    text = str(value).strip()
    if not text:
        raise ValueError("it must not be empty")
    return text


def duration_ms(value: Any) -> int:
    """Convert Flink's duration texts ("10 s", "1min", "500 ms"; a bare number is milliseconds)."""
    duration = value if isinstance(value, Duration) else Duration.parse(str(value))
    if duration.to_millis() < 0:
        raise ValueError("it must not be negative")
    return duration.to_millis()


def timeout_ms(value: Any) -> int:
    """Convert a duration, or -1 for none."""
    return -1 if str(value).strip() == "-1" else duration_ms(value)


def positive_duration_ms(value: Any) -> int:
    """Convert a duration of at least a millisecond."""
    duration = duration_ms(value)
    if duration < 1:
        raise ValueError("it must be longer than 0 ms")
    return duration


def memory_size(value: Any) -> int:
    """Convert Flink's sizes ("512 kb", "64mb", "1 gb"; a bare number is bytes); units are powers of 1024."""
    match = _MEMORY_SIZE.fullmatch(str(value))
    size = (
        int(match.group(1)) * 1024 ** " kmgt".find(match.group(2)[:1].lower().replace("b", "") or " ") if match else 0
    )
    if size < 1:
        raise ValueError('it must be a size of at least a byte, such as "512 kb" or "64 mb"')
    return size


def not_negative(value: Any) -> int:
    """Convert to a whole number of 0 or more."""
    number = whole_number(value)
    if number < 0:
        raise ValueError("it must be 0 or more")
    return number


def engine(value: Any) -> str:
    """Convert to the name of an engine: Spark, or this process for tests."""
    name = str(value).strip().lower()
    if name not in ("spark", "in-process"):
        raise ValueError("it must be spark or in-process")
    return name


def two_phase_mode(value: Any) -> str:
    """Convert to auto, on or off."""
    text = str(value).strip().lower()
    mode = {"true": "on", "false": "off"}.get(text, text)  # what YAML makes of a bare on or off
    if mode not in ("auto", "on", "off"):
        raise ValueError("it must be one of auto, on, off")
    return mode


_BACKEND_FACTORIES = {
    "EmbeddedRocksDBStateBackendFactory": "rocksdb",
    "RocksDBStateBackendFactory": "rocksdb",
    "HashMapStateBackendFactory": "hashmap",
}


def state_backend(value: Any) -> str:
    """Convert Flink's and Penstock's backend names to "lmdb", "rocksdb" or "heap"."""
    name = str(value).strip()
    # Flink also takes the class of a factory, such as org.apache.flink...EmbeddedRocksDBStateBackendFactory.
    name = _BACKEND_FACTORIES.get(name.rpartition(".")[2], name)
    backend = _STATE_BACKENDS.get(name.lower())
    if backend is None:
        raise ValueError(f"it must be one of {', '.join(_STATE_BACKENDS)}")
    # The package is optional, and its lack would otherwise show in the first task.
    if backend == "rocksdb" and importlib.util.find_spec("rocksdict") is None:
        raise ValueError("that needs the package rocksdict: pip install 'penstock[rocksdb]'")
    return backend


def restart_strategy(value: Any) -> str:
    """Convert to the name of a restart strategy."""
    kind = str(value).strip().lower()
    if kind not in _RESTART_STRATEGIES:
        raise ValueError(f"it must be one of {', '.join(_RESTART_STRATEGIES)}")
    return kind


def comma_separated(value: Any) -> tuple[str, ...]:
    """Split a text (or take a list) of items; Flink writes lists with commas or semicolons."""
    items = value if isinstance(value, (list, tuple)) else re.split("[,;]", str(value))
    return tuple(text for text in (str(item).strip() for item in items) if text)


def first_of_list(value: Any) -> str:
    """Take the first of a list of items, which must have one."""
    return non_empty(next(iter(comma_separated(value)), ""))


def key_value_pairs(value: Any) -> dict[str, str]:
    """Convert Flink's "key:value,key:value" texts, or take a mapping."""
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    pairs = [item.partition(":") for item in comma_separated(value)]
    if not all(separator for _, separator, _ in pairs):
        raise ValueError('it must look like "key:value,key:value"')
    return {key.strip(): item.strip() for key, _, item in pairs}


def one_of(*choices: str) -> Kind:
    """Return the kind of names of which there are these, whatever the case they are written in."""
    by_capitals = {choice.upper(): choice for choice in choices}

    def convert(value: Any) -> str:
        found = by_capitals.get(str(value).strip().upper())
        if found is None:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return found

    return Kind(", ".join(choices), convert)


def _shown_number(value: float) -> str:
    return f"{value:,}"


def _shown_boolean(value: bool) -> str:
    return str(value).lower()


def _shown_duration(millis: int) -> str:
    for length, unit in _TIME_UNITS:
        if millis and millis % length == 0:
            return f"{millis // length} {unit}"
    return f"{millis} ms"


def _shown_size(size: int) -> str:
    return f"{size // 1024**2} mb"


TEXT = Kind("text", str)
PATH = Kind("path or URI", non_empty)
FIRST_PATH = Kind("path", first_of_list)
NAME = Kind("text", non_empty)
BOOLEAN = Kind("true, false", boolean, _shown_boolean)
WHOLE = Kind("whole number", whole_number, _shown_number)
POSITIVE = Kind("whole number from 1", positive, _shown_number)
NOT_NEGATIVE = Kind("whole number from 0", not_negative, _shown_number)
PORT = Kind("whole number from 0 to 65,535", port, _shown_number)
NUMBER = Kind("number", float, _shown_number)
KEY_GROUPS = Kind(f"whole number from 1 to {MAX_PARALLELISM_LIMIT:,}", max_parallelism, _shown_number)
DURATION = Kind("duration", duration_ms, _shown_duration)
TIMEOUT = Kind("duration, or -1", timeout_ms, _shown_duration)
POSITIVE_DURATION = Kind("duration above 0", positive_duration_ms, _shown_duration)
MEMORY = Kind("size", memory_size, _shown_size)
ENGINE_NAME = Kind("spark, in-process", engine)
PORTS = Kind("port, or range as 9249-9260", ports)
LOG_FORMAT = Kind(", ".join(_LOG_FORMATS), log_format)
TWO_PHASE_MODE = Kind("auto, on, off", two_phase_mode)
RESTARTS = Kind(", ".join(_RESTART_STRATEGIES), restart_strategy)
BACKEND = Kind(", ".join(_STATE_BACKENDS), state_backend)
LIST = Kind("list with commas", comma_separated)
PAIRS = Kind("key:value,key:value", key_value_pairs)
