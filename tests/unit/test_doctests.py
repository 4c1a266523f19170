"""Every `>>>` of the package and of the documents is run, also those that are written later."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import penstock

PACKAGE = Path(penstock.__file__).parent
ROOT = Path(__file__).parents[2]
PROMPT = ">>> "


def modules_with_examples() -> list[str]:
    found = [path for path in sorted(PACKAGE.rglob("*.py")) if PROMPT in path.read_text()]
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in found]


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_of_the_module_run(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.attempted and not outcome.failed


def test_no_example_hides_where_doctest_does_not_look() -> None:
    """Those of a nested function, of a comment, or of a name that another module's object took over."""
    finder = doctest.DocTestFinder()
    for name in modules_with_examples():
        module = importlib.import_module(name)
        text = Path(str(module.__file__)).read_text()
        seen = sum(len(test.examples) for test in finder.find(module))
        assert seen == text.count(PROMPT), name


def test_the_examples_of_the_documents_run() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert not doctest.testfile(str(path), module_relative=False).failed, path
