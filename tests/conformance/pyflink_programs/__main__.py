"""Measure the programs in PyFlink, or compare Penstock with what was measured."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.conformance.pyflink_programs import api
from tests.conformance.pyflink_programs.families import FAMILIES
from tests.conformance.pyflink_programs.known import KNOWN
from tests.conformance.pyflink_programs.program import agrees, play

MEASURED = Path(__file__).with_name("measured")


def load(family: str) -> dict[str, list[str]]:
    path = MEASURED / f"{family}.json"
    found: dict[str, list[str]] = json.loads(path.read_text()) if path.exists() else {}
    return found


def measure(families: list[str], again: bool) -> None:
    MEASURED.mkdir(exist_ok=True)
    for family in families:
        known = {} if again else load(family)
        results = {}
        for program in FAMILIES[family]:
            started = time.monotonic()
            results[program.name] = known.get(program.name) or play(program, "pyflink")
            print(f"{family}/{program.name}: {time.monotonic() - started:.1f} s", results[program.name][:3], flush=True)
            (MEASURED / f"{family}.json").write_text(json.dumps({**known, **results}, indent=1) + "\n")
        (MEASURED / f"{family}.json").write_text(json.dumps(results, indent=1) + "\n")


def compare(families: list[str], part: int, parts: int) -> int:
    agreed = listed = different = 0
    wanted = [(family, program) for family in families for program in FAMILIES[family]][part - 1 :: parts]
    for family, program in wanted:
        measured = load(family)
        name, found = f"{family}/{program.name}", play(program, "penstock")
        if agrees(measured.get(program.name, []), found):
            agreed += 1
            continue
        listed += name in KNOWN
        different += name not in KNOWN
        print(f"{'listed' if name in KNOWN else 'DIFFERENT'}: {name}")
        print(f"  PyFlink:  {measured.get(program.name)}\n  Penstock: {found}", flush=True)
    print(f"{agreed} agreed, {listed} listed in docs/differences.md, {different} different")
    return 1 if different else 0


def part_of(text: str) -> tuple[int, int]:
    """`2/3` is the second of three parts."""
    part, _, parts = text.partition("/")
    if not 1 <= int(part) <= int(parts):
        raise argparse.ArgumentTypeError(f"expected a part such as 2/3, got {text}")
    return int(part), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="run them in PyFlink and keep the results")
    parser.add_argument("--again", action="store_true", help="measure those too that were measured before")
    parser.add_argument("--engine", choices=("in-process", "spark"), default="in-process", help="what Penstock runs on")
    parser.add_argument("--part", type=part_of, default=(1, 1), help="every Nth program: 1/4 to 4/4 are all")
    parser.add_argument("families", nargs="*", default=sorted(FAMILIES))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.families, arguments.again)
        return 0
    if arguments.engine == "spark":
        api.use_spark()
    return compare(arguments.families, *arguments.part)


if __name__ == "__main__":
    sys.exit(main())
