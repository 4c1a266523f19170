"""A source of generated records: record n depends only on n, so any range can be generated again."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.own_copies import itself, own_copies
from penstock.common.sealed_functions import is_sealed
from penstock.common.type_variables import T_co
from penstock.connectors.source import Chunk, SplitSource
from penstock.errors import ConfigurationError

_CHUNK = 5_000
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TO_UNIT = 2.0**-53


def _mixed(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


class RecordRandom(random.Random):
    """Random numbers that can be set to any record for next to nothing.

    `random.Random` itself takes microseconds to seed, which would be most of the cost of a record; this is the
    SplitMix64 sequence, started at a point that depends on the seed and the record's number only.
    """

    def __init__(self, seed: int) -> None:
        """Start at record 0."""
        super().__init__(0)
        self._stream = _mixed((seed * _GOLDEN + 1) & _MASK)
        self._word = self._stream

    def move_to(self, number: int) -> RecordRandom:
        """Restart for record `number`."""
        self._word = _mixed((self._stream + number * _GOLDEN) & _MASK)
        self.gauss_next = None  # the second half of a pair drawn for another record
        return self

    def random(self) -> float:
        """Next number in [0, 1)."""
        self._word = word = (self._word + _GOLDEN) & _MASK
        return (_mixed(word) >> 11) * _TO_UNIT

    def getrandbits(self, k: int, /) -> int:
        """Next `k` random bits."""
        if 0 < k <= 64:  # what choice() and randint() ask for
            self._word = word = (self._word + _GOLDEN) & _MASK
            return _mixed(word) >> (64 - k)
        bits = 0
        for have in range(0, k, 64):
            self._word = (self._word + _GOLDEN) & _MASK
            bits |= _mixed(self._word) << have
        return bits & ((1 << k) - 1)


class DataGenerator(SplitSource[T_co]):
    """Records function(0), function(1), ...; with k splits, split i holds i, i + k, i + 2k, ...

    `function` takes the record's number, or the number and a `random.Random` that depends only on `seed` and that
    number. `count` None never ends. `records_per_second` is the rate of all splits together; None is unlimited.
    """

    def __init__(
        self,
        function: Callable[..., T_co],
        count: int | None,
        records_per_second: float | None = None,
        seed: int = 0,
    ) -> None:
        """Check the settings."""
        if not callable(function):
            raise ConfigurationError(f"A data generator needs a function of the record's number, got {function!r}.")
        if count is not None and count < 0:
            raise ConfigurationError(f"The count of a data generator must not be negative, got {count}.")
        if records_per_second is not None and not records_per_second > 0:
            raise ConfigurationError(f"records_per_second must be above 0, got {records_per_second}.")
        self.function = function
        self.count = count
        self.records_per_second = records_per_second
        self.seed = seed
        self.takes_random = _required_arguments(function) >= 2
        self._anchors: dict[int, tuple[int, int]] = {}
        self._elapsed_ms = 0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rate's memory: it belongs to this driver, and a plan's bytes must not change with time."""
        return {**self.__dict__, "_anchors": {}, "_elapsed_ms": 0}

    def is_bounded(self) -> bool:
        """Whether a count was given."""
        return self.count is not None

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def split_count(self, parallelism: int) -> int:
        """One split for each subtask."""
        return parallelism

    def split_end(self, split: int, split_count: int) -> int | None:
        """How many records fall to the split."""
        return None if self.count is None else _share(self.count, split, split_count)

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """Release records as the rate allows, counted from where the job (re)started."""
        upper = super().available(split, split_count, position, elapsed_ms, limit)
        if self.records_per_second is None:
            return upper
        if elapsed_ms < self._elapsed_ms:  # time began anew: the job was restarted, perhaps from an earlier position
            self._anchors.clear()
        self._elapsed_ms = elapsed_ms
        since_ms, since_position = self._anchors.setdefault(split, (elapsed_ms, position))
        released = int(self.records_per_second * (elapsed_ms - since_ms) / 1000)
        return max(position, min(upper, since_position + _share(released, split, split_count)))

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[Chunk]:
        """Make the records of the range."""
        function = self.function
        random_of = RecordRandom(self.seed).move_to
        # Copied where they can change, for the function may give one object for several numbers.
        own_all = itself if is_sealed(function) else own_copies
        for low in range(start, stop, _CHUNK):
            high = min(low + _CHUNK, stop)
            numbers = range(split + low * split_count, split + high * split_count, split_count)
            if self.takes_random:
                yield own_all([function(n, random_of(n)) for n in numbers]), None
            else:
                yield own_all([function(n) for n in numbers]), None


def _share(total: int, split: int, split_count: int) -> int:
    """How many of the numbers 0..total-1 leave the remainder `split` when divided by `split_count`."""
    return max(0, (total - split + split_count - 1) // split_count)


def _required_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-ins have no signature; they are given the number alone
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters)
