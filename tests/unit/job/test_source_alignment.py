"""The driver's part of watermark alignment: what it knows from seals, and what tasks of continuous mode tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.checkpoint import Seal
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.given_sources import with_sources_on_engine
from penstock.graph import compile_plan
from penstock.job.admission import admit
from penstock.job.plan_sources import source_operator
from penstock.job.source_alignment import SourceAlignment
from penstock.job.statistics import JobStatistics
from tests.unit.datastream.test_watermark_alignment import FAST, SLOW, aligned, environment, partitions, source


def alignment(drift_ms: int | None = 10) -> tuple[SourceAlignment, JobStatistics]:
    env = environment()
    for name in (SLOW, FAST):
        source(env, partitions(ends=False, a=5), name, aligned(1, drift_ms)).print()
    env.set_parallelism(2)
    plan = compile_plan(env._planned_graph(), env._settings("x"))
    statistics = JobStatistics(plan)
    return SourceAlignment(plan, statistics), statistics


def test_the_slowest_of_all_tasks_counts() -> None:
    found, statistics = alignment()
    found.begin(Seal())
    assert found.highest() == {}
    assert found.take(0, {SLOW: {"a": (100, False)}, FAST: {"x": (500, False)}}) == {SLOW: 110, FAST: 110}
    assert found.take(1, {SLOW: {"b": (40, False)}, FAST: {}}) == {SLOW: 50, FAST: 50}
    assert statistics.metrics()[FAST]["watermarkAlignmentDrift"] == 460
    assert statistics.metrics()[SLOW]["paused_splits"] == 1
    assert found.take(1, {}) == {SLOW: 110, FAST: 110}, "the slowest has ended"
    assert found.update_interval_ms == 1_000


def test_jobs_without_alignment_have_nothing_of_it() -> None:
    found, statistics = alignment(None)
    assert not found
    assert (found.paused(Seal()), found.update_interval_ms) == ({}, None)
    assert statistics.totals == {}


@pytest.mark.parametrize("is_aligned", [False, True])
def test_files_that_are_aligned_are_read_by_penstock(tmp_path: Path, is_aligned: bool) -> None:
    (tmp_path / "f").write_text("1\n")
    env = environment()
    strategy = aligned(1, 10 if is_aligned else None)
    env.from_source(FileSource.text(str(tmp_path)), strategy, "files").print()
    graph = with_sources_on_engine(env._planned_graph(), has_spark=True, is_continuous=False)
    plan = compile_plan(graph, env._settings("x"))
    admit(plan, "STREAMING")
    assert plan.sources()[0].is_ephemeral != is_aligned
    assert source_operator(plan.sources()[0]).strategy is strategy
