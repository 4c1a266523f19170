"""map_with_state, flat_map_with_state and filter_with_state."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import KeyedStream, StreamExecutionEnvironment
from penstock.errors import GraphError, JobFailedError

WORDS = ["a1", "b5", "a2", "a0", "a3", "b1"]


@pytest.fixture(params=[None, 7])
def words(request: pytest.FixtureRequest) -> KeyedStream:
    """By their first letter; with a seed, in random batches on state that is read again."""
    env = StreamExecutionEnvironment.in_process(request.param, crash_rate=0.0 if request.param is None else 0.1)
    return env.set_parallelism(1).from_collection(WORDS).key_by(lambda word: word[0])


def running_sum(word: str, total: int | None) -> tuple[str, int | None]:
    number = int(word[1:])
    if number == 0:
        return f"{word[0]} begins anew", None
    total = (total or 0) + number
    return f"{word[0]}={total}", total


def test_a_result_for_each_element_and_none_clears_the_state(words: KeyedStream) -> None:
    summed = words.map_with_state(running_sum, Types.INT(), Types.STRING())
    assert summed.get_type() == Types.STRING()
    assert sorted(summed.execute_and_collect()) == sorted(["a=1", "b=5", "a=3", "a begins anew", "a=3", "b=6"])


def test_only_what_is_new_passes(words: KeyedStream) -> None:
    def grows(word: str, highest: int | None) -> tuple[bool, int]:
        number = int(word[1:])
        return highest is None or number > highest, max(number, highest or 0)

    assert sorted(words.filter_with_state(grows, Types.INT()).execute_and_collect()) == ["a1", "a2", "a3", "b5"]


def test_any_number_of_results(words: KeyedStream) -> None:
    def pairs(word: str, before: str | None) -> tuple[list[str], str]:
        return [] if before is None else [before + word], word

    expected = ["a0a3", "a1a2", "a2a0", "b5b1"]
    assert sorted(words.flat_map_with_state(pairs, Types.STRING()).execute_and_collect()) == expected


def test_a_generator_returns_the_new_state(words: KeyedStream) -> None:
    def pairs(word: str, before: str | None) -> Generator[str, None, str | None]:
        if before is not None:
            yield before
            yield word
            return None
        return word

    assert sorted(words.flat_map_with_state(pairs, Types.STRING()).execute_and_collect()) == sorted(
        ["a1", "a2", "a0", "a3", "b5", "b1"]
    )


@dataclass
class Seen:
    count: int = 0


def test_a_state_may_be_of_a_type(words: KeyedStream) -> None:
    def number(word: str, seen: Seen | None) -> tuple[Any, Seen]:
        seen = Seen((seen.count if seen else 0) + 1)
        return (word, seen.count), seen

    numbered = dict(words.map_with_state(number, Seen).execute_and_collect())
    assert numbered == {"a1": 1, "b5": 1, "a2": 2, "a0": 3, "a3": 4, "b1": 2}


@pytest.mark.parametrize("method", ["map_with_state", "flat_map_with_state", "filter_with_state"])
def test_what_is_no_pair_is_refused(words: KeyedStream, method: str) -> None:
    built = getattr(words, method)(lambda word, state: word + "!!", Types.INT())
    with pytest.raises(JobFailedError, match=rf"(?s){method}: the function must return a pair.*it returned 'a1!!'"):
        list(built.execute_and_collect())


def test_mistakes_are_refused_when_they_are_made(words: KeyedStream) -> None:
    with pytest.raises(GraphError, match="map_with_state: expected a function of element and state, got 3"):
        words.map_with_state(3)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="flat_map_with_state"):
        words.flat_map_with_state(lambda word, state: ([], None), Types.INT(), output_type=3)  # type: ignore[arg-type]
