"""The plugin as pytest finds it in a process of its own: by its entry point, light, and possible to turn off."""

from __future__ import annotations

import ast
import importlib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import penstock.testing

pytest_plugins = "pytester"

USERS_FILE = """
import sys
HEAVY = {"pyspark", "pyarrow", "pandas", "numpy", "lmdb", "cloudpickle"}
loaded_at_start = HEAVY & sys.modules.keys()
penstock_at_start = sorted(name for name in sys.modules if name.startswith("penstock"))

from penstock.datastream import KeyedProcessFunction
from penstock.testing import CollectSink, KeyedProcessHarness

class Total(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key(), value * 2

def test_nothing_heavy_is_loaded_at_the_start():
    assert loaded_at_start == set()
    others = {name for name in penstock_at_start if not name.startswith("penstock.testing")}
    # The place where crashes are plugged into the engine, and nothing of the engine itself.
    plug = {"penstock.engine", "penstock.engine.in_process", "penstock.engine.in_process.chances", "penstock.errors"}
    assert others == {"penstock", "penstock.pyflink_names", *plug}
    assert set(penstock_at_start) - others == {"penstock.testing", "penstock.testing.pytest_plugin"}

def test_operator():
    with KeyedProcessHarness(Total(), key=lambda value: value % 2) as harness:
        harness.process_element(3, timestamp=1)
        assert harness.output_values() == [(1, 6)]

def test_job(penstock_env):
    sink = CollectSink()
    penstock_env.from_collection([1, 2]).key_by(lambda value: value % 2).process(Total()).add_sink(sink)
    penstock_env.execute()
    assert sorted(sink.get_results()) == ["(0, 4)", "(1, 2)"]

def test_spark_was_not_needed():
    assert "pyspark" not in sys.modules
"""


def test_the_entry_point_is_installed() -> None:
    found = {entry.name: entry.value for entry in entry_points(group="pytest11")}
    assert found.get("penstock") == "penstock.testing.pytest_plugin", "reinstall: pip install --no-deps -e ."


def test_a_users_file_needs_no_conftest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USERS_FILE)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=4)


def test_it_can_be_turned_off(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test_off(): assert 'penstock' not in sys.modules")
    pytester.runpytest_subprocess("-p", "no:penstock").assert_outcomes(passed=1)


def test_every_public_name_of_the_package_is_found_where_it_is_said_to_be() -> None:
    tree = ast.parse(Path(penstock.testing.__file__).read_text())
    homes = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)  # for type checkers
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(homes) == sorted(penstock.testing.__all__)
    for name, home in homes.items():
        assert getattr(penstock.testing, name) is getattr(importlib.import_module(str(home)), name), name


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Harnes'"):
        _ = penstock.testing.Harnes
