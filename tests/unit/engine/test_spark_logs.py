"""Spark's logs in a checkpoint directory: read as Spark writes them, and written as Spark reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.log_repair import SparkLogs
from penstock.engine.spark.spark_logs import commit_beginning, forget_all, read_offsets, write_beginning
from penstock.errors import CheckpointError


def test_offsets_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "7").write_text('v1\n{"conf":{}}\n{"tick": 1}\n-\n{"logOffset":0}')
    assert read_offsets(directory, 7) == ['{"tick": 1}', None, '{"logOffset":0}']


@pytest.mark.parametrize("text", ["", "v1", "v2\n{}\n{}", None])
def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "spark" / "offsets").mkdir(parents=True)
        (tmp_path / "spark" / "offsets" / "0").write_text(text)
    with pytest.raises(CheckpointError, match="Spark's log of positions"):
        read_offsets(CheckpointDirectory(str(tmp_path)), 0)


def test_a_beginning_looks_like_a_batch_that_is_done(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    directory.adopt("job", {"vertices": []})
    write_beginning(directory, ["{}", None, '{"logOffset":3}'])
    directory.write_seal(Seal(0))
    commit_beginning(directory)
    directory.take_over(SparkLogs())  # logs and seals tell the same story
    assert read_offsets(directory, 0) == ["{}", None, '{"logOffset":3}']
    assert json.loads((tmp_path / "spark" / "metadata").read_text())["id"]
    assert (tmp_path / "spark" / "commits" / "0").read_text().startswith("v1\n")
    assert directory.source_log(2) == str(tmp_path / "spark" / "sources" / "2")
    forget_all(directory)
    forget_all(directory)
    assert not (tmp_path / "spark").exists()
