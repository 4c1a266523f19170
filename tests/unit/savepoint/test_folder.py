"""A savepoint on disk: whole and readable by anybody, or refused; and what the client is told."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.common import JobStatus
from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.errors import CheckpointError, ConfigurationError
from penstock.keys.codec import decode_key
from penstock.savepoint import open_origin
from penstock.savepoint.manifest import OperatorRecord
from penstock.savepoint.operator_rows import from_rows, to_rows
from penstock.savepoint.parts import KEYED_SCHEMA, read_keyed_rows, summed, write_rows
from penstock.state.operator_state import OperatorSnapshot
from penstock.state.portable import EVENT_TIMERS, PortableRow
from tests.unit.savepoint.ledger import KEYS, Start, run_some


def test_state_is_readable_with_any_parquet_reader(savepoint: Path) -> None:
    rows = pq.read_table(savepoint / "operators" / "ledger").to_pylist()
    keyed = [row for row in rows if row["key_group"] is not None]
    assert {row["state"]: row["kind"] for row in keyed} == {
        "count": "value",
        "names": "list",
        "periods": "map",
        EVENT_TIMERS: "timer",
    }
    counts = [row for row in keyed if row["state"] == "count"]
    assert Counter(decode_key(row["key"]) for row in counts) == Counter(range(KEYS))
    groups = {decode_key(row["key"]): row["key_group"] for row in counts}
    assert {(decode_key(row["key"]), row["key_group"]) for row in keyed} == set(groups.items())


def test_the_description_tells_what_is_in_it_and_not_where_it_is(savepoint: Path) -> None:
    text = (savepoint / "savepoint.json").read_text()
    assert str(savepoint.parent) not in text
    told = json.loads(text)
    assert told["format"] == 3 and told["job_name"] == "ledger" and told["penstock_version"]
    assert told["positions"].keys() == {"numbers", "extra"}
    operator = told["operators"]["ledger"]
    assert operator["states"] == {"count": "value", "names": "list", "periods": "map", EVENT_TIMERS: "timer"}
    assert (operator["name"], operator["parallelism"], operator["max_parallelism"]) == ("Ledger", 2, 128)
    assert told["operators"]["sink"]["output"]
    on_disk = {str(path.relative_to(savepoint)) for path in savepoint.rglob("*") if path.is_file()}
    assert {*told["files"], "savepoint.json"} == on_disk


def test_it_is_on_the_disk_before_anybody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[set[str]] = []
    monkeypatch.setattr("penstock.savepoint.writing.sync_local", lambda paths: synced.append(set(paths)))
    client = Start(tmp_path / "out").client()
    run_some(client)
    made = Path(client.stop_with_savepoint(False, str(tmp_path / "made")).result())
    contents, name = synced
    on_disk = {str(path) for path in made.rglob("*")} - {str(made / "savepoint.json")}
    assert contents == {*on_disk, str(made), str(made.parent), str(made / "savepoint.json.tmp")}
    assert {str(made), str(made / "savepoint.json")} <= name


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "refusal"),
    [
        (lambda folder: (folder / "savepoint.json").unlink(), "not a complete savepoint"),
        (lambda folder: (folder / "savepoint.json").write_text("{"), "does not describe a savepoint"),
        (
            lambda folder: (folder / "savepoint.json").write_text('{"format": 7}'),
            "has format 7, and this version of Penstock reads format 3",
        ),
        (lambda folder: (folder / "operators/ledger/part-0.parquet").unlink(), "part-0.parquet is missing"),
        (lambda folder: cut(folder / "operators/ledger/part-1.parquet"), r"part-1.parquet has \d+ bytes instead of"),
        (lambda folder: flip(folder / "operators/ledger/part-1.parquet"), "part-1.parquet is damaged"),
        (lambda folder: flip(folder / "operators/numbers/operator-state.parquet"), "operator-state.parquet is damaged"),
        (lambda folder: flip(folder / "operators/sink/output-0"), "output-0 is damaged"),
        (shutil.rmtree, "there is no savepoint or checkpoint at"),
    ],
)
def test_a_damaged_savepoint_is_refused(
    tmp_path: Path, savepoint: Path, damage: Callable[[Path], Any], refusal: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(savepoint, copy)
    damage(copy)
    start = Start(tmp_path / "out", checkpoint=tmp_path / "ck", recovery=str(copy))
    with pytest.raises(CheckpointError, match=refusal):
        start.client()
    assert [path for path in (tmp_path / "ck").rglob("*") if path.is_file()] == []


def test_a_checkpoint_without_a_finished_version_is_refused(tmp_path: Path) -> None:
    Start(tmp_path / "out", checkpoint=tmp_path / "ck").client()
    with pytest.raises(CheckpointError, match="neither a savepoint nor a checkpoint with a finished version"):
        open_origin(str(tmp_path / "ck"))


def test_a_savepoint_that_cannot_be_written_fails_its_future_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Start(tmp_path / "out").client()
    run_some(client, 2)
    with pytest.raises(ConfigurationError, match=r"execution\.checkpointing\.savepoint-dir"):
        client.trigger_savepoint().result()
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be used"):
        client.stop_with_savepoint(False, str(tmp_path / "file")).result()
    monkeypatch.setattr("penstock.engine.in_process.batches.write_part", lambda order: refuse())
    with pytest.raises(CheckpointError, match="no space"):
        client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    assert list((tmp_path / "savepoints").iterdir()) == []
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.wait()
    with pytest.raises(CheckpointError, match="has ended, so there is no savepoint to take"):
        client.trigger_savepoint(str(tmp_path)).result()


def refuse() -> None:
    raise CheckpointError("no space")


def test_the_directory_of_the_configuration_is_used(tmp_path: Path) -> None:
    client = Start(tmp_path / "out", settings={"state.savepoints.dir": tmp_path / "here"}).client()
    path = Path(client.trigger_savepoint().result())
    assert path.parent == tmp_path / "here"
    assert path.name.startswith(f"savepoint-{client.job.job_id[:6]}-")


def test_pinned_versions_outlive_the_others(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path / "ck"), retained=1)
    directory.adopt("job", {"vertices": []})
    directory.take_over()
    directory.write_seal(Seal(0))
    with directory.pinned(0):
        directory.write_seal(Seal(1))
        directory.write_seal(Seal(2))
        assert directory.sealed_versions() == [0, 2]
    directory.write_seal(Seal(3))
    assert directory.sealed_versions() == [3]


def test_snapshots_survive_as_rows() -> None:
    states = {"list": ("list", [b"a", b"b"]), "none": ("union list", []), "all": ("broadcast", b"map")}
    checkpointed = OperatorSnapshot(("own",), states, 7).to_plain()
    snapshots = [None, "plain", checkpointed, OperatorSnapshot(None, {}, 3).to_plain()]
    assert from_rows(to_rows(snapshots), 4) == snapshots


def test_event_time_of_fewer_or_more_subtasks_is_that_of_the_slowest() -> None:
    record = OperatorRecord("name", "kind", 3, 128, False, watermarks=[7, MAX_WATERMARK, 5])
    assert [record.watermark_of(subtask, 3) for subtask in range(3)] == [7, MIN_WATERMARK, 5]
    assert {record.watermark_of(subtask, 4) for subtask in range(4)} == {5}
    assert record.slowest() == 2


def test_only_wanted_key_groups_are_read_and_always_what_tells_of_the_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.savepoint.parts._CHUNK_ROWS", 2)  # rows of a Parquet row group
    declared = PortableRow(None, "count", "value", b"", b"", b"", b"declared")
    rows = [declared, *(PortableRow(group, "count", "value", b"", b"key", b"", b"%d" % group) for group in range(9))]
    filesystem, path = fs.LocalFileSystem(), str(tmp_path / "part.parquet")
    assert write_rows(filesystem, path, KEYED_SCHEMA, rows) == summed(filesystem, path)
    assert list(read_keyed_rows(filesystem, path, range(5, 7))) == [declared, rows[6], rows[7]]
    assert list(read_keyed_rows(filesystem, path, range(0, 99))) == rows
    assert write_rows(filesystem, str(tmp_path / "none"), KEYED_SCHEMA, []) is None
    assert not (tmp_path / "none").exists()
