"""Key groups: Flink's arithmetic, and a hash that never changes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.keys.codec import encode_key
from penstock.keys.groups import (
    MAX_PARALLELISM_LIMIT,
    check_parallelism,
    default_max_parallelism,
    group_range,
    key_group,
    subtask_of,
)


@pytest.mark.parametrize(
    ("parallelism", "expected"), [(1, 128), (85, 128), (86, 256), (128, 256), (20_000, 32768), (32768, 32768)]
)
def test_default_max_parallelism_is_flinks(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected


@given(st.integers(1, 300), st.data())
def test_ranges_partition_the_groups_as_subtask_of_says(max_parallelism: int, data: st.DataObject) -> None:
    parallelism = data.draw(st.integers(1, max_parallelism))
    owners = [subtask_of(group, parallelism, max_parallelism) for group in range(max_parallelism)]
    ranges = [group_range(subtask, parallelism, max_parallelism) for subtask in range(parallelism)]
    assert [subtask for subtask, groups in enumerate(ranges) for _ in groups] == owners
    assert [group for groups in ranges for group in groups] == list(range(max_parallelism))


def test_hash_is_the_same_in_every_release() -> None:
    keys = [0, 1, "a", "user-17", (1, "x"), None]
    assert [key_group(encode_key(key), 128) for key in keys] == [81, 83, 34, 82, 117, 20]


@pytest.mark.parametrize("make", [int, str, lambda n: f"user-{n:08d}", lambda n: (n % 10, n), lambda n: n * 1024])
def test_near_keys_spread(make: object) -> None:
    counts = Counter(key_group(encode_key(make(number)), 128) for number in range(12_800))  # type: ignore[operator]
    assert len(counts) == 128
    assert max(counts.values()) < 160
    assert min(counts.values()) > 55


@pytest.mark.parametrize(("parallelism", "limit"), [(0, 128), (129, 128), (1, 0), (1, MAX_PARALLELISM_LIMIT + 1)])
def test_impossible_parallelism_is_refused(parallelism: int, limit: int) -> None:
    with pytest.raises(ConfigurationError, match="set it between"):
        check_parallelism(parallelism, limit)
