"""`python -m tests.conformance.kstreams --measure` plays the cases on Kafka Streams and keeps what it makes of them."""

from __future__ import annotations

import argparse

from tests.conformance.kstreams import kafka_streams, vectors
from tests.conformance.kstreams.programs import cases

SEEDS = range(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure again")
    if parser.parse_args().measure:
        chosen = cases(SEEDS)
        vectors.write(chosen, kafka_streams.play(chosen))
    print(f"{len(vectors.read())} cases in {vectors.FILE.name}")


if __name__ == "__main__":
    main()
