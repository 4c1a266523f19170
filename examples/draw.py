"""Draw the picture of an example from its last run: `python examples/draw.py word_count`.

The folder of the example has a module `picture` with a function `draw`, which reads the files of the run.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

EXAMPLES = Path(__file__).parent


def main() -> None:
    known = sorted(path.parent.name for path in EXAMPLES.glob("*/picture.py"))
    parser = argparse.ArgumentParser(description="Draw the picture of an example from its last run.")
    parser.add_argument("example", choices=known)
    folder = EXAMPLES / parser.parse_args().example
    if not (folder / "run" / "output").exists():
        parser.error(f"{folder.name} has not been run yet: its README has the commands")
    picture = folder / "result.svg"
    picture.write_text(str(importlib.import_module(f"{folder.name}.picture").draw(folder / "run")))
    print(f"drew {picture.relative_to(EXAMPLES.parent)}")


if __name__ == "__main__":
    main()
