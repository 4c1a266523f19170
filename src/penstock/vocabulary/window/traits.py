"""Traits: promises of assigners, triggers and evictors that make windows faster.

A trait is a class attribute or a method with a careful default. It describes the methods of the class that declares it:
a class that derives from that one and overrides any of them falls back to the default, unless it declares the trait
again. So a class of a user's own is never taken for what it was derived from.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["HasTraits"]


class HasTraits:
    """Base of the contracts that have traits; `_traits` has their names."""

    _traits: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take back the traits that describe methods which are overridden here."""
        super().__init_subclass__(**kwargs)
        for trait in cls._traits:
            declaring = [each for each in cls.__mro__ if trait in vars(each)]
            if cls._overrides_methods_of(declaring[0]):
                setattr(cls, trait, vars(declaring[-1])[trait])

    @classmethod
    def _overrides_methods_of(cls, declaring: type) -> bool:
        # All classes in front of it count, so that a method which comes from a mixin is seen too.
        derived = cls.__mro__[: cls.__mro__.index(declaring)]
        return any(
            not name.startswith(("__", "_abc_"))
            and name not in cls._traits
            and not isinstance(value, (staticmethod, classmethod))
            and hasattr(declaring, name)
            for each in derived
            for name, value in vars(each).items()
        )
