"""Settings of tables: all that are read are declared, and others warn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment, TableConfig
from penstock.table.setting_keys import KEYS

SOURCES = Path(penstock.__file__).parent


def test_every_key_that_is_read_is_declared() -> None:
    texts = [path.read_text() for path in SOURCES.rglob("*.py") if path.name != "setting_keys.py"]
    read = {key for text in texts for key in re.findall(r'"(table\.(?:exec|optimizer|local)[a-z.-]*[a-z])"', text)}
    assert read and read <= set(KEYS)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("table.exec.mini-batchh.enabled", "did you mean 'table.exec.mini-batch.enabled'?"),
        ("table.exec.resource.default-parallelism", "Spark runs the job"),
        ("table.exec.mini-batch.allow-latency", "a mini-batch ends with its batch, or when it is full."),
        ("table.nonsense", "Penstock does not know it."),
    ],
)
def test_a_key_without_effect_warns_with_the_reason(key: str, told: str) -> None:
    with pytest.warns(UserWarning, match=re.escape(f"configuration key {key!r} has no effect: ")) as seen:
        TableConfig().set(key, "1")
    assert told in str(seen[0].message)
    assert seen[0].filename == __file__


def test_keys_with_an_effect_and_those_of_others_do_not_warn() -> None:
    config = TableConfig()
    for key in (*KEYS, "parallelism.default", "my.own.key"):
        config.set(key, "1")
    config.set_max_generated_code_length(5_000)
    assert config.get("my.own.key", "") == "1"


def test_settings_of_the_program_reach_its_tables() -> None:
    configuration = Configuration().set_string("table.local-time-zone", "Asia/Tokyo")
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process(configuration=configuration))
    ((local,),) = tables.execute_sql("SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING)").collect()
    assert local == "1970-01-01 09:00:00.000"
    assert tables.get_config().get_local_timezone() == "Asia/Tokyo"
