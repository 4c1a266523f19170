"""Any Spark source in, any Spark writer out: what Spark can read or write as a stream, Penstock can. Mirrors the
StreamTableEnvironment examples of Flink, where a DataStream starts and ends in connectors of the table world."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from penstock.datastream import StreamExecutionEnvironment


def main(source: Path, target: Path) -> None:
    """Keep the highest reading of each sensor so far; JSON lines in, a Parquet folder for each batch out."""

    def read(spark: Any) -> Any:
        return spark.readStream.schema("sensor string, value double").json(str(source))

    def write(frame: Any, batch: int) -> None:
        # A batch may be written again after a crash: overwriting its own folder makes that harmless.
        frame.write.mode("overwrite").parquet(str(target / f"batch={batch}"))

    env = StreamExecutionEnvironment.get_execution_environment()
    readings = env.from_spark(read, name="readings", row_format="tuple", bounded=True)
    readings.key_by(0).max(1).write_with_spark(write, schema="sensor string, highest double")
    env.execute("highest readings")


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp(prefix="penstock-sensors-"))
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"sensor": "north", "value": 20.5}\n{"sensor": "north", "value": 21.5}\n')
    main(folder / "in", folder / "out")
    print("written to", folder / "out")
