"""A job goes on from every savepoint and checkpoint that is stored here, and would write the newest of them today.

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

from penstock.checkpoint.seal import decode_seal, encode_seal
from penstock.errors import PenstockError
from penstock.runtime.report import decode_inline, encode_inline
from penstock.savepoint.manifest import FORMAT
from penstock.state.portable import EVENT_TIMERS, PROCESSING_TIMERS
from tests.golden.make_savepoint import Stored, all_stored, make, published_after
from tests.unit.checkpoint.test_plain_on_disk import problems_in

ADVICE = """
The format of state has changed: jobs in use could not go on from what they have. If that is not a mistake,
- read the old form too and give the new one another format number; the stored files stay, and those of the new format
  are added with `python -m tests.golden.make_savepoint <next number>`; or
- if no release has written the old format, make its files anew with the same number, look at the difference of
  expected-<number>.json (there should be none), and say it in CHANGELOG.md."""

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


every_stored = pytest.mark.parametrize("stored", all_stored(), ids=lambda stored: f"number {stored.number}")


@every_stored
def test_a_job_goes_on_from_a_stored_savepoint(tmp_path: Path, stored: Stored) -> None:
    found = or_advise(lambda: published_after(stored.savepoint, tmp_path / "out"))
    assert found == json.loads(stored.expected.read_text()), ADVICE


@every_stored
def test_a_job_goes_on_from_a_stored_checkpoint(tmp_path: Path, stored: Stored) -> None:
    copy = tmp_path / "copy"  # the sink's files are published from where they are
    shutil.copytree(stored.checkpoint, copy)
    found = or_advise(lambda: published_after(copy / "checkpoint", copy / "out"))
    assert found == json.loads(stored.expected.read_text()), ADVICE


def test_the_newest_is_what_would_be_written_today(tmp_path: Path) -> None:
    made, _ = make(tmp_path)
    stored = all_stored()[-1].savepoint
    known = described(stored)
    assert restricted(described(made), known) == known, ADVICE
    assert contents(made) == contents(stored), ADVICE


@every_stored
def test_a_stored_seal_is_written_again_byte_by_byte(stored: Stored) -> None:
    (path,) = (stored.checkpoint / "checkpoint" / "penstock" / "seals").iterdir()
    data = path.read_bytes()
    seal = decode_seal(data, str(path))
    assert encode_seal(seal) == data, ADVICE
    for entry in seal.entries.values():
        record = decode_inline(entry.inline)
        assert decode_inline(encode_inline(**record)) == record, ADVICE


@every_stored
def test_no_class_of_ours_is_stored(stored: Stored) -> None:
    assert problems_in(stored.savepoint) == problems_in(stored.checkpoint / "checkpoint") == []


def described(folder: Path) -> dict[str, Any]:
    """What the description says, without what differs from job to job."""
    plain = told(folder)
    own = ("job_id", "penstock_version")
    return {**plain, "files": sorted(plain["files"]), **dict.fromkeys(own)}


def restricted(plain: Any, known: Any) -> Any:
    """Without fields that the stored one has not: it is read without them, as the other tests show."""
    if not isinstance(known, dict) or not isinstance(plain, dict):
        return plain
    return {key: restricted(plain[key], known[key]) for key in plain if key in known}


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


@every_stored
def test_something_of_everything_is_stored(stored: Stored) -> None:
    plain = told(stored.savepoint)
    assert plain["format"] <= FORMAT
    states = {f"{uid}: {kind}" for uid, each in plain["operators"].items() for kind in each["states"].values()}
    assert {f"ledger: {kind}" for kind in ("value", "list", "map", "reducing", "aggregating", "timer")} <= states
    names = {name for each in plain["operators"].values() for name in each["states"]}
    assert {EVENT_TIMERS, PROCESSING_TIMERS, "fleeting", "lasting", "mixed", "trade", "met"} <= names
    kinds = {kind for each in plain["operators"].values() for kind in each["operator_states"].values()}
    assert kinds == {"list", "union list", "broadcast"}
    assert plain["operators"]["sink"]["output"] and plain["positions"].keys() == {"events", "rules"}
    assert sum(path.stat().st_size for path in stored.savepoint.rglob("*") if path.is_file()) < 200_000
