"""Figures of jobs as Prometheus reads them, from the documents of real jobs and of jobs made up."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.strangers import MOST_STRANGERS
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.functions import RuntimeContext
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ConfigurationError
from penstock.job.json_log import log_as_json
from penstock.job.latency import LatencyHistogram
from penstock.job.metrics_endpoint import MetricsEndpoint, serve_metrics
from penstock.metrics.prometheus import exposition
from penstock.metrics.shipped_files import ALERT_RULES, GRAFANA_BOARD, shipped_text
from tests.spark.waiting import wait_until

Samples = dict[str, dict[tuple[str, str], float]]


class Measured(MapFunction):
    """Has a metric of every kind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group().add_group("orders")
        self.bad, self.rate = group.counter("bad-ones"), group.meter("rate")
        self.sizes = group.distribution("sizes")
        group.gauge("level", lambda: 7)

    def map(self, value: Any) -> Any:
        self.bad.inc()
        self.rate.mark_event()
        self.sizes.update(value[1])
        return value


def finished_document(tmp_path: Path, **settings: str) -> dict[str, Any]:
    configuration = Configuration()
    for key, value in {
        "penstock.engine": "in-process",
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
        "penstock.batch.max-records": "4",
        "pipeline.watermark-every-records": "1",
        **settings,
    }.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    records = [("a", 1000), ("b", 25_000), ("a", 2000), ("a", 26_000), ("b", 40_000), ("a", 3000)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
    stream = environment.from_collection(records).uid("records").map(Measured()).uid("measured").name("measure it")
    timed = stream.set_parallelism(1).assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    windows = timed.key_by(lambda record: record[0], Types.STRING())
    windowed = windows.window(TumblingEventTimeWindows.of(Duration.of_seconds(10)))
    windowed.reduce(lambda one, other: (one[0], one[1] + other[1])).uid("windows").print()
    client: Any = environment.execute_async("measured job")
    client.wait()
    return dict(client.document())


def samples_of(documents: list[dict[str, Any]]) -> Samples:
    """Values by name of the sample, and by uid and subtask."""
    found: Samples = {}
    for family in text_string_to_metric_families(exposition(documents)[0].decode()):
        for sample in family.samples:
            place = sample.labels.get("uid", ""), sample.labels.get("subtask_index", "")
            found.setdefault(sample.name, {})[place] = sample.value
    return found


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return finished_document(tmp_path_factory.mktemp("job"))


def test_operators_are_counted_by_subtask(document: dict[str, Any]) -> None:
    found = samples_of([document])
    read = {place: value for place, value in found["penstock_records_in_total"].items() if place[0] == "measured"}
    assert sum(read.values()) == 6
    assert {subtask for uid, subtask in found["penstock_records_in_total"] if uid == "windows"} == {"0", "1"}
    assert sum(value for (uid, _), value in found["penstock_records_out_total"].items() if uid == "records") == 6
    assert sum(found["penstock_late_records_dropped_total"].values()) == 2
    assert {uid for uid, _ in found["penstock_busy_seconds_total"]} >= {"records", "windows"}
    assert sum(found["penstock_state_bytes"].values()) > 0


def test_metrics_of_users_have_their_kinds(document: dict[str, Any]) -> None:
    found = samples_of([document])
    assert sum(found["penstock_user_orders_bad_ones"].values()) == 6
    assert sum(found["penstock_user_orders_rate"].values()) == 6
    assert set(found["penstock_user_orders_level"].values()) == {7}
    assert sum(found["penstock_user_orders_sizes_count"].values()) == 6
    assert max(found["penstock_user_orders_sizes_max"].values()) == 40_000


def test_the_job_as_a_whole(document: dict[str, Any]) -> None:
    found = {name: values[("", "")] for name, values in samples_of([document]).items() if ("", "") in values}
    assert found["penstock_job_running"] == 0 and found["penstock_job_restarts_total"] == 0
    assert found["penstock_checkpoints_total"] == found["penstock_checkpoint_last_version"] + 1
    assert found["penstock_checkpoint_last_written_bytes"] > 0
    assert found["penstock_job_latency_seconds_count"] == 6
    assert "penstock_job_watermark_lag_seconds" not in found, "a job that has ended is not behind"


def test_a_job_that_runs_and_lags(document: dict[str, Any]) -> None:
    vertex = document["plan"][0]["id"]
    subtask = {**document["subtasks"][vertex][0], "watermark": 90_000}
    subtask["figures"] = {"records": {"lag.topic-0": 5.0, "lag.topic-1": 7.0, "pending_records": 12.0}}
    pace = {"limit": 10, "batch_ms": 5, "was_limited": True, "backpressured": 0.75, "backlog": None}
    held = [{"is_quiet": False, "stalled_ms": 4_000}, {"is_quiet": False, "stalled_ms": 42_000}]
    held.append({"is_quiet": True, "stalled_ms": 99_000})
    progress = {**document["progress"], "watermark": 90_000, "pace": pace, "restarts": 2, "event_time_holders": held}
    made = {
        **document,
        "status": "RUNNING",
        "ended_ms": None,
        "now_ms": 100_000,
        "progress": progress,
        "subtasks": {vertex: [subtask]},
        "metrics": {"records": {"uid": "records", "backpressured_ms": 1500.0, "batch_limit": 10.0}},
    }
    text = exposition([made])[0].decode()
    found = samples_of([made])
    assert found["penstock_watermark_lag_seconds"][("records", "0")] == 10
    assert found["penstock_job_watermark_lag_seconds"][("", "")] == 10
    assert found["penstock_job_event_time_stalled_seconds"][("", "")] == 42
    assert found["penstock_job_backpressured_ratio"][("", "")] == 0.75
    assert found["penstock_backpressured_seconds_total"][("records", "")] == 1.5
    assert found["penstock_source_pending_records"][("records", "0")] == 12
    assert 'partition="topic-1"' in text and 'job_name="measured job"' in text
    assert found["penstock_job_failures_total"][("", "")] == 2


def test_several_jobs_are_one_page(document: dict[str, Any]) -> None:
    other = {**document, "id": "f" * 32, "name": 'hostile "name"\n\\'}
    families = list(text_string_to_metric_families(exposition([document, other])[0].decode()))
    (running,) = [family for family in families if family.name == "penstock_job_running"]
    assert {sample.labels["job_name"] for sample in running.samples} == {"measured job", 'hostile "name"\n\\'}


def test_latency_is_a_cumulative_histogram() -> None:
    histogram = LatencyHistogram()
    for seconds, records in ((0.01, 5), (0.05, 1), (0.3, 10), (1000.0, 2)):
        histogram.add(seconds, records)
    plain = histogram.to_plain()
    assert dict(map(tuple, plain["buckets"])) | {} == {
        "0.05": 6, "0.1": 6, "0.25": 6, "0.5": 16, "1.0": 16, "2.5": 16, "5.0": 16, "10.0": 16, "30.0": 16, "60.0": 16,
        "300.0": 16, "+Inf": 18,
    }  # fmt: skip
    assert plain["sum"] == pytest.approx(0.05 + 0.05 + 3 + 2000)


# ---- the page of one job ----


@pytest.fixture
def endpoint(document: dict[str, Any]) -> Iterator[MetricsEndpoint]:
    made = MetricsEndpoint(range(20_000, 21_000), lambda: document)
    yield made
    made.close()


def test_the_page_is_read_over_http_on_this_machine_only(endpoint: MetricsEndpoint) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=30) as answer:
        assert "penstock_records_in_total" in answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/plain")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/other", timeout=30)
    assert endpoint._server.server_address[0] == "127.0.0.1"


