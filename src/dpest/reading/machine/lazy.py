"""What is asked about data of any length: here all data are at hand, and nothing is lazy."""

from __future__ import annotations

from typing import Any

from dpest.reading.machine.signals import Refused


class DataAtHand:
    """The answers where no value is lazy. A machine on data of any length has its own.

    None: the value is none of those that depend on the length; it is looked at as any other.
    """

    is_whole = True  # all data are at hand: a list may be filled, and then be looked at

    def is_lazy(self, value: Any) -> bool:
        return False

    def lazy_sample(self, value: Any) -> Any:
        """A number of the type that a lazy value has in arithmetic with an array."""
        raise Refused("an array together with a value that is not known")

    def lazy_operation(self, op: str, *values: Any) -> Any:
        return None

    def lazy_iterator(self, value: Any) -> Any:
        return None

    def lazy_next(self, it: Any) -> Any:
        return None

    def lazy_peek(self, it: Any) -> Any:
        return None

    def lazy_step(self, it: Any) -> bool:
        return False

    def lazy_item(self, thing: Any, index: Any) -> Any:
        return None

    def lazy_range(self, *ends: Any) -> Any:
        return None

    def lazy_array(self, value: Any, dtype: Any) -> Any:
        return None

    def lazy_like(self, fill: Any, value: Any) -> Any:
        return None

    def lazy_map(self, function: Any, *values: Any) -> Any:
        return None

    def lazy_reduction(self, function: Any, value: Any) -> Any:
        return None

    def lazy_bincount(self, value: Any, weights: Any, minlength: Any) -> Any:
        return None

    def lazy_draws(self, family: Any, loc: Any, scale: Any, size: Any) -> Any:
        return None

    def lazy_length(self, value: Any) -> Any:
        return None

    def released(self, value: Any) -> Any:
        return None
