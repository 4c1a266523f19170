"""What a file source is told: settings that are unknown or of another type are refused where they are written."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Duration
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.errors import ConfigurationError


@pytest.mark.parametrize("form", [FileSource.text, FileSource.csv, FileSource.json, FileSource.parquet, FileSource.orc])
@pytest.mark.parametrize("unknown", [{"watch": True}, {"headers": True}, {"max_files": 3}])
def test_a_setting_that_nobody_knows_is_refused(form: Any, unknown: dict[str, Any]) -> None:
    name = next(iter(unknown))
    with pytest.raises(
        ConfigurationError, match=f"FileSource.{form.__name__}: there is no setting {name!r}"
    ) as refused:
        form("/data", **unknown)
    assert "monitor_interval" in str(refused.value)


def test_a_setting_that_is_nearly_right_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'headers'.*did you mean 'header'\?"):
        FileSource.csv("/data", headers=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [5, "5 s", 0.5, True])
def test_an_interval_that_is_no_duration_is_refused(given: Any) -> None:
    with pytest.raises(
        ConfigurationError, match=r"monitor_interval must be a Duration, such as Duration.of_seconds\(5\)"
    ):
        FileSource.text("/data", monitor_interval=given)
    with pytest.raises(ConfigurationError, match=r"must be a Duration, such as Duration.of_seconds\(5\)"):
        builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data")
        builder.monitor_continuously(given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"glob": 5},
        {"recursive": "yes"},
        {"max_files_per_batch": "3"},
        {"max_files_per_batch": True},
        {"max_files_per_batch": 0},
        {"row_format": "rows"},
    ],
)
def test_values_of_another_type_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        FileSource.text("/data", **wrong)


@pytest.mark.parametrize("wrong", [{"header": "yes"}, {"delimiter": ""}, {"delimiter": 5}, {"schema": 5}])
def test_wrong_settings_of_csv_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        FileSource.csv("/data", **wrong)


def test_right_settings_are_kept() -> None:
    source = FileSource.text("/data", monitor_interval=Duration.of_seconds(5), max_files_per_batch=2, recursive=False)
    assert source.discovery_ms == 5000
    assert (source.reading.max_files_per_batch, source.reading.recursive) == (2, False)
    assert not source.is_bounded()
