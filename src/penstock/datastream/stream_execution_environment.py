"""`StreamExecutionEnvironment`: where programs create sources, change settings and execute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from penstock.common.configuration import Configuration
from penstock.common.execution_config import ExecutionConfig
from penstock.common.given_configuration import with_given
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.no_effect import SPARK_PLACES, warn_of_no_effect
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.common.type_variables import R, T
from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.frame_source import FrameSource
from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.source import Source
from penstock.datastream.arguments import (
    check_max_parallelism,
    check_parallelism,
    check_timeout,
    check_type,
    is_whole,
    non_empty_text,
)
from penstock.datastream.called_settings import take_over_keys, told_by_call
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.given_sources import (
    Table,
    frame_factory,
    given_values,
    unusable_source,
    with_sources_on_engine,
)
from penstock.datastream.missing_names import HintsAtNames
from penstock.datastream.never_executed import watch
from penstock.datastream.result_cache import ResultCache
from penstock.datastream.stream import DataStream
from penstock.datastream.worker_files import existing_path, warn_of_java
from penstock.errors import ConfigurationError, GraphError
from penstock.graph import declared_settings as keys
from penstock.graph import setting_values
from penstock.graph.nodes import Edge, LogicalGraph, Role
from penstock.graph.settings import JobSettings, default_parallelism, kept_checkpoint_settings
from penstock.graph.unused_keys import warn_of_mode, warn_of_unused
from penstock.pyflink_names import names_from_elsewhere

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators
from penstock.vocabulary.checkpointing_mode import CheckpointingMode
from penstock.vocabulary.execution_mode import RuntimeExecutionMode
from penstock.vocabulary.slot_sharing_group import SlotSharingGroup
from penstock.vocabulary.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    StateBackend,
)

__all__ = ["StreamExecutionEnvironment"]


class StreamExecutionEnvironment(HintsAtNames):
    """Creates sources, holds settings and executes jobs.

    After `execute` the environment starts empty, as in Flink: the next `execute` runs what was added since, with
    everything that feeds it.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        """Start an empty program; programs call `get_execution_environment`."""
        self.graph = LogicalGraph()
        self.results = ResultCache()
        watch(self)
        self.slot_sharing_groups: dict[int, str] = {}
        self._configuration = Configuration()
        self._config = ExecutionConfig()
        self._checkpoint_config = CheckpointConfig()
        self._restart_strategy: RestartStrategyConfiguration | None = None
        self._local_parallelism: int | None = None
        self._python_files: list[str] = []
        self._archives: list[str] = []
        self._cached_files: list[str] = []
        self._executed_up_to = 0
        self._executed_apart: set[int] = set()
        self._in_process: Any = None  # InProcessOptions; the engine is not loaded until it is needed
        if configuration is not None:
            self.configure(configuration)

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """Return a new environment; the configuration overrides the options of `penstock run`."""
        return StreamExecutionEnvironment(with_given(configuration))

    @staticmethod
    def in_process(
        seed: int | None = None,
        *,
        crash_rate: float = 0.0,
        crash_at: Sequence[int] = (),
        clock: Any = None,
        state: str = "memory",
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Return an environment for tests, whose jobs run in this process without Spark; see penstock.testing."""
        from penstock.engine.in_process.options import InProcessOptions

        environment = StreamExecutionEnvironment(configuration)
        environment._in_process = InProcessOptions(seed, crash_rate, tuple(crash_at), clock, state)
        return environment

    # ---- settings ----

    def configure(self, configuration: Configuration) -> None:
        """Apply all keys of a configuration; raises for a value that cannot be used."""
        if not isinstance(configuration, Configuration):
            raise ConfigurationError(f"configure: expected a Configuration, got {configuration!r}.")
        told = configuration.key_set()
        read = JobSettings.from_configuration(configuration)
        kept = kept_checkpoint_settings(configuration)
        self._configuration.add_all(configuration)
        # What has a setter too is kept in one place, so that the later of key and call counts.
        take_over_keys(self._config, told, read)
        self._checkpoint_config.take_over(told, read, kept)
        if any(key.startswith(keys.RESTART_STRATEGY.partition(".")[0]) for key in told):
            self._restart_strategy = read.restart_strategy
        # Last: where warnings are errors, the settings are complete all the same.
        warn_of_unused(configuration.to_dict())

    def get_config(self) -> ExecutionConfig:
        """Return the execution configuration."""
        return self._config

    def get_configuration(self) -> Configuration:
        """Return a copy of the configuration keys that were set so far."""
        return Configuration(self._configuration)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the parallelism of operators that set none."""
        self._config.set_parallelism(check_parallelism(parallelism, "the environment"))
        return self

    def get_parallelism(self) -> int:
        """Return the parallelism of operators that set none."""
        return self._settings(None).parallelism

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups of operators that set none."""
        self._config.set_max_parallelism(check_max_parallelism(max_parallelism, "the environment"))
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, or -1 if it follows the parallelism."""
        return self._settings(None).max_parallelism or -1

    def get_default_local_parallelism(self) -> int:
        """Return the parallelism used when none is set: the cores of this machine unless told otherwise."""
        return self._local_parallelism or default_parallelism(self._configuration.get_string(keys.SPARK_MASTER, ""))

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism used when none is set."""
        self._local_parallelism = check_parallelism(parallelism, "the environment")

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Choose streaming, batch or automatic."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise GraphError(f"set_runtime_mode: expected a RuntimeExecutionMode, got {execution_mode!r}.")
        self._configuration.set_string(keys.RUNTIME_MODE, execution_mode.name)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Set how long records wait for others before they are sent on; in continuous mode only.

        -1, for buffers that are sent when they are full, has no effect.
        """
        self._configuration.set_integer(keys.BUFFER_TIMEOUT, check_timeout(timeout_millis))
        if timeout_millis < 0:
            warn_of_no_effect("set_buffer_timeout(-1)", "records are sent after the linger, however few there are")
        return self

    def get_buffer_timeout(self) -> int:
        """Return the buffer timeout that was set, or how long records wait by default."""
        settings = self._settings(None)
        return settings.send_every_ms if settings.buffer_timeout_ms is None else settings.buffer_timeout_ms

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Do not chain operators."""
        self._configuration.set_boolean(keys.CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators are chained."""
        return self._settings(None).chaining

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether operators with other numbers of key groups are chained: never."""
        return False

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """Accepted with a warning: Spark places tasks."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise GraphError(f"register_slot_sharing_group: expected a SlotSharingGroup, got {slot_sharing_group!r}.")
        warn_of_no_effect("register_slot_sharing_group", SPARK_PLACES)
        return self

    # ---- checkpoints, state and restart ----

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpoint configuration."""
        return self._checkpoint_config

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> StreamExecutionEnvironment:
        """Take a checkpoint (run a batch) every `interval` milliseconds."""
        if not is_whole(interval) or interval < 1:
            raise GraphError(f"enable_checkpointing: the interval must be milliseconds of 1 or more, got {interval!r}.")
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            if not isinstance(mode, CheckpointingMode):
                raise GraphError(f"enable_checkpointing: expected a CheckpointingMode, got {mode!r}.")
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds, or -1 if there is none."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were asked for."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints were forced."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Set where savepoints go if no directory is given."""
        self._configuration.set_string(
            keys.SAVEPOINT_DIRECTORY, non_empty_text("set_default_savepoint_directory", directory)
        )
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return where savepoints go if no directory is given."""
        return self._settings(None).savepoint_directory

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted: state is always saved as changes, with a snapshot now and then."""
        self._configuration.set_boolean(keys.CHANGELOG, bool(enabled))
        if not enabled:
            warn_of_no_effect("enable_changelog_state_backend(False)", "the changelog is always on")
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Whether a changelog was asked for; None if nothing was said."""
        if not self._configuration.contains_key(keys.CHANGELOG):
            return None
        return self._configuration.get_boolean(keys.CHANGELOG, False)

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Choose the heap (HashMapStateBackend), RocksDB (EmbeddedRocksDBStateBackend) or a backend by name.

        The default is LMDB, `CustomStateBackend("lmdb")`.
        """
        if isinstance(state_backend, HashMapStateBackend):
            name = "hashmap"
        elif isinstance(state_backend, EmbeddedRocksDBStateBackend):
            name = "rocksdb"
            paths = state_backend.get_db_storage_paths()
            if paths is not None:
                self._configuration.set_string(keys.STATE_DIRECTORY, ",".join(paths))
        elif isinstance(state_backend, CustomStateBackend):
            name = state_backend.name
        else:
            raise GraphError(
                "set_state_backend: expected a HashMapStateBackend, EmbeddedRocksDBStateBackend or CustomStateBackend, "
                f"got {state_backend!r}."
            )
        try:
            setting_values.state_backend(name)
        except ValueError as error:
            raise ConfigurationError(f"set_state_backend: {name!r} was chosen, but {error}.") from None
        self._configuration.set_string(keys.STATE_BACKEND, name)
        return self

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> StreamExecutionEnvironment:
        """Choose what happens after a failure; see RestartStrategies."""
        if not isinstance(restart_strategy_configuration, RestartStrategyConfiguration):
            raise GraphError(
                "set_restart_strategy: expected one of RestartStrategies, such as RestartStrategies.no_restart(), got "
                "{restart_strategy_configuration!r}."
            )
        self._restart_strategy = restart_strategy_configuration
        return self

    # ---- code and files for the workers ----

    def add_python_file(self, file_path: str) -> None:
        """Make a .py file, .zip or package folder importable in the workers."""
        self._python_files.append(existing_path("add_python_file", file_path))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the workers; its files are at `target_dir/...`, or below the name of the archive."""
        path = existing_path("add_python_archive", archive_path)
        self._archives.append(path if target_dir is None else f"{path}#{target_dir}")

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a requirements file with pip before the job starts, optionally from a folder of
        wheels.

        They go to the user's cache, where the workers of this machine find them. For workers on other machines, put the
        cache on a shared file system (PENSTOCK_CACHE).
        """
        wanted = existing_path("set_python_requirements", requirements_file_path)
        if requirements_cache_dir is not None:
            wanted += "#" + existing_path("set_python_requirements", requirements_cache_dir)
        self._configuration.set_string(keys.PYTHON_REQUIREMENTS, wanted)

    def set_python_executable(self, python_exec: str) -> None:
        """Choose the Python of the workers."""
        self._configuration.set_string(keys.PYTHON_EXECUTABLE, non_empty_text("set_python_executable", python_exec))

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Copy a file to every worker, where `pyspark.SparkFiles.get(file name)` finds it.

        `name` and `executable` are accepted for PyFlink programs; Spark keeps the file's own name and mode.
        """
        non_empty_text("register_cached_file", name)
        self._cached_files.append(existing_path("register_cached_file", file_path))

    def add_jars(self, *jars_path: str) -> None:
        """Accepted with a warning: Penstock runs no Java operators."""
        warn_of_java("add_jars")

    def add_classpaths(self, *classpaths: str) -> None:
        """Accepted with a warning: Penstock runs no Java operators."""
        warn_of_java("add_classpaths")

    # ---- sources ----

    @overload
    def from_collection(self, collection: Table, type_info: None = None) -> DataStream[Row]: ...

    @overload
    def from_collection(self, collection: Iterable[T], type_info: None = None) -> DataStream[T]: ...

    @overload
    def from_collection(self, collection: Iterable[Any] | Table, type_info: TypeInformation[R]) -> DataStream[R]: ...

    def from_collection(
        self, collection: Iterable[Any] | Table, type_info: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Stream the elements of a collection, in order; a declared type converts and checks them now.

        A pandas or polars frame or an Arrow table gives its rows, with the names and types of its columns.
        """
        check_type("from_collection", "type_info", type_info)
        values, type_info = given_values(collection, type_info)
        return self._source("Collection Source", CollectionSource(values), None, type_info, is_checked=False)

    def from_sequence(self, from_: int, to: int) -> DataStream[int]:
        """Stream the whole numbers from the first to the second, both included."""
        return self._source("Sequence Source", NumberSequence(from_, to), None, None)

    @overload
    def from_source(
        self,
        source: Source[T],
        watermark_strategy: WatermarkStrategy[Any] | None,
        source_name: str,
        type_info: None = None,
    ) -> DataStream[T]: ...

    @overload
    def from_source(
        self,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy[Any] | None,
        source_name: str,
        type_info: TypeInformation[R],
    ) -> DataStream[R]: ...

    def from_source(
        self,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy[Any] | None,
        source_name: str,
        type_info: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Stream the records of a source, with watermarks per split."""
        if not isinstance(source, Source):
            raise unusable_source("from_source", source)
        if watermark_strategy is not None and not isinstance(watermark_strategy, WatermarkStrategy):
            raise GraphError(f"from_source: expected a WatermarkStrategy, got {watermark_strategy!r}.")
        name = non_empty_text("from_source", source_name)
        return self._source(name, source, watermark_strategy, check_type("from_source", "type_info", type_info))

    @overload
    def add_source(
        self, source_func: Source[T], source_name: str = "Custom Source", type_info: None = None
    ) -> DataStream[T]: ...

    @overload
    def add_source(
        self, source_func: Source[Any], source_name: str = "Custom Source", *, type_info: TypeInformation[R]
    ) -> DataStream[R]: ...

    @overload
    def add_source(
        self, source_func: Source[Any], source_name: str, type_info: TypeInformation[R]
    ) -> DataStream[R]: ...

    def add_source(
        self,
        source_func: Source[Any],
        source_name: str = "Custom Source",
        type_info: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Stream the records of a source, without watermarks."""
        if not isinstance(source_func, Source):
            raise unusable_source("add_source", source_func)
        name = non_empty_text("add_source", source_name)
        return self._source(name, source_func, None, check_type("add_source", "type_info", type_info))

    def read_text_file(self, file_path: str) -> DataStream[str]:
        """Stream the lines of a file, or of the files in a folder when the job starts."""
        # Here, because the connectors import the vocabulary of this package.
        from penstock.datastream.connectors.file_system import FileSource

        source = FileSource.text(non_empty_text("read_text_file", file_path))
        return self._source(f"Text File {file_path}", source, None, None)

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream[str]:
        """Stream lines from a socket, at most once; for experiments (`nc -lk 9999`)."""
        from penstock.datastream.connectors.socket import SocketTextSource

        source = SocketTextSource(hostname, port, delimiter, max_retry)
        return self._source(f"Socket {hostname}:{port}", source, None, None)

    def create_input(self, input_format: Any, type_info: TypeInformation[R] | None = None) -> DataStream[R]:
        """Stream the records of an input format, such as `AvroInputFormat`."""
        make = getattr(input_format, "create_source", None)
        if make is None:
            raise GraphError(f"create_input: expected an input format such as AvroInputFormat, got {input_format!r}.")
        declared = check_type("create_input", "type_info", type_info) or input_format.get_produced_type()
        return self._source("Input Format", make(), None, declared)

    def from_spark(
        self,
        frame: Any,
        name: str = "Spark Source",
        row_format: str | Callable[[dict[str, Any]], Any] = "row",
        bounded: bool = False,
    ) -> DataStream[Any]:
        """Stream any Spark streaming DataFrame, given as such or as a function of the session."""
        source = FrameSource(frame_factory(frame), bounded=bounded, row_format=row_format)
        return self._source(non_empty_text("from_spark", name), source, None, None)

    # ---- execution ----

    def explain(self) -> str:
        """Describe, as text, the job that `execute` would run."""
        return self._explained(self._planned_graph())

    def _explained(self, graph: LogicalGraph) -> str:
        from penstock.graph import compile_plan

        return compile_plan(graph, self._settings(None)).explain()

    def get_execution_plan(self) -> str:
        """Describe the job that `execute` would run as JSON, in the form that Flink's plan visualizer reads."""
        from penstock.graph.flink_plan import plan_json

        return plan_json(self._planned_graph(), self._settings(None))

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job and wait for its end; raises JobFailedError if it fails permanently."""
        return self.execute_async(job_name).wait()

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the job and return a handle to it."""
        if job_name is not None:
            non_empty_text("execute", job_name)
        client = self._start(self._pending_graph(), job_name)
        self._executed_up_to = max(self.graph.nodes)
        return client

    def execute_part(self, node_ids: set[int], job_name: str) -> JobClient:
        """Start a job of these nodes and what feeds them; the rest of the program waits for `execute`."""
        self._executed_apart |= node_ids
        return self._start(self.graph.part(node_ids), job_name)

    def explain_part(self, node_ids: set[int]) -> str:
        """Describe the job of these nodes and what feeds them."""
        return self._explained(self.graph.part(node_ids))

    def _start(self, pending: LogicalGraph, job_name: str | None) -> JobClient:
        settings = self._settings(job_name)
        warn_of_mode(settings)
        graph, folders = self.results.with_sinks(self.results.with_records(pending), settings)
        try:
            show = _pages(settings)
            client = self._submit(graph, settings)
        except BaseException:
            self.results.remove_unused()
            raise
        if show is not None:
            show(client)
        self.results.await_records(graph, folders, client)
        return client

    def _submit(self, graph: LogicalGraph, settings: JobSettings) -> JobClient:
        # Imported here, so that programs can be built and explained where Spark cannot run.
        is_in_process = settings.engine == "in-process" or self._in_process is not None
        may_be_continuous = settings.execution_mode != "micro-batch"
        graph = with_sources_on_engine(graph, has_spark=not is_in_process, is_continuous=may_be_continuous)
        if is_in_process:
            from penstock.engine.in_process.submission import submit as submit_in_process

            return submit_in_process(graph, settings, self._in_process)
        from penstock.engine.spark.engine import submit

        return submit(graph, settings)

    def close(self) -> None:
        """Forget the program and its cached streams; running jobs continue."""
        self.results.clear()
        self.graph = LogicalGraph()
        self.slot_sharing_groups.clear()
        self._executed_up_to = 0

    # ---- making nodes, the job's graph and its settings ----

    def _source(
        self,
        name: str,
        source: Source,
        strategy: WatermarkStrategy | None,
        type_info: TypeInformation | None,
        is_checked: bool = True,
    ) -> DataStream[Any]:
        """Append a source; records are made to be of a type that the program declares, not of what it knows itself."""
        operator, produced = operators.create_source_operator(source, strategy), type_info or source.produced_type()
        node = self.graph.add(
            Role.SOURCE,
            f"Source: {name}",
            operator,
            is_single=source.is_single(),
            output_type=produced,
            checked_type=type_info if is_checked else None,
            gives_columns=source.gives_columns(),
        )
        return DataStream(self, (Edge(node.id),), node_id=node.id, output_type=produced)

    def _pending_graph(self) -> LogicalGraph:
        """What was added since the last execution, with all that feeds it."""
        nodes = self.graph.nodes.values()
        wanted = {n.id for n in nodes if n.id > self._executed_up_to and n.role is not Role.SOURCE}
        wanted -= self._executed_apart
        if not wanted:
            raise GraphError("nothing to execute: nothing was added since the last execution.")
        return self.graph.part(wanted)

    def _planned_graph(self) -> LogicalGraph:
        """The graph of the next job, as it would run."""
        return self.results.with_sinks(self.results.with_records(self._pending_graph()))[0]

    def _settings(self, job_name: str | None) -> JobSettings:
        settings = JobSettings.from_configuration(
            Configuration(self._configuration).add_all(
                Configuration.from_dict(told_by_call(self._config, self._checkpoint_config, self._local_parallelism))
            ),
            job_name=job_name,
            checkpoint_directory=self._checkpoint_config.checkpoint_directory(),
            restart_strategy=self._restart_strategy,
        )
        return replace(
            settings,
            spark_config={**settings.spark_config, **self._shipped_files(settings.spark_config)},
            python_files=settings.python_files + tuple(self._python_files),
        )

    def _shipped_files(self, spark_config: dict[str, str]) -> dict[str, str]:
        shipped = {"spark.archives": self._archives, "spark.files": self._cached_files}
        return {
            key: ",".join([*filter(None, [spark_config.get(key)]), *paths]) for key, paths in shipped.items() if paths
        }


def _pages(settings: JobSettings) -> Callable[[JobClient], None] | None:
    """What shows a job on pages of this process, if that is wanted; their server listens before the job is started."""
    if not settings.has_ui:
        return None
    # Imported here, because jobs need no web server as a rule.
    try:
        from penstock.server.own_jobs import prepare_pages
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{keys.UI} needs a web server, and {error.name} is missing: run `pip install 'penstock[server]'`"
        ) from None
    return prepare_pages(settings.ui_port)


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
