"""A real Prometheus reads a job, takes the shipped rules, and one of its alerts fires."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, RestartStrategies, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.metrics.shipped_files import ALERT_RULES, shipped_text
from tests.prometheus.real_prometheus import command, free_port, running_prometheus

pytestmark = pytest.mark.slow


class FailsOnceEach:
    """Fails once at every fiftieth number; which ones it has met is in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __call__(self, number: int) -> int:
        if number % 50 == 49:
            try:
                os.mkdir(os.path.join(self._folder, str(number)))
            except FileExistsError:
                return number
            raise ValueError(f"{number} is not wanted yet")
        return number


@contextmanager
def running_job(folder: Path, function: Any) -> Iterator[int]:
    """A job in this process, at 200 records a second; gives the port of its metrics."""
    port = free_port()
    configuration = Configuration()
    configuration.set_string("penstock.engine", "in-process")
    configuration.set_string("penstock.metrics.prometheus.port", str(port))
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoint"))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 300))
    source = DataGeneratorSource(lambda index: index, 10_000_000, RateLimiterStrategy(200.0))
    numbers = environment.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    numbers.map(function).name("check").uid("check").key_by(lambda number: number % 5).reduce(max).uid("max").print()
    client = environment.execute_async("watched")
    try:
        yield port
    finally:
        client.cancel().result()


def test_promtool_accepts_the_rules(tmp_path: Path) -> None:
    rules = resources.files("penstock.metrics").joinpath(ALERT_RULES)
    checked = subprocess.run([command("promtool"), "check", "rules", str(rules)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "SUCCESS" in checked.stdout


def test_prometheus_reads_a_job_and_an_alert_fires(tmp_path: Path) -> None:
    """The rule is the shipped one, with shorter times: more than three restarts in so many minutes."""
    rules = shipped_text(ALERT_RULES).replace("[30m]", "[60s]").replace("for: 10m", "for: 1s")
    for name in ("job", "failures"):
        (tmp_path / name).mkdir()
    with (
        running_job(tmp_path / "job", FailsOnceEach(tmp_path / "failures")) as port,
        running_prometheus(tmp_path / "prometheus", port, rules) as prometheus,
    ):
        up = prometheus.wait_until(lambda: prometheus.query("up == 1"), "the job is read")
        assert len(up) == 1
        found = prometheus.wait_until(
            lambda: prometheus.query('sum(penstock_records_in_total{job_name="watched", uid="check"}) > 0'),
            "records are counted",
        )
        assert float(found[0]["value"][1]) > 0
        alert = prometheus.wait_until(
            lambda: prometheus.firing().get("PenstockRestarts"), "the alert of restarts fires"
        )
    assert alert["labels"]["job_name"] == "watched"
    assert alert["annotations"]["summary"] == "Job watched restarts again and again"
