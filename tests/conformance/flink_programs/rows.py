"""Rows of the programs: from their JSON to values of programs, and comparing results as Flink does."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from penstock.common.types import Row, RowKind

KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}


def value(data: Any) -> Any:
    if isinstance(data, list):
        return [value(each) for each in data]
    if not isinstance(data, dict):
        return data
    if "values" in data:
        return row(data)
    tag, held = next(iter(data.items()))
    readers = {
        "$float": float,
        "$double": float,
        "$decimal": Decimal,
        "$bytes": base64.b64decode,
        "$map": lambda pairs: {value(k): value(v) for k, v in pairs},
    }
    if tag in readers:
        return readers[tag](held)
    if tag in ("$date", "$time", "$timestamp", "$instant"):
        return held
    raise NotImplementedError(f"a value of {tag} {held}")


def row(data: dict[str, Any]) -> Row:
    values = [value(each) for each in data["values"]]
    names = tuple(data["names"]) if data.get("names") else None
    return Row.of_fields(names, values, KINDS[data["kind"]])


def kind_of(text: str) -> str:
    return text[:2]


def materialized(texts: Sequence[str]) -> list[str]:
    """What a changelog without keys leaves: each row added and not taken back."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts[text[2:]] += 1 if kind_of(text) in ("+I", "+U") else -1
    return ["+I" + text for text, count in counts.items() for _ in range(count)]


def upserted(rows: Sequence[tuple[Any, ...]], texts: Sequence[str], key: Sequence[int]) -> list[str]:
    """What a changelog leaves in a table with these fields as key."""
    held: dict[Any, str] = {}
    for fields, text in zip(rows, texts, strict=True):
        place = tuple(repr(fields[1 + each]) for each in key)
        if kind_of(text) in ("+I", "+U"):
            held[place] = "+I" + text[2:]
        elif kind_of(text) == "-D":
            held.pop(place, None)
    return list(held.values())


def difference(expected: Sequence[str], actual: Sequence[str]) -> str | None:
    """What is missing and what is too much, in any order; None if nothing is."""
    wanted, got = Counter(map(_plain, expected)), Counter(map(_plain, actual))
    if wanted == got:
        return None
    missing, extra = list((wanted - got).elements()), list((got - wanted).elements())
    return f"missing {missing[:4]}, unexpected {extra[:4]} ({len(missing)} and {len(extra)})"


def _plain(text: str) -> str:
    """A row with the entries of its maps in one order: Java's maps have none that means something."""
    return re.sub(r"\{([^{}]*)\}", lambda found: "{" + ", ".join(sorted(found.group(1).split(", "))) + "}", text)
