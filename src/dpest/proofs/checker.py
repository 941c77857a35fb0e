"""An independent checker of privacy certificates: `python checker.py FILE...`

Standard library only, exact rationals, no solver, nothing shared with the program that writes the
certificates. It trusts two things: that the model in the certificate is the program in it (the
prover tests that on random inputs), and the lemma of translations: a shift of the noise that is
the same, or depends on unshifted noises only, throughout a region of fixed release is injective
with Jacobian 1, so that probabilities differ by at most e^cost. All else is recomputed here.
"""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction as Q

ZERO = Q(0)
INFINITY = math.inf


class Invalid(Exception):
    """The certificate does not show what it says."""


def need(holds, message):
    if not holds:
        raise Invalid(message)


def number(value):
    if isinstance(value, str) and re.fullmatch(r"-?\d+(/[1-9]\d*)?", value):
        return Q(value)
    need(isinstance(value, int) and not isinstance(value, bool), f"not a rational: {value!r}")
    return Q(value)


def form(j):
    """(constant, {symbol: coefficient}) of {"c": ..., "t": {...}}."""
    return number(j["c"]), {k: number(v) for k, v in j["t"].items() if number(v)}


def condition(j):
    need(isinstance(j["s"], bool), "a condition is strict or not")
    c, t = form(j)
    return c, tuple(sorted(t.items())), j["s"]


def negated(c):
    return -c[0], tuple((k, -v) for k, v in c[1]), not c[2]


def difference(a, b):
    t = dict(a[1])
    for k, v in dict(b[1]).items():
        t[k] = t.get(k, ZERO) - v
    return a[0] - b[0], {k: v for k, v in t.items() if v}


# ---------------------------------------------------------------- adjacency
def components(adjacency, length, used):
    """The adjacency set as unions of convex hulls of boxes {input: (low, high)}, on used inputs."""
    name = adjacency["name"]
    r = INFINITY if adjacency["radius"] == "inf" else number(adjacency["radius"])
    need(r > 0, "radius")
    inputs = [f"q{j}" for j in range(length) if f"q{j}" in used]
    if name in ("linf", "any_pair"):
        need(name == "linf" or r == INFINITY, "radius")
        return [[dict.fromkeys(inputs, (-r, r))]]
    if name == "monotone":
        return [[dict.fromkeys(inputs, (ZERO, r))], [dict.fromkeys(inputs, (-r, ZERO))]]
    if name == "l1":
        return [[{q: (v, v)} for q in inputs for v in (r, -r)]]
    need(name == "replace_one", f"adjacency {name!r}")
    return [[{q: (-r, r)}] for q in inputs]


def widen(face, derived, name):
    """Add the ranges of derived data: clipped values and indicators of conditions on the data."""
    face = dict(face)
    for symbol, rule in derived.items():
        _, t = form(rule["of"])
        if rule["kind"] == "indicator":
            still = all(face.get(k, (0, 0)) == (0, 0) for k in t) and name != "l1"
            face[symbol] = (ZERO, ZERO) if still else (Q(-1), Q(1))
            continue
        need(rule["kind"] == "clip", "derived data")
        width = number(rule["width"])
        low, high = lowest(ZERO, t, face), -lowest(ZERO, {k: -v for k, v in t.items()}, face)
        if name != "l1":  # the width may cut an interval, but not the rays of a hull of points
            low, high = max(low, -width), min(high, width)
        face[symbol] = (min(low, ZERO), max(high, ZERO))
    return face


def lowest(constant, slopes, face):
    """The least value of constant + slopes·d on a box; symbols outside the box don't move."""
    return constant + sum((min(v * e for e in face[k]) for k, v in slopes.items()
                           if v and face.get(k, (0, 0)) != (0, 0)), ZERO)  # fmt: skip


def covered(face, given):
    """Whether the given boxes are the face itself, or its split at corners (the cost is convex)."""
    given = [g for g in given if g.keys() == face.keys()
             and all(g[k] == e or g[k] in ((e[0],) * 2, (e[1],) * 2) for k, e in face.items())]  # fmt: skip
    if face in given:
        return True
    for k, (a, b) in face.items():
        if a != b and given and all(g[k][0] == g[k][1] for g in given):
            return all(covered({**face, k: (v, v)}, given) for v in (a, b))
    return False


