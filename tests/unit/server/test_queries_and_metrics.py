"""The server of jobs answers queries of their state, and shows their figures to Prometheus."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import QueryError
from penstock.queryable import QueryableStateClient
from penstock.server.access import Access
from penstock.server.serving import serve_job
from penstock.tokens import Role

OPERATE, READ = "a-token-that-may-operate", "a-token-that-may-only-read"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    configuration = Configuration()
    configuration.set_string("penstock.engine", "in-process")
    directory: Path = tmp_path_factory.mktemp("job") / "checkpoint"
    configuration.set_string("execution.checkpointing.dir", str(directory))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    keyed = environment.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda record: record[0], Types.STRING())
    keyed.as_queryable_state("latest").uid("latest")
    client: Any = environment.execute_async("asked")
    client.wait()
    served: Any = serve_job(client, 0, access=Access({OPERATE: Role.OPERATE, READ: Role.READ}))
    yield served.url
    served.stop()


def test_who_may_read_may_query(url: str) -> None:
    with QueryableStateClient(url, READ) as client:
        assert [each.value for each in client.get_many(["a", "b", "c"], name="latest")] == [["a", 3], ["b", 2], None]
        assert [job["job_name"] for job in client.jobs()] == ["asked"]
    with QueryableStateClient(url, "a-token-that-nobody-has") as client, pytest.raises(QueryError, match="token"):
        client.jobs()


def test_prometheus_reads_all_jobs_with_a_token(url: str) -> None:
    request = urllib.request.Request(f"{url}/metrics", headers={"Authorization": f"Bearer {READ}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert 'penstock_job_running{job_id="' in answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/plain")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{url}/metrics", timeout=30)
