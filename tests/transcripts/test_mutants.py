"""A broken operator is caught on the bare operator and in process; `test_on_spark` has the third level."""

from __future__ import annotations

import pytest

from penstock.testing.bare import play_bare
from penstock.testing.players import play_in_process, play_with_seed
from penstock.testing.transcripts import TranscriptMismatch
from tests.transcripts.job_mutants import JOB_MUTANTS, ColumnsCountTwice, RowsCountTwice
from tests.transcripts.mutants import MUTANTS, Mutant, mutated

every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)


@every_mutant
@pytest.mark.parametrize("restores", [False, True])
def test_the_bare_operator_shows_it(mutant: type[Mutant], restores: bool) -> None:
    with pytest.raises(TranscriptMismatch):
        play_bare(mutated(mutant), restores=restores)


@pytest.mark.parametrize("mutant", [*MUTANTS, *JOB_MUTANTS], ids=lambda mutant: mutant.__name__)
def test_a_job_in_process_shows_it(mutant: type[Mutant]) -> None:
    with pytest.raises(TranscriptMismatch):
        play_in_process(mutated(mutant))


@pytest.mark.parametrize("mutant", [ColumnsCountTwice, RowsCountTwice])
def test_a_fault_of_one_path_is_seen_in_its_form_only(mutant: type[Mutant]) -> None:
    name, _, form = mutant.seen_by.rpartition(", ")
    other = {"columns": "rows", "rows": "columns"}[form]
    play_in_process(mutated(mutant, f"{name}, {other}"))


def test_chance_shows_what_a_restore_repeats(seed: int) -> None:
    mutant = next(each for each in MUTANTS if each.__name__ == "TwiceAfterRestore")
    with pytest.raises(TranscriptMismatch):
        play_with_seed(mutated(mutant), seed)
