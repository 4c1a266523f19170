"""State of programs without uids is found again by later versions, after renames of classes and rewordings of plans."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cep import Pattern
from penstock.cep.described import described_elements
from penstock.cep.pattern import check_pattern
from penstock.common import Duration
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.common.serializer import TypeSerializer
from penstock.common.state_identity import identity_of
from penstock.connectors.sink import Sink
from penstock.errors import PenstockError
from penstock.graph import JobSettings, compile_plan
from penstock.runtime.operators.operator import StreamOperator
from penstock.table.algebra.plan_node import PlanNode
from penstock.vocabulary.functions import SinkFunction
from penstock.vocabulary.window import Trigger, WindowAssigner
from tests.golden import unnamed

NUMBER = 1
FAMILIES = (
    StreamOperator,
    WindowAssigner,
    Trigger,
    TypeSerializer,
    Sink,
    SinkFunction,
    PlanNode,
    RestartStrategyConfiguration,
)
"""Families of classes that stand behind uids, layouts of state and documents of jobs."""
IDENTITIES = Path(__file__).parent / "state_identities.txt"
ADVICE = """
A program without uids no longer finds its state. Restore what identifies its operators (`state_identity`, names,
identity texts); see ARCHITECTURE.md, 'What is on disk'."""

pytestmark = pytest.mark.filterwarnings("ignore:.*pickle")  # some state is pickled on purpose
every_program = pytest.mark.parametrize("subject", unnamed.PROGRAMS)


def check(subject: str, folder: Path) -> None:
    savepoint, expected = unnamed.unpacked(subject, NUMBER, folder)
    try:
        found = unnamed.published_after(subject, savepoint, folder / "out")
    except PenstockError as refusal:
        pytest.fail(f"{refusal}\n{ADVICE}")
    assert found == expected, ADVICE


@pytest.fixture(scope="session")
def members() -> list[type]:
    """All classes of Penstock that identify state, whether or not something has imported them."""
    for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[type, None] = {}
    waiting: list[type] = list(FAMILIES)
    while waiting:
        for each in waiting.pop().__subclasses__():
            if each.__module__.startswith("penstock."):
                found[each] = None
            waiting.append(each)
    return list(found)


@every_program
def test_a_program_without_uids_goes_on(tmp_path: Path, subject: str) -> None:
    check(subject, tmp_path)


@every_program
def test_every_operator_has_the_uid_that_it_had(tmp_path: Path, subject: str) -> None:
    """Those without state too: uids of operators behind them are made of theirs, and of their names."""
    savepoint, _ = unnamed.unpacked(subject, NUMBER, tmp_path)
    environment = unnamed.built(subject, tmp_path / "out", parallelism=2, batch=unnamed.COUNT)
    plan = compile_plan(environment.graph, JobSettings())
    found = {each.uid for vertex in plan.vertices if not vertex.is_driver for each in vertex.operators}
    known = json.loads((savepoint / "savepoint.json").read_text())["operators"]
    assert found == set(known), ADVICE


@pytest.fixture
def renamed(members: list[type]) -> Iterator[None]:
    """Every class that identifies state has another name."""
    names = {each: (each.__name__, each.__qualname__) for each in members}
    try:
        for number, each in enumerate(names):
            each.__name__ = each.__qualname__ = f"Renamed{number}"
        yield
    finally:
        for each, (name, qualified) in names.items():
            each.__name__, each.__qualname__ = name, qualified


@every_program
@pytest.mark.usefixtures("renamed")
def test_no_name_of_a_class_identifies_state(tmp_path: Path, subject: str) -> None:
    check(subject, tmp_path)


@pytest.mark.parametrize("subject", ["queries", "inserts"])
def test_no_wording_of_plans_identifies_state(
    tmp_path: Path, members: list[type], monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    for each in (PlanNode, *members):
        if issubclass(each, PlanNode):
            monkeypatch.setattr(each, "describe", lambda node: f"A step of {len(node.names)} columns", raising=False)
    check(subject, tmp_path)


def test_every_class_declares_what_identifies_it(members: list[type]) -> None:
    undeclared = [f"{each.__module__}.{each.__name__}" for each in members if _is_used(each) and not _declared(each)]
    assert not undeclared, f"Give them `state_identity`, a word that stays, and a line in {IDENTITIES.name}."


def test_identities_stay(members: list[type]) -> None:
    """A class may be renamed, moved or removed with its word kept here; a word that changes orphans state."""
    found = sorted({f"{_family(each)} {_declared(each)}" for each in members if _declared(each)})
    assert found == IDENTITIES.read_text().splitlines(), ADVICE


def test_words_of_patterns_stay() -> None:
    """They are in the layout of partial matches: one word less, and no job goes on from its state."""
    inner = Pattern.begin("in").followed_by_any("out").one_or_more().greedy()
    pattern = (
        Pattern.begin("first")
        .one_or_more()
        .consecutive()
        .until(lambda event: True)
        .next("second")
        .where(lambda event: True)
        .times(2, 3, Duration.of_millis(4))
        .allow_combinations()
        .followed_by(inner)
        .optional()
        .followed_by("middle")
        .not_next("third")
        .where(lambda event: True)
        .not_followed_by("fourth")
        .where(lambda event: True)
        .within(Duration.of_millis(5))
    )
    assert list(described_elements(check_pattern(pattern))) == [
        "begin 'first' 1 or more times consecutive until a condition any event",
        "next 'second' 2 to 3 times in all combinations 4 ms apart",
        "followed by (begin 'in' any event, followed by any 'out' 1 or more times  greedy any event) optional",
        "followed by 'middle' any event",
        "not next 'third'",
        "not followed by 'fourth' within 5 ms",
    ]


def test_a_class_of_a_program_is_identified_by_its_name_or_its_own_word() -> None:
    class Own(unnamed.EveryThird):
        """Inherits no word."""

    class Kept(Own):
        state_identity = "Own"

    class KeptAgain(Kept):
        """A word is for one class."""

    assert [identity_of(each()) for each in (Own, Kept, KeptAgain)] == ["Own", "Own", "KeptAgain"]


def _declared(each: type) -> str | None:
    return vars(each).get("state_identity")


def _family(each: type) -> str:
    return next(family.__name__ for family in FAMILIES if issubclass(each, family))


def _is_used(each: Any) -> bool:
    """Whether there are objects of the class itself, in jobs."""
    is_bare = issubclass(each, StreamOperator) and not each.kind
    return not (inspect.isabstract(each) or is_bare or each.__name__ == "OneInput")
