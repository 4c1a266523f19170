"""Slot sharing groups and memory sizes, kept as data."""

from __future__ import annotations

import functools

from penstock.errors import ConfigurationError

__all__ = ["MemorySize", "SlotSharingGroup"]


@functools.total_ordering
class MemorySize:
    """A number of bytes."""

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int) -> None:
        if isinstance(bytes_size, bool) or not isinstance(bytes_size, int) or bytes_size < 0:
            raise ConfigurationError(f"a memory size is a whole number of bytes from 0, got {bytes_size!r}")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return so many times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return whole units of 1024 bytes."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return whole units of 1024 ** 2 bytes."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return whole units of 1024 ** 3 bytes."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return whole units of 1024 ** 4 bytes."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, MemorySize) else NotImplemented

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes if isinstance(other, MemorySize) else NotImplemented

    def __hash__(self) -> int:
        return hash((MemorySize, self._bytes))

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes} bytes)"


class SlotSharingGroup:
    """A name for operators that share resources, with the resources they ask for. It has no effect."""

    class Builder:
        """Builds a group step by step."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._memory: dict[str, MemorySize] = {}
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Ask for CPU cores."""
            if cpu_cores <= 0:
                raise ConfigurationError(f"cpu cores must be more than 0, got {cpu_cores!r}")
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Ask for heap memory."""
            return self._set_memory("task_heap", task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Ask for heap memory in mebibytes."""
            return self._set_memory("task_heap", MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Ask for memory outside the heap."""
            return self._set_memory("task_off_heap", task_off_heap_memory)

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Ask for memory outside the heap in mebibytes."""
            return self._set_memory("task_off_heap", MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Ask for memory of the state store."""
            return self._set_memory("managed", managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Ask for memory of the state store in mebibytes."""
            return self._set_memory("managed", MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Ask for something else, such as GPUs."""
            self._external_resources[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group: one without resources, or with CPU cores and heap memory, as Flink has it."""
            heap = self._memory.get("task_heap")
            has_resources = self._cpu_cores is not None or self._memory or self._external_resources
            if has_resources and (self._cpu_cores is None or heap is None or not heap.get_bytes()):
                raise ConfigurationError(
                    f"slot sharing group {self._name!r} asks for resources, so it needs CPU cores and task heap memory "
                    "of more than 0: call set_cpu_cores and set_task_heap_memory, or leave all resources out"
                )
            return SlotSharingGroup(
                self._name,
                cpu_cores=self._cpu_cores,
                memory=self._memory,
                external_resources=self._external_resources,
            )

        def _set_memory(self, kind: str, size: MemorySize) -> SlotSharingGroup.Builder:
            self._memory[kind] = size
            return self

    def __init__(
        self,
        name: str,
        *,
        cpu_cores: float | None = None,
        memory: dict[str, MemorySize] | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"a slot sharing group needs a non-empty string as its name, got {name!r}")
        self._name = name
        self._cpu_cores = cpu_cores
        self._memory = dict(memory or {})
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start building a group of this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """Return the memory asked for the state store."""
        return self._memory.get("managed")

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory asked for."""
        return self._memory.get("task_heap")

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the memory asked for outside the heap."""
        return self._memory.get("task_off_heap")

    def get_cpu_cores(self) -> float | None:
        """Return the CPU cores asked for."""
        return self._cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Return what else was asked for."""
        return dict(self._external_resources)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if isinstance(other, SlotSharingGroup) else NotImplemented

    def __hash__(self) -> int:
        return hash((SlotSharingGroup, self._name))
