"""What a session is made with: what the user has said anywhere stands, and Penstock fills in the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.engine.spark.startup.session_config import JAVA_OPTIONS, session_config
from penstock.engine.spark.told_to_spark import settings_of_file, told_to_spark

OWN = f"local[{os.cpu_count()},4]"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variable of Spark's, and a folder for its files that is empty."""
    for name in [key for key in os.environ if key.startswith(("SPARK_", "PYSPARK_")) or key == "MASTER"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


def master(given: str | None = None) -> str:
    return session_config({} if given is None else {"spark.master": given}, told_to_spark()).master


def test_a_master_is_chosen_only_where_none_is_configured(nothing_said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert master() == OWN
    monkeypatch.setenv("MASTER", "local[3]")
    assert master() == "local[3]"
    nothing_said.write_text("spark.master spark://file:7077\n")
    assert master() == "spark://file:7077"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g --master spark://line:7077 pyspark-shell")
    assert master() == "spark://line:7077"
    monkeypatch.setenv("SPARK_MASTER", "spark://variable:7077")
    assert master() == "spark://variable:7077"
    assert master("local[1]") == "local[1]"


@pytest.mark.parametrize(
    ("told", "variable", "expected"),
    [
        ("spark://line:7077", None, "spark://line:7077"),
        ("spark://line:7077", "spark://variable:7077", "spark://line:7077"),
        ("local[*]", None, "local[*]"),
        ("local[*]", "spark://variable:7077", "spark://variable:7077"),
    ],
)
def test_the_line_of_spark_submit_stands(
    told: str, variable: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("SPARK_MASTER", variable)
    assert session_config({}, {"spark.master": told}, is_submitted=True).master == expected


def test_no_setting_of_the_users_is_overridden() -> None:
    told = {"spark.ui.enabled": "true", "spark.sql.session.timeZone": "Europe/Berlin", JAVA_OPTIONS: "-Xmx1g"}
    made = session_config({"spark.authenticate": "false"}, told)
    assert "spark.ui.enabled" not in made.settings
    assert "spark.sql.session.timeZone" not in made.settings
    # After our own, so that theirs win; one option for memory does not bring Spark's log back.
    assert made.settings[JAVA_OPTIONS].endswith(" -Xmx1g")
    assert made.settings[JAVA_OPTIONS].startswith("-Dlog4j2.configurationFile=")
    assert made.settings["spark.authenticate"] == "false"


def test_local_spark_is_reached_from_this_machine_only() -> None:
    made = session_config({}, {}).settings
    assert (made["spark.driver.host"], made["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert made["spark.authenticate"] == "true"


def test_who_chose_an_address_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "spark.driver.bindAddress" not in session_config({"spark.driver.host": "192.0.2.7"}, {}).settings
    assert "spark.driver.host" not in session_config({}, {"spark.driver.bindAddress": "0.0.0.0"}).settings
    monkeypatch.setenv("SPARK_LOCAL_IP", "192.0.2.7")
    assert "spark.driver.host" not in session_config({}, {}).settings


@pytest.mark.parametrize("name", ["spark://host:7077", "yarn", "k8s://host", "local-cluster[2,1,1024]"])
def test_a_cluster_reaches_its_driver_as_it_is_configured(name: str) -> None:
    made = session_config({"spark.master": name}, {}).settings
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.authenticate"} & made.keys()


def test_settings_on_the_line_come_before_those_of_files(nothing_said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_said.write_text("spark.a of the file\nspark.b=of the file\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.a='of the line' -c spark.c=1=2 --name x pyspark-shell")
    assert told_to_spark() == {"spark.a": "of the line", "spark.b": "of the file", "spark.c": "1=2"}
    other = nothing_said.with_name("other.conf")
    other.write_text("spark.b of another file\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file={other} pyspark-shell")
    assert told_to_spark() == {"spark.b": "of another file"}


def test_files_are_read_as_java_reads_properties(tmp_path: Path) -> None:
    file = tmp_path / "some.conf"
    file.write_text(
        "# a comment\n! another\n\nspark.plain   a value  \nspark.equals = x=y\nspark.colon:1\n"
        "  spark.long  one \\\n     two\nspark.empty\nother.key 1\nspark.path C\\:\\\\x\n"
    )
    assert settings_of_file(file) == {
        "spark.plain": "a value",
        "spark.equals": "x=y",
        "spark.colon": "1",
        "spark.long": "one two",
        "spark.path": "C:\\x",
    }
    assert settings_of_file(tmp_path / "none.conf") == {}
