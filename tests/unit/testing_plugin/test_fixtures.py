"""The fixtures of the plugin, each used by a small test file as a user would write it. Spark is a stand-in here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import penstock.engine.spark.startup.session
import penstock.java
from penstock.errors import ConfigurationError
from penstock.graph import JobSettings

pytest_plugins = "pytester"

FUNCTIONS = """
from penstock.datastream import KeyedProcessFunction, ProcessFunction

class Echo(ProcessFunction):
    def process_element(self, value, ctx):
        yield value

class Later(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(100)
    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp
    def close(self):
        print("closed")
"""


class StandInSession:
    """As much of a Spark session as the plugin touches."""

    def __init__(self, app_name: str) -> None:
        self.sparkContext = SimpleNamespace(appName=app_name)
        self.stopped = 0

    def stop(self) -> None:
        self.stopped += 1


class StandInSpark:
    """Gives out one session; one that is running already is not named as the plugin asks."""

    def __init__(self, running: str | None = None) -> None:
        self.asked: list[JobSettings] = []
        self.session = StandInSession(running or "")
        self._running = running

    def get_session(self, settings: JobSettings) -> StandInSession:
        self.asked.append(settings)
        if self._running is None:
            self.session = StandInSession(settings.job_name)
        return self.session


def use_spark(monkeypatch: pytest.MonkeyPatch, spark: StandInSpark) -> None:
    monkeypatch.setattr(penstock.java, "java_home", lambda: "somewhere")
    monkeypatch.setattr(penstock.engine.spark.startup.session, "get_session", spark.get_session)


SPARK_TESTS = """
seen = []
def test_one(penstock_spark):
    seen.append(penstock_spark)
    assert not penstock_spark.stopped
def test_two(penstock_spark, penstock_spark_env):
    assert seen == [penstock_spark]
    assert penstock_spark_env.get_parallelism() == 2
    assert not penstock_spark.stopped
"""


def test_the_spark_session_is_made_once_and_stopped_at_the_end(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = StandInSpark()
    use_spark(monkeypatch, spark)
    pytester.makepyfile(SPARK_TESTS)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    assert [settings.spark_master for settings in spark.asked] == ["local[2,4]"]
    assert spark.session.stopped == 1


def test_a_session_of_the_user_is_used_and_left_running(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = StandInSpark(running="the user's own")
    use_spark(monkeypatch, spark)
    pytester.makepyfile(SPARK_TESTS)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    assert spark.session.stopped == 0


def test_without_java_tests_on_spark_are_skipped_and_say_why(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java() -> str:
        raise ConfigurationError("install a JDK")

    spark = StandInSpark()
    use_spark(monkeypatch, spark)
    monkeypatch.setattr(penstock.java, "java_home", no_java)
    pytester.makepyfile(SPARK_TESTS)
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*SKIPPED*install a JDK*"])
    assert spark.asked == []


def test_the_environment_runs_in_process_on_the_clock(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        FUNCTIONS
        + """
def test_job(penstock_env, penstock_clock):
    assert penstock_env.get_parallelism() == 2
    assert penstock_clock() == 0
    seen = penstock_env.from_collection(["a"]).key_by(str).process(Now())
    penstock_clock.set(40)
    assert list(seen.execute_and_collect()) == [40]

class Now(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timer_service().current_processing_time()
"""
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_harness_is_opened_and_closed_after_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        FUNCTIONS
        + """
from penstock.testing import KeyedProcessHarness

def test_plain(penstock_harness):
    harness = penstock_harness(Echo())
    harness.process_element(1, timestamp=5)
    assert [(record.value, record.timestamp) for record in harness.output()] == [(1, 5)]

def test_keyed(penstock_harness):
    harness = penstock_harness(Later(), key=str, processing_time=50)
    assert harness.clock() == 50
    harness.process_element(1)
    harness.set_processing_time(100)
    assert harness.output_values() == [("1", 100)]
    print("end of test")

def test_any_other(penstock_harness):
    harness = KeyedProcessHarness(Later(), key=str)
    assert penstock_harness(harness) is harness
    harness.process_element(1)
"""
    )
    result = pytester.runpytest_inprocess("-s")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*end of test", "*closed"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("Later()", "Later works on a keyed stream: pass key=lambda element: ..."),
        ("KeyedProcessHarness(Later(), key=str), subtask=1", "give subtask to KeyedProcessHarness(...) itself"),
    ],
)
def test_a_harness_made_wrongly_says_what_to_do(pytester: pytest.Pytester, call: str, message: str) -> None:
    body = f"from penstock.testing import KeyedProcessHarness\ndef test_it(penstock_harness): penstock_harness({call})"
    pytester.makepyfile(f"{FUNCTIONS}\n{body}")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    assert f"TypeError: {message}" in result.stdout.str()


def test_each_test_has_a_checkpoint_directory_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import os, pytest
seen = set()
@pytest.mark.parametrize("n", [1, 2])
def test_directory(penstock_checkpoint_dir, n):
    assert os.listdir(penstock_checkpoint_dir) == []
    assert penstock_checkpoint_dir not in seen
    seen.add(penstock_checkpoint_dir)
"""
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


FAILING = """
def test_fails(penstock_seed): assert penstock_seed is None
def test_fails_without(): assert False
def test_passes(penstock_seed): assert 0 <= penstock_seed < 2**32
"""


def test_a_failing_test_prints_its_seed_and_the_option_gives_it_back(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    first = pytester.runpytest_inprocess()
    first.assert_outcomes(failed=2, passed=1)
    # Once: not under the test that has no seed.
    (line,) = [line for line in first.stdout.lines if line.startswith("repeat with --penstock-seed ")]
    seed = line.split()[-1]
    pytester.makepyfile(f"def test_same(penstock_seed): assert penstock_seed == {seed}")
    pytester.runpytest_inprocess("--penstock-seed", seed).assert_outcomes(passed=1)
    pytester.runpytest_inprocess("--penstock-seed", str(int(seed) + 1)).assert_outcomes(failed=1)


def test_two_runs_have_different_seeds(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    lines = [
        [line for line in pytester.runpytest_inprocess().stdout.lines if "--penstock-seed " in line] for _ in range(2)
    ]
    assert lines[0] != lines[1]


def test_every_fixture_is_explained(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--fixtures")
    text = result.stdout.str().partition("penstock.testing.pytest_plugin")[2]
    assert text.count("\npenstock_") == 7
    assert "no docstring available" not in text
