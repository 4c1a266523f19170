"""Files in, files out, exactly once: CSV orders become Parquet, a folder for each country. Mirrors PyFlink's
streaming examples with FileSource and FileSink."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource

ORDER = Types.ROW_NAMED(["id", "country", "cents"], [Types.LONG(), Types.STRING(), Types.LONG()])


def in_euros(order: Row) -> Row:
    return Row(id=order.id, country=order.country, euros=order.cents / 100)


def main(source: Path, target: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    # Bounded: the job ends with the files that are there now. monitor_interval=Duration.of_seconds(1) would go on.
    orders = env.from_source(FileSource.csv(source, ORDER, header=True), None, "orders")
    paid = orders.filter(lambda order: order.cents > 0).map(in_euros)
    by_country = BucketAssigner.by(lambda order: f"country={order.country}")
    paid.sink_to(FileSink.parquet(target, bucket_assigner=by_country))
    env.execute("orders to Parquet")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: file_to_file.py FOLDER-WITH-CSV OUTPUT-FOLDER")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
