"""Import directions: which part of Penstock may know which."""

from __future__ import annotations

import pytest

from tests.tidy.repository import Import, Module, imports, modules, report

CONTRACTS = {"connectors.source", "connectors.sink", "connectors.stages"}
PLAN = {"graph.nodes", "graph.plan"}
FOUNDATION = {"errors", "common", "metrics"}
# What every task of a job may have in it.
CORE = FOUNDATION | {"connectors", "formats", "graph", "keys", "runtime", "state", "storage", "vocabulary"}
VERSIONS = {"checkpoint", "savepoint"}

# What each part may import when it is loaded, by dotted prefix after `penstock.`. Its own modules are always allowed.
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    # What is on this machine: a place for files, one for a while, processes, a Java.
    "user_cache": set(),
    "process_ids": set(),
    # Tables of names, for modules with PyFlink's paths.
    "pyflink_names": set(),
    "scratch": {"errors"},
    "tokens": {"errors", "scratch"},
    "http_limits": set(),
    "java": {"errors", "user_cache"},
    "kafka_broker": {"errors", "java", "process_ids", "user_cache"},
    # The foundation: types, configuration, metrics, files, keys.
    "storage": {"errors"},
    "common": {"errors", "pyflink_names"},
    "metrics": {"errors", "common"},
    "keys": {"errors", "common"},
    # The words that front ends and the runtime share.
    "vocabulary": FOUNDATION,
    "formats": FOUNDATION | {"storage"},
    # A sink function is handed a context of the class that its type hints name.
    "connectors": FOUNDATION | {"formats", "storage", "vocabulary.functions"},
    "state": {"errors", "common", "keys", "storage"},
    # Key groups are arithmetic on keys and numbers.
    "graph": FOUNDATION | CONTRACTS | {"keys.groups", "vocabulary"},
    # The runtime reads the plan it is given, as data; it does not build or compile one.
    "runtime": FOUNDATION | CONTRACTS | PLAN | {"keys", "state", "vocabulary"},
    # Runs what an operator asks it to run, by the runtime's own contract.
    "asynchronous": {"runtime.calls"},
    # A version is sealed and published by the plan's own sinks, whatever engine ran it.
    "checkpoint": FOUNDATION | CONTRACTS | PLAN | {"runtime", "state", "storage"},
    # Reads what a checkpoint holds by the plan that made it, and makes the first version of another plan.
    "savepoint": FOUNDATION
    | CONTRACTS
    | PLAN
    | {"checkpoint", "keys", "runtime", "scratch", "state", "storage", "vocabulary"},
    # The driver of a job knows no engine; engines are adapters to it.
    "job": CORE | VERSIONS | {"process_ids", "scratch", "tokens", "user_cache"},
    "engine": CORE
    | VERSIONS
    | {"asynchronous", "java", "job", "process_ids", "scratch", "state_processor", "user_cache"},
    # Front ends: they build graphs of the same vocabulary.
    "datastream": CORE | {"pyflink_names", "scratch"},
    "cep": CORE | {"datastream"},
    "table": CORE | {"cep", "datastream", "pyflink_names", "scratch"},
    # Stores of an application are read from the replica of its checkpoints.
    "kstreams": CORE | {"datastream", "queryable"},
    # Reads and writes savepoints without a job; the tasks are the engine's.
    "state_processor": CORE | VERSIONS | {"datastream", "scratch"},
    # Drives the engine that needs no Spark, and plugs crashes into it.
    "testing": CORE | VERSIONS | {"asynchronous", "datastream", "engine.in_process", "job", "table"},
    # Follows checkpoint directories and answers from its own copy; no job and no engine is asked for anything.
    "queryable": CORE | VERSIONS | {"http_limits", "job.cards", "scratch", "tokens", "user_cache"},
    "server": CORE
    | VERSIONS
    | {"datastream", "engine", "http_limits", "job", "queryable", "scratch", "table", "tokens", "user_cache"},
    "cli": CORE
    | VERSIONS
    | {
        "datastream",
        "engine",
        "pyflink_names",
        "job",
        "kafka_broker",
        "queryable",
        "scratch",
        "server",
        "table",
        "tokens",
        "user_cache",
    },
    "__main__": {"cli"},
}

# What a function may import while it runs, on top of that: starting a job is the only way up to the engine, and to the
# pages that show it.
LAZY_EXTRA: dict[str, set[str]] = {
    "datastream": {"engine", "server.own_jobs"},
    "table": {"engine"},
    "testing": {"engine", "java"},
    "state_processor": {"engine"},
}

