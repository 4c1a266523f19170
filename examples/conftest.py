"""Fixtures of the tests beside the examples: the example, run by the commands of its README."""

from __future__ import annotations

from pathlib import Path

import pytest
from gallery.readme_commands import ExampleRun, commands, readme_of, run_commands


def name_of(request: pytest.FixtureRequest) -> str:
    return Path(str(request.node.path)).parent.name


@pytest.fixture(scope="module")
def example_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ExampleRun:
    """The example beside the test, run in process."""
    name = name_of(request)
    return run_commands(name, tmp_path_factory.mktemp(name), commands(readme_of(name)))


@pytest.fixture
def spark_run(request: pytest.FixtureRequest, tmp_path: Path) -> ExampleRun:
    """The example beside the test, its job run on Spark."""
    readme = readme_of(name := name_of(request))
    prepare = [line for line in commands(readme) if "/generate.py" in line]
    draw = [line for line in commands(readme) if "/draw.py" in line]
    return run_commands(name, tmp_path, [*prepare, *commands(readme, "spark"), *draw])
