"""Types and values of scalar expressions are those that Flink 2.3 gave."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from tests.unit.table.functions.measured import Case, bound, computed, measured, same

FILES = ["operators.json", "functions.json", "functions_not_null.json", "edge_cases.json", "lengths.json"]
CASES = [case for file in FILES for case in measured(file)]


@pytest.mark.parametrize("case", [each for each in CASES if each.values is not None], ids=lambda case: case.name)
def test_type_and_values_are_flinks(case: Case) -> None:
    expression = bound(case)
    values = computed(case, expression)
    assert str(expression.type) == case.type
    assert case.values is not None
    assert [each for each in zip(values, case.values, strict=True) if not same(*each)] == []


@pytest.mark.parametrize("case", [each for each in CASES if each.values is None], ids=lambda case: case.name)
def test_what_fails_in_flink_fails(case: Case) -> None:
    with pytest.raises(PenstockError):
        computed(case, bound(case))
