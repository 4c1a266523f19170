"""Methods of `Expression` on arrays, maps, rows and bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.expression_methods.numbers import one
from penstock.table.expression_methods.term import Term, call_node, term_of

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["BitmapMethods", "CollectionMethods"]


class CollectionMethods(Term):
    """Functions of arrays, maps and rows."""

    cardinality = one("cardinality", "CARDINALITY", "How many elements there are.")
    element = one("element", "ELEMENT", "The only element of an array.")
    map_keys = one("mapKeys", "MAP_KEYS", "The keys of a map.")
    map_values = one("mapValues", "MAP_VALUES", "The values of a map.")
    map_entries = one("MAP_ENTRIES", "MAP_ENTRIES", "The pairs of a map, as rows.")

    def get(self, name_or_index: str | int) -> Expression:
        """A field of a row, by its name, or by its number from 0."""
        text = f"get({self._text}, {term_of(name_or_index)._text})"
        if isinstance(name_or_index, int):
            return self._made(call_node("$FIELD", self._node, options=(name_or_index,)), text)
        inner = self._node.copy()
        return self._made(exp.Dot(this=exp.Paren(this=inner), expression=exp.to_identifier(name_or_index)), text)

    @property
    def flatten(self) -> Expression:
        """The fields of a row as columns of their own."""
        return self._made(call_node("$FLATTEN", self._node), f"flatten({self._text})")

    def at(self, index: Any) -> Expression:
        """An element of an array, counted from 1, or the value of a key of a map."""
        return self._call("at", "ITEM", index)

    def __getitem__(self, index: Any) -> Expression:
        return self.at(index)

    def array_append(self, addition: Any) -> Expression:
        """The array with an element behind it."""
        return self._call("ARRAY_APPEND", "ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression:
        """Whether an element is in the array."""
        return self._call("ARRAY_CONTAINS", "ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression:
        """Each element once."""
        return self._call("ARRAY_DISTINCT", "ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression:
        """Where an element is, counted from 1; 0 if it is not."""
        return self._call("ARRAY_POSITION", "ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression:
        """The array with an element before it."""
        return self._call("ARRAY_PREPEND", "ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression:
        """The array without an element."""
        return self._call("ARRAY_REMOVE", "ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression:
        """The array backwards."""
        return self._call("ARRAY_REVERSE", "ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression:
        """The part between two places, counted from 1."""
        return self._optional("ARRAY_SLICE", "ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression:
        """The array in order."""
        return self._optional("ARRAY_SORT", "ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Expression:
        """What is in either array, once."""
        return self._call("ARRAY_UNION", "ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression:
        """The arrays behind each other."""
        return self._call("ARRAY_CONCAT", "ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression:
        """The greatest element."""
        return self._call("ARRAY_MAX", "ARRAY_MAX")

    def array_min(self) -> Expression:
        """The least element."""
        return self._call("ARRAY_MIN", "ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression:
        """The elements joined to a text."""
        return self._optional("ARRAY_JOIN", "ARRAY_JOIN", delimiter, null_replacement)

    def array_except(self, array: Any) -> Expression:
        """What is not in another array."""
        return self._call("ARRAY_EXCEPT", "ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression:
        """What is in both arrays."""
        return self._call("ARRAY_INTERSECT", "ARRAY_INTERSECT", array)

    def map_union(self, *maps: Any) -> Expression:
        """The maps in one; later ones win."""
        return self._call("MAP_UNION", "MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Expression:
        """An object with fields changed."""
        return self._call("OBJECT_UPDATE", "OBJECT_UPDATE", *kv)


class BitmapMethods(Term):
    """Functions of bitmaps; the catalog of functions has none yet, so they are refused when they are bound."""

    def bitmap_and(self, bitmap2: Any) -> Expression:
        """What is in both."""
        return self._call("BITMAP_AND", "BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression:
        """What is not in the other."""
        return self._call("BITMAP_ANDNOT", "BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Expression:
        """What is in either."""
        return self._call("BITMAP_OR", "BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Expression:
        """What is in one only."""
        return self._call("BITMAP_XOR", "BITMAP_XOR", bitmap2)

    def bitmap_and_agg(self) -> Expression:
        """What is in all."""
        return self._call("BITMAP_AND_AGG", "BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression:
        """How much is in all."""
        return self._call("BITMAP_AND_CARDINALITY_AGG", "BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build(self) -> Expression:
        """A bitmap of an array."""
        return self._call("BITMAP_BUILD", "BITMAP_BUILD")

    def bitmap_build_agg(self) -> Expression:
        """A bitmap of numbers."""
        return self._call("BITMAP_BUILD_AGG", "BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression:
        """How many different numbers there are."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Expression:
        """How many numbers are in it."""
        return self._call("BITMAP_CARDINALITY", "BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression:
        """A bitmap of its bytes."""
        return self._call("BITMAP_FROM_BYTES", "BITMAP_FROM_BYTES")

    def bitmap_or_agg(self) -> Expression:
        """What is in any."""
        return self._call("BITMAP_OR_AGG", "BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression:
        """How much is in any."""
        return self._call("BITMAP_OR_CARDINALITY_AGG", "BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Expression:
        """The numbers in it."""
        return self._call("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression:
        """Its bytes."""
        return self._call("BITMAP_TO_BYTES", "BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression:
        """Its numbers as text."""
        return self._call("BITMAP_TO_STRING", "BITMAP_TO_STRING")

    def bitmap_xor_agg(self) -> Expression:
        """What is in an odd number of them."""
        return self._call("BITMAP_XOR_AGG", "BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression:
        """How much is in an odd number of them."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG", "BITMAP_XOR_CARDINALITY_AGG")
