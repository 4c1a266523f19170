"""`OutputTag`, the name of a side output."""

from __future__ import annotations

from typing import Generic

from penstock.common.type_variables import T
from penstock.common.typeinfo import TypeInformation

__all__ = ["OutputTag"]


class OutputTag(Generic[T]):
    """Names a side output. Two tags with the same id are the same output.

    `OutputTag("late", Types.LONG())` is an `OutputTag[int]`; for elements of a class of yours write
    `OutputTag[Trade]("late")`.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation[T] | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ValueError(f"an OutputTag needs a non-empty string as its id, got {tag_id!r}")
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise TypeError(f"the type of OutputTag {tag_id!r} must be one of Types.*, got {type(type_info).__name__}")
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return self.tag_id == other.tag_id if isinstance(other, OutputTag) else NotImplemented

    def __hash__(self) -> int:
        return hash((OutputTag, self.tag_id))

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
