"""LOOKUP hints of a SELECT: `/*+ LOOKUP('table'='d', 'async'='true') */`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from penstock.graph.setting_values import duration_ms
from penstock.table.algebra.lookup_options import NO_OPTIONS, LookupOptions
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.problems import Problems

__all__ = ["LookupHints"]

RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
KNOWN = ("table", "async", "output-mode", "capacity", "timeout", "shuffle", *RETRY)


class LookupHints:
    """The hints of one SELECT, given out to the tables that they name."""

    def __init__(self, hint: exp.Expr | None, problems: Problems) -> None:
        self._problems = problems
        self._found: list[tuple[exp.Expr, dict[str, str]]] = []
        self._used: set[int] = set()
        for call in hint.expressions if hint is not None else ():
            if function_name(call) == "LOOKUP":
                self._found.append((call, self._pairs(call)))

    def of(self, names: set[str]) -> LookupOptions:
        """What the hints say about the table that has these names."""
        for number, (call, pairs) in enumerate(self._found):
            if pairs["table"] in names and number not in self._used:
                self._used.add(number)
                return self._options(call, pairs)
        return NO_OPTIONS

    def check_used(self) -> None:
        """Refuse hints for tables that are not looked up."""
        for number, (call, pairs) in enumerate(self._found):
            if number not in self._used:
                raise self._problems.at(
                    call,
                    f"The hint LOOKUP names the table '{pairs['table']}', which is not joined FOR SYSTEM_TIME AS OF "
                    f"here; name the alias of one that is",
                )

    def _pairs(self, call: exp.Expr) -> dict[str, str]:
        if not all(isinstance(each, exp.EQ) for each in call.expressions):
            raise self._problems.at(call, "Invalid LOOKUP hint, only support key-value options: 'table'='d'")
        pairs = {each.this.name.lower(): each.expression.name for each in call.expressions}
        unknown = [key for key in pairs if key not in KNOWN]
        if unknown:
            raise self._problems.at(
                call, f"Invalid LOOKUP hint: unknown option '{unknown[0]}'; there are {', '.join(KNOWN)}"
            )
        if "table" not in pairs:
            raise self._problems.at(call, "Invalid LOOKUP hint: incomplete required option(s): 'table'")
        return pairs

    def _options(self, call: exp.Expr, pairs: Mapping[str, str]) -> LookupOptions:
        retries = [key for key in RETRY if key in pairs]
        if retries and len(retries) < len(RETRY):
            missing = ", ".join(f"'{key}'" for key in RETRY if key not in pairs)
            raise self._problems.at(call, f"Invalid LOOKUP hint: retry options go together; add {missing}")
        self._word(call, pairs, "retry-predicate", ("lookup_miss",))
        self._word(call, pairs, "retry-strategy", ("fixed_delay",))
        mode = self._word(call, pairs, "output-mode", ("ordered", "allow_unordered"))
        asynchronous = self._word(call, pairs, "async", ("true", "false"))
        return LookupOptions(
            is_asynchronous=None if asynchronous is None else asynchronous == "true",
            allows_unordered=None if mode is None else mode == "allow_unordered",
            capacity=self._number(call, pairs, "capacity"),
            timeout_ms=self._millis(call, pairs, "timeout"),
            max_attempts=self._number(call, pairs, "max-attempts") or 0,
            delay_ms=self._millis(call, pairs, "fixed-delay") or 0,
            shuffles=self._word(call, pairs, "shuffle", ("true", "false")) == "true",
        )

    def _word(self, call: exp.Expr, pairs: Mapping[str, str], key: str, known: tuple[str, ...]) -> str | None:
        text = pairs.get(key)
        if text is not None and text.lower() not in known:
            raise self._wrong(call, key, text, " or ".join(f"'{each}'" for each in known))
        return None if text is None else text.lower()

    def _number(self, call: exp.Expr, pairs: Mapping[str, str], key: str) -> int | None:
        text = pairs.get(key)
        if text is None:
            return None
        if not text.isdigit() or int(text) < 1:
            raise self._wrong(call, key, text, "a whole number of 1 or more")
        return int(text)

    def _millis(self, call: exp.Expr, pairs: Mapping[str, str], key: str) -> int | None:
        if key not in pairs:
            return None
        try:
            millis = duration_ms(pairs[key])
        except ValueError:
            millis = 0
        if millis < 1:
            raise self._wrong(call, key, pairs[key], "a duration of 1 ms or more, such as '10 s'")
        return millis

    def _wrong(self, call: exp.Expr, key: str, text: str, wanted: str) -> Any:
        return self._problems.at(call, f"Invalid LOOKUP hint: '{key}' must be {wanted}, not '{text}'")