# The runtime is handed clock, store, files and threads; it reaches for none of them. Names of paths are not files.
HARMLESS_LIBRARIES = {"os.path"}
FORBIDDEN_LIBRARIES: dict[str, set[str]] = {
    "runtime": {"asyncio", "lmdb", "os", "pathlib", "pyarrow.fs", "shutil", "socket", "subprocess", "tempfile", "time"},
    "graph": {"lmdb", "pyarrow", "socket", "subprocess", "tempfile", "time"},
}


def is_below(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def part_of(module: Module) -> str:
    return module.name.split(".")[1] if "." in module.name else ""


def may_import(part: str, imported: Import) -> bool:
    if not imported.module.startswith("penstock."):
        return True
    allowed = {part} | LAYERS[part]
    if imported.is_lazy:
        allowed |= LAZY_EXTRA.get(part, set())
    if imported.is_for_types:
        allowed.add("vocabulary")
    return any(is_below(target.removeprefix("penstock."), allowed) for target in imported.targets())


def layer_problems(module: Module) -> list[str]:
    part = part_of(module)
    if part and part not in LAYERS:
        return [f"{module.path}: penstock.{part} has no row in LAYERS"]
    return [
        f"{module.path}:{imported.line} imports {imported.module}"
        for imported in imports(module)
        if part and not may_import(part, imported)
    ]


def library_problems(module: Module) -> list[str]:
    forbidden = set(FORBIDDEN_LIBRARIES.get(part_of(module), set()))
    if not is_below(module.name, {"penstock.engine.spark"}):
        forbidden |= {"pyspark", "py4j"}
    return [
        f"{module.path}:{imported.line} imports {imported.module}"
        for imported in imports(module)
        if any(is_below(target, forbidden) for target in imported.targets())
        and not is_below(imported.module, HARMLESS_LIBRARIES)
    ]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def private_problems(module: Module) -> list[str]:
    return [
        f"{module.path}:{imported.line} imports {target}"
        for imported in imports(module)
        for target in imported.targets()
        if imported.module.split(".")[0] == "penstock" and any(map(is_private, target.split(".")))
    ]


def test_each_layer_imports_only_what_it_may() -> None:
    problems = [problem for module in modules("src") for problem in layer_problems(module)]
    report(problems, "Move the code to the layer that may know both sides, or justify a new row of LAYERS here:")


def test_only_the_engine_imports_spark_and_the_runtime_owns_nothing() -> None:
    problems = [problem for module in modules("src") for problem in library_problems(module)]
    report(problems, "Have it passed in by penstock.engine.spark instead of importing it:")


def test_no_private_name_crosses_a_module() -> None:
    problems = [problem for module in modules("src") for problem in private_problems(module)]
    report(problems, "Make the name public, or give what both modules need a module of its own:")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/penstock/state/store.py", "import penstock.runtime"),
        ("src/penstock/state/store.py", "from penstock.datastream.state import ValueState"),
        ("src/penstock/runtime/operators.py", "from penstock.graph.compilation import compile_plan"),
        ("src/penstock/graph/plan.py", "from penstock.keys.groups_of_files import read"),
        ("src/penstock/runtime/operators.py", "from penstock.datastream.functions import MapFunction"),
        ("src/penstock/runtime/operators.py", "from penstock.datastream import DataStream"),
        ("src/penstock/graph/plan.py", "from ..runtime import operators"),
        ("src/penstock/datastream/data_stream.py", "from penstock.engine.spark import submit"),
        ("src/penstock/surprise/thing.py", "import json"),
    ],
)
def test_a_forbidden_direction_is_seen(path: str, text: str) -> None:
    assert layer_problems(Module(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/penstock/runtime/operators.py", "from penstock.vocabulary.functions import MapFunction"),
        ("src/penstock/runtime/operators.py", "from penstock.vocabulary import functions"),
        ("src/penstock/datastream/data_stream.py", "def execute():\n    from penstock.engine.spark import submit"),
        (
            "src/penstock/state/keyed.py",
            "if TYPE_CHECKING:\n    from penstock.vocabulary.state import ValueStateDescriptor",
        ),
        ("src/penstock/graph/plan.py", "from .nodes import Node"),
    ],
)
def test_an_allowed_direction_passes(path: str, text: str) -> None:
    assert layer_problems(Module(path, text)) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/penstock/runtime/clock.py", "import time"),
        ("src/penstock/runtime/clock.py", "def now():\n    from time import time"),
        ("src/penstock/runtime/files.py", "from pyarrow import fs"),
        ("src/penstock/connectors/frames.py", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("src/penstock/engine/local.py", "import pyspark"),
    ],
)
def test_a_forbidden_library_is_seen(path: str, text: str) -> None:
    assert library_problems(Module(path, text))


@pytest.mark.parametrize("text", ["from penstock.state.store import _pack", "from penstock.state._pack import pack"])
def test_a_private_import_is_seen(text: str) -> None:
    assert private_problems(Module("src/penstock/state/keyed.py", text))
