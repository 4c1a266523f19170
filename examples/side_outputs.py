"""Side outputs: one operator, several streams; readings that cannot be used leave by another door. Mirrors Flink's
SideOutputExample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink

LINES = ["21.5", "19.8", "broken", "22.0", "", "-400"]

REJECTED = OutputTag("rejected")


class ParseTemperature(ProcessFunction):
    def process_element(self, line: str, ctx: ProcessFunction.Context) -> Iterator[object]:
        try:
            celsius = float(line)
        except ValueError:
            yield REJECTED, (line, "not a number")
            return
        if celsius < -273.15:
            yield REJECTED, (line, "colder than possible")
        else:
            yield celsius


def main(output: Path, lines: Iterable[str] = LINES) -> list[float]:
    env = StreamExecutionEnvironment.get_execution_environment()
    temperatures = env.from_collection(lines).process(ParseTemperature())
    temperatures.get_side_output(REJECTED).sink_to(FileSink.json(output))
    return list(temperatures.execute_and_collect("temperatures"))


if __name__ == "__main__":
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="penstock-rejected-"))
    print(main(folder), "and the rejected lines in", folder)
