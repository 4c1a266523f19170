"""A run that draws runs a part of the marked tests, the same for the same seed, and something of every group."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawing import TURNS, files_left_out, left_out

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.drawn(4)
@pytest.mark.parametrize("case", [*[f"joins-{n}" for n in range(8)], *[f"sets-{n}" for n in range(3)]])
def test_query(case): ...

@pytest.mark.drawn(2)
@pytest.mark.parametrize("case", ["left", "right[0]", "full", 4])
def test_join(case): ...

@pytest.mark.drawn(3, group="deaths")
def test_one_death(): ...

@pytest.mark.drawn(3, group="deaths")
def test_another_death(): ...

def test_plain(): ...
"""


def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    pytester.makeini("[pytest]\nmarkers = drawn: a part")
    return list(pytester.getitems(TESTS))


def names(found: set[str]) -> list[str]:
    return sorted(name.partition("::")[2] for name in found)


def test_a_part_of_every_group_is_drawn(pytester: pytest.Pytester) -> None:
    every = items(pytester)
    for seed in range(30):
        out = left_out(every, seed)
        rest = names({item.nodeid for item in every} - out)
        assert len([name for name in rest if "joins" in name]) == 2
        assert len([name for name in rest if "sets" in name]) == 1
        assert len([name for name in rest if "death" in name]) == 1
        assert len([name for name in rest if "test_join" in name]) == 2
        assert "test_plain" in rest


def test_the_seed_says_which_and_all_have_their_turn(pytester: pytest.Pytester) -> None:
    every = items(pytester)
    drawn = [frozenset({item.nodeid for item in every} - left_out(every, seed)) for seed in range(60)]
    assert drawn[7] == {item.nodeid for item in every} - left_out(list(reversed(every)), 7)
    assert len(set(drawn)) > 10
    assert frozenset.union(*drawn) == {item.nodeid for item in every}


def test_files_take_turns_by_the_seed_and_every_group_has_one() -> None:
    every = {file for _, files in TURNS.values() for file in files}
    runs = [every - files_left_out(seed) for seed in range(200)]
    assert runs[3] == every - files_left_out(3)
    assert set().union(*runs) == every
    for one_in, files in TURNS.values():
        assert {len(run & set(files)) for run in runs} == {-(-len(files) // one_in)}


def test_files_that_take_turns_are_there() -> None:
    root = Path(__file__).parents[2]
    assert [file for _, files in TURNS.values() for file in files if not (root / file).exists()] == []


def test_quick_tests_of_such_files_always_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini(
        "[pytest]\nmarkers =\n    slow: s\n    spark: s\n    drawn: d\n    turns: t\npythonpath = "
        + str(Path(__file__).parents[2])
    )
    folder = pytester.mkdir("tests")
    unit = folder / "unit" / "state"
    unit.mkdir(parents=True)
    text = "import pytest\n@pytest.mark.slow\ndef test_long(): ...\ndef test_quick(): ...\n"
    (unit / "test_versions_growth.py").write_text(text)
    seeds = [seed for seed in range(20) if "tests/unit/state/test_versions_growth.py" in files_left_out(seed)]
    left = pytester.runpytest_subprocess("--take-turns", "--seed", str(seeds[0]), "-p", "no:penstock", "-p", "no:xdist")
    left.assert_outcomes(passed=1, deselected=1)
    whole = pytester.runpytest_subprocess("--seed", str(seeds[0]), "-p", "no:penstock", "-p", "no:xdist")
    whole.assert_outcomes(passed=2)


def test_turns_are_for_that_option_and_draws_for_the_other(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers =\n    drawn: d\n    turns: t\npythonpath = " + str(Path(__file__).parents[2]))
    text = "import pytest\ncases = pytest.mark.parametrize('case', range(6))\n"
    text += "@pytest.mark.drawn(3)\n@cases\ndef test_drawn(case): ...\n"
    text += "@pytest.mark.turns(2)\n@cases\ndef test_in_turns(case): ...\n"
    pytester.makepyfile(text)
    plain = ("-p", "no:penstock", "-p", "no:xdist")
    pytester.runpytest_subprocess("--draw", *plain).assert_outcomes(passed=8, deselected=4)
    pytester.runpytest_subprocess("--take-turns", *plain).assert_outcomes(passed=9, deselected=3)
