"""Documents and all other tracked text: one title each, links that lead somewhere, nothing of one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.repository import ROOT, report, text_files

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# \S", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANCHOR = re.compile(r"\]\((?!https?://)([^)#\s]*)#([^)]*)\)")
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")

# Bracketed letters keep this file from matching itself.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:hom[e]|User[s])/\w+/|(?<![\w.])/roo[t]/|(?<![\w.])/wor[k]/(?:main|shared)\b")
OWN_PATH = re.compile("|".join(rf"(?<![\w.]){re.escape(str(path))}/" for path in (ROOT, Path.home()) if path.name))
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|repo1?\.maven\.|artifactor[y]|"
    r"(?:extra-)?index[-_]url|find[-_]links|trusted[-_]host",
    re.IGNORECASE,
)


def documents() -> dict[str, str]:
    return {path: FENCE.sub("", text) for path, text in text_files().items() if path.endswith(".md")}


def titles(text: str) -> int:
    return len(TITLE.findall(text))


def broken_links(path: str, text: str, root: Path) -> list[str]:
    folder = (root / path).parent
    return [f"{path}: {target}" for target in LINK.findall(text) if not (folder / target).exists()]


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def broken_anchors(path: str, text: str, root: Path) -> list[str]:
    problems = []
    for target, anchor in ANCHOR.findall(text):
        file = (root / path).parent / target if target else root / path
        if file.suffix == ".md" and file.exists() and anchor not in anchors(FENCE.sub("", file.read_text())):
            problems.append(f"{path}: {target}#{anchor}")
    return problems


def machine_traces(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line) or OWN_PATH.search(line) or REGISTRY.search(line)
    ]


def test_every_document_has_one_title() -> None:
    problems = [f"{path}: {titles(text)} titles" for path, text in documents().items() if titles(text) != 1]
    report(problems, "Give the document exactly one line that starts with '# ', and '##' to the rest:")


def test_every_link_leads_to_a_file() -> None:
    problems = [problem for path, text in documents().items() for problem in broken_links(path, text, ROOT)]
    report(problems, "Correct the link, or write the file it names:")


def test_every_anchor_leads_to_a_heading() -> None:
    problems = [problem for path, text in documents().items() for problem in broken_anchors(path, text, ROOT)]
    report(problems, "Correct the anchor: the heading it names was renamed:")


def test_a_broken_anchor_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# There\n\n## Sources and sinks\n")
    text = "[a](there.md#sources-and-sinks) [b](there.md#ends) [c](#also)\n\n## Also\n"
    (tmp_path / "x.md").write_text(text)
    assert broken_anchors("x.md", text, tmp_path) == ["x.md: there.md#ends"]


def test_no_trace_of_one_machine() -> None:
    problems = [problem for path, text in text_files().items() for problem in machine_traces(path, text)]
    report(problems, "Compute the path from the file's own place, or take it from the user's configuration:")


@pytest.mark.parametrize(
    "line",
    [
        "cd /hom" + "e/ann/penstock",
        "path = '/roo" + "t/x'",
        "pip install --index" + "-url=https://mirror.example/simple",
        "https://pypi" + ".org/simple",
        f"see {ROOT}/src",
    ],
)
def test_a_trace_of_a_machine_is_seen(line: str) -> None:
    assert machine_traces("x.md", line)


@pytest.mark.parametrize("line", ["#!/usr/bin/env bash", "s3://bucket/home/x", "file:///data/in", "tests/root/x"])
def test_ordinary_paths_pass(line: str) -> None:
    assert machine_traces("x.md", line) == []


def test_titles_inside_code_do_not_count() -> None:
    text = "# One\n\n```sh\n# a comment\n```\n\n## Two\n"
    assert titles(FENCE.sub("", text)) == 1


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# There\n")
    text = "[a](there.md) [b](there.md#part) [c](https://example.org/x) [d](gone.md)"
    assert broken_links("x.md", text, tmp_path) == ["x.md: gone.md"]
