"""A job goes on from the savepoint and the checkpoint that are stored here, and would write the same today.

Where one of these fails, the format of savepoints, checkpoints or something in them has changed. See `ADVICE`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.errors import PenstockError
from penstock.savepoint.manifest import FORMAT
from penstock.state.portable import EVENT_TIMERS, PROCESSING_TIMERS
from tests.golden.make_savepoint import (
    CHECKPOINT,
    EXPECTED,
    OLD_CHECKPOINT,
    OLD_SAVEPOINT,
    SAVEPOINT,
    make,
    published_after,
)

ADVICE = """
The format of state has changed: jobs in use could not go on from what they have. Either
- undo it, or read the old form too: give new files another format number, keep this savepoint and add a second one; or
- if no release has written this format, make the stored files anew with `python -m tests.golden.make_savepoint`,
  look at the difference of expected.json (it should have none), and say it in CHANGELOG.md."""

pytestmark = pytest.mark.filterwarnings("ignore:.*pickle")  # some state is pickled on purpose


def or_advise(work: Callable[[], Any]) -> Any:
    """Do something with the stored files; a refusal comes with the advice."""
    try:
        return work()
    except PenstockError as refusal:
        pytest.fail(f"{refusal}\n{ADVICE}")


def told(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((folder / "savepoint.json").read_text())
    return plain


@pytest.mark.parametrize("stored", [OLD_SAVEPOINT, SAVEPOINT], ids=lambda path: path.name)
def test_a_job_goes_on_from_the_stored_savepoint(tmp_path: Path, stored: Path) -> None:
    found = or_advise(lambda: published_after(stored, tmp_path / "out"))
    assert found == json.loads(EXPECTED.read_text()), ADVICE


@pytest.mark.parametrize("stored", [OLD_CHECKPOINT, CHECKPOINT], ids=lambda path: path.name)
def test_a_job_goes_on_from_the_stored_checkpoint(tmp_path: Path, stored: Path) -> None:
    copy = tmp_path / "copy"  # the sink's files are published from where they are
    shutil.copytree(stored, copy)
    found = or_advise(lambda: published_after(copy / "checkpoint", copy / "out"))
    assert found == json.loads(EXPECTED.read_text()), ADVICE


def test_the_same_would_be_written_today(tmp_path: Path) -> None:
    made, _ = make(tmp_path)
    assert described(made) == described(SAVEPOINT), ADVICE
    assert contents(made) == contents(SAVEPOINT), ADVICE


def described(folder: Path) -> dict[str, Any]:
    """What the description says, without what differs from job to job."""
    plain = told(folder)
    own = ("job_id", "penstock_version")
    return {**plain, "files": sorted(plain["files"]), **dict.fromkeys(own)}


def contents(folder: Path) -> dict[str, Any]:
    """Rows of the Parquet files with their types, and bytes of the others."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            found[name] = (table.schema.to_string(show_schema_metadata=False), table.to_pylist())
        elif path.is_file() and name != "savepoint.json":
            found[name] = path.read_bytes()
    return found


def test_the_stored_savepoint_has_something_of_everything() -> None:
    plain = told(SAVEPOINT)
    assert plain["format"] == FORMAT == 2
    assert told(OLD_SAVEPOINT)["format"] == 1
    assert plain["operators"]["ledger"]["schemas"]["periods"].keys() == {"value", "map_key"}
    states = {f"{uid}: {kind}" for uid, each in plain["operators"].items() for kind in each["states"].values()}
    assert {f"ledger: {kind}" for kind in ("value", "list", "map", "reducing", "aggregating", "timer")} <= states
    names = {name for each in plain["operators"].values() for name in each["states"]}
    assert {EVENT_TIMERS, PROCESSING_TIMERS, "fleeting", "lasting", "mixed", "trade", "met"} <= names
    kinds = {kind for each in plain["operators"].values() for kind in each["operator_states"].values()}
    assert kinds == {"list", "union list", "broadcast"}
    assert plain["operators"]["sink"]["output"] and plain["positions"].keys() == {"events", "rules"}
    assert sum(path.stat().st_size for path in SAVEPOINT.rglob("*") if path.is_file()) < 200_000
