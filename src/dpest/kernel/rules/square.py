"""Square: ρ of a program with Gaussian noise, on data of one length.

Lemma. Let s be one linear function of the difference d, the same wherever the noise lies, that
moves Gaussian noise alone. If shifting the noise by s(d) leaves every condition and every released
real exactly as it is, the second run is the first run with shifted noise. By data processing the
Rényi divergence of order α between the outputs is at most that between the noises: α·Σ rate·s_h².
So the program is ρ-zCDP for ρ the greatest Σ rate·s_h(d)². That is convex in d: it is bounded
on each box of a hull. (A maximum over regions would be no bound on a divergence; hence one shift.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..fields import Extended, Fields, mapping
from ..forms import (
    ONE,
    ZERO,
    Box,
    Terms,
    combined,
    greatest,
    least,
    read_terms,
    symbols_of,
    terms_of,
)
from ..header import Header
from ..invalid import need
from ..models.model import Numbers, entry_names, read_numbers, read_power
from ..models.noise import Noises
from ..models.regions import regions
from ..models.tree import Tree, read_tree
from ..statement import Finding

Shift = dict[str, dict[str, Fraction]]


@dataclass(frozen=True)
class Square:
    """A tree, and the one shift that serves all of its leaves."""

    numbers: Numbers
    tree: Tree
    shift: Shift
    power: int


def read(header: Header, fields: Fields) -> Square:
    numbers = read_numbers(header, fields, entry_names(header.fixed_length()))
    power = read_power(header, fields)
    tree = read_tree(fields)
    need(not list(fields.each("alignments")), "alignments: one common shift serves all leaves")
    shift = {
        h: read_terms(s, "common") for h, s in mapping(fields.take("common"), "common").items()
    }
    fields.done()
    return Square(numbers, tree, shift, power)


def check(header: Header, fields: Fields) -> Finding:
    square = read(header, fields)
    numbers, shift = square.numbers, square.shift
    _need_gaussian(shift, numbers)
    for leaf, region in regions(square.tree, numbers.noises, numbers.whole):
        for terms in (*map(terms_of, region.keep), *region.pin):
            need(not _change(terms, shift, region.noises), f"leaf {leaf}: something changes")
    for group in numbers.faces():
        for face in group:
            cost = _cost(shift, numbers.noises, face)
            need(cost <= header.value(), "it costs more than the bound")
    return Finding(
        "rho", header.value(), numbers.lengths, numbers.stated(), square.power, numbers.assumptions
    )


def _need_gaussian(shift: Shift, numbers: Numbers) -> None:
    known = numbers.inputs | numbers.data.derived.keys()
    for name, slopes in shift.items():
        need(name in numbers.noises, "common: an unknown noise")
        noise = numbers.noises[name]
        need(noise.rule == "square", "common: only Gaussian noise may move")
        steps = all(v.denominator == 1 and k in numbers.whole for k, v in slopes.items())
        need(not noise.integral or steps, "common: a shift is not an integer")
    need(symbols_of(shift.values()) <= known, "common: unknown data")


def _change(terms: Terms, shift: Shift, noises: Noises) -> Terms:
    parts = (
        (value, shift.get(symbol, {}) if symbol in noises else {symbol: ONE})
        for symbol, value in terms.items()
    )
    return combined(*parts)


def _cost(shift: Shift, noises: Noises, face: Box) -> Extended:
    total: Extended = ZERO
    for name, slopes in shift.items():
        reach = max(-least(ZERO, slopes, face), greatest(ZERO, slopes, face))
        if reach:
            total = total + noises[name].rate * reach * reach
    return total
