"""Settings that refer to secrets: what they are replaced by, what is said of one that is missing, and who does it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.secret_references import SECRETS_FOLDER, resolved, resolved_all
from penstock.connectors.jdbc.databases import database_of, transaction
from penstock.connectors.kafka import client as kafka_client
from penstock.connectors.kafka import producing
from penstock.errors import ConfigurationError
from penstock.graph.settings import JobSettings
from penstock.table.connectors.options import Options

SECRET = "hunter2hunter2"


@pytest.fixture(autouse=True)
def _secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "db.pw").write_text(f"{SECRET}\n")
    monkeypatch.setenv(SECRETS_FOLDER, str(folder))
    monkeypatch.setenv("MY_PW", SECRET)


def test_references_are_replaced_wherever_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "secrets" / "db.pw"
    for text in ("${env:MY_PW}", "${secret:db.pw}", f"${{file:{file}}}"):
        assert resolved(f"<{text}|{text}>", "x") == f"<{SECRET}|{SECRET}>"
    for text in ("plain", "$MY_PW", "${MY_PW}", "${other:MY_PW}", ""):
        assert resolved(text, "x") == text
    assert resolved_all({"a": "${env:MY_PW}", "b": 3}, "sink 's'") == {"a": SECRET, "b": 3}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("${env:NOT_THERE}", r"environment variable that is not set in this process: set it for the driver and for"),
        ("${env:}", "is not set in this process"),
        ("${secret:nothing}", r"secrets/nothing, which cannot be read \(No such file or directory\)"),
        ("${secret:../db.pw}", "must name a file, of letters"),
        ("${file:relative}", "must have an absolute path"),
        ("${file:/proc/self/mem-not-there}", "cannot be read"),
    ],
)
def test_a_reference_to_nothing_names_the_setting_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as error:
        resolved_all({"sasl.password": text}, "Kafka source 'orders'")
    assert str(error.value).startswith("Kafka source 'orders', setting 'sasl.password': ${")
    assert len(str(error.value).splitlines()) == 1


def test_databases_look_when_they_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB", str(tmp_path / "x.db"))
    database = database_of("jdbc:sqlite:${env:DB}")
    with transaction(database) as cursor:
        cursor.execute("CREATE TABLE t (a INT)")
    assert (tmp_path / "x.db").exists() and database.settings == {"path": "${env:DB}"}


def test_a_database_of_a_server_is_told_what_is_referred_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_HOST", "db.example")
    url = "jdbc:postgresql://${env:DB_HOST}:5433/shop?sslpassword=${secret:db.pw}"
    database = database_of(url, "me", "${env:MY_PW}")
    assert SECRET not in repr(database.settings) and "db.example" not in repr(database.settings)
    given: dict[str, Any] = {}
    monkeypatch.setattr(type(database), "library", type("L", (), {"connect": staticmethod(given.update)}))
    database.connect()
    wanted = {"host": "db.example", "port": "5433", "dbname": "shop", "password": SECRET, "sslpassword": SECRET}
    assert wanted.items() <= given.items()


class Library:
    """What stands for the client of Kafka."""

    KafkaException = RuntimeError

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []
        self.admin = self

    def Producer(self, settings: dict[str, Any], **more: Any) -> None:
        self.given.append(settings)

    Consumer = AdminClient = Producer


def test_clients_of_kafka_are_told_what_is_referred_to(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    for module in (producing, kafka_client):
        monkeypatch.setattr(module, "client_library", lambda: library)
    properties = {"sasl.password": "${env:MY_PW}", "sasl.username": "me"}
    settings = producing.producer_settings(properties, "sink", transactional=False)
    assert SECRET not in str(settings)
    producing.new_producer(settings, "sink")
    access = kafka_client.KafkaAccess("localhost:1", "group", properties)
    access.consumer("source", "reader")
    access.admin("source", "reader")
    assert len(library.given) == 3 and all(each["sasl.password"] == SECRET for each in library.given)


def test_options_of_tables_are_looked_up_but_those_of_who_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZE", "7")
    given = {"path": "${env:SIZE}", "password": "${env:MY_PW}", "properties.sasl.password": "${env:MY_PW}"}
    options = Options(given, "t")
    assert options["path"] == "7" and options.integer("path") == 7
    assert options["password"] == "${env:MY_PW}" and options.under("properties.") == {"sasl.password": "${env:MY_PW}"}
    with pytest.raises(ConfigurationError, match=r"Table t, option 'path': \$\{env:NO\} refers"):
        Options({"path": "${env:NO}"}, "t").get("path")


def test_settings_of_a_job_are_looked_up_and_parameters_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIDTH", "3")
    configuration = Configuration().set_string("parallelism.default", "${env:WIDTH}")
    configuration.set_string("pipeline.global-job-parameters", "db.pw:${env:MY_PW}")
    configuration.set_string("spark.hadoop.fs.s3a.secret.key", "${env:MY_PW}")
    settings = JobSettings.from_configuration(configuration)
    assert settings.parallelism == 3 and SECRET not in repr(settings)
    assert settings.job_parameters == {"db.pw": "${env:MY_PW}"}
    configuration.set_string("parallelism.default", "${env:NO}")
    with pytest.raises(ConfigurationError, match=r"configuration key 'parallelism.default': \$\{env:NO\} refers"):
        JobSettings.from_configuration(configuration)


PROGRAM = """
import sys
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.table import StreamTableEnvironment

