"""What a job on Spark tells about itself: executors and Spark's own pages are in its document."""

from __future__ import annotations

import json
from collections.abc import Callable

from penstock.datastream import StreamExecutionEnvironment
from penstock.job.client import RunningJobClient
from penstock.server.flink import jobs, workers


def test_the_document_of_a_job_on_spark(new_environment: Callable[..., StreamExecutionEnvironment]) -> None:
    env = new_environment()
    env.from_sequence(1, 1000).key_by(lambda value: value % 3).reduce(lambda one, other: one + other).print()
    client = env.execute_async("told")
    client.wait()
    assert isinstance(client, RunningJobClient)
    document = json.loads(json.dumps({**client.document(), "process": {"host": "here", "pid": 1}}))
    cluster = document["cluster"]
    assert cluster["engine"] == "spark" and cluster["master"].startswith("local")
    [worker] = cluster["workers"]
    assert worker["id"] == "driver" and worker["cores"] > 0 and worker["completed_tasks"] > 0
    [entry] = workers.workers_of(document)
    assert entry["slotsNumber"] == worker["cores"] and entry["hardware"]["physicalMemory"] > 0
    read = [each["metrics"]["read-records"] for each in jobs.job_details(document)["vertices"]]
    assert read == [1000, 1000, 1000]
    [version, *_] = [each for each in document["checkpoints"]["history"] if each["records"] > 0]
    assert version["work_ms"] > 0 and version["state_bytes"] > 0
