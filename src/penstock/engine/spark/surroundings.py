"""What a program finds in its own process and its functions need in others: search path and classes of the script."""

from __future__ import annotations

import io
import pickle
import sys
from dataclasses import dataclass
from typing import Any

import cloudpickle


@dataclass(frozen=True)
class Surroundings:
    """The search path, and the classes of the user's script, pickled by value.

    Plain pickle finds classes by name only, so a worker's `__main__` must have those of the script too.
    """

    search_path: tuple[str, ...]
    main_classes: bytes

    @classmethod
    def of_this_process(cls) -> Surroundings:
        """What there is here."""
        return cls(tuple(entry for entry in sys.path if entry), bytes(cloudpickle.dumps(_main_classes())))

    def take_on(self) -> None:
        """Make this process a place where the program's functions find what they need."""
        sys.path.extend(entry for entry in self.search_path if entry not in sys.path)
        main = sys.modules["__main__"]
        for name, value in pickle.loads(self.main_classes).items():
            setattr(main, name, value)


def _main_classes() -> dict[str, type]:
    main = sys.modules.get("__main__")
    classes: dict[str, type] = {}
    for name, value in list(vars(main).items()) if main is not None else []:
        if isinstance(value, type) and value.__module__ == "__main__" and _is_picklable(value):
            classes[name] = value
    return classes


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dump(value, io.BytesIO())
    except Exception:
        return False
    return True
