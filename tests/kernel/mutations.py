"""Changed certificates: what a careless editor, a careful forger or a bad disk makes of one."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Place = tuple[Any, ...]
_OTHER_TYPES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**30, 1.5, float("nan"), "", "x", "0", "-1", "1/0", "1/-2",
    "1.5", "1e9", "inf", "-inf", "nan", " 1", "١", "any", "anyx", "eps", "epsx", "q", "h0_0", "m",
    [], [[]], ["0", {}, True], {}, {"h0": "1"}, {"0": "1"}, [0], "\ud800",
)  # fmt: skip


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """The path to every value but the whole."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*path, key)
        if isinstance(value[key], (dict, list)):
            yield from places(value[key], (*path, key))


def at(value: Any, path: Place) -> Any:
    for key in path:
        value = value[key]
    return value


def _retyped(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    value[key] = copy.deepcopy(source.choice(_OTHER_TYPES))


def _moved(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    """Another number, where there is one."""
    try:
        old = Fraction(value[key])
    except (TypeError, ValueError):
        old = Fraction(source.randrange(-3, 4))
    step = source.choice([1, -1, 2, Fraction(1, 7), Fraction(-1, 7), -old, old])
    new = old + step
    kept = isinstance(value[key], int) and new.denominator == 1
    value[key] = int(new) if kept else str(new)


def _removed(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    del value[key]


def _renamed(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    if isinstance(value, dict):
        value[source.choice([key + "x", "q", "h0_0", "v.x", "t0", "0", "empty", "proof"])] = (
            value.pop(key)
        )
    else:
        value.append(copy.deepcopy(value[key]))


def _added(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    new = copy.deepcopy(source.choice(_OTHER_TYPES))
    if isinstance(value, dict):
        word = source.choice(["power", "rule", "entries", "cases", "steps", "invariant", "unknown"])
        value[word] = new
    else:
        value.insert(source.randrange(len(value) + 1), new)


def _swapped(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    """Two values of one object, or a value from elsewhere in the certificate."""
    other = source.choice(list(value) if isinstance(value, dict) else range(len(value)))
    value[key], value[other] = value[other], value[key]


def _transplanted(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    value[key] = copy.deepcopy(at(whole, source.choice(list(places(whole)))))


CHANGES: tuple[Callable[[Any, Any, random.Random, Any], None], ...] = (
    _retyped, _moved, _moved, _removed, _renamed, _added, _swapped, _transplanted,
)  # fmt: skip


WORDS: tuple[tuple[str, ...], ...] = (
    (">", ">=", "==", "!="),
    ("heads", "tails"),
    ("in", "out"),
    ("heads", "in"),
    ("tails", "out"),
    ("laplace", "normal", "gumbel", "exponential", "discrete_laplace", "two_sided_geometric"),
    ("min", "max", "norm", "abs", "mul", "div", "tanh", "sqrt", "floor", "pick"),
    ("field", "pub", "sum", "noise"),
    ("x", "y", "s"),
    ("c", "d"),
    ("epsilon", "rho", "mu2"),
    ("replace_one", "add_remove_one", "l1", "linf", "monotone"),
)
"""Words of which one may stand for another in a certificate of noisy sums."""
HEADER: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("length", ("any", 1, 2, 3, 4)),
    ("rows_each", (1, 2, 3)),
    ("user", ("u",)),
    ("apart", (True, False)),
    ("delta", ("0", "1/10", "1/100")),
    ("measure", ("epsilon", "rho", "mu2")),
    ("adjacency", tuple(
        {"name": name, "radius": radius}
        for name, radius in (
            ("replace_one", "inf"), ("add_remove_one", "inf"), ("l1", "1"), ("linf", "1"),
            ("monotone", "1"), ("l1", "2"), ("replace_one", "2"),
        )
    )),
)  # fmt: skip


def _reworded(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    known = [w for w in WORDS if value[key] in w]
    if not isinstance(value[key], str) or not known:
        return False
    value[key] = source.choice([w for w in source.choice(known) if w != value[key]])
    return True


def _doubled(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    if isinstance(value, list):
        value.insert(key, copy.deepcopy(value[key]))
    return isinstance(value, list)


def _renumbered(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    """Another place: of a noise, a symbol, a pass, a row."""
    if type(value[key]) is not int:
        return False
    value[key] = max(0, value[key] + source.choice([-1, 1, 1, 2, -2]))
    return True


def _numbered(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    """Another number that is likely to make sense."""
    if not isinstance(value[key], str) or not value[key][-1:].isdigit():
        return False
    value[key] = source.choice(["0", "1", "-1", "1/2", "2", "3", "-3", "1/3"])
    return True


def _dropped(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    if isinstance(value, list) and (len(value) > 1 or source.random() < 0.3):
        del value[key]
        return True
    return False


def _exchanged(value: Any, key: Any, source: random.Random, whole: Any) -> bool:
    if isinstance(value, list) and len(value) > 1:
        _swapped(value, key, source, whole)
        return True
    return False


FORGERIES = (_reworded, _doubled, _renumbered, _numbered, _numbered, _dropped, _exchanged)


def forged(
    certificate: dict[str, Any], others: list[dict[str, Any]], source: random.Random
) -> dict[str, Any]:
    """One to three changes by somebody who knows what a certificate of noisy sums looks like."""
    changed = copy.deepcopy(certificate)
    for _ in range(source.choice([1, 1, 2, 3])):
        if source.random() < 0.15:
            key, values = source.choice(HEADER)
            changed[key] = copy.deepcopy(source.choice(values))
            continue
        listed = [p for p in places(changed) if p[0] in ("ways", "columns")]
        if source.random() < 0.1:
            _of_another(changed, source.choice(others), listed, source)
            continue
        for _ in range(20):
            path = source.choice(listed)
            if source.choice(FORGERIES)(at(changed, path[:-1]), path[-1], source, certificate):
                break
    return changed


def _of_another(
    changed: dict[str, Any], other: dict[str, Any], listed: list[Place], source: random.Random
) -> None:
    """A part of another certificate, from a place of the same kind."""
    for _ in range(20):
        path = source.choice(listed)
        kind = [k for k in path if isinstance(k, str)]
        same = [p for p in places(other) if [k for k in p if isinstance(k, str)] == kind]
        if same:
            at(changed, path[:-1])[path[-1]] = copy.deepcopy(at(other, source.choice(same)))
            return


def mutated(certificate: dict[str, Any], source: random.Random) -> dict[str, Any]:
    """One or two changes at random places; the digests of forged sources are made anew."""
    changed = copy.deepcopy(certificate)
    for _ in range(source.choice([1, 1, 1, 2])):
        path = source.choice(list(places(changed)))
        source.choice(CHANGES)(at(changed, path[:-1]), path[-1], source, certificate)
    return changed
