"""What continuous integration does is what the documents say it does, and nothing new slips past it."""

from __future__ import annotations

import re
import tomllib

from tests.tidy.repository import ROOT, report

TEST = re.compile(r"^def test_\w+", re.MULTILINE)
LONG = re.compile(r"^@pytest\.mark\.soak\n(?:@.*\n|    .*\n|\)\n)*def test_\w+", re.MULTILINE)


def settings() -> dict[str, dict[str, object]]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"])


def test_types_of_all_examples_are_checked() -> None:
    mypy = settings()["mypy"]
    assert mypy["strict"] is True
    # By folder: a new file needs no line anywhere.
    assert {"src/penstock", "examples"} <= set(mypy["files"])  # type: ignore[call-overload]
    assert "exclude" not in mypy


def test_continuous_integration_runs_every_check() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    targets = re.findall(r"^make ([a-z-]+)$", run, re.MULTILINE)
    assert {"test", "check", "wheel-check", "coverage"} <= set(targets)
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets) <= set(known)


def test_coverage_has_a_floor() -> None:
    coverage = settings()["coverage"]
    assert coverage["report"]["fail_under"] >= 80  # type: ignore[index]
    assert coverage["run"] == {"source": ["penstock"]}


def long_without_short(name: str, text: str) -> list[str]:
    long_ones, all_ones = len(LONG.findall(text)), len(TEST.findall(text))
    return [f"{name}: {long_ones} long"] if long_ones and all_ones == long_ones else []


def test_every_long_run_has_a_short_form_beside_it() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    problems = [problem for path in files for problem in long_without_short(path.name, path.read_text())]
    report(problems, "Add a short form of what is marked `soak`, so that `make test` has it too:")


def test_a_long_run_alone_is_seen() -> None:
    alone = "@pytest.mark.soak\n@pytest.mark.timeout(9)\ndef test_long() -> None: ...\n"
    assert long_without_short("x", alone)
    assert not long_without_short("x", alone + "\n\ndef test_short() -> None: ...\n")
