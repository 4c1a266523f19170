"""`TypeSerializer`, the contract of a user-written encoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import BinaryIO, Generic

from penstock.common.type_variables import T

__all__ = ["TypeSerializer"]


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type. Two serializers of the same class are equal."""

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write an element to the stream."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read an element from the stream."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == getattr(other, "__dict__", None)

    def __hash__(self) -> int:
        return hash(type(self))
