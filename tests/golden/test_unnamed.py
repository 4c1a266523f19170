"""State of programs without uids is found again by later versions, after renames of classes and rewordings of plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PenstockError
from tests.golden import unnamed

NUMBER = 1
ADVICE = """
A program without uids no longer finds its state. Restore what identifies its operators (`state_identity`, names,
`identity_text`); see ARCHITECTURE.md, 'What is on disk'."""

pytestmark = pytest.mark.filterwarnings("ignore:.*pickle")  # some state is pickled on purpose


def check(subject: str, folder: Path) -> None:
    savepoint, expected = unnamed.unpacked(subject, NUMBER, folder)
    try:
        found = unnamed.published_after(subject, savepoint, folder / "out")
    except PenstockError as refusal:
        pytest.fail(f"{refusal}\n{ADVICE}")
    assert found == expected, ADVICE


every_program = pytest.mark.parametrize("subject", unnamed.PROGRAMS)


@every_program
def test_a_program_without_uids_goes_on(tmp_path: Path, subject: str) -> None:
    check(subject, tmp_path)
