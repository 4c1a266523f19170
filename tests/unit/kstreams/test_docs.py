"""The page on Kafka Streams: its programs print what it says, and the names it lists exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock.kstreams
from penstock.kstreams import KafkaStreams, KGroupedStream, KStream, KTable, StreamsConfig, TopologyTestDriver
from tests.conformance.kstreams.programs import PROGRAMS as TOPOLOGIES

DOCUMENTS = Path(__file__).parents[3] / "docs"
PAGE = (DOCUMENTS / "kstreams.md").read_text()
PROGRAMS = re.findall(r"^```python run\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_program_prints_what_the_page_says(code: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/kstreams.md", "exec", dont_inherit=True), {"__name__": "kstreams_block"})
    assert capsys.readouterr().out == printed


def test_the_page_has_programs() -> None:
    assert len(PROGRAMS) == 4
    assert f"{len(TOPOLOGIES)} topologies" in PAGE


@pytest.mark.parametrize(
    ("heading", "owners"),
    [("Streams", (KStream,)), ("Run an application", (KafkaStreams, StreamsConfig))],
)
def test_the_methods_of_the_section_exist(heading: str, owners: tuple[type, ...]) -> None:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    if KStream in owners:
        names = {name.partition("(")[0] for row in rows for name in re.findall(r"`([a-z_]+)", row)}
        assert names
        assert {name for name in names if not hasattr(KStream, name)} == set()
    else:
        keys = {getattr(StreamsConfig, name) for name in dir(StreamsConfig) if name.endswith("_CONFIG")}
        listed = {key for row in rows for key in re.findall(r"`([a-z.]+)`", row)}
        assert listed - {"application.id"} < keys | {"kstreams.bounded"}


def test_names_of_the_migration_table_exist() -> None:
    page = (DOCUMENTS / "coming_from_kafka_streams.md").read_text()
    table = page.split("## Names\n")[1].split("\n## ")[0]
    ours = " ".join(row.split(" | ")[1] for row in table.splitlines() if row.startswith("| `"))
    classes = set(re.findall(r"`([A-Z]\w+)[.`(]", ours)) - {"MyProcessor"}
    assert classes
    assert {name for name in classes if not hasattr(penstock.kstreams, name)} == set()
    methods = set(re.findall(r"\b(?:stream|table|driver|streams|grouped)\.(\w+)\(", ours))
    known = (KStream, KTable, KGroupedStream, TopologyTestDriver, KafkaStreams)
    assert {name for name in methods if not any(hasattr(owner, name) for owner in known)} == set()
