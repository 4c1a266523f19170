"""Every example of the field is complete, short and explained; what its README says is run by the tests beside it."""

from __future__ import annotations

import re

import pytest
from gallery.readme_commands import EXAMPLES, commands, readme_of

FOLDERS = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
PARTS = ("README.md", "generate.py", "picture.py", "result.svg", "test_job.py")
IN_PROCESS = " --engine in-process"
HEADINGS = ["## Run it", "## What to look at", "## What to change"]


def test_the_examples_are_found() -> None:
    assert "word_count" in FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_is_complete(name: str) -> None:
    assert [part for part in PARTS if not (EXAMPLES / name / part).exists()] == []
    readme = readme_of(name)
    assert "](result.svg)" in readme
    assert re.findall(r"^## .*", readme, re.MULTILINE)[: len(HEADINGS)] == HEADINGS


@pytest.mark.parametrize("name", FOLDERS)
def test_a_program_is_short(name: str) -> None:
    programs = sorted((EXAMPLES / name).glob("job*.py"))
    assert programs
    lengths = {path.name: len([line for line in path.read_text().splitlines() if line]) for path in programs}
    assert max(lengths.values()) <= 110, lengths


@pytest.mark.parametrize("name", FOLDERS)
def test_a_readme_makes_runs_and_draws(name: str) -> None:
    quick = commands(readme_of(name))
    assert quick[0] == f"python examples/{name}/generate.py"
    assert [line for line in quick if line.startswith(f"python examples/{name}/job") and line.endswith(IN_PROCESS)]
    assert quick[-1] == f"python examples/draw.py {name}"


@pytest.mark.parametrize("name", FOLDERS)
def test_on_spark_a_program_is_run_by_the_same_command_without_the_option(name: str) -> None:
    readme = readme_of(name)
    jobs = [line for line in commands(readme) if line.endswith(IN_PROCESS)]
    assert commands(readme, "spark") == [line.removesuffix(IN_PROCESS) for line in jobs]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_gallery_and_the_readme_show_the_same(name: str) -> None:
    gallery = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    title = readme_of(name).partition("\n")[0].removeprefix("# ")
    assert f"[{title}](../examples/{name}/README.md)" in gallery
    assert f"](../examples/{name}/result.svg)" in gallery
