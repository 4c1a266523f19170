"""Spark's logs that a power cut left empty or cut short: restored from the seals, or left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.log_repair import SparkLogs
from penstock.engine.spark.spark_logs import logged, read_offsets
from penstock.errors import CheckpointError
from penstock.runtime.source_tasks import Offset

SETTINGS = '{"batchWatermarkMs":0,"batchTimestampMs":7,"conf":{"a":"b"}}'
FRAMES: dict[str, list[str | None]] = {"files": ['{"logOffset":1}'], "rate": ["123", None]}


def offset(batch: int) -> Offset:
    return Offset(tick=batch, positions={"numbers": [batch * 10, 0]})


class Checkpoint:
    """Two batches that are done, sealed, logged and committed; a third perhaps only planned."""

    def __init__(self, path: Path, *, planned: bool = False) -> None:
        self.path = path
        self.directory = CheckpointDirectory(str(path))
        self.directory.adopt("job", {"vertices": []})
        self.directory.take_over()
        self.write("metadata", '{"id":"7"}')
        for batch in range(3 if planned else 2):
            lines = ["v1", SETTINGS, json.dumps(offset(batch).to_json()), '{"logOffset":1}', "123", "-"]
            self.write(f"offsets/{batch}", "\n".join(lines))
            if batch < 2:
                self.directory.write_seal(Seal(batch, offset=offset(batch), frames=FRAMES))
                self.write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def write(self, name: str, text: str) -> None:
        path = self.path / "spark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def text(self, name: str) -> str:
        return (self.path / "spark" / name).read_text()

    def resume(self) -> CheckpointDirectory:
        directory = CheckpointDirectory(str(self.path))
        directory.take_over(SparkLogs())
        return directory


WHOLE = "\n".join(["v1", SETTINGS, json.dumps(offset(1).to_json()), '{"logOffset":1}', "123", "-"])
CUTS = [0, 1, 2, 3, 20, len(SETTINGS) + 3, len(SETTINGS) + 4, len(SETTINGS) + 30, -1, -2, -3, -4, -12, -22]


@pytest.mark.parametrize("cut", CUTS)
def test_positions_of_a_sealed_batch_are_made_again_from_its_seal(tmp_path: Path, cut: int) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("offsets/1", WHOLE[:cut])
    checkpoint.write("offsets/.1.crc", "of the old content")
    directory = checkpoint.resume()
    own, *frames = read_offsets(directory, 1)
    assert json.loads(str(own)) == offset(1).to_json()
    assert frames == ['{"logOffset":1}', "123", None]
    assert json.loads(checkpoint.text("offsets/1").splitlines()[1]) == json.loads(SETTINGS)
    assert not (tmp_path / "spark" / "offsets" / ".1.crc").exists()


def test_the_very_first_positions_need_no_neighbour(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    for batch in (0, 1):
        checkpoint.write(f"offsets/{batch}", "")
    directory = checkpoint.resume()
    assert [json.loads(str(read_offsets(directory, batch)[0])) for batch in (0, 1)] == [
        offset(0).to_json(),
        offset(1).to_json(),
    ]


@pytest.mark.parametrize("text", ["", "v1", "v1\n{", "\x00\x00"])
def test_a_planned_batch_whose_positions_are_lost_is_planned_anew(tmp_path: Path, text: str) -> None:
    checkpoint = Checkpoint(tmp_path, planned=True)
    checkpoint.write("offsets/2", text)
    directory = checkpoint.resume()
    assert logged(directory, "offsets") == [0, 1]


@pytest.mark.parametrize("text", ["", "v1", "v1\n", 'v1\n{"next'])
def test_a_lost_commit_lets_the_batch_be_published_again(tmp_path: Path, text: str) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("commits/1", text)
    directory = checkpoint.resume()
    assert (logged(directory, "commits"), logged(directory, "offsets")) == ([0], [0, 1])
    assert not directory.is_done(1)


def test_positions_and_commit_may_both_be_lost(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    for name in ("offsets/1", "commits/1", "metadata"):
        checkpoint.write(name, "")
    directory = checkpoint.resume()
    assert json.loads(str(read_offsets(directory, 1)[0])) == offset(1).to_json()
    assert logged(directory, "commits") == [0]
    assert json.loads(checkpoint.text("metadata"))["id"]


def test_what_is_whole_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = Checkpoint(tmp_path, planned=True)
    logs = sorted(path for path in (tmp_path / "spark").rglob("*") if path.is_file())
    before = [path.read_bytes() for path in logs]
    checkpoint.resume()
    assert [path.read_bytes() for path in logs] == before
    assert caplog.text == ""


def test_the_repair_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("offsets/1", "")
    checkpoint.resume()
    assert "spark/offsets/1 is empty or cut short" in caplog.text
    assert "restored from the seal" in caplog.text


def test_a_log_of_files_that_a_seal_needs_cannot_be_made_again(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("sources/1/0", "v1\n{}")
    checkpoint.write("sources/1/1", "")
    with pytest.raises(CheckpointError, match=r"spark/sources/1/1, which says what files a source has read"):
        checkpoint.resume()


def test_a_log_of_files_that_no_seal_needs_is_left_out(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("sources/1/1", "v1\n{}")
    checkpoint.write("sources/1/2", "v1\n{")
    checkpoint.resume()
    assert [path.name for path in (tmp_path / "spark" / "sources" / "1").iterdir()] == ["1"]
