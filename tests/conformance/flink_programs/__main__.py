"""The command line of the player: ends with 0 if what fails is what `not_passed.py` lists."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import traceback
from collections import Counter, defaultdict
from typing import Any

from penstock.errors import PenstockError
from tests.conformance.flink_programs.families import FIRST_HALF, family, outside, steps
from tests.conformance.flink_programs.not_passed import REASONS, disagreements
from tests.conformance.flink_programs.playing import Mismatch, Player


def played(program: dict[str, Any], engine: str, is_verbose: bool, rows_per_batch: int | None) -> str | None:
    """Why the program failed; None if it passed.

    Flink leaves open how the rows of several sources mix, and what comes out between depends on it. Unless one way is
    asked for, sources take turns, and where that gives something else each gives all its rows at once.
    """
    problem = played_once(program, engine, is_verbose, 1 if rows_per_batch is None else rows_per_batch)
    is_open = rows_per_batch is None and len(steps(program, "source")) > 1
    if is_open and problem is not None and problem.startswith("result"):
        return None if played_once(program, engine, is_verbose, 0) is None else problem
    return problem


def played_once(program: dict[str, Any], engine: str, is_verbose: bool, rows_per_batch: int) -> str | None:
    """Why the program failed; None if it passed."""
    try:
        Player(program, engine, rows_per_batch).play()
    except NotImplementedError as error:
        return f"outside: {error}"
    except Mismatch as error:
        return f"result: {error}"
    except Exception as error:
        if is_verbose:
            traceback.print_exc()
        kind = "refused" if isinstance(error, PenstockError) else "error"
        return f"{kind}: {type(error).__name__}: {_last_line(error)}"
    return None


def _last_line(error: BaseException) -> str:
    lines = [each for each in str(error).strip().splitlines() if each.strip()]
    text = lines[0] if lines else ""
    if "Traceback" in str(error) or "raised" in text:
        text = lines[-1]
    return text[:300]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.flink_programs", description=__doc__)
    parser.add_argument("programs", help="what extract_programs.sh wrote")
    parser.add_argument("--engine", choices=("in-process", "spark"), default="in-process")
    parser.add_argument("--only", default="", help="a regular expression on the names of programs")
    parser.add_argument("--family", default="", help="only this family")
    parser.add_argument("--rows-per-batch", type=int, help="how many rows a source gives in a batch; 0: all")
    parser.add_argument("-v", "--verbose", action="store_true", help="show tracebacks")
    arguments = parser.parse_args()
    with open(arguments.programs, encoding="utf-8") as file:
        programs = json.load(file)["programs"]
    chosen = [
        each
        for each in programs
        if re.search(arguments.only, each["key"]) and (not arguments.family or family(each) == arguments.family)
    ]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    outcomes: dict[str, str | None] = {}
    for program in chosen:
        began = time.monotonic()
        problem = played(program, arguments.engine, arguments.verbose, arguments.rows_per_batch)
        outcomes[program["key"]] = problem
        reason = outside(program)
        count(counts[family(program)], problem, reason)
        word = "PASS" if problem is None else "FAIL"
        told = f"{word} {family(program)}: {program['key']} ({time.monotonic() - began:.2f} s)"
        listed = f" (listed: {REASONS[program['key']]})" if program["key"] in REASONS else ""
        print(told + ("" if problem is None else f" - {problem}{listed}"), flush=True)
    summary(counts)
    problems = disagreements(outcomes)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


def count(counts: Counter[str], problem: str | None, reason: str | None) -> None:
    counts["all"] += 1
    counts["passed"] += problem is None
    if reason is None:
        counts["target"] += 1
        counts["target passed"] += problem is None


def summary(counts: dict[str, Counter[str]]) -> None:
    print(f"\n{'family':30} {'passed':>7} {'of':>5} {'target passed':>14} {'of':>5}")
    total: Counter[str] = Counter()
    half: Counter[str] = Counter()
    for name, each in sorted(counts.items()):
        print(f"{name:30} {each['passed']:7} {each['all']:5} {each['target passed']:14} {each['target']:5}")
        total.update(each)
        if name in FIRST_HALF:
            half.update(each)
    for name, each in (("families of the first half", half), ("all", total)):
        print(f"{name:30} {each['passed']:7} {each['all']:5} {each['target passed']:14} {each['target']:5}")
    failed = total["all"] - total["passed"]
    print(f"flink-programs: {total['passed']} passed, {failed} failed of {total['all']}")


if __name__ == "__main__":
    sys.exit(main())
