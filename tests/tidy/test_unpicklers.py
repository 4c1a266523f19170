"""Loading a pickle runs code: each place in src that does so is listed here, with who could have written the bytes."""

from __future__ import annotations

import ast

from tests.tidy.repository import Module, modules, report

FROM_OUR_OWN_TASKS = "made by the driver or a task of the same job while it runs"
ALLOWED: dict[str, str] = {
    "penstock.common.user_pickles": "objects of the user's in the checkpoint or savepoint: who can write there",
    "penstock.common.basic_types": "from_internal_type: called by users only, with bytes of their own",
    "penstock.queryable.json_values": "who can write the checkpoint; by an unpickler that finds no class",
    "penstock.connectors.cached_records": "the folder of a cached stream, which only its own jobs write",
    "penstock.state_processor.assembling": FROM_OUR_OWN_TASKS,
    "penstock.state_processor.bootstrap": FROM_OUR_OWN_TASKS,
    "penstock.checkpoint.committing": FROM_OUR_OWN_TASKS,
    "penstock.runtime.columns": FROM_OUR_OWN_TASKS,
    "penstock.runtime.rows": FROM_OUR_OWN_TASKS,
    "penstock.runtime.operators.checkpointed": "a copy of the function that is made in the same process",
    "penstock.engine.in_process.batches": "the plan, in the same process",
    "penstock.engine.spark.continuous.links": "the driver or a task of the same attempt, which has proven its secret",
    "penstock.engine.spark.continuous.tasks": FROM_OUR_OWN_TASKS,
    "penstock.engine.spark.native_source": FROM_OUR_OWN_TASKS,
    "penstock.engine.spark.shipping": FROM_OUR_OWN_TASKS,
    "penstock.engine.spark.state_frames": FROM_OUR_OWN_TASKS,
    "penstock.engine.spark.state_parts": FROM_OUR_OWN_TASKS,
    "penstock.engine.spark.program_imports": FROM_OUR_OWN_TASKS,
    "penstock.testing.harness": "the plan, in the same process",
}
LOADERS = {"load", "loads", "Unpickler"}
PICKLES = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"}


def loads_pickles(module: Module) -> bool:
    return any(map(is_loader, ast.walk(module.tree)))


def is_loader(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id in PICKLES and node.attr in LOADERS
    return isinstance(node, ast.ImportFrom) and node.module in PICKLES and bool(LOADERS & {n.name for n in node.names})


def test_every_unpickler_is_known() -> None:
    found = {module.name for module in modules("src") if loads_pickles(module)}
    unknown = sorted(found - ALLOWED.keys())
    report(unknown, "Use penstock.common.plain_data; a record from outside must never get here. If it cannot, say why:")
    assert ALLOWED.keys() - found == set(), "remove those that load nothing any more"
