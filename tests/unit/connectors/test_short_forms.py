"""Short forms of the file sink in jobs without an end: files show with every checkpoint, not a minute later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common.serialization import Encoder
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink
from penstock.testing import Cut, ScriptedSource
from tests.unit.connectors.file_sink_job import published

SHORT = [FileSink.text, FileSink.json, FileSink.csv, FileSink.parquet]


def started(sink: FileSink, *, ends: bool) -> Any:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    script = ["a", Cut(), "b", Cut(), "c"]
    environment.from_source(ScriptedSource(script, ends=ends), None, "scripted").sink_to(sink)
    return environment.execute_async()


def shown_after_each_batch(base: Path, sink: FileSink, *, ends: bool) -> list[int]:
    client = started(sink, ends=ends)
    counts = []
    for _ in range(3):
        client.run_batch()
        counts.append(len(published(base)) if base.exists() else 0)
    client.cancel() if not ends else client.wait()
    return counts


@pytest.mark.parametrize("short", SHORT)
def test_files_show_after_each_checkpoint_of_a_job_without_an_end(tmp_path: Path, short: Any) -> None:
    base = tmp_path / "out"
    assert shown_after_each_batch(base, short(base), ends=False) == [1, 2, 3]


def test_a_job_that_ends_makes_few_large_files(tmp_path: Path) -> None:
    base = tmp_path / "out"
    assert shown_after_each_batch(base, FileSink.text(base), ends=True) == [0, 0, 1]


def test_builders_keep_flinks_policies(tmp_path: Path) -> None:
    base = tmp_path / "out"
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    assert shown_after_each_batch(base, sink, ends=False) == [0, 0, 0]
