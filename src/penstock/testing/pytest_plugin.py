"""The pytest plugin: fixtures for tests of operators and jobs, found by pytest wherever Penstock is installed.

It loads nothing of Penstock or Spark until a fixture asks for it, because pytest imports this module in every run, also
of tests that have nothing to do with Penstock.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.engine.in_process.clock import ManualClock

_SEED = "penstock_seed"
_PARALLELISM = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that gives a seed back."""
    parser.getgroup("penstock").addoption(
        "--penstock-seed",
        dest=_SEED,
        type=int,
        default=None,
        help="the seed for the fixture penstock_seed; a failing test prints its seed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed of the run, unless one was given."""
    # Kept as an option and not in the stash: pytest-xdist hands options on, so all its processes have one seed.
    if config.getoption(_SEED) is None:
        setattr(config.option, _SEED, random.SystemRandom().randrange(2**32))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the seed under a test that used it and failed."""
    report = yield
    if report.failed and _SEED in getattr(item, "fixturenames", ()):
        report.sections.append(("penstock seed", f"repeat with --penstock-seed {item.config.getoption(_SEED)}"))
    return report


@pytest.fixture
def penstock_seed(request: pytest.FixtureRequest) -> int:
    """A random number, the same for all tests of the run: `StreamExecutionEnvironment.in_process(penstock_seed)`.

    A test that fails prints it; `pytest --penstock-seed N` repeats the run.
    """
    seed: int = request.config.getoption(_SEED)
    return seed


@pytest.fixture
def penstock_clock() -> ManualClock:
    """Processing time of `penstock_env`, at 0 until the test moves it."""
    from penstock.engine.in_process.clock import ManualClock

    return ManualClock()


@pytest.fixture
def penstock_env(penstock_clock: ManualClock) -> StreamExecutionEnvironment:
    """An environment of parallelism 2 whose jobs run in this process, without Spark or Java, on `penstock_clock`."""
    from penstock.datastream import StreamExecutionEnvironment

    return StreamExecutionEnvironment.in_process(clock=penstock_clock).set_parallelism(_PARALLELISM)


@pytest.fixture
def penstock_harness() -> Iterator[Callable[..., Any]]:
    """Make and open the harness of a process function: `penstock_harness(Count(), key=lambda e: e.user)`.

    With `key` it is a KeyedProcessHarness, without it a ProcessHarness; with `key1` and `key2`, or for a
    CoProcessFunction, one with two inputs. Other arguments go there too. Any other harness may be given as it is. All
    are closed at the end of the test.
    """
    with ExitStack() as opened:

        def open_harness(subject: Any, **settings: Any) -> Any:
            return opened.enter_context(_harness(subject, settings))

        yield open_harness


def _harness(subject: Any, settings: dict[str, Any]) -> Any:
    from penstock.testing.harness import KeyedProcessHarness, ProcessHarness, SubtaskHarness
    from penstock.testing.two_input_harness import CoProcessHarness, KeyedCoProcessHarness
    from penstock.vocabulary.functions import CoProcessFunction, KeyedCoProcessFunction, KeyedProcessFunction

    if isinstance(subject, SubtaskHarness):
        if settings:
            raise TypeError(f"give {', '.join(settings)} to {type(subject).__name__}(...) itself")
        return subject
    if isinstance(subject, KeyedProcessFunction) and "key" not in settings:
        raise TypeError(f"{type(subject).__name__} works on a keyed stream: pass key=lambda element: ...")
    if isinstance(subject, KeyedCoProcessFunction) and not {"key1", "key2"} <= set(settings):
        raise TypeError(f"{type(subject).__name__} works on two keyed streams: pass key1=lambda element: ..., key2=...")
    if "key1" in settings:
        return KeyedCoProcessHarness(subject, **settings)
    if isinstance(subject, CoProcessFunction):
        return CoProcessHarness(subject, **settings)
    return KeyedProcessHarness(subject, **settings) if "key" in settings else ProcessHarness(subject, **settings)


@pytest.fixture
def penstock_checkpoint_dir(tmp_path: Path) -> str:
    """An empty directory for the checkpoints of this test: `set_checkpoint_storage_dir(penstock_checkpoint_dir)`."""
    directory = tmp_path / "checkpoints"
    directory.mkdir()
    return str(directory)


@pytest.fixture(scope="session")
def penstock_spark() -> Iterator[Any]:
    """The Spark session of the whole run, on this machine: 2 cores, failed tasks are tried again as on a cluster.

    If a session is active already, that one is given, and left running. Skips the test where no Java is found.
    """
    _skip_without_java()
    from penstock.engine.spark.startup.session import get_session
    from penstock.graph import JobSettings

    name = f"penstock tests {os.getpid()}"
    session = get_session(JobSettings(job_name=name, spark_master="local[2,4]"))
    yield session
    if session.sparkContext.appName == name:
        session.stop()


def _skip_without_java() -> None:
    from penstock.errors import ConfigurationError
    from penstock.java import java_home

    try:
        java_home()
    except ConfigurationError as error:
        pytest.skip(str(error))


@pytest.fixture
def penstock_spark_env(penstock_spark: Any) -> StreamExecutionEnvironment:
    """An environment of parallelism 2 whose jobs run on the session `penstock_spark`."""
    from penstock.datastream import StreamExecutionEnvironment

    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(_PARALLELISM)
