"""Metrics that user functions register: plain numbers in a tree of groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]

M = TypeVar("M", bound="Metric")
V = TypeVar("V")


class Metric(ABC):
    """Something measured; `values` gives its numbers by suffix ("" for the metric's own name).

    `combined_by` says, by suffix, how numbers of several processes become one if not by adding: "min", "max" or "last".
    """

    combined_by: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def values(self) -> dict[str, float]:
        """Return the current numbers."""


class Counter(Metric):
    """A number that goes up and down."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take `n` away."""
        self._count -= n

    def get_count(self) -> int:
        """Return the number."""
        return self._count

    def values(self) -> dict[str, float]:
        """Return the number."""
        return {"": self._count}


class Meter(Metric):
    """Counts events; whoever reads it twice divides by the time between to get the rate."""

    def __init__(self, time_span_in_seconds: int = 60) -> None:
        self.time_span_in_seconds = time_span_in_seconds
        self._count = 0

    def mark_event(self, value: int = 1) -> None:
        """Count one event, or several."""
        self._count += value

    def get_count(self) -> int:
        """Return how many events there were."""
        return self._count

    def values(self) -> dict[str, float]:
        """Return how many events there were."""
        return {"": self._count}


class Distribution(Metric):
    """Count, sum, smallest and largest of the values seen."""

    combined_by: ClassVar[dict[str, str]] = {"min": "min", "max": "max"}

    def __init__(self) -> None:
        self._count = 0
        self._sum: float = 0
        self._min: float = 0
        self._max: float = 0

    def update(self, value: float) -> None:
        """See a value."""
        self._min = min(self._min, value) if self._count else value
        self._max = max(self._max, value) if self._count else value
        self._count += 1
        self._sum += value

    def values(self) -> dict[str, float]:
        """Return the four numbers; only the count if no value was seen."""
        if not self._count:
            return {"count": 0}
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max}


class Gauge(Metric):
    """A number that is asked for when it is needed."""

    combined_by: ClassVar[dict[str, str]] = {"": "last"}

    def __init__(self, function: Callable[[], float]) -> None:
        self._function = function

    def values(self) -> dict[str, float]:
        """Return the number; nothing if the function fails or gives something else."""
        try:
            value = self._function()
        except Exception:  # a broken gauge must not cost the job a batch
            return {}
        return {"": value} if isinstance(value, (int, float)) else {}


class MetricGroup:
    """A named place for metrics and further groups.

    >>> group = MetricGroup()
    >>> group.add_group("orders").counter("seen").inc(2)
    >>> group.values()
    {'orders.seen': 2}
    """

    def __init__(self, scope: tuple[str, ...] = (), variables: dict[str, str] | None = None) -> None:
        self._scope = scope
        self._variables = dict(variables or {})
        self._groups: dict[str, MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group of that name within this one; with `extra`, the group of a variable and its value."""
        if extra is None:
            return self._child(name, self._variables)
        variables = {**self._variables, f"<{name}>": extra}
        return self._child(name, self._variables)._child(extra, variables)

    def counter(self, name: str) -> Counter:
        """Return the counter of that name."""
        return self._metric(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], float]) -> None:
        """Register a function that gives a number; it replaces an older one of that name."""
        if not callable(obj):
            raise TypeError(f"gauge {name!r} expects a callable that gives a number, got {type(obj).__name__}")
        self._metrics.pop(self._metric_name(name, Gauge), None)
        self._metric(name, Gauge, lambda: Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of that name."""
        return self._metric(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of that name."""
        return self._metric(name, Distribution, Distribution)

    def get_scope_components(self) -> list[str]:
        """Return the names of the groups this one is in, outermost first, with its own."""
        return list(self._scope)

    def get_all_variables(self) -> dict[str, str]:
        """Return the variables of this group and those it is in."""
        return dict(self._variables)

    def get_metric_identifier(self, metric_name: str, delimiter: str = ".") -> str:
        """Return the full name of a metric of this group."""
        return delimiter.join([*self._scope, metric_name])

    def values(self) -> dict[str, float]:
        """Return the numbers of all metrics here and below, by full name."""
        return dict(self._collect(lambda metric: metric.values()))

    def combined_by(self) -> dict[str, str]:
        """Return, by full name, how numbers are to be combined that must not be added up; see `Metric`."""
        return dict(self._collect(lambda metric: metric.combined_by))

    def _collect(self, read: Callable[[Metric], dict[str, V]]) -> Iterator[tuple[str, V]]:
        for name, metric in self._metrics.items():
            identifier = self.get_metric_identifier(name)
            for suffix, value in read(metric).items():
                yield f"{identifier}.{suffix}" if suffix else identifier, value
        for group in self._groups.values():
            yield from group._collect(read)

    def _child(self, name: str, variables: dict[str, str]) -> MetricGroup:
        group = self._groups.get(_checked_name(name))
        if group is None:
            group = self._groups[name] = MetricGroup((*self._scope, name), variables)
        return group

    def _metric(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        found = self._metrics.setdefault(self._metric_name(name, kind), make())
        assert isinstance(found, kind)
        return found

    def _metric_name(self, name: str, kind: type[Metric]) -> str:
        found = self._metrics.get(_checked_name(name))
        if found is not None and not isinstance(found, kind):
            raise ValueError(
                f"metric {self.get_metric_identifier(name)!r} is a {type(found).__name__} already: "
                f"give the {kind.__name__} another name"
            )
        return name


def _checked_name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"a metric or group needs a non-empty string as its name, got {name!r}")
    return name
