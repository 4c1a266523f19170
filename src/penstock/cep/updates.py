"""Updates of patterns: what switches a pattern of a running job on, changes it or switches it off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.cep.compilation import compile_pattern
from penstock.cep.condition_data import only_keys
from penstock.cep.described import described_elements
from penstock.cep.pattern import MalformedPatternError, Pattern, check_pattern
from penstock.cep.pattern_data import json_data, pattern_from_data, pattern_to_data
from penstock.cep.typed_conditions import check_expressions
from penstock.common import user_pickles
from penstock.common.plain_data import NotPlainError, UserPickle, loaded, pack_record, unpack_record
from penstock.common.typeinfo import TypeInformation
from penstock.common.user_pickles import name_in_pickles
from penstock.errors import GraphError
from penstock.runtime.operators.cep.active import CompiledPattern, Update

__all__ = ["PatternUpdate"]

_FORM = 1


@dataclass(frozen=True)
class PatternUpdate:
    """A pattern to be looked for under an id from now on, or an id whose pattern is to be looked for no more.

    Make one with `put`, `remove`, `from_dict` or `from_json`. `kept` is the pattern as it is kept with the job's state:
    plain data, and a pickle for each condition that is a Python function.
    """

    pattern_id: str
    kept: bytes | None = None

    @staticmethod
    def put(pattern_id: str, pattern: Pattern | dict[str, Any]) -> PatternUpdate:
        """Switch a pattern on, or change the one that has the id.

        Changes of the pattern after this call have no effect. Conditions may be Python functions: they are pickled by
        this program, now, and kept with the job's state.
        """
        made = Pattern.from_dict(pattern) if isinstance(pattern, dict) else pattern
        if not isinstance(made, Pattern):
            raise MalformedPatternError(f"PatternUpdate.put: expected a Pattern or its data, got {pattern!r}.")
        compile_pattern(check_pattern(made))
        functions: list[Any] = []
        data = pattern_to_data(made, functions)
        pickles = [UserPickle(user_pickles.dump(function)) for function in functions]
        try:
            kept = pack_record([data, pickles], _FORM)
        except NotPlainError as error:
            raise MalformedPatternError(f"PatternUpdate.put: the pattern cannot be stored as data: {error}.") from None
        return PatternUpdate(_checked_id("PatternUpdate.put", pattern_id), kept)

    @staticmethod
    def remove(pattern_id: str) -> PatternUpdate:
        """Switch a pattern off; an id that no pattern has is fine."""
        return PatternUpdate(_checked_id("PatternUpdate.remove", pattern_id))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> PatternUpdate:
        """Read `{"put": id, "pattern": {...}}` or `{"remove": id}`; for the pattern see `Pattern.from_dict`."""
        if not isinstance(data, dict) or not data.keys() & {"put", "remove"}:
            raise MalformedPatternError(
                f"PatternUpdate: expected {{'put': id, 'pattern': ...}} or {{'remove': id}}, got {data!r}."
            )
        if "remove" in data:
            only_keys(data, {"remove"}, f"update of pattern {data['remove']!r}")
            return PatternUpdate.remove(data["remove"])
        place = f"update of pattern {_checked_id('PatternUpdate', data['put'])!r}"
        only_keys(data, {"put", "pattern"}, place)
        try:
            return PatternUpdate.put(data["put"], pattern_from_data(data.get("pattern")))
        except MalformedPatternError as error:
            raise MalformedPatternError(f"{place}: {error}") from None

    @staticmethod
    def from_json(text: str | bytes) -> PatternUpdate:
        """Read a text of JSON, see `from_dict`."""
        return PatternUpdate.from_dict(json_data(text, "PatternUpdate"))

    def to_dict(self) -> dict[str, Any]:
        """Return the update as plain data; one with Python functions is refused."""
        if self.kept is None:
            return {"remove": self.pattern_id}
        return {"put": self.pattern_id, "pattern": _pattern_of(self.kept).to_dict()}


name_in_pickles(PatternUpdate, "pattern update")


def _checked_id(method: str, pattern_id: Any) -> str:
    if not isinstance(pattern_id, str) or not pattern_id:
        raise MalformedPatternError(f"{method}: the id of a pattern must be a non-empty string, got {pattern_id!r}.")
    return pattern_id


def _pattern_of(kept: bytes) -> Pattern:
    data, pickles = unpack_record(kept, _FORM, "A pattern in the state of the job")
    return pattern_from_data(data, tuple([loaded(each) for each in pickles]))


@dataclass(frozen=True)
class Updates:
    """How the operator understands updates; `input_type` is that of the events."""

    input_type: TypeInformation | None

    def read(self, record: Any) -> Update:
        """The update that a record stands for. A text or bytes are JSON, whatever is in them: nothing is unpickled."""
        if isinstance(record, (str, bytes, bytearray)):
            update = PatternUpdate.from_json(bytes(record) if isinstance(record, bytearray) else record)
        elif isinstance(record, dict):
            update = PatternUpdate.from_dict(record)
        elif isinstance(record, PatternUpdate):
            update = record
        else:
            raise MalformedPatternError(
                f"expected a PatternUpdate, a dict or JSON text, got an object of type {type(record).__name__}."
            )
        return Update(update.pattern_id, update.kept)

    def compiled(self, update: Update) -> CompiledPattern:
        """The automaton of the pattern of an update."""
        assert update.kept is not None
        pattern = _pattern_of(update.kept)
        elements = check_pattern(pattern)
        automaton = compile_pattern(elements)
        try:
            check_expressions(automaton, self.input_type)
        except GraphError as error:
            raise MalformedPatternError(f"update of pattern {update.pattern_id!r}: {error}") from None
        return CompiledPattern(automaton, pattern.get_after_match_skip_strategy(), described_elements(elements))
