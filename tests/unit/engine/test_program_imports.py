"""What of a script travels to workers: its classes, with the names in their type hints."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest

from penstock.common import from_hint
from penstock.engine.spark.program_imports import ProgramImports

SCRIPT = """
from __future__ import annotations
import datetime
from dataclasses import dataclass
from decimal import Decimal

@dataclass
class Item:
    price: Decimal

@dataclass
class Order:
    day: datetime.date
    items: list[Item]
"""


def test_types_of_classes_of_a_script_can_be_made_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    script, worker = ModuleType("__main__"), ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", script)
    exec(compile(SCRIPT, "script.py", "exec"), vars(script))
    sent = pickle.dumps(ProgramImports.of_this_process())
    monkeypatch.setitem(sys.modules, "__main__", worker)
    monkeypatch.setattr(sys, "path", list(sys.path))
    pickle.loads(sent).install()
    assert repr(from_hint(worker.Order)) == "Order(day: SQL_DATE, items: LIST(Item(price: BIG_DEC)))"
