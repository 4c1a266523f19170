"""Several streams of one job collected at once: a job costs seconds, so tests share one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.datastream import DataStream


class _Label:
    """Marks the elements of a stream with its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, value: Any) -> tuple[str, Any]:
        return self._name, value


def collect_all(streams: dict[str, DataStream]) -> dict[str, list[Any]]:
    """Run the job of all streams (two or more) and return the elements of each by name, in order of arrival."""
    labelled = [stream.map(_Label(name)) for name, stream in streams.items()]
    collected: dict[str, list[Any]] = defaultdict(list)
    for name, value in labelled[0].union(*labelled[1:]).execute_and_collect():
        collected[name].append(value)
    return collected
