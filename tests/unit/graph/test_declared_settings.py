"""The table of settings: everything that is read is in it, and what is told of settings comes from it."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli.commands import app
from penstock.errors import ConfigurationError
from penstock.graph.declared_settings import SETTINGS
from penstock.graph.settings import JobSettings
from penstock.graph.settings_page import settings_page
from penstock.graph.unused_keys import keys_of_nobody

SOURCES = Path(penstock.__file__).parent
PAGE = SOURCES.parents[1] / "docs" / "settings.md"
KEY = re.compile(r"(penstock|pipeline|execution|state|python|task|parallelism|restart-strategy)(\.[a-z][a-z0-9-]*)+")
LOGGERS = {"penstock.kafka"}
# Keys of Kafka Streams' own configuration.
OF_OTHERS = {"state.dir"}
# Tell of keys that are accepted and not read; of Kafka Streams too; names of modules that are gone.
NOT_READING = ("graph/unused_keys.py", "kstreams/streams_config.py", "pyflink_names.py")


NAMES = {*SETTINGS, *(setting.former for setting in SETTINGS.values())}


def literals_of(path: Path) -> set[str]:
    program = path.read_text()
    if KEY.search(program) is None:
        return set()
    tree = ast.parse(program)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if KEY.fullmatch(text)}


def is_module(text: str) -> bool:
    place = SOURCES.parent / text.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").exists()


def undeclared(text: str) -> bool:
    return text not in NAMES and text not in LOGGERS | OF_OTHERS and not is_module(text) and not text.endswith(".zip")


def test_every_key_in_the_code_is_declared() -> None:
    found = {
        f"{path.relative_to(SOURCES)}: {text}"
        for path in SOURCES.rglob("*.py")
        if path.relative_to(SOURCES).as_posix() not in NOT_READING
        for text in literals_of(path)
        if undeclared(text)
    }
    assert sorted(found) == [], "declare these settings in penstock.graph.declared_settings"


def test_an_undeclared_key_is_seen(tmp_path: Path) -> None:
    program = tmp_path / "module.py"
    program.write_text('told = configuration.get_string("penstock.batch.max-minutes", "")')
    assert [text for text in literals_of(program) if undeclared(text)] == ["penstock.batch.max-minutes"]


def test_every_field_of_the_job_settings_is_a_setting_once() -> None:
    fields = [setting.field for setting in SETTINGS.values() if setting.field is not None]
    made_otherwise = {"restart_strategy", "spark_config"}
    assert sorted(fields) == sorted({field.name for field in dataclasses.fields(JobSettings)} - made_otherwise)


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_has_a_sentence_and_a_default_of_its_kind(key: str) -> None:
    setting = SETTINGS[key]
    assert setting.doc[0].isupper() and setting.doc.endswith(".")
    if setting.default is not None:
        assert setting.kind.convert(setting.default) == setting.default
    assert setting.shown_default()


def test_a_default_that_is_shown_can_be_set() -> None:
    told: dict[str, Any] = {key: each.shown_default() for key, each in SETTINGS.items() if not each.absent}
    told = {key: text.replace(",", "") for key, text in told.items() if text != "none"}
    assert JobSettings.from_configuration(told) == JobSettings.from_configuration({})


def test_a_setting_is_read_under_its_former_name_and_the_present_one_wins() -> None:
    former, present = "state.checkpoints.num-retained", "execution.checkpointing.num-retained"
    assert JobSettings.from_configuration({former: "7"}).retained_versions == 7
    assert JobSettings.from_configuration({former: "7", present: 2}).retained_versions == 2
    with pytest.raises(ConfigurationError, match=f"configuration key '{former}' is 'x', but it must be a whole number"):
        JobSettings.from_configuration({former: "x"})


def test_no_declared_setting_belongs_to_nobody() -> None:
    names = [*SETTINGS, *(setting.former for setting in SETTINGS.values() if setting.former)]
    assert keys_of_nobody(dict.fromkeys(names, "1")) == []


def test_the_page_is_made_from_the_table() -> None:
    told = "run `penstock settings --markdown > docs/settings.md`"
    assert PAGE.read_text() == settings_page(), told


def test_the_command_shows_the_settings_with_a_text() -> None:
    told = CliRunner().invoke(app, ["settings", "TARGET-time"])
    assert told.exit_code == 0
    assert told.output == (
        "penstock.batch.target-time\n"
        "    A batch reads what it can process in this time; 0 means as much as allowed.\n"
        "    value: duration; default: 10 s\n"
    )
    assert CliRunner().invoke(app, ["settings", "--markdown"]).output == settings_page()


def test_the_command_says_so_if_there_is_no_such_setting() -> None:
    told = CliRunner().invoke(app, ["settings", "wings"])
    assert told.exit_code == 1
    assert "no setting has 'wings'" in told.output
