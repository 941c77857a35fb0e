"""Public draws: whole numbers, places, orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.control.items import place_in
from dpest.reading.contributions.control.public import Recipe
from dpest.reading.contributions.forms import SymbolicForm
from dpest.reading.contributions.functions.flips import CANDIDATE
from dpest.reading.contributions.values import PublicValue

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def PICK(place: int, kind: str) -> Any:  # a mark: a replay looks the draw up
    raise AssertionError


def picked(m: ContributionMachine, kind: str, *about: Any) -> PublicValue:
    """A public draw: a whole number, a place, an order."""
    m.settled_ways()
    m.picks += 1
    return PublicValue(Recipe(PICK, (m.picks - 1, kind, *about)), len(m.ledger.rows))


def candidate_at(m: ContributionMachine, place: SymbolicForm) -> PublicValue | None:
    """The candidate whose place among others a public number is."""
    only = place.terms[0][0] if len(place.terms) == 1 and not place.constant else None
    node = ("",) if only is None else m.terms.nodes[only]
    recipe = m.recipes.get(node[1]) if node[0] == "pub" else None
    if recipe is None or recipe.function is not place_in or recipe.arguments[0] is not None:
        return None
    found = recipe.arguments[1]
    return found if found.recipe is not None and found.recipe.function is CANDIDATE else None
