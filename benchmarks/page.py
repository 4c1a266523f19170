"""`make bench-page`: docs/benchmarks.md, its pictures and the figures of the README, made from the results files alone.

The same results give the same bytes, and a test compares them with what is in the repository, so that no figure is
typed by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import results
from benchmarks.names import WORKLOADS
from benchmarks.pages import prose
from benchmarks.pages.delays import delays_section, soak_section
from benchmarks.pages.growth import growth_section
from benchmarks.pages.latency import latency_section
from benchmarks.pages.marks import filled
from benchmarks.pages.nexmark import nexmark_section
from benchmarks.pages.parts import parts_section, sentences
from benchmarks.pages.peers import (
    SIGNS,
    jobs_table,
    kstreams_section,
    patterns_section,
    peers_section,
    ratios_table,
    sql_section,
    verdicts_section,
)
from benchmarks.pages.section import PICTURES, Section, heading
from benchmarks.verdicts import Results, verdicts

PAGE = Path("docs/benchmarks.md")
README = Path("README.md")
BEGIN, END = "<!-- figures, made by `make bench-page` -->", "<!-- end of figures -->"
README_FAMILIES = ("PyFlink", "transformWithState", "Spark native", "Bytewax", "Flink SQL")


def files(folder: Path = results.FOLDER, root: Path = results.ROOT) -> dict[Path, str]:
    """What the repository should contain, by path below its root."""
    names = ("peers", "growth", "latency", "cep", "sql", "nexmark", "kstreams")
    peers, growth, latency, patterns, sql, nexmark, kstreams = (results.read(name, folder) for name in names)
    sections = [
        Section("What is measured", [prose.METHOD, jobs_table()]),
        verdicts_section(verdicts(peers, latency, patterns, sql)),
        peers_section(peers),
        sql_section(sql),
        nexmark_section(nexmark),
        patterns_section(patterns),
        kstreams_section(kstreams),
        growth_section(growth),
        latency_section(latency),
        delays_section(results.read("delays", folder)),
        soak_section(results.read("soak", folder)),
        parts_section(folder),
    ]
    made = {PAGE: "\n".join([prose.OPENING + "\n", *(section.text() for section in sections)])}
    for section in sections:
        for name, picture in section.pictures.items():
            made[PAGE.parent / PICTURES / f"{name}.svg"] = picture
    made[README] = filled((root / README).read_text(), BEGIN, END, readme_figures(peers, folder), README.name)
    return made


def readme_figures(peers: Results | None, folder: Path) -> str:
    """The short form for the README."""
    parts = " ".join(sentences(folder).values())
    if peers is None:
        return (parts or "Nothing is stored yet; `make bench` measures.") + "\n"
    workloads = [name for name in WORKLOADS if any(run["workload"] == name for run in peers["runs"])]
    table = ratios_table(peers, workloads, README_FAMILIES)
    return "\n\n".join([heading(peers), table, SIGNS, *([parts] if parts else [])]) + "\n"


def stale(made: dict[Path, str], root: Path = results.ROOT) -> list[Path]:
    """Pictures of earlier results that these do not have."""
    present = (root / PAGE.parent / PICTURES).glob("*.svg")
    return sorted(path for path in present if path.relative_to(root) not in made)


def main(root: Path = results.ROOT) -> int:
    """Write everything."""
    made = files(root=root)
    for path in stale(made, root):
        path.unlink()
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
