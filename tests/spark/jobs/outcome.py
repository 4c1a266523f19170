"""What a counting job has left on disk so far, and how it compares with the oracles."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.connectors.files.sink import STAGING
from tests.spark.jobs import counting, rules, sessions

EXACT_SINKS = ("main", "side")
# What comes out of these depends on how the input was cut into batches: their oracles say what must hold anyway.
ORACLES = {"sessions": sessions, "rules": rules}
SINKS = (*EXACT_SINKS, *ORACLES)


def newest_seal(folder: Path) -> int:
    """The last version that is final, or -1."""
    seals = folder.glob("checkpoint/penstock/seals/*.seal")
    return max((int(path.stem) for path in seals), default=-1)


def restarts(folder: Path) -> int:
    """How often the finished job was restarted by its strategy."""
    return int(_result(folder)["restarts"])


def left(folder: Path) -> dict[str, int]:
    """Timers and states that the finished job still had."""
    return {what: number for what, number in _result(folder)["left"].items() if number}


def deaths(folder: Path) -> list[str]:
    """The deaths that workers died by themselves."""
    return sorted(path.name.removeprefix("died-") for path in (folder / "notes").glob("died-*"))


def assert_nothing_wrong_so_far(folder: Path, count: int) -> None:
    """After a kill: output may be missing, but none may be wrong or there twice."""
    for sink, records in zip(EXACT_SINKS, counting.expected(count), strict=True):
        surplus = published(folder / sink) - Counter(map(as_line, records))
        assert not surplus, f"{sink}: {surplus.total()} records are wrong or there twice, as {_examples(surplus)}"
    for sink, oracle in ORACLES.items():
        faults = list(oracle.wrong(_records(folder / sink), count))
        assert not faults, f"{sink}: {len(faults)} faults, as {faults[:5]}"


def assert_exact(folder: Path, count: int) -> None:
    """After the end: every record once, in whole files; nothing left in the staging folders and in the store."""
    assert_nothing_wrong_so_far(folder, count)
    for sink, records in zip(EXACT_SINKS, counting.expected(count), strict=True):
        missing = Counter(map(as_line, records)) - published(folder / sink)
        assert not missing, f"{sink}: {missing.total()} records are missing, as {_examples(missing)}"
    for sink, oracle in ORACLES.items():
        faults = list(oracle.missing(_records(folder / sink), count))
        assert not faults, f"{sink}: {len(faults)} faults, as {faults[:5]}"
    for sink in SINKS:
        assert not (folder / sink / STAGING).exists(), f"left: {list((folder / sink / STAGING).rglob('*'))}"
    assert left(folder) == {}


def torn_files(folder: Path) -> list[Path]:
    """Temporary files of Penstock that a killed process left in the checkpoint directory."""
    return [path for path in (folder / "checkpoint" / "penstock").rglob("*.tmp") if path.is_file()]


def _result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def _records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in published(folder).elements()]


def published(folder: Path) -> Counter[str]:
    """How often each record was published, as a line of JSON with its names in order."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*.json"):
        if STAGING not in path.parts:
            text = path.read_text()
            assert text.endswith("\n"), f"{path} is cut short"
            found.update(as_line(json.loads(line)) for line in text.splitlines())
    return found


def as_line(record: dict[str, Any]) -> str:
    """A record as `published` has it."""
    return json.dumps(record, sort_keys=True)


def _examples(records: Counter[str]) -> list[str]:
    return sorted(records)[:5]
