"""The regions of the noise that lead to each leaf of a tree.

Lemma (regions). If the branches out of every node that is no leaf cover everything, the draws of a
way are fresh, and the conditions known at any two leaves exclude each other, then each noise leads
to exactly one leaf, and it is the one whose conditions hold: the conditions known at a leaf are
exactly its region (up to a set of probability 0).

What is known at a node that one way leads to is what was known before, the support of the noise
that was drawn, and the conditions of the branch. Leaves that are reached without any meeting of
ways are different ways down one tree of decisions, and exclude each other for that reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..alignment import KeptRegion
from ..farkas import need_empty, need_implied
from ..forms import LinearInequality, symbols_of, terms_of
from ..invalid import need
from .decisions import Branch, held, need_all_branches
from .noise import Noises, support_of
from .tree import Tree, TreeNode, TreeWay


@dataclass
class _WayDown:
    """What is found on the way down: for each node its conditions, noises and branches."""

    noises: Noises
    known: dict[int, list[LinearInequality]] = field(default_factory=dict)
    drawn: dict[int, frozenset[str]] = field(default_factory=dict)
    plain: dict[int, bool] = field(default_factory=dict)
    """Whether no ways meet on the way to this node."""
    leaving: dict[int, list[Branch]] = field(default_factory=dict)

    def enter(self, node: TreeNode) -> None:
        arrivals = [self._arrival(node.number, way) for way in node.ways]
        sources = [way.source for way in node.ways]
        drawn = (self.drawn[way.source].union(way.noise) for way in node.ways)
        self.drawn[node.number] = frozenset().union(*drawn)
        self.plain[node.number] = len(sources) <= 1 and all(self.plain[s] for s in sources)
        if len(arrivals) <= 1:
            self.known[node.number] = arrivals[0] if arrivals else []
            return
        for way, conditions in zip(node.ways, arrivals, strict=True):
            self._meet(node, way, conditions)
        self.known[node.number] = list(node.invariant)

    def _arrival(self, number: int, way: TreeWay) -> list[LinearInequality]:
        """What is known when one arrives by this way."""
        where = f"node {number} from {way.source}"
        need(way.source in self.known and way.source != number, f"{where}: out of order")
        self.leaving.setdefault(way.source, []).append(way.branch)
        need(self.noises.keys() >= set(way.noise), f"{where}: an unknown noise")
        need(not self.drawn[way.source] & set(way.noise), f"{where}: a noise is drawn twice")
        met = symbols_of(map(terms_of, held(way.branch))) & self.noises.keys()
        here = self.drawn[way.source].union(way.noise)
        need(met <= here, f"{where}: a noise that was not drawn")
        new = support_of(way.noise, self.noises)
        return list(dict.fromkeys([*self.known[way.source], *new, *held(way.branch)]))

    def _meet(self, node: TreeNode, way: TreeWay, conditions: list[LinearInequality]) -> None:
        """The invariant holds by this way, or nobody comes by it."""
        where = f"node {node.number} from {way.source}"
        if way.empty is not None:
            need_empty(conditions, way.empty, self.noises, where)
            return
        present = set(conditions)
        for place, goal in enumerate(node.invariant):
            if goal not in present:
                need(place in way.proofs, f"{where}: an invariant without a proof")
                need_implied(conditions, way.proofs[place], goal, where)


def regions(tree: Tree, noises: Noises, whole: frozenset[str]) -> Iterator[tuple[int, KeptRegion]]:
    """Each leaf with its region and releases, after all of the tree was checked."""
    walk = _WayDown(noises)
    leaves = [leaf.node for leaf in tree.leaves]
    for node in tree.nodes:
        walk.enter(node)
    for dead in tree.dead:
        where = f"dead branch of {dead.source}"
        need(dead.source in walk.known, f"{where}: no such node")
        walk.leaving.setdefault(dead.source, []).append(dead.branch)
        conditions = held(dead.branch)
        drawn = sorted(symbols_of(map(terms_of, conditions)) & noises.keys())
        every = [*walk.known[dead.source], *support_of(drawn, noises), *conditions]
        need_empty(every, dead.empty, noises, where)
    need(bool(leaves) and len(set(leaves)) == len(leaves), "leaves: none, or one twice")
    need(set(leaves) <= walk.known.keys(), "leaves: an unknown node")
    for number in walk.known:
        inside = number in walk.leaving
        need((number in leaves) != inside, f"node {number}: neither a leaf nor inside")
        if inside:
            need_all_branches(walk.leaving[number], f"node {number}")
    _need_disjoint(tree, walk, leaves)
    for leaf in tree.leaves:
        keep = walk.known[leaf.node]
        met = symbols_of((*map(terms_of, keep), *leaf.real)) & noises.keys()
        need(met <= walk.drawn[leaf.node], f"leaf {leaf.node}: a noise that was not drawn")
        own = {name: noises[name] for name in sorted(met)}
        yield leaf.node, KeptRegion(keep, list(leaf.real), own, whole)


def _need_disjoint(tree: Tree, walk: _WayDown, leaves: list[int]) -> None:
    """No two leaves overlap."""
    for pair in itertools.combinations(leaves, 2):
        if walk.plain[pair[0]] and walk.plain[pair[1]]:
            continue
        need(pair in tree.disjoint, f"leaves {pair} may overlap")
        both = [*walk.known[pair[0]], *walk.known[pair[1]]]
        need_empty(both, tree.disjoint[pair], walk.noises, f"leaves {pair}")
