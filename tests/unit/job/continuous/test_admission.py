"""Which jobs are not for continuous mode, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.connectors.frame_source import FrameSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.source import Source
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.given_sources import with_sources_on_engine
from penstock.graph import compile_plan
from penstock.job.continuous.admission import continuous_refusal


def refusal(source: Source, parallelism: int = 2, *, is_batch_mode: bool = False) -> str | None:
    """Why a job with a source cannot run on Spark in continuous mode."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records").set_parallelism(parallelism)
    records.key_by(lambda record: record).map(lambda record: record).print()
    graph = with_sources_on_engine(env.graph, has_spark=True, is_continuous=True)
    return continuous_refusal(compile_plan(graph, env._settings(None)), is_batch_mode=is_batch_mode)


def test_sources_that_penstock_reads_are_taken() -> None:
    assert refusal(NumberSequence(1, 3)) is None


@pytest.mark.parametrize("watching", [{}, {"monitor_interval": Duration.of_seconds(1)}], ids=["once", "watched"])
def test_penstock_reads_files(tmp_path: Path, watching: Any) -> None:
    (tmp_path / "a").write_text("a\n")
    assert refusal(FileSource.text(tmp_path, **watching)) is None


def test_frames_are_refused() -> None:
    assert refusal(FrameSource(lambda session: None)) == "Spark reads source 'Source: records' batch by batch"


def test_sources_one_after_the_other_have_one_reader() -> None:
    source = HybridSource.builder(NumberSequence(1, 3)).add_source(NumberSequence(4, 6)).build()
    assert refusal(source, parallelism=1) is None
    said = refusal(source, parallelism=2)
    assert said is not None and said.startswith("the subtasks of source 'Source: records' cannot tell each other")
    assert said.endswith("set its parallelism to 1")


def test_batch_mode_is_refused() -> None:
    said = refusal(NumberSequence(1, 3), is_batch_mode=True)
    assert said is not None and "runtime mode is BATCH" in said
