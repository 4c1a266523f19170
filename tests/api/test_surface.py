"""Penstock has PyFlink's public names, methods and parameters, except those named in `exclusions`.

Goal: a PyFlink program runs after `pyflink` is replaced by `penstock` in its imports. Method: every name of the
recorded surface is looked up; a gap must be listed with its reason, and a listed name must still be a gap.
"""

from __future__ import annotations

import pytest

from tests.api import exclusions
from tests.api.surface import MISSING, SURFACE, Name, all_names, look_up, signature_problem

NAMES = list(all_names())
GAPS = set().union(*exclusions.MISSING.values())
CHANGED = set().union(*exclusions.SIGNATURES.values())


def is_listed(name: Name) -> bool:
    """Whether the name, its class or its module is a named gap."""
    parts = name.path.split(".")
    prefixes = {f"{name.module}:{'.'.join(parts[:length])}" for length in range(1, len(parts) + 1)}
    return name.module in GAPS or bool(prefixes & GAPS) or parts[-1] in exclusions.JVM_METHODS


def names_of(module: str) -> list[Name]:
    return [name for name in NAMES if name.module == module]


@pytest.mark.parametrize("module", SURFACE["modules"])
def test_no_name_is_missing_unless_listed(module: str) -> None:
    missing = [str(name) for name in names_of(module) if not is_listed(name) and look_up(name) is MISSING]
    assert not missing, f"add these names, or list them with a reason in tests/api/exclusions.py: {missing}"


@pytest.mark.parametrize("module", SURFACE["modules"])
def test_signatures_take_what_pyflink_takes(module: str) -> None:
    problems = {}
    for name in names_of(module):
        if not is_listed(name) and str(name) not in CHANGED and (found := look_up(name)) is not MISSING:
            problem = signature_problem(name, found)
            if problem is not None:
                problems[str(name)] = problem
    assert not problems, f"change the signatures, or list them in tests/api/exclusions.py: {problems}"


def test_listed_gaps_are_still_gaps() -> None:
    by_text = {str(name): name for name in NAMES}
    unknown = sorted(GAPS.union(CHANGED) - by_text.keys())
    assert not unknown, f"PyFlink has no such names, remove them from tests/api/exclusions.py: {unknown}"
    closed = sorted(gap for gap in GAPS if look_up(by_text[gap]) is not MISSING)
    assert not closed, f"these exist now, remove them from tests/api/exclusions.py: {closed}"


def test_listed_signatures_still_differ() -> None:
    by_text = {str(name): name for name in NAMES}
    equal = sorted(text for text in CHANGED if signature_problem(by_text[text], look_up(by_text[text])) is None)
    assert not equal, f"these signatures are PyFlink's now, remove them from tests/api/exclusions.py: {equal}"


def test_no_class_hands_out_java_objects() -> None:
    found = [
        str(name)
        for name in NAMES
        if name.path.rpartition(".")[2] in exclusions.JVM_METHODS and look_up(name) is not MISSING
    ]
    assert not found, f"these exist now, remove them from JVM_METHODS: {found}"


@pytest.mark.parametrize("package", SURFACE["exports"])
def test_packages_export_what_pyflink_exports(package: str) -> None:
    ours = getattr(look_up(Name(package)), "__all__", [])
    wanted = [name for name in SURFACE["exports"][package]["__all__"] if not is_listed(Name(package, name))]
    assert not set(wanted) - set(ours)
