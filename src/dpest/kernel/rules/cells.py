"""Cells: pure ε of a program on data of one length.

Lemma. Let the noise be split into regions, one for each leaf, and let each leaf release one thing:
something discrete that is fixed there, and reals that are linear in noise and data. If for every
leaf and every difference d between neighbours there is an alignment (see `alignment`) of its region
with itself of cost at most ε, then the program is ε-DP: the probability of a release is the sum
over the leaves that give it, and the images of disjoint regions are disjoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..alignment import BoxPlan, need_aligned_everywhere, read_plan
from ..fields import Fields
from ..header import Header
from ..invalid import need
from ..models.model import Numbers, entry_names, need_pure, read_numbers
from ..models.regions import regions
from ..models.tree import Tree, read_tree
from ..statement import Finding


@dataclass(frozen=True)
class PlannedTree:
    """A tree, and plans for each of its leaves."""

    numbers: Numbers
    tree: Tree
    plans: Mapping[int, list[tuple[int, BoxPlan]]]


def read(header: Header, fields: Fields) -> PlannedTree:
    numbers = read_numbers(header, fields, entry_names(header.fixed_length()))
    need_pure(fields)
    tree = read_tree(fields)
    plans: dict[int, list[tuple[int, BoxPlan]]] = {leaf.node: [] for leaf in tree.leaves}
    for entry in fields.each("alignments"):
        leaf = entry.whole("leaf")
        need(leaf in plans, f"{entry.where}: an unknown leaf")
        plans[leaf].append(read_plan(entry))
    fields.done()
    return PlannedTree(numbers, tree, plans)


def check(header: Header, fields: Fields) -> Finding:
    cells = read(header, fields)
    numbers, groups = cells.numbers, cells.numbers.faces()
    for leaf, region in regions(cells.tree, numbers.noises, numbers.whole):
        plans = cells.plans[leaf]
        need_aligned_everywhere(region, groups, plans, header.value(), f"leaf {leaf}")
    return Finding(
        "epsilon",
        header.value(),
        numbers.lengths,
        numbers.stated(),
        assumptions=numbers.assumptions,
    )
