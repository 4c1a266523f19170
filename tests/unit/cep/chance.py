"""Patterns and streams drawn by a random generator, as cases that `tests.conformance.cep.playing` plays as jobs.

Each case has several streams, one for each key. What it must give comes from the brute-force matcher.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from tests.conformance.cep.playing import Played
from tests.unit.cep import brute_force
from tests.unit.cep.brute_force import Event, Group, Item, Part

FOLLOWS = ("next", "followed_by", "followed_by_any")


def cases(seed: int, count: int, *, streams: int, size: int = 8) -> list[dict[str, Any]]:
    """So many patterns, each with so many streams of up to `size` events."""
    chance = random.Random(seed)
    return [_case(chance, streams, size) for _ in range(count)]


def _case(chance: random.Random, streams: int, size: int) -> dict[str, Any]:
    items, window = drawn_items(chance), chance.choice([None, *range(3, 13)])
    if window is not None and _is_once(items[-1]) and chance.random() < 0.3:
        items.append(Part("x", "not_followed_by"))
    by_key = [drawn_events(chance, size, key) for key in range(streams)]
    events = [[name, time, key] for key, found in enumerate(by_key) for name, time in found]
    # As a source would give them: not key by key.
    events.sort(key=lambda event: (event[1], event[2]))
    found = [list(names) for each in by_key for names in brute_force.matches(items, each, window)]
    return {"pattern": brute_force.text_of(items, window), "events": events, "names": found, "matches": []}


def wrong(cases: list[dict[str, Any]], played: list[Played]) -> list[str]:
    """The cases whose matches are not those that trying everything finds; times are left to the measured cases."""
    found = []
    for case, result in zip(cases, played, strict=True):
        names = sorted(json.loads(text)[0] for text in result.matches)
        if result.error or result.unreadable or names != sorted(sorted(each) for each in case["names"]):
            found.append(f"{case['pattern']} {case['events']}: {result}, expected {case['names']}")
    return found


def drawn_events(chance: random.Random, size: int, key: int) -> list[Event]:
    """Events with names of their own and rising times."""
    time, made = 0, []
    for number in range(chance.randrange(size + 1)):
        time += chance.randrange(4)
        made.append((f"{chance.choice('abcdx')}{key}-{number:02}", time))
    return made


def drawn_items(chance: random.Random) -> list[Item]:
    """Up to four elements and groups; what must not come stands between two that are taken once."""
    names = chance.sample("abcd", 4)
    items: list[Item] = []
    while names and (not items or chance.random() < 0.75):
        if len(names) > 1 and chance.random() < 0.25 and not (items and _is_greedy(items[-1])):
            items.append(_group(chance, [names.pop(), names.pop()], is_first=not items))
        elif len(names) > 1 and items and _is_once(items[-1]) and chance.random() < 0.2:
            items.append(Part(names.pop(), chance.choice(["not_next", "not_followed_by"])))
            items.append(Part(names.pop(), chance.choice(FOLLOWS)))
        else:
            items.append(_part(chance, names.pop(), items[-1] if items else None))
    return [item if item is items[-1] else _fixed(item) for item in items]


def _fixed(item: Item) -> Item:
    """A group that others follow is repeated so and so often, not more or less often.

    Measured in Flink, and so here: where a group may be repeated once more, a match waits for that and for what follows
    at once, and so passes over events that fit what follows. The rules of contiguity do not say so.
    """
    if isinstance(item, Part) or item.least == item.most:
        return item
    return replace(item, most=item.least, inner=item.inner if item.least > 1 else "followed_by")


def _is_greedy(item: Item) -> bool:
    return isinstance(item, Part) and item.is_greedy


def _is_once(item: Item) -> bool:
    return isinstance(item, Part) and not item.is_negative and item.most == 1 and not item.is_optional


def _group(chance: random.Random, names: list[str], *, is_first: bool) -> Group:
    head, last = (Part(name, chance.choice(FOLLOWS)) for name in names)
    least = chance.randint(1, 2)
    most = least + chance.randrange(2)
    follows = "next" if is_first else chance.choice(FOLLOWS)
    inner = chance.choice(FOLLOWS) if (least, most) != (1, 1) else "followed_by"
    return Group((head, last), follows, least, most, inner, chance.random() < 0.25)


def _part(chance: random.Random, name: str, before: Item | None) -> Part:
    follows = "next" if before is None else chance.choice(FOLLOWS)
    # An element behind a greedy loop cannot be left out.
    is_optional = chance.random() < 0.25 and not (before is not None and _is_greedy(before))
    if chance.random() < 0.5:
        return Part(name, follows, is_optional=is_optional)
    is_loop = chance.random() < 0.5
    least = chance.randint(1, 2)
    inner = chance.choice(FOLLOWS)
    until = "x" if is_loop and chance.random() < 0.3 else None
    is_greedy = until is None and inner != "followed_by_any" and chance.random() < 0.4
    return Part(name, follows, least, None if is_loop else least + 1, inner, is_optional, is_greedy, until)