# ---------------------------------------------------------------- one alignment
def affine(j):
    return number(j[0]), {k: number(v) for k, v in j[1].items()}


def aligned(keep, pin, noises, face, shift, bound, budget, where, integers=False):
    """Shifts affine in the difference keep every condition and release, at a cost within budget."""
    need(set(shift) <= set(noises) and set(bound) <= set(noises), where + ": unknown noise")
    for _, slopes in (*shift.values(), *bound.values()):
        need(set(slopes) <= set(face), where + ": a shift depends on something unknown")

    def change(t):
        constant, slopes = ZERO, {}
        for k, v in t.items():
            if k in noises:
                s0, s = shift.get(k, (ZERO, {}))
                constant += v * s0
                for j, x in s.items():
                    slopes[j] = slopes.get(j, ZERO) + v * x
            else:
                need(k in face, f"{where}: unknown symbol {k}")
                slopes[k] = slopes.get(k, ZERO) + v
        return constant, slopes

    for t in keep:
        need(lowest(*change(t), face) >= 0, where + ": a branch is not kept")
    for t in pin:
        c, b = change(t)
        flat = all(face[k] == (0, 0) or not v or face[k][0] == face[k][1] for k, v in b.items())
        fixed = c + sum((v * face[k][0] for k, v in b.items() if v and flat), ZERO)
        need(flat and fixed == 0, where + ": a release changes")
    left, rest = budget, {}
    for h, (kind, rate, integral) in noises.items():
        s0, s = shift.get(h, (ZERO, {}))
        if integral:
            whole = all(x.denominator == 1 for x in (s0, *s.values()))
            need(integers and whole and all(k[0] in "qi" for k in s), where + ": not integral")
        if kind == "absolute":
            t0, t = bound.get(h, (ZERO, {}))
            for sign in (1, -1):
                gap = {k: t.get(k, ZERO) + sign * s.get(k, ZERO) for k in {*t, *s}}
                need(lowest(t0 + sign * s0, gap, face) >= 0, where + ": bound of a shift")
        else:
            need(lowest(s0, s, face) >= 0, where + ": this noise must be shifted upwards")
            t0, t = s0, s
        left -= rate * t0
        for k, x in t.items():
            rest[k] = rest.get(k, ZERO) - rate * x
    need(lowest(left, rest, face) >= 0, where + ": cost above the bound")


def noise_table(j):
    table = {}
    for h, (kind, rate, integral) in j.items():
        need(kind in ("absolute", "upward", "square") and number(rate) > 0, "noise " + h)
        need(isinstance(integral, bool) and h[0] == "h", "noise " + h)
        table[h] = kind, number(rate), integral
    return table


# ---------------------------------------------------------------- the model
def farkas(premises, weights, goal, where):
    """The weighted premises add up to the goal, or, without one, to a contradiction."""
    total, t, strict = ZERO, {}, False
    for i, w in weights.items():
        w, (c, terms, is_strict) = number(w), premises[int(i)]
        need(w >= 0, where + ": negative weight")
        total, strict = total + w * c, strict or (w > 0 and is_strict)
        for k, v in terms:
            t[k] = t.get(k, ZERO) + w * v
    goal_c, goal_t, goal_strict = goal or (ZERO, (), True)
    need({k: v for k, v in t.items() if v} == dict(goal_t), where + ": weights don't add up")
    slack = goal_c - total
    need(slack > 0 or (slack == 0 and (strict or not goal_strict)), where + ": weights too weak")


