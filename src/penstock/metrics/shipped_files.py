"""The alert rules for Prometheus and the board for Grafana that are installed with the package."""

from __future__ import annotations

from importlib import resources

ALERT_RULES = "alert_rules.yml"
GRAFANA_BOARD = "grafana_board.json"


def shipped_text(name: str) -> str:
    """Return one of the files."""
    return resources.files("penstock.metrics").joinpath(name).read_text(encoding="utf-8")
