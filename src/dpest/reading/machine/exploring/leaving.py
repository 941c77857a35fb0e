"""What is improbable may be left: of forks without a bound, as of a noisy value that is rounded.

A state behind such a fork waits if hardly anything comes there. In the end the waiting ones are
left, if all of them together are improbable enough; otherwise the most probable one goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpest.geometry.masses import mass_bound
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.state import State

_SHARE = 100  # a state waits if it has less than this part of what may be left


class Leaving:
    """The states of one reading that wait; `leftover` is how much may be left of them."""

    def __init__(self, machine: Machine, leftover: float) -> None:
        self.machine = machine
        self.leftover = leftover
        self._improbable = leftover / _SHARE
        self._waiting: list[tuple[float, State]] = []

    def likely(self, states: Sequence[State]) -> list[State]:
        """Those that are to be followed now."""
        return [state for state in states if not self._waits(state)]

    def _waits(self, state: State) -> bool:
        if not state.endless:
            return False
        state.endless = False
        mass = self.mass(state)
        if mass >= self._improbable:
            return False
        self._waiting.append((mass, state))
        return True

    def mass(self, state: State) -> float:
        """At least the probability of coming to a state."""
        return mass_bound(state.conditions, state.picks, self.machine.supports.noises)

    @property
    def left(self) -> float:
        """At least the probability of coming to any of the states that wait."""
        return sum(mass for mass, _ in self._waiting)

    @property
    def states(self) -> list[State]:
        return [state for _, state in self._waiting]

    def next(self) -> State | None:
        """A state that has to go on after all; None if the others may be left."""
        if self.left <= self.leftover:
            return None
        self._waiting.sort(key=lambda waiting: waiting[0])
        mass, state = self._waiting.pop()
        self._improbable = min(self._improbable, mass / _SHARE)
        return state
