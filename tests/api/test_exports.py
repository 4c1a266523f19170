"""What a package lists in `__all__` exists, is public and is documented."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import penstock.common
import penstock.datastream
import penstock.kstreams
import penstock.metrics
import penstock.table

MODULES = sorted(
    module.name
    for package in (penstock.common, penstock.datastream, penstock.kstreams, penstock.metrics, penstock.table)
    for module in [
        *pkgutil.walk_packages(package.__path__, package.__name__ + "."),
        pkgutil.ModuleInfo(package, package.__name__, True),  # type: ignore[arg-type]
    ]
)


@pytest.mark.parametrize("module_name", MODULES)
def test_exports_exist_and_are_public(module_name: str) -> None:
    module = importlib.import_module(module_name)
    exported = getattr(module, "__all__", [])
    assert [name for name in exported if name.startswith("_")] == []
    assert [name for name in exported if not hasattr(module, name)] == []
    assert len(set(exported)) == len(exported)


@pytest.mark.parametrize("module_name", MODULES)
def test_exports_are_documented(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert inspect.getdoc(module)
    objects = {name: getattr(module, name) for name in getattr(module, "__all__", [])}
    describable = [name for name, found in objects.items() if inspect.isclass(found) or inspect.isfunction(found)]
    assert [name for name in describable if not objects[name].__doc__] == []


@pytest.mark.parametrize("package", ["penstock.common", "penstock.datastream", "penstock.kstreams", "penstock.metrics"])
def test_packages_list_every_public_class_they_import(package: str) -> None:
    module = importlib.import_module(package)
    ours = {name for name, found in vars(module).items() if getattr(found, "__module__", "").startswith("penstock.")}
    assert {name for name in ours if not name.startswith("_")} - set(module.__all__) == set()
