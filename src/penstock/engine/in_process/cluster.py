"""What runs a job in process: this process, and nothing else."""

from __future__ import annotations

from typing import Any

import penstock

THIS_PROCESS: dict[str, Any] = {
    "engine": "in-process",
    "version": penstock.__version__,
    "master": None,
    "web_url": None,
    "workers": [],
}
