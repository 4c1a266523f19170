"""Fixtures of the tests beside the examples: the example, run by the commands of its README."""

from __future__ import annotations

from pathlib import Path

import pytest
from gallery.readme_commands import ExampleRun, commands, readme_of, run_commands


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the examples on Spark a run of all tests draws some: in process it runs them all."""
    for item in items:
        if "spark_run" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.drawn(3, group="examples on Spark"))


def name_of(request: pytest.FixtureRequest) -> str:
    return Path(str(request.node.path)).parent.name


@pytest.fixture(scope="module")
def example_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ExampleRun:
    """The example beside the test, run in process."""
    name = name_of(request)
    return run_commands(name, tmp_path_factory.mktemp(name), commands(readme_of(name)))


@pytest.fixture
def spark_run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExampleRun:
    """The example beside the test, its job run on Spark."""
    # Java that compiles no more than a short program is worth.
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    readme = readme_of(example := name_of(request))
    prepare = [line for line in commands(readme) if "/generate.py" in line]
    draw = [line for line in commands(readme) if "/draw.py" in line]
    return run_commands(example, tmp_path, [*prepare, *commands(readme, "spark"), *draw])
