"""What the branch with broadcast rules is to compute, and what any run must hold to.

Which rule meets which record depends on how the input was cut into batches; but a subtask counts the records of each
key anew with every rule, and settles what it has counted, so nothing can be lost or doubled unseen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.spark.jobs.counting import SPLITS, event

NO_RULE = -1

Record = dict[str, Any]


def rule_count(count: int) -> int:
    """How many rules a job over that many records has: about one for each batch."""
    return max(12, count // 1_000)


def rule(number: int) -> tuple[int, int]:
    """Rule of a number: (number, factor)."""
    return number, number * 31 % 17


def ruled(number: int, key: int, rule_number: int, nth: int) -> Record:
    """The output for a record: the newest rule, and how many records of the key have met it."""
    return {"kind": "ruled", "number": number, "key": key, "rule": rule_number, "nth": nth}


def taken(rule_number: int, subtask: int, seen: int, settled: int) -> Record:
    """The output for a rule in a subtask: how many rules were there, and how many records met the last of them."""
    return {"kind": "taken", "rule": rule_number, "subtask": subtask, "seen": seen, "settled": settled}


def final(key: int, subtask: int, unsettled: int, rules: list[tuple[int, int]]) -> Record:
    """The output for a key at the end of all input: records that met the last rule, and all rules there are."""
    return {"kind": "final", "key": key, "subtask": subtask, "unsettled": unsettled, "rules": [list(r) for r in rules]}


def wrong(records: list[Record], count: int) -> Iterator[str]:
    """What cannot be, however the input was cut and whatever is still to come."""
    events, takings, finals = _sorted_by_kind(records)
    yield from _twice("record", Counter(each["number"] for each in events))
    yield from _twice("rule and subtask", Counter((each["rule"], each["subtask"]) for each in takings))
    yield from _twice("end of key", Counter(each["key"] for each in finals))
    yield from _wrong_rules(events, count)
    for each in takings:
        if not 0 <= each["rule"] == each["seen"] < rule_count(count):
            yield f"subtask {each['subtask']} had {each['seen']} rules when rule {each['rule']} came"
    due = [list(rule(number)) for number in range(rule_count(count))]
    yield from (
        f"at the end of key {each['key']} the rules are {each['rules']}" for each in finals if each["rules"] != due
    )


def missing(records: list[Record], count: int) -> Iterator[str]:
    """What lacks at the end: records, rules, and counts that do not add up."""
    events, takings, finals = _sorted_by_kind(records)
    yield from _lacking("record", set(range(count)), {each["number"] for each in events})
    due = {(number, subtask) for number in range(rule_count(count)) for subtask in range(SPLITS)}
    yield from _lacking("rule and subtask", due, {(each["rule"], each["subtask"]) for each in takings})
    yield from _lacking("end of key", {event(number)[1] for number in range(count)}, {each["key"] for each in finals})
    yield from _wrong_counts(events, takings, finals, rule_count(count) - 1)
    if len({each["rule"] for each in events}) < 3:
        yield "the run shows little: hardly any rule came between records"


def _wrong_rules(events: list[Record], count: int) -> Iterator[str]:
    newest: dict[int, int] = {}
    for each in sorted(events, key=lambda record: record["number"]):
        number, key = each["number"], each["key"]
        if not 0 <= number < count or event(number)[1] != key:
            yield f"record {number} is not of key {key}"
        if not newest.get(key, NO_RULE) <= each["rule"] < rule_count(count):
            yield f"key {key}: record {number} met rule {each['rule']} after rule {newest.get(key)}"
        newest[key] = each["rule"]


def _wrong_counts(events: list[Record], takings: list[Record], finals: list[Record], last: int) -> Iterator[str]:
    """Records of a key and rule are numbered from 1; a rule settles what met the rule before it."""
    subtasks = {each["key"]: each["subtask"] for each in finals}
    met: Counter[tuple[int, int]] = Counter()
    by_subtask: Counter[tuple[int | None, int]] = Counter()
    for each in sorted(events, key=lambda record: record["number"]):
        pair = each["key"], each["rule"]
        met[pair] += 1
        by_subtask[subtasks.get(each["key"]), each["rule"]] += 1
        if each["nth"] != met[pair]:
            yield f"record {each['number']} is number {met[pair]} of (key, rule) {pair}, but was counted {each['nth']}"
    for each in takings:
        due = by_subtask[each["subtask"], each["rule"] - 1]
        if each["settled"] != due:
            yield f"rule {each['rule']} settled {each['settled']} records in subtask {each['subtask']}, not {due}"
    for each in finals:
        due = met[each["key"], last]
        if each["unsettled"] != due:
            yield f"key {each['key']} ended with {each['unsettled']} records, not {due}"


def _sorted_by_kind(records: list[Record]) -> tuple[list[Record], list[Record], list[Record]]:
    kinds: dict[str, list[Record]] = defaultdict(list)
    for each in records:
        kinds[each["kind"]].append(each)
    return kinds["ruled"], kinds["taken"], kinds["final"]


def _twice(what: str, found: Counter[Any]) -> Iterator[str]:
    return (f"{what} {each} is there {times} times" for each, times in found.items() if times > 1)


def _lacking(what: str, due: set[Any], found: set[Any]) -> Iterator[str]:
    return (f"{what} {each} is missing" for each in sorted(due - found))