def test_many_who_connect_and_send_nothing_have_few_threads_and_keep_prometheus_out_of_nothing(
    endpoint: MetricsEndpoint,
) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), 30))
        wait_until(lambda: threading.active_count() <= before + MOST_STRANGERS, "the oldest have been hung up on")
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=30) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost@evil.example", "localhost:1:2"])
def test_the_page_of_another_site_whose_name_leads_here_is_told_nothing(endpoint: MetricsEndpoint, host: str) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{endpoint.port}/metrics", headers={"host": host})
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(request, timeout=30)


def test_a_port_that_is_taken_does_not_stop_a_job(endpoint: MetricsEndpoint, caplog: pytest.LogCaptureFixture) -> None:
    taken = range(endpoint.port, endpoint.port + 1)
    assert serve_metrics(taken, dict, Future(), "second") is None
    assert "job 'second' has no page for Prometheus" in caplog.text
    ended: Future[Any] = Future()
    next_one = serve_metrics(range(endpoint.port, endpoint.port + 50), dict, ended, "third")
    assert next_one is not None and next_one.port != endpoint.port
    ended.set_result(None)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{next_one.port}/metrics", timeout=30)
    assert serve_metrics(None, dict, Future(), "quiet") is None


def test_figures_that_cannot_be_told_are_an_error_of_the_page(caplog: pytest.LogCaptureFixture) -> None:
    broken = MetricsEndpoint(range(21_000, 22_000), dict)
    with pytest.raises(urllib.error.HTTPError, match="500"):
        urllib.request.urlopen(f"http://127.0.0.1:{broken.port}/metrics", timeout=30)
    assert "metrics cannot be told" in caplog.text
    broken.close()


