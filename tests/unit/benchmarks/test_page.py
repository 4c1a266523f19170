"""The page of benchmarks: what is in the repository is what the results give, to the byte, and says what they say."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import page
from tests.unit.benchmarks import made_up

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    return page.files(made_up.store(tmp_path_factory.mktemp("made-up") / "results"))


@pytest.fixture(scope="module")
def text(made: dict[Path, str]) -> str:
    return made[page.PAGE]


def test_the_repository_has_what_the_results_give() -> None:
    made = page.files()
    other = [str(path) for path, text in made.items() if not _is_there(path, text)]
    other += [str(path.relative_to(ROOT)) for path in page.stale(made)]
    assert other == [], "figures are not typed by hand: run `make bench-page` and commit what it writes"


def _is_there(path: Path, text: str) -> bool:
    return (ROOT / path).exists() and (ROOT / path).read_text() == text


def test_the_same_results_give_the_same_bytes(made: dict[Path, str], tmp_path: Path) -> None:
    assert page.files(made_up.store(tmp_path / "results")) == made


def test_medians_stand_in_the_table(text: str) -> None:
    cells = ["470,000", "24,000", "20,000", "29,000", "not measured", "not measured", "260,000", "290,000"]
    assert f"| keyed count, 2,000 keys | {' | '.join(cells)} |" in text.splitlines()


def test_ratios_are_to_the_fastest_way(text: str) -> None:
    # 235,000 to 5,800 in thread mode, not to 5,000 in process mode; 140,000 with two processes of Bytewax.
    assert (
        "| keyed count, 200,000 keys | 235,000 | 41 x | 62 x | 1.68 x | not measured | not measured | 3 |"
        in text.splitlines()
    )


def test_what_is_not_reached_is_said(text: str) -> None:
    lines = text.splitlines()
    assert "| time of a tiny batch, two levels, median | at most 250 ms | 274 ms | **not reached** |" in lines
    assert "| map state and timers, against PyFlink, thread | 20 x | 22 x | reached |" in lines


def test_failed_runs_are_named_with_their_reason(text: str) -> None:
    assert "- Bytewax, 1 process, map state and timers: killed after 60 s" in text.splitlines()


def test_growth_is_said_and_shown(text: str) -> None:
    assert "a record comes to cost 3.47 times as much: 1.92 us and 6.67 us." in text
    assert "| 1,000,000 | 150,000 | 142,000 to 158,000 | 6.67 |" in text.splitlines()
    assert "| 16 | 390,000 | 370,000 to 410,000 | 2.56 | 0.12 |" in text.splitlines()


@pytest.mark.parametrize(
    "sentence",
    [
        "exactly once: 116,000 records/s; at 1,000 records/s a record takes 900 ms at the median, 1,400 ms at the 99th",
        "100 at a time: 1.19 s ordered (ideally 1.00 s).",
        "writes 1.02% of the bytes in 0.09 s; without a local store they are back in 3.9 s.",
        "With 1,000,000 keys, each met 2 times, the largest Python worker has 359 MB.",
    ],
)
def test_parts_have_a_sentence_each(text: str, sentence: str) -> None:
    assert sentence in text


def test_every_picture_is_on_the_page_and_can_be_read(made: dict[Path, str]) -> None:
    pictures = {path: text for path, text in made.items() if path.suffix == ".svg"}
    assert len(pictures) == 4
    for path, picture in pictures.items():
        assert f"({path.relative_to(page.PAGE.parent)})" in made[page.PAGE]
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_the_readme_has_the_short_table(made: dict[Path, str]) -> None:
    figures = made[page.README].partition(page.BEGIN)[2].partition(page.END)[0]
    assert "Abacus 3000" in figures
    assert (
        "| map + filter | 1,200,000 | 10 x | 3.4 x | not measured | 1.09 x | not measured | 3 |" in figures.splitlines()
    )
    assert "largest Python worker has 359 MB." in figures


def test_parts_without_results_say_so(tmp_path: Path) -> None:
    text = page.files(tmp_path / "none")[page.PAGE]
    assert text.lower().count("not measured yet") == 13
    assert " reached" not in text


def test_one_workload_and_one_system_are_enough(tmp_path: Path) -> None:
    run = made_up.peers()["runs"][0]
    (tmp_path / "peers.json").write_text(json.dumps({**made_up.HEADING, "runs": [run]}))
    lines = page.files(tmp_path)[page.PAGE].splitlines()
    assert "| map + filter | 1,140,000 (single) |" in lines


def test_pictures_of_earlier_results_go(tmp_path: Path) -> None:
    picture = tmp_path / "docs/images/benchmarks/old.svg"
    picture.parent.mkdir(parents=True)
    picture.write_text("<svg/>")
    assert page.stale({page.PAGE: ""}, tmp_path) == [picture]


def test_a_dash_means_that_the_job_cannot_be_written_there(text: str) -> None:
    lines = text.splitlines()
    # Spark has no timers outside of transformWithState, and SQL none at all; PyFlink could count by Zipf's law.
    assert any(line.startswith("| map state and timers | 99,000 |") and "| - | - |" in line for line in lines)
    assert "*not measured*: it can, and was not run" in text


def test_a_single_round_is_marked(tmp_path: Path) -> None:
    runs = [
        run for run in made_up.peers()["runs"] if run["round"] == 1 and run["system"] in ("penstock", "spark_native")
    ]
    (tmp_path / "peers.json").write_text(json.dumps({**made_up.HEADING, "runs": runs}))
    lines = page.files(tmp_path)[page.README].splitlines()
    (row,) = [line for line in lines if line.startswith("| tumbling window, declared fields |")]
    assert row.endswith("| not measured | single |")
