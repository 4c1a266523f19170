"""`python -m tests.conformance.flink_plans PROGRAMS.json [--only REGEX] [-v]`: schemas, types and changelog modes.

PROGRAMS.json is what `extract_programs.sh OUT.json --plans` writes. For every program that binds, three things are
compared: the schemas of its tables, the types of what its query puts out, and the changelog modes of its plan. Where
Flink has another shape of plan (several steps of an aggregate, a join of many inputs), the modes at the ends of the
plan are compared: those of the sources and of what the sink gets.
"""

from __future__ import annotations

import argparse
import json
import re
import traceback
from collections import Counter
from typing import Any

from penstock.errors import PenstockError
from tests.conformance.flink_plans.comparing import Comparison, compared

SHOWN = ("schemas", "types", "modes")


def main() -> None:
    """Compare the programs of a file and print the shares that agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs")
    parser.add_argument("--only", default="")
    parser.add_argument("-v", action="store_true", dest="is_verbose")
    arguments = parser.parse_args()
    with open(arguments.programs) as file:
        programs = json.load(file)["programs"]
    counts: Counter[str] = Counter()
    for program in programs:
        if re.search(arguments.only, program["key"]):
            _compare(program, counts, arguments.is_verbose)
    for each in SHOWN:
        equal, all_ = counts[f"{each} equal"], counts[each]
        print(f"{each}: {equal} of {all_} equal ({100 * equal / max(all_, 1):.1f} %)")
    print(f"flink-plans: {counts['bound']} bound, {counts['refused']} refused")


def _compare(program: dict[str, Any], counts: Counter[str], is_verbose: bool) -> None:
    try:
        found = compared(program)
    except PenstockError as error:
        counts["refused"] += 1
        print(f"REFUSED {program['key']}: {str(error).splitlines()[0]}")
        if is_verbose:
            traceback.print_exc()
        return
    if found is None:
        return
    counts["bound"] += 1
    for each in SHOWN:
        ours, flink = getattr(found, each)
        if flink is None:
            continue
        counts[each] += 1
        counts[f"{each} equal"] += ours == flink
        if ours != flink:
            print(f"DIFFERENT {each} of {program['key']}:\n  ours  {ours}\n  flink {flink}")
    if is_verbose:
        _show(found)


def _show(found: Comparison) -> None:
    for text in (found.our_plan, found.flink_plan):
        print(text)


if __name__ == "__main__":
    main()
