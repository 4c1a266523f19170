"""Sources read by Penstock's tasks: any cut of the positions gives the same records."""

from __future__ import annotations

import itertools
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.numbered import DataGenerator, RecordRandom
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.source import SplitSource
from penstock.datastream.connectors.data_gen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.errors import ConfigurationError


def drawn(number: int, rng: random.Random) -> tuple[int, float, int, str]:
    return number, rng.gauss(0, 1), rng.randrange(10**30), rng.choice("abc")


SOURCES = {
    "collection": lambda n: CollectionSource([f"v{i}" for i in range(n)], list(range(n))),
    "sequence": lambda n: NumberSequence(-3, n - 3),
    "generator": lambda n: DataGenerator(lambda i: i * 2, n),
    "random generator": lambda n: DataGenerator(drawn, n, seed=7),
}


def read_range(source: SplitSource, split: int, split_count: int, start: int, stop: int) -> list:
    records = []
    for values, timestamps in source.read(split, split_count, start, stop):
        assert timestamps is None or len(timestamps) == len(values)
        records += zip(values, timestamps or [None] * len(values), strict=True)
    return records


def read_all(source: SplitSource, parallelism: int) -> list[list]:
    count = source.split_count(parallelism)
    return [read_range(source, split, count, 0, source.split_end(split, count)) for split in range(count)]


@pytest.mark.parametrize("kind", SOURCES)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), count=st.integers(0, 60), parallelism=st.integers(1, 7))
def test_any_cut_gives_the_same_records(kind, data, count, parallelism):
    source = SOURCES[kind](count)
    splits = source.split_count(parallelism)
    for split, whole in enumerate(read_all(source, parallelism)):
        cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=5).map(sorted))
        bounds = itertools.pairwise([0, *cuts, len(whole)])
        pieces = [read_range(source, split, splits, low, high) for low, high in bounds]
        assert list(itertools.chain.from_iterable(pieces)) == whole


@pytest.mark.parametrize("kind", SOURCES)
@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 60), parallelism=st.integers(1, 7))
def test_the_number_of_splits_does_not_change_the_records(kind, count, parallelism):
    source = SOURCES[kind](count)
    [whole] = read_all(source, 1)
    assert sorted(itertools.chain.from_iterable(read_all(source, parallelism))) == sorted(whole)


def test_chunks_are_bounded():
    chunks = [len(values) for values, _ in DataGenerator(lambda n: n, None).read(0, 1, 3, 30_003)]
    assert sum(chunks) == 30_000 and max(chunks) <= 10_000


def test_sequence_splits_are_contiguous_even_and_never_empty():
    assert [[v for v, _ in split] for split in read_all(NumberSequenceSource(1, 10), 4)] == [
        [1, 2],
        [3, 4, 5],
        [6, 7],
        [8, 9, 10],
    ]
    assert NumberSequence(5, 6).split_count(8) == 2


def test_generator_interleaves_its_splits():
    assert [[v for v, _ in split] for split in read_all(DataGenerator(lambda n: n, 8), 3)] == [
        [0, 3, 6],
        [1, 4, 7],
        [2, 5],
    ]


def test_generator_draws_depend_on_seed_and_number_only():
    values = dict((v[0], v) for v, _ in read_range(DataGenerator(drawn, None, seed=1), 0, 1, 0, 100))
    alone = read_range(DataGenerator(drawn, None, seed=1), 2, 5, 8, 9)[0][0]
    assert alone == values[42]
    assert read_range(DataGenerator(drawn, None, seed=2), 0, 1, 42, 43)[0][0] != values[42]


def test_record_random_is_spread_evenly():
    draws = [RecordRandom(3).move_to(n).random() for n in range(4000)]
    counts = [sum(low <= draw * 8 < low + 1 for draw in draws) for low in range(8)]
    assert min(counts) > 400 and max(counts) < 600
    assert RecordRandom(0).getrandbits(0) == 0 and RecordRandom(0).getrandbits(300).bit_length() > 250


def released(
    source: DataGenerator, splits: int, positions: list[int], elapsed_ms: int, limit: int = 10**9
) -> list[int]:
    return [source.available(i, splits, positions[i], elapsed_ms, limit) for i in range(splits)]


def test_rate_holds_for_all_splits_together():
    source = DataGenerator(lambda n: n, None, records_per_second=10)
    assert released(source, 3, [0, 0, 0], 0) == [0, 0, 0]
    assert sum(released(source, 3, [0, 0, 0], 1000)) == 10
    assert sum(released(source, 3, [4, 3, 3], 2500)) == 25
    assert released(source, 3, [4, 3, 3], 2500, limit=1) == [5, 4, 4]


def test_rate_starts_anew_where_a_restarted_job_stands():
    source = DataGenerator(lambda n: n, None, records_per_second=10)
    released(source, 1, [0], 0)
    assert released(source, 1, [0], 60_000) == [600]
    assert released(source, 1, [550], 0) == [550]
    assert released(source, 1, [550], 1000) == [560]
    restored = pickle.loads(pickle.dumps(NamedGenerator()))
    assert released(restored, 1, [1_000_000], 5) == [1_000_000]
    assert released(restored, 1, [1_000_000], 1005) == [1_000_010]


class NamedGenerator(DataGenerator):
    def __init__(self):
        super().__init__(abs, None, records_per_second=10)
        self.available(0, 1, 0, 0, 10)


def test_pickled_bytes_do_not_depend_on_the_progress_of_the_rate():
    source = NamedGenerator()
    before = pickle.dumps(source)
    released(source, 1, [0], 5000)
    assert pickle.dumps(source) == before


def test_rate_never_passes_the_end_and_no_rate_waits_for_nothing():
    assert released(DataGenerator(lambda n: n, 5, records_per_second=1e6), 2, [0, 0], 0) == [0, 0]
    limited = DataGenerator(lambda n: n, 5, records_per_second=1e6)
    released(limited, 2, [0, 0], 0)
    assert released(limited, 2, [0, 0], 10_000) == [3, 2]
    assert released(DataGenerator(lambda n: n, None), 1, [3], 0, limit=50) == [53]


class Doubling(GeneratorFunction):
    def map(self, value):
        return value * 2


def test_java_names():
    source = DataGeneratorSource(Doubling(), 3, RateLimiterStrategy.per_second(100))
    assert [v for v, _ in read_range(source, 0, 1, 0, 3)] == [0, 2, 4]
    assert source.records_per_second == 100 and source.is_bounded() and not source.is_single()
    assert DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.no_op()).records_per_second is None


def test_collection_copies_its_list_and_is_single():
    values = [1, 2]
    source = CollectionSource(values)
    values.append(3)
    assert source.split_end(0, 1) == 2 and source.is_single() and source.split_count(8) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CollectionSource([1], [1, 2]), "as many timestamps"),
        (lambda: NumberSequence(2, 1), "must not start"),
        (lambda: NumberSequence(0, 1.5), "must be an int"),
        (lambda: DataGenerator(5, 1), "needs a function"),
        (lambda: DataGenerator(abs, -1), "must not be negative"),
        (lambda: DataGenerator(abs, 1, 0), "above 0"),
        (lambda: DataGenerator(abs, 1, float("nan")), "above 0"),
        (lambda: DataGeneratorSource(abs, 1, 5), "RateLimiterStrategy"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()
