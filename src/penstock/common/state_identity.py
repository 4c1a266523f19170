"""Which words know a class in uids and layouts of state, so that renaming the class orphans no state.

A class of Penstock that stands behind a uid, a layout or a job's document (an operator, plan node, window assigner,
trigger, sink, serializer of windows or restart strategy) declares its word:

    class ReduceOperator(StreamOperator):
        state_identity = "ReduceOperator"

The word is made once and never changed, whatever becomes of the class: state that was written under it is found by it.
A class of a program may declare one too, to be renamed without losing state; otherwise it is known by its own name.
"""

from __future__ import annotations

__all__ = ["identity_of", "identity_of_class"]


def identity_of(thing: object) -> str:
    """Return the word for the class of an object.

    >>> from penstock.datastream.window import EventTimeTrigger
    >>> identity_of(EventTimeTrigger.create())
    'EventTimeTrigger'
    """
    return identity_of_class(type(thing))


def identity_of_class(cls: type) -> str:
    """Return the word that a class declares itself, without those it inherits, or its name."""
    declared = vars(cls).get("state_identity")
    return declared if isinstance(declared, str) else cls.__name__
