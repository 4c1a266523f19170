"""MIN and MAX of texts on columns: texts become their places in the order of those that a block meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.field_columns import NumberColumn

__all__ = ["RankedTexts"]

Accumulator = tuple[Any, ...]


class RankedTexts:
    """The texts of some slots, by slot in order. Arrow sorts by bytes of UTF-8, which is the order of code points."""

    def __init__(
        self, fields: Mapping[int, int], columns: Mapping[int, pa.Array], accumulators: Sequence[Accumulator]
    ) -> None:
        self._ordered: dict[int, pa.Array] = {}
        self.ranks: dict[int, pa.Array] = {}
        """The places of the texts of a slot's field."""
        for slot, field in fields.items():
            encoded = pc.dictionary_encode(columns[field].cast(pa.string()))
            met = pa.array({each[slot] for each in accumulators} - {None}, pa.string())
            texts = pc.unique(pa.concat_arrays([encoded.dictionary, met]))
            ordered = self._ordered[slot] = texts.take(pc.sort_indices(texts))
            places = pc.index_in(encoded.dictionary, value_set=ordered).cast(pa.int64())
            self.ranks[slot] = places.take(encoded.indices)

    def ranked(self, accumulators: Sequence[Accumulator]) -> list[Accumulator]:
        """Accumulators with places instead of texts."""
        made = list(accumulators)
        for slot, ordered in self._ordered.items():
            place = {text: at for at, text in enumerate(ordered.to_pylist())}
            made = [(*each[:slot], place.get(each[slot]), *each[slot + 1 :]) for each in made]
        return made

    def restored(self, accumulators: Sequence[Accumulator]) -> list[Accumulator]:
        """Accumulators with texts again."""
        made = list(accumulators)
        for slot, ordered in self._ordered.items():
            texts = ordered.to_pylist()
            made = [
                each if each[slot] is None else (*each[:slot], texts[each[slot]], *each[slot + 1 :]) for each in made
            ]
        return made

    def texts(self, slot: int, column: NumberColumn) -> pa.Array:
        """The texts at places."""
        places = pa.array(column.values, mask=None if column.valid is None else ~column.valid)
        return self._ordered[slot].take(places)
