"""Barriers of several channels become one, and every row counts in the version that its own channel says."""

from __future__ import annotations

from collections import deque
from random import Random

from penstock.runtime import rows
from penstock.runtime.continuous.alignment import BarrierAligner, barrier
from penstock.runtime.rows import ExchangeRow


def data(channel: int, number: int) -> ExchangeRow:
    return ExchangeRow(0, 1, 0, channel, number, rows.DATA, b"")


def texts(released: list[ExchangeRow]) -> list[str]:
    return [f"|{rows.decode_number(r.payload)}" if r.kind == rows.BARRIER else f"{r.src}.{r.seq}" for r in released]


def test_rows_behind_a_barrier_wait_until_all_channels_have_passed_it() -> None:
    aligner = BarrierAligner(2, 5)
    taken = [
        *aligner.take(0, data(0, 1)),
        *aligner.take(0, barrier(0, 5)),
        *aligner.take(0, data(0, 2)),
        *aligner.take(1, data(1, 1)),
    ]
    assert texts(taken) == ["0.1", "1.1"]
    assert aligner.is_aligning
    assert aligner.held == 1
    assert texts(list(aligner.take(1, barrier(0, 5)))) == ["|5", "0.2"]
    assert (aligner.is_aligning, aligner.held, aligner.version) == (False, 0, 6)


def test_a_channel_may_be_several_versions_ahead() -> None:
    aligner = BarrierAligner(2, 0)
    ahead = [barrier(0, 0), data(0, 1), barrier(0, 1), data(0, 2)]
    assert [each for row in ahead for each in aligner.take(0, row)] == []
    assert texts(list(aligner.take(1, barrier(0, 0)))) == ["|0", "0.1"]
    assert texts(list(aligner.take(1, barrier(0, 1)))) == ["|1", "0.2"]


def test_in_any_interleaving_each_row_is_in_the_version_of_its_channel(seed: int) -> None:
    chance = Random(seed)
    for _ in range(200):
        channels, versions = chance.randint(1, 4), chance.randint(1, 4)
        streams = []
        for channel in range(channels):
            stream = deque[ExchangeRow]()
            for version in range(versions):
                stream.extend(data(channel, version) for _ in range(chance.randint(0, 3)))
                stream.append(barrier(0, version))
            streams.append(stream)
        sent = sorted((row.src, row.seq) for stream in streams for row in stream if row.kind == rows.DATA)
        aligner, version, seen = BarrierAligner(channels, 0), 0, []
        while any(streams):
            channel = chance.choice([number for number, stream in enumerate(streams) if stream])
            for row in aligner.take(channel, streams[channel].popleft()):
                if row.kind == rows.BARRIER:
                    version += 1
                else:
                    assert row.seq == version
                    seen.append((row.src, row.seq))
        assert version == versions
        assert sorted(seen) == sent
