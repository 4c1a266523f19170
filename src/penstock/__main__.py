"""Makes `python -m penstock` the command line."""

from __future__ import annotations

from penstock.cli import main

main()
