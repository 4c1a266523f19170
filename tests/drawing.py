"""Tests of which a run draws a part: `@pytest.mark.drawn(3)` is one in three.

For cases that share a mechanism, so that one of them would show a break in it, and that take minutes all together.
`make test` and CI draw (`pytest --draw`), and the seed of the run says which; `make kill` runs them all. Which files
`make test` runs at all is another question: `tests/chosen.py`.

Tests that are alike form a group, of which at least one is drawn: the cases of one test, or, if their ids end with
numbers, those whose text before it is the same (`joins-3` is of the group `joins`), or all tests that name a group:
`@pytest.mark.drawn(3, group="deaths")`.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict

import pytest

_NUMBER = re.compile(r"-\d+\]$")
_CASE = re.compile(r"\[.*\]$", re.DOTALL)


def left_out(items: list[pytest.Item], seed: int) -> set[str]:
    """The ids of the tests that are not drawn, of those that are marked."""
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("drawn")
        if mark is not None:
            (one_in,) = mark.args
            groups[mark.kwargs.get("group") or _group_of(item.nodeid)].append((item.nodeid, one_in))
    return {each for group, members in groups.items() for each in _others(members, random.Random(f"{seed} {group}"))}


def _group_of(case: str) -> str:
    by_number = _NUMBER.sub("]", case)
    return by_number if by_number != case else _CASE.sub("", case)


def _others(members: list[tuple[str, int]], chance: random.Random) -> list[str]:
    names = sorted(name for name, _ in members)  # whatever order they were found in
    count = math.ceil(len(names) / max(one_in for _, one_in in members))
    return sorted(set(names) - set(chance.sample(names, count)))
