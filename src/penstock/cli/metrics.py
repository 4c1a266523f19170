"""The command `metrics`: figures of running jobs, and the files for Prometheus and Grafana."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.output import Columns, note, show_json
from penstock.cli.targets import AsJson, Server, target
from penstock.errors import ConfigurationError
from penstock.job.running_jobs import find_job, running_jobs
from penstock.metrics.prometheus import exposition
from penstock.metrics.shipped_files import ALERT_RULES, GRAFANA_BOARD, shipped_text

_HIDDEN = {"uid"}


def metrics(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Job id, name or process id; see `penstock list`.")
    ] = None,
    operator: Annotated[str | None, typer.Option("--operator", metavar="NAME", help="Only this operator.")] = None,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="As the page that Prometheus reads.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Print the alert rules for Prometheus.")] = False,
    board: Annotated[bool, typer.Option("--board", help="Print the board for Grafana.")] = False,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Show the metrics of a job by operator, or of all jobs as Prometheus reads them."""
    if rules or board:
        typer.echo(shipped_text(ALERT_RULES if rules else GRAFANA_BOARD), nl=False)
        return
    if prometheus:
        found = [find_job(job)[0]] if job is not None else [each for each, _ in running_jobs()]
        typer.echo(exposition([each.document() for each in found])[0].decode(), nl=False)
        return
    if job is None:
        raise ConfigurationError("name a JOB, or ask for --prometheus, --rules or --board")
    asked = target(server)
    figures = asked.document(asked.find(job, also_ended=True)["id"])["metrics"]
    shown = {name: each for name, each in figures.items() if operator in (None, name, each.get("uid"))}
    if not shown:
        known = ", ".join(map(repr, figures)) or "none yet"
        raise ConfigurationError(f"the job has no operator {operator!r} with figures: it has {known}")
    if as_json:
        show_json(shown)
        return
    _show(shown)


def _show(figures: dict[str, dict[str, Any]]) -> None:
    table = Columns("operator", "metric", "value", numbers=("value",), cut="operator")
    for name, each in figures.items():
        for metric, value in each.items():
            if metric not in _HIDDEN:
                table.add(name, metric, f"{value:,.15g}" if isinstance(value, float) else f"{value:,}")
    table.show()
    note("counted since the job was started in its process")