def branches_cover(paths, where):
    """Lists of decisions are the leaves of a complete tree: yes/no, or which of several is first."""
    if len(paths) == 1 and not paths[0]:
        return
    need(paths and all(paths), where + ": branches overlap")
    options = {}
    for path in paths:
        options.setdefault(tuple(path[0]), []).append(path[1:])
    kinds = list(options)
    if all(len(o) == 1 for o in kinds):
        need(len(kinds) == 2 and kinds[0][0] == negated(kinds[1][0]), where + ": branches missing")
    else:
        size = len(kinds)
        gaps = {i: [dict(c[1]) | {"": c[0]} for c in o] for i, o in enumerate(kinds)}
        need(all(len(o) == size - 1 for o in kinds), where + ": a choice is incomplete")
        base = [{}] + gaps[0]  # what the first is ahead of each of the others by
        for i, o in enumerate(kinds):
            others = [j for j in range(size) if j != i]
            for c, j in zip(o, others):
                lead = {
                    k: base[j].get(k, ZERO) - base[i].get(k, ZERO) for k in {*base[i], *base[j]}
                }
                is_right = {k: v for k, v in lead.items() if v} == {
                    k: v for k, v in (dict(c[1]) | {"": c[0]}).items() if v
                }
                need(is_right and c[2] == (j < i), where + ": a choice is not one of the greatest")
    for rest in options.values():
        branches_cover(rest, where)


def distinct(conditions):
    return list(dict.fromkeys(conditions))


def regions(C, noises):
    """Leaf -> (conditions that hold there, noises drawn): shown to be disjoint and complete."""
    known, drawn, exact, leaving = {}, {}, {}, {}
    leaves = {leaf["node"] for leaf in C["leaves"]}
    roots = 0
    for node in C["nodes"]:
        i = node["id"]
        need(i not in known, "node twice")
        roots += not node["in"]
        alternatives = []
        drawn[i], exact[i] = frozenset(), len(node["in"]) <= 1
        for edge in node["in"]:
            source, where = edge["from"], f"node {i} from {edge['from']}"
            need(source in known, "nodes out of order")
            decisions = [[condition(c) for c in block] for block in edge["if"]]
            leaving.setdefault(source, []).append(decisions)
            new = edge["noise"]
            need(set(new) <= set(noises) and len(new) == len(set(new)), where + ": noise")
            need(not drawn[source] & set(new), where + ": a noise is drawn twice")
            drawn[i] |= drawn[source] | set(new)
            flat = [c for block in decisions for c in block] + [
                condition(c) for c in edge["support"]
            ]
            for c in edge["support"]:
                c, t = form(c)
                need(c == 0 and list(t.values()) == [1] and set(t) <= set(new)
                     and noises[next(iter(t))][0] == "upward", where + ": support")  # fmt: skip
            alternatives.append((edge, distinct(known[source] + flat), where))
            exact[i] &= exact[source]
        if len(alternatives) <= 1:
            known[i] = alternatives[0][1] if alternatives else []
            continue
        known[i] = [condition(c) for c in node["invariant"]]
        for edge, premises, where in alternatives:
            if "empty" in edge:
                farkas(premises, edge["empty"], None, where)
                continue
            for k, goal in enumerate(known[i]):
                if goal not in premises:
                    farkas(premises, edge["proof"][str(k)], goal, where)
    for dead in C["dead"]:
        decisions = [[condition(c) for c in block] for block in dead["if"]]
        leaving.setdefault(dead["from"], []).append(decisions)
        premises = known[dead["from"]] + [c for block in decisions for c in block]
        farkas(premises, dead["empty"], None, f"dead branch of {dead['from']}")
    need(roots == 1 and leaves and len(leaves) == len(C["leaves"]), "one root, distinct leaves")
    for i in known:
        need((i in leaves) != (i in leaving), f"node {i}: neither leaf nor inner node")
        if i in leaving:
            branches_cover(leaving[i], f"node {i}")
    proofs = {frozenset(d["pair"]): d for d in C["disjoint"]}
    for a, b in itertools.combinations(sorted(leaves), 2):
        if exact[a] and exact[b]:
            continue  # both are plain paths of one tree of decisions
        d = proofs.get(frozenset((a, b)))
        need(d is not None, f"leaves {a}, {b}: not shown to be disjoint")
        farkas(known[d["pair"][0]] + known[d["pair"][1]], d["proof"], None, f"leaves {a}, {b}")
    return {i: (known[i], drawn[i]) for i in leaves}
