"""Every program gives in Penstock what was measured in PyFlink, unless docs/differences.md says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.pyflink_programs import api
from tests.conformance.pyflink_programs.__main__ import load
from tests.conformance.pyflink_programs.families import FAMILIES
from tests.conformance.pyflink_programs.known import KNOWN
from tests.conformance.pyflink_programs.program import Program, agrees, play

ROOT = Path(__file__).parents[2]
NAMES = [f"{family}/{program.name}" for family, programs in FAMILIES.items() for program in programs]
ON_SPARK = [
    *("keyed/rekeyed", "windows/session_process", "connected/keyed_co_process"),
    *("mixed/timers_then_windows", "mixed/co_side_output", "mixed/broadcast_timers"),
]
"""A few for every run; `python -m tests.conformance.pyflink_programs --engine spark` plays all of them."""


def program_of(name: str) -> tuple[Program, list[str]]:
    family, _, rest = name.partition("/")
    return next(program for program in FAMILIES[family] if program.name == rest), load(family)[rest]


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_what_pyflink_gives(name: str) -> None:
    program, measured = program_of(name)
    found = play(program, "penstock")
    if name in KNOWN:
        assert not agrees(measured, found), f"{name} agrees now: delete its row of KNOWN, and look at {KNOWN[name]!r}"
    else:
        assert agrees(measured, found), f"PyFlink: {measured}\nPenstock: {found}"


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ON_SPARK)
def test_it_does_so_on_spark(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "ENGINE", "spark")
    program, measured = program_of(name)
    assert agrees(measured, play(program, "penstock"))


def test_every_known_difference_has_a_line() -> None:
    text = " ".join((ROOT / "docs/differences.md").read_text().split())
    assert {name: words for name, words in KNOWN.items() if words not in text} == {}
    assert set(KNOWN) <= set(NAMES)
