"""Imports of PyFlink programs that only work because PyFlink re-exports the name; and names that are gone."""

from __future__ import annotations

import importlib

import pytest

from penstock.pyflink_names import _HOME, GONE, GONE_MODULES


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "penstock.datastream.connectors",
            "FileSource FileSink KafkaSource JdbcSink NumberSequenceSource StreamFormat",
        ),
        ("penstock.datastream.window", "Time ReduceFunction ValueStateDescriptor TypeSerializer T W"),
        ("penstock.datastream.functions", "KEY W IN OUT ValueState TimeDomain MetricGroup"),
        ("penstock.datastream.state", "Time Types"),
        ("penstock.datastream.data_stream", "MapFunction WatermarkStrategy Types Row"),
        ("penstock.datastream.stream_execution_environment", "Types SourceFunction"),
        ("penstock.datastream.formats.json", "DeserializationSchema TypeInformation"),
        ("penstock.table.table_environment", "StreamTableEnvironment Schema TypeInformation udaf ChangelogMode"),
        ("penstock.table.udf", "DataType"),
    ],
)
def test_names_come_from_where_they_are(module: str, names: str) -> None:
    for name in names.split():
        found = getattr(importlib.import_module(module), name)
        if name in _HOME:
            assert found is getattr(importlib.import_module(_HOME[name]), name)


def test_every_home_has_its_names() -> None:
    for name, home in _HOME.items():
        assert name in vars(importlib.import_module(home)), f"{home} has no {name}"


def test_names_that_flink_2_removed_say_what_to_write() -> None:
    with pytest.raises(ImportError, match=r"datastream has no TimeCharacteristic: .* leave set_stream_time_char"):
        from penstock.datastream import TimeCharacteristic  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ImportError, match="use KafkaSource or KafkaSink"):
        from penstock.datastream.connectors.kafka import FlinkKafkaConsumer  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        from penstock.datastream import Nonsense  # type: ignore[attr-defined]  # noqa: F401


@pytest.mark.parametrize("name", GONE_MODULES)
def test_modules_that_are_gone_say_what_to_do(name: str) -> None:
    with pytest.raises(ImportError) as refusal:
        importlib.import_module(name)
    assert str(refusal.value) == f"There is no module {name}: {GONE_MODULES[name]}."


def test_a_gone_module_that_is_imported_from_its_package_says_so_too() -> None:
    with pytest.raises(ImportError, match=r"There is no module penstock\.java_gateway: "):
        from penstock import java_gateway  # type: ignore[attr-defined]  # noqa: F401


def test_no_name_is_both_there_and_gone() -> None:
    assert not GONE.keys() & _HOME.keys()
