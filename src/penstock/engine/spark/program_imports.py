"""What a program finds in its own process and its functions need in others: search path and classes of the script.

With the classes go the names in their type hints, where these are text (`from __future__ import annotations`): types of
state are made of them in the workers.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from dataclasses import dataclass
from typing import Any

import cloudpickle


@dataclass(frozen=True)
class ProgramImports:
    """The search path, and the classes of the user's script, pickled by value.

    Plain pickle finds classes by name only, so a worker's `__main__` must have those of the script too.
    """

    search_path: tuple[str, ...]
    main_classes: bytes

    @classmethod
    def of_this_process(cls) -> ProgramImports:
        """What there is here."""
        return cls(tuple(entry for entry in sys.path if entry), bytes(cloudpickle.dumps(_main_classes())))

    def install(self) -> None:
        """Make this process a place where the program's functions find what they need."""
        sys.path.extend(entry for entry in self.search_path if entry not in sys.path)
        main = sys.modules["__main__"]
        for name, value in pickle.loads(self.main_classes).items():
            setattr(main, name, value)


def _main_classes() -> dict[str, Any]:
    main = sys.modules.get("__main__")
    classes: dict[str, type] = {}
    for name, value in list(vars(main).items()) if main is not None else []:
        if isinstance(value, type) and value.__module__ == "__main__" and _is_picklable(value):
            classes[name] = value
    hinted = {name: vars(main)[name] for name in _hinted_names(classes) if name in vars(main)}
    return {**{name: value for name, value in hinted.items() if _is_picklable(value)}, **classes}


def _hinted_names(classes: dict[str, type]) -> set[str]:
    hints = [hint for each in classes.values() for hint in vars(each).get("__annotations__", {}).values()]
    return {name for hint in hints if isinstance(hint, str) for name in re.findall(r"[^\W\d]\w*", hint)}


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dump(value, io.BytesIO())
    except Exception:
        return False
    return True
