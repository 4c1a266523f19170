"""A run that draws runs a part of the marked tests, the same for the same seed, and something of every group."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawing import left_out

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


def test_a_run_draws_only_if_it_is_asked_to(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers =\n    drawn: d\npythonpath = " + str(Path(__file__).parents[2]))
    text = (
        "import pytest\n@pytest.mark.drawn(3)\n@pytest.mark.parametrize('case', range(6))\ndef test_drawn(case): ...\n"
    )
    pytester.makepyfile(text)
    plain = ("-p", "no:penstock", "-p", "no:xdist")
    pytester.runpytest_subprocess("--draw", *plain).assert_outcomes(passed=2, deselected=4)
    pytester.runpytest_subprocess(*plain).assert_outcomes(passed=6)