class Keep(KeyedProcessFunction):
    def open(self, context):
        self.seen = context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        self.right = context.get_job_parameter("db.password", "") == sys.argv[1][::-1]
    def process_element(self, value, context):
        self.seen.update(value)
        yield Row(value if self.right else -1)

env = StreamExecutionEnvironment.get_execution_environment()
tables = StreamTableEnvironment.create(env)
tables.execute_sql("CREATE TABLE t (a BIGINT) WITH ('connector' = 'jdbc', 'table-name' = 't', "
                   "'url' = 'jdbc:sqlite:${file:%s}', 'password' = '${env:MY_PW}')" % sys.argv[2])
print(list(tables.execute_sql("SHOW CREATE TABLE t").collect()))
print(tables.explain_sql("INSERT INTO t SELECT a FROM t"))
row = Types.ROW_NAMED(["a"], [Types.LONG()])
rows = env.from_collection(list(range(50))).key_by(lambda value: value % 5).process(Keep(), row)
tables.create_temporary_view("rows", rows)
tables.execute_sql("INSERT INTO t SELECT a FROM `rows`").wait()
"""


def test_the_text_of_a_secret_is_in_no_file_and_no_output_of_a_job(tmp_path: Path) -> None:
    """With checkpoints, the document that the job leaves, its log and its command line."""
    import sqlite3

    database = tmp_path / f"{SECRET}.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (a BIGINT)")
    connection.close()
    (tmp_path / "secrets" / "place").write_text(f"{database}\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PENSTOCK_HOME": str(tmp_path / "home"), "BACKWARDS": SECRET[::-1]}
    settings = {
        "penstock.engine": "in-process",
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
        "pipeline.global-job-parameters": "db.password:${secret:db.pw}",
        "spark.hadoop.fs.s3a.secret.key": "${env:MY_PW}",
    }
    told = [f"-D{key}={value}" for key, value in settings.items()]
    command = [sys.executable, "-m", "penstock", "run", *told, str(tmp_path / "program.py"), "${env:BACKWARDS}"]
    command.append(str(tmp_path / "secrets" / "place"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(database) as connection:
        assert sorted(connection.execute("SELECT a FROM t")) == [(number,) for number in range(50)]
    connection.close()
    assert SECRET not in done.stdout + done.stderr and "'password' = '${env:MY_PW}'" in done.stdout
    found = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    assert any("checkpoint" in str(path) for path in found) and any("ended" in str(path) for path in found)
    assert [path for path in found if SECRET.encode() in path.read_bytes()] == []
