"""`InputDependencyConstraint`, accepted so that programs import."""

from __future__ import annotations

import enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(enum.Enum):
    """Whether a task waits for any or all of its inputs."""

    ANY = 0
    ALL = 1