@pytest.mark.parametrize("value", ["0", "70000", "x", "10-5", "9249-x", ""])
def test_ports_that_are_none_are_refused(value: str) -> None:
    configuration = Configuration()
    configuration.set_string("penstock.metrics.prometheus.port", value)
    with pytest.raises(ConfigurationError, match=r"must be a port from 1 to 65535|must not be empty"):
        StreamExecutionEnvironment.get_execution_environment(configuration)


# ---- log lines and traces ----


def test_log_lines_as_json() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("penstock")
    before = logger.propagate, logger.level
    handler = log_as_json("id", "a job", stream)
    try:
        logging.getLogger("penstock.job.driver").warning("it is %s\nvery", "late")
        try:
            raise ValueError("reason")
        except ValueError:
            logger.exception("failed")
    finally:
        logger.removeHandler(handler)
        logger.propagate, logger.level = before
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["message"], first["level"], first["job"], first["job_id"]) == (
        "it is late\nvery",
        "WARNING",
        "a job",
        "id",
    )
    assert first["time"].endswith("+00:00") and first["logger"] == "penstock.job.driver"
    assert "ValueError: reason" in second["traceback"]


def test_versions_are_traced_if_asked_for(tmp_path: Path) -> None:
    trace = pytest.importorskip(
        "opentelemetry.trace", reason="OpenTelemetry is not installed: pip install penstock[traces]"
    )
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    document = finished_document(tmp_path, **{"penstock.traces.enabled": "true"})
    spans = exporter.get_finished_spans()
    versions = [span for span in spans if span.name == "penstock.version"]
    assert len(versions) == document["checkpoints"]["completed"]
    assert sum(span.attributes["penstock.records"] for span in versions) == 6
    parts = [span for span in spans if span.parent is not None and span.parent.span_id == versions[0].context.span_id]
    assert [span.name for span in parts] == ["penstock.work", "penstock.seal", "penstock.publish"]
    assert parts[0].start_time == versions[0].start_time and parts[-1].end_time == versions[0].end_time


# ---- files and the command ----


def test_every_figure_of_rules_and_board_is_one_that_is_exported(document: dict[str, Any]) -> None:
    import re

    source = (Path(__file__).parents[3] / "src" / "penstock" / "metrics" / "prometheus.py").read_text()
    exported = set(re.findall(r'"(penstock_[a-z_]+)"', source))
    for file in (ALERT_RULES, GRAFANA_BOARD):
        for name in set(re.findall(r"penstock_[a-z_]+", shipped_text(file))):
            assert name.removesuffix("_total").removesuffix("_bucket") in exported, f"{name} of {file} is not exported"


def test_the_command_prints_the_shipped_files() -> None:
    rules = CliRunner().invoke(app, ["metrics", "--rules"])
    assert rules.exit_code == 0 and "PenstockWatermarkStuck" in rules.stdout
    board = CliRunner().invoke(app, ["metrics", "--board"])
    assert json.loads(board.stdout)["title"] == "Penstock jobs"
    assert "name a JOB" in CliRunner().invoke(app, ["metrics"]).stderr


def test_sources_that_keep_together_tell_how_far_they_are_ahead(document: dict[str, Any]) -> None:
    ahead = {"records": {"uid": "records", "watermarkAlignmentDrift": 4_500, "paused_splits": 2}}
    found = samples_of([{**document, "metrics": ahead}])
    assert found["penstock_source_watermark_alignment_drift_seconds"] == {("records", ""): 4.5}
    assert found["penstock_source_paused_splits"] == {("records", ""): 2}
