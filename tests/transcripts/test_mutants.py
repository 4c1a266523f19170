"""A broken operator is caught on the bare operator and in process; `test_on_spark` has the third level."""

from __future__ import annotations

import pytest

from penstock.testing.bare import play_bare
from penstock.testing.players import play_in_process, play_with_seed
from penstock.testing.transcripts import TranscriptMismatch
from tests.transcripts.mutants import MUTANTS, Mutant, mutated

every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)


@every_mutant
@pytest.mark.parametrize("restores", [False, True])
def test_the_bare_operator_shows_it(mutant: type[Mutant], restores: bool) -> None:
    with pytest.raises(TranscriptMismatch):
        play_bare(mutated(mutant), restores=restores)


@every_mutant
def test_a_job_in_process_shows_it(mutant: type[Mutant]) -> None:
    with pytest.raises(TranscriptMismatch):
        play_in_process(mutated(mutant))


def test_chance_shows_what_a_restore_repeats(seed: int) -> None:
    mutant = next(each for each in MUTANTS if each.__name__ == "TwiceAfterRestore")
    with pytest.raises(TranscriptMismatch):
        play_with_seed(mutated(mutant), seed)
