"""Modules of the package: each says what it does, has a subject for a name, and is used by someone."""

from __future__ import annotations

import ast

import pytest

from tests.api.surface import SURFACE
from tests.tidy.repository import Module, imports, modules, report, text_files

SUBJECTLESS = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}

# Paths that PyFlink's users type.
PYFLINK_PATHS = {
    "penstock.common",
    "penstock.common.utils",
    "penstock.datastream.connectors.base",
    "penstock.datastream.utils",
}


def undocumented(module: Module) -> list[str]:
    return [] if ast.get_docstring(module.tree) else [module.path]


def badly_named(module: Module) -> list[str]:
    is_bad = module.name.split(".")[-1] in SUBJECTLESS and module.name not in PYFLINK_PATHS
    return [module.path] if is_bad else []


def dead(package: tuple[Module, ...], users: tuple[Module, ...], texts: list[str]) -> list[str]:
    """Modules that nobody imports and nobody runs by name (`python -m`)."""
    used = {
        target for user in users for imported in imports(user) for target in imported.targets() if target != user.name
    }
    return [
        module.path
        for module in package
        if not module.is_package
        and not module.name.endswith("__main__")
        and module.name not in used
        and not any(f"-m {module.name}" in text for text in texts)
    ]


def test_every_module_says_what_it_does() -> None:
    problems = [problem for module in modules() for problem in undocumented(module)]
    report(problems, "Open the module with a sentence that says what it does and how to use it:")


def test_every_module_is_named_after_its_subject() -> None:
    problems = [problem for module in modules("src") for problem in badly_named(module)]
    report(problems, "Name the module after what it does; if nothing fits, it has no subject and should be split:")


def test_no_module_is_dead() -> None:
    programs = [text for path, text in text_files().items() if path.startswith(("scripts/", "Makefile"))]
    typed_by_users = {name.replace("pyflink", "penstock", 1) for name in SURFACE["modules"]}
    ours = tuple(module for module in modules("src") if module.name not in typed_by_users)
    problems = dead(ours, modules(), programs)
    report(problems, "Nobody imports it: use it, test it, or delete it:")


@pytest.mark.parametrize("text", ["", "import json\n", "# a comment is no docstring\n"])
def test_a_module_without_docstring_is_seen(text: str) -> None:
    assert undocumented(Module("src/penstock/x.py", text))


@pytest.mark.parametrize("path", ["src/penstock/runtime/utils.py", "src/penstock/state/common/__init__.py"])
def test_a_subjectless_name_is_seen(path: str) -> None:
    assert badly_named(Module(path, ""))


def test_pyflink_paths_may_keep_their_names() -> None:
    assert badly_named(Module("src/penstock/common/__init__.py", "")) == []


def test_a_dead_module_is_seen() -> None:
    alive = Module("src/penstock/alive.py", "from penstock.alive import x")
    user = Module("tests/test_x.py", "from penstock import alive")
    assert dead((alive,), (alive,), []) == [alive.path]
    assert dead((alive,), (alive, user), []) == []
    assert dead((alive,), (alive,), ["python -m penstock.alive"]) == []
