"""A program on data of one length: nodes, the ways into each, and leaves that release something.

A node with one way into it is where its branch leads. Where several ways meet, an invariant says
what holds on all of them, with weights that show it for each. Noise is drawn on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..farkas import Weights, read_weights
from ..fields import Fields, listed, mapping, text, whole
from ..forms import LinearInequality, Terms, read_condition, read_terms
from ..invalid import need
from .decisions import Branch, read_branch


@dataclass(frozen=True)
class TreeWay:
    """From an earlier node by a branch. Where ways meet: weights that show each invariant, by its
    number, or (`empty`) that nobody comes this way."""

    source: int
    branch: Branch
    noise: tuple[str, ...]
    proofs: Mapping[int, Weights]
    empty: Weights | None


@dataclass(frozen=True)
class TreeNode:
    number: int
    ways: tuple[TreeWay, ...]
    invariant: tuple[LinearInequality, ...]


@dataclass(frozen=True)
class DeadBranch:
    """A branch that is never taken, and weights that show it."""

    source: int
    branch: Branch
    empty: Weights


@dataclass(frozen=True)
class TreeLeaf:
    """What is released there: `real` are the forms of the released real numbers."""

    node: int
    real: tuple[Terms, ...]


@dataclass(frozen=True)
class Tree:
    nodes: tuple[TreeNode, ...]
    dead: tuple[DeadBranch, ...]
    leaves: tuple[TreeLeaf, ...]
    disjoint: Mapping[tuple[int, int], Weights]


def read_tree(fields: Fields) -> Tree:
    nodes = tuple(_node(f, first=i == 0) for i, f in enumerate(fields.each("nodes")))
    dead = tuple(_dead(f) for f in fields.each("dead"))
    leaves = tuple(_leaf(f) for f in fields.each("leaves"))
    disjoint: dict[tuple[int, int], Weights] = {}
    for entry in fields.each("disjoint"):
        first, second = (whole(v, entry.where) for v in listed(entry.take("pair"), entry.where, 2))
        need((first, second) not in disjoint, f"{entry.where}: a pair twice")
        disjoint[first, second] = read_weights(entry.take("proof"), entry.where)
        entry.done()
    numbers = [node.number for node in nodes]
    need(len(set(numbers)) == len(numbers), "nodes: a number twice")
    return Tree(nodes, dead, leaves, disjoint)


def _node(fields: Fields, first: bool) -> TreeNode:
    number = fields.whole("id")
    entries = list(fields.each("in"))
    meets = len(entries) > 1
    ways = tuple(_way(f, meets) for f in entries)
    need(bool(ways) != first, f"{fields.where}: the first node alone has no way into it")
    invariant: tuple[LinearInequality, ...] = ()
    if meets:
        stated = listed(fields.take("invariant"), fields.where)
        invariant = tuple(read_condition(c, fields.where) for c in stated)
    fields.done()
    return TreeNode(number, ways, invariant)


def _way(fields: Fields, meets: bool) -> TreeWay:
    source = fields.whole("from")
    branch = read_branch(fields.take("if"), fields.where)
    noise = fields.texts("noise")
    proofs: dict[int, Weights] = {}
    empty: Weights | None = None
    if meets and fields.has("empty"):
        empty = read_weights(fields.take("empty"), fields.where)
    elif meets:
        for place, weights in mapping(fields.take("proof"), fields.where).items():
            need(place.isascii() and place.isdigit() and len(place) < 9, f"{fields.where}.proof")
            proofs[int(place)] = read_weights(weights, fields.where)
    fields.done()
    return TreeWay(source, branch, noise, proofs, empty)


def _dead(fields: Fields) -> DeadBranch:
    branch = read_branch(fields.take("if"), fields.where)
    found = DeadBranch(
        fields.whole("from"), branch, read_weights(fields.take("empty"), fields.where)
    )
    fields.done()
    return found


def _leaf(fields: Fields) -> TreeLeaf:
    node = fields.whole("node")
    text(fields.take("release"), fields.where)  # for people: a leaf is carried into itself
    real = tuple(read_terms(t, fields.where) for t in listed(fields.take("real"), fields.where))
    fields.done()
    return TreeLeaf(node, real)
