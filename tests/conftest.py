"""What every test run shares: hypothesis settings, one seed that can be given back, a place for cards of jobs.

Tests that need one get it from their own folder.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from tests.chosen import QUICKER, changed_files, every_file, files_chosen
from tests.drawing import left_out
from tests.left_behind import watch

# Containers often have this variable. Without bytecode on disk every process of a run compiles all of Penstock again,
# and pytest rewrites the assertions of 1,300 modules: half of what it costs to find the tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that starts a run in the background has interrupts ignored in it, and in all programs that its tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two busy cores make single examples slow at random, so a deadline would report the machine and not the code.
settings.register_profile("penstock", deadline=None, print_blob=True)
settings.load_profile("penstock")

SEED = pytest.StashKey[int]()
HOME = pytest.StashKey[str]()
END_OF_WATCH = pytest.StashKey[Callable[[], None]]()
CHOICE = pytest.StashKey["Choice"]()


class Choice:
    """The files that take long and are to run, and in words why."""

    def __init__(self, config: pytest.Config) -> None:
        found = changed_files(config.rootpath, config.getoption("--base"))
        since, changed = found or ("", [])
        self.files = files_chosen(changed)
        why = f"{len(changed)} changed since {since}" if found else "git does not know what has changed"
        self.words = f"files that take long: {len(self.files)} of {len(every_file())} chosen ({why}; ALL=1 runs all)"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="seed of the randomised tests; printed by every run")
    parser.addoption("--draw", action="store_true", help="of tests marked `drawn` run a part, which the seed chooses")
    parser.addoption(
        "--chosen", action="store_true", help="of files that take long run those whose subject has changed"
    )
    parser.addoption("--base", default=None, help="with --chosen: the commit since which; see tests/chosen.py")


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--seed")
    shared = getattr(config, "workerinput", {}).get("seed", given)  # a worker of xdist has the seed of the whole run
    config.stash[SEED] = random.SystemRandom().randrange(2**32) if shared is None else shared
    if not hasattr(config, "workerinput"):  # workers of xdist are watched with the run that started them
        config.stash[END_OF_WATCH] = watch()
    # Jobs of the tests are not to be seen among those of whoever runs the tests.
    config.stash[HOME] = os.environ["PENSTOCK_HOME"] = tempfile.mkdtemp(prefix="penstock-home-")
    if config.getoption("--chosen"):
        try:
            config.stash[CHOICE] = Choice(config)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[HOME], ignore_errors=True)
    if END_OF_WATCH in config.stash:
        config.stash[END_OF_WATCH]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the seed of the run to a worker of xdist."""
    node.workerinput["seed"] = node.config.stash[SEED]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose and draw where that is asked for, and put files with the longest tests first.

    The last of them must not keep one of two processes waiting. Those give themselves more time than others, or belong
    to a subject. Files stay whole, and tests of a file in their order.
    """
    if CHOICE in config.stash:
        out = {str(config.rootpath / file) for file in every_file() - config.stash[CHOICE].files}
        _leave_out(config, items, lambda item: str(item.path) in out and not _is_quick(item))
    if config.getoption("--draw"):
        out = left_out(items, config.stash[SEED])
        _leave_out(config, items, lambda item: item.nodeid in out)
    longest = {str(config.rootpath / file): 1.0 for file in every_file() - QUICKER}
    for item in items:
        mark = item.get_closest_marker("timeout")
        seconds = float(mark.args[0]) if mark is not None and mark.args else 0.0
        name = str(item.path)
        longest[name] = max(longest.get(name, 0.0), seconds)
    items.sort(key=lambda item: -longest[str(item.path)])


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules stay to the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def _is_quick(item: pytest.Item) -> bool:
    """Whether a test of a file that is left out runs all the same; examples are programs, without Spark too."""
    return "examples" not in item.path.parts and item.get_closest_marker("slow") is None


def _leave_out(config: pytest.Config, items: list[pytest.Item], is_out: Callable[[pytest.Item], bool]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if is_out(item)])
    items[:] = [item for item in items if not is_out(item)]


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = f"seed: {config.stash[SEED]} (repeat with --seed {config.stash[SEED]})"
    return [seed, config.stash[CHOICE].words] if CHOICE in config.stash else [seed]


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run, for tests that draw their own random numbers; shown again where one fails."""
    value = request.config.stash[SEED]
    print(f"repeat with --seed {value}")
    return value
