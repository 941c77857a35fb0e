# ruff: noqa: B905
# mypy: ignore-errors
# fmt: off
"""An independent checker of privacy certificates: `python checker.py FILE...`

Standard library only, exact rationals, no solver, nothing shared with the program that writes the
certificates. It trusts that the model in the certificate is the program in it (the prover tests
that on random inputs) and one lemma: a shift of the noise that is the same throughout a region of
fixed release, or depends only on noises that are not shifted, is injective with Jacobian 1, so
that probabilities differ by at most e^cost. Everything else is recomputed here.
"""
import hashlib
import itertools
import json
import math
import re
import sys
from fractions import Fraction as Q

ZERO, STILL = Q(0), (0, 0)
# family: (rule, integral, least value)    absolute: rate·|s|; upward: rate·s, s ≥ 0; square: rate·s²
FAMILIES = {"laplace": ("absolute", False, None), "discrete_laplace": ("absolute", True, None),
            "two_sided_geometric": ("absolute", True, None),
            "exponential": ("upward", False, ZERO), "geometric": ("upward", True, Q(1)),
            "gumbel": ("upward", False, None), "gaussian": ("square", False, None),
            "discrete_gaussian": ("square", True, None)}
CONTINUOUS = ("laplace", "exponential", "gumbel", "gaussian")


class Invalid(Exception):
    """The certificate does not show what it says."""


def need(holds, message):
    if not holds:
        raise Invalid(message)

def number(value):
    if isinstance(value, str) and re.fullmatch(r"-?\d+(/[1-9]\d*)?", value):
        return Q(value)
    need(type(value) is int, f"not a rational: {value!r}")
    return Q(value)

def terms(j):
    return {k: number(v) for k, v in j.items() if number(v)}

def condition(j):
    """(constant, terms, strict) of ["constant", {symbol: coefficient}, strict]: form ≥ 0 or > 0."""
    need(len(j) == 3 and type(j[2]) is bool, "condition")
    return number(j[0]), tuple(sorted(terms(j[1]).items())), j[2]

def noise_table(j):
    """name -> (rule, rate, integral); noises of other families have no rate: they can't be shifted."""
    table = {}
    for h, (family, scale) in j.items():
        rule, integral, _ = FAMILIES.get(family, ("absolute", False, None))
        rate = None
        if family in FAMILIES:
            need(number(scale) > 0, "scale of " + h)
            rate = 1 / number(scale) if rule != "square" else 1 / (2 * number(scale))
        need(h[0] == "h", "name of a noise")
        table[h] = rule, rate, integral
    return table

def support(names, C):
    """What holds of each of these noises wherever it is drawn: its least and greatest values."""
    found = []
    for h in names:
        family, bounds = C["noises"][h][0], C["bounds"].get(h, [None, None])
        least = FAMILIES[family][2] if family in FAMILIES else bounds[0]
        if least is not None:
            found.append((-number(str(least)), ((h, Q(1)),), False))
        if family not in FAMILIES and bounds[1] is not None:
            found.append((number(bounds[1]), ((h, Q(-1)),), False))
    return found


# ---- adjacency: unions of convex hulls of boxes of differences
def components(C, inputs):
    name, r = C["adjacency"]["name"], C["adjacency"]["radius"]
    r = math.inf if r == "inf" else number(r)
    need(r > 0, "radius")
    if name in ("linf", "any_pair"):
        need(name == "linf" or r == math.inf or C["domain"]["width"] == C["adjacency"]["radius"], "radius")
        boxes = [[dict.fromkeys(inputs, (-r, r))]]
    elif name == "monotone":
        boxes = [[dict.fromkeys(inputs, (ZERO, r))], [dict.fromkeys(inputs, (-r, ZERO))]]
    elif name == "l1":
        boxes = [[{q: (v, v)} for q in inputs for v in (r, -r)]]
    else:
        need(name == "replace_one", f"adjacency {name!r}")
        boxes = [[{q: (-r, r)}] for q in inputs]
    integral = any(FAMILIES.get(f, (0, False))[1] for f, _ in C["noises"].values())
    need(not integral or (C["domain"]["kind"] == "integers" and (name != "l1" or r <= 1)), "integers")
    return [[derive(face, C["derived"], name) for face in group] for group in boxes]

def derive(face, rules, name):
    """Add the ranges of clipped data and of indicators; an l1 vertex is not cut (it spans a hull)."""
    for symbol, rule in rules.items():
        t = terms(rule["of"])
        low, high = least(ZERO, t, face), -least(ZERO, {k: -v for k, v in t.items()}, face)
        if rule["kind"] == "indicator":
            still = (low, high) == STILL and all(face.get(k, STILL) == STILL for k in t) and name != "l1"
            low, high = STILL if still else (Q(-1), Q(1))
        elif rule["width"] is not None and name != "l1":
            low, high = max(low, -number(rule["width"])), min(high, number(rule["width"]))
        need(rule["kind"] in ("clip", "indicator") and symbol[0] in "ci", "derived data")
        face = {**face, symbol: (min(low, ZERO), max(high, ZERO))}
    return face

def least(constant, slopes, face):
    """The least value of constant + slopes·d on a box; symbols that are not in it don't move."""
    moving = ((v, face[k]) for k, v in slopes.items() if v and face.get(k, STILL) != STILL)
    return constant + sum((min(v * e for e in ends) for v, ends in moving), ZERO)

def covered(face, given):
    """The given boxes are the face itself, or split it at its corners (costs are convex in d)."""
    given = [g for g in given if g.keys() == face.keys() and
             all(g[k] == e or g[k] in ((e[0],) * 2, (e[1],) * 2) for k, e in face.items())]
    for k, (a, b) in face.items():
        if face not in given and a != b and given and all(g[k][0] == g[k][1] for g in given):
            return all(covered({**face, k: (v, v)}, given) for v in (a, b))
    return face in given


# ---- one alignment
def aligned(keep, pin, noises, face, shift, bound, budget, where):
    """Shifts affine in the difference keep all conditions and releases; the cost is in the budget."""
    for table in (shift, bound):
        need(set(table) <= set(noises), where + ": unknown noise")
        need(all(set(s) <= set(face) for _, s in table.values()), where + ": unknown dependence")

    def change(t):
        constant, slopes = ZERO, {}
        for k, v in t.items():
            need(k in noises or k in face, f"{where}: unknown symbol {k}")
            s0, s = shift.get(k, (ZERO, {})) if k in noises else (ZERO, {k: Q(1)})
            constant += v * s0
            for j, x in s.items():
                slopes[j] = slopes.get(j, ZERO) + v * x
        return constant, slopes

    for t in keep:
        need(least(*change(t), face) >= 0, where + ": a branch is not kept")
    for t in pin:
        c, b = change(t)
        need(least(c, b, face) == 0 == least(-c, {k: -v for k, v in b.items()}, face),
             where + ": a release changes")
    left, rest = budget, {}
    for h, (rule, rate, integral) in noises.items():
        s0, s = shift.get(h, (ZERO, {}))
        need(rate is not None or (s0 == 0 and not any(s.values())), where + ": can't be shifted")
        need(rule != "square", where + ": Gaussian noise has no pure cost")
        need(not integral or (all(x.denominator == 1 for x in (s0, *s.values())) and
                              all(k[0] in "qm" for k in s)), where + ": not an integer")
        t0, t = bound.get(h, (ZERO, {})) if rule == "absolute" else (s0, s)
        for sign in (1, -1) if rule == "absolute" else (0,):
            gap = {k: t.get(k, ZERO) + sign * s.get(k, ZERO) for k in {*t, *s}}
            need(least(t0 + sign * s0, gap, face) >= 0, where + ": bound or direction of a shift")
        left -= (rate or 0) * t0
        for k, x in t.items():
            rest[k] = rest.get(k, ZERO) - (rate or 0) * x
    need(least(left, rest, face) >= 0, where + ": cost above the bound")

def read_shifts(j):
    return {h: (number(s0), terms(s)) for h, (s0, s) in j.items()}


# ---- the model of a fixed length
def farkas(premises, weights, goal, where, C):
    """The weighted premises add up to the goal or, without one, to a contradiction (but for a null
    set: the border of a condition on a continuous noise)."""
    total, t, strict = ZERO, {}, False
    for i, w in weights.items():
        w, (c, its, is_strict) = number(w), premises[int(i)]
        smooth = any(C["noises"].get(k, [""])[0] in CONTINUOUS for k, _ in its)
        is_strict = is_strict or (goal is None and smooth)
        need(w >= 0, where + ": negative weight")
        total, strict = total + w * c, strict or (w > 0 and is_strict)
        for k, v in its:
            t[k] = t.get(k, ZERO) + w * v
    goal_c, goal_t, goal_strict = goal or (ZERO, (), True)
    need({k: v for k, v in t.items() if v} == dict(goal_t), where + ": weights don't add up")
    slack = goal_c - total
    need(slack > 0 or (slack == 0 and (strict or not goal_strict)), where + ": weights too weak")

def decision(j):
    """(what is asked, which answer, the conditions): a condition holds, or one value is greatest."""
    if j[0] != "greatest":
        c = condition(j)
        other = -c[0], tuple((k, -v) for k, v in c[1]), not c[2]
        return (min(c, other), max(c, other)), c > other, [c]
    values, i = [(number(c), terms(t)) for c, t in j[1]], j[2]
    held = []
    for k, (c, t) in enumerate(values):  # the first of equal values counts as the greatest
        gap = {s: values[i][1].get(s, ZERO) - t.get(s, ZERO) for s in {*t, *values[i][1]}}
        gap = tuple(sorted((s, v) for s, v in gap.items() if v))
        held += [(values[i][0] - c, gap, k < i)] if k != i else []
    return json.dumps(j[1]), i, held

def branches_cover(paths, where):
    """Lists of decisions are the leaves of a complete tree."""
    if len(paths) == 1 and not paths[0]:
        return
    need(paths and all(paths) and len({p[0][0] for p in paths}) == 1, where + ": branches overlap")
    answers = {p[0][1] for p in paths}
    asked = paths[0][0][0]
    every = {False, True} if isinstance(asked, tuple) else set(range(len(json.loads(asked))))
    need(answers == every and len(every) > 1, where + ": a branch is missing")
    for answer in answers:
        branches_cover([p[1:] for p in paths if p[0][1] == answer], where)

def regions(C, noises):
    """leaf -> the conditions that make it: exactly its region, as regions are shown disjoint."""
    known, drawn, plain, leaving = {}, {}, {}, {}
    leaves = [leaf["node"] for leaf in C["leaves"]]
    for node in C["nodes"]:
        i, ways = node["id"], []
        need(i not in known and (node["in"] or not known), "nodes")
        drawn[i], plain[i] = set(), len(node["in"]) <= 1
        for edge in node["in"]:
            source, new, where = edge["from"], edge["noise"], f"node {i} from {edge['from']}"
            need(source in known and source not in leaves, "nodes out of order")
            branch = [decision(d) for d in edge["if"]]
            leaving.setdefault(source, []).append(branch)
            need(set(new) <= set(noises) and not drawn[source] & set(new) and
                 len(set(new)) == len(new), where + ": a noise is drawn twice, or unknown")
            drawn[i] |= drawn[source] | set(new)
            plain[i] = plain[i] and plain[source]
            held = known[source] + support(new, C) + [c for d in branch for c in d[2]]
            ways.append((edge, list(dict.fromkeys(held)), where))
        known[i] = ways[0][1] if len(ways) == 1 else [condition(c) for c in node.get("invariant", [])]
        for edge, held, where in ways if len(ways) > 1 else []:
            goals = [] if "empty" in edge else enumerate(known[i])
            if "empty" in edge:
                farkas(held, edge["empty"], None, where, C)
            for k, goal in goals:
                if goal not in held:
                    farkas(held, edge["proof"][str(k)], goal, where, C)
    for dead in C["dead"]:
        branch = [decision(d) for d in dead["if"]]
        leaving.setdefault(dead["from"], []).append(branch)
        used = sorted({k for d in branch for c in d[2] for k, _ in c[1] if k in noises})
        held = known[dead["from"]] + support(used, C) + [c for d in branch for c in d[2]]
        farkas(held, dead["empty"], None, f"dead branch of node {dead['from']}", C)
    need(len(set(leaves)) == len(leaves) > 0 and set(leaves) <= set(known), "leaves")
    for i in known:
        need((i in leaves) != (i in leaving), f"node {i}: neither a leaf nor inside")
        if i in leaving:
            branches_cover(leaving[i], f"node {i}")
    proofs = {frozenset(d["pair"]): d for d in C["disjoint"]}
    for a, b in itertools.combinations(leaves, 2):
        if not (plain[a] and plain[b]):  # plain ones are different ways down one tree
            d = proofs.get(frozenset((a, b)))
            need(d is not None, f"leaves {a} and {b} may overlap")
            farkas(known[d["pair"][0]] + known[d["pair"][1]], d["proof"], None, f"leaves {a}, {b}", C)
    return {leaf["node"]: ([dict(c[1]) for c in known[leaf["node"]]],
                           [terms(t) for t in leaf["real"]], drawn[leaf["node"]]) for leaf in C["leaves"]}


# ---- methods
def on_faces(C, groups, keep, pin, noises, plans, where):
    """The plans align every face of every component, on the data that are used."""
    used = {k for t in keep + pin for k in t if k not in noises}
    for g, group in enumerate(groups):
        wanted = [{k: e for k, e in face.items() if k in used and e != STILL} for face in group]
        given = [(read_shifts(p["shift"]), read_shifts(p["bound"]),
                  {k: (number(a), number(b)) for k, (a, b) in p["face"].items()})
                 for p in plans if p["component"] == g]
        need(all(not f or covered(f, [x[2] for x in given]) for f in wanted), where + ": not covered")
        for shift, bound, face in given:
            full = {**dict.fromkeys(used, STILL), **face}
            aligned(keep, pin, noises, full, shift, bound, number(C["epsilon"]), where)

def check_cells(C):
    noises, n = noise_table(C["noises"]), C["length"]
    need(type(n) is int and n > 0, "length")
    groups = components(C, [f"q{j}" for j in range(n)])
    for leaf, (keep, pin, drawn) in regions(C, noises).items():
        met = {k for t in keep + pin for k in t if k in noises}
        need(met <= drawn, f"leaf {leaf}: a noise is used that was not drawn")
        plans = [a for a in C["alignments"] if a["leaf"] == leaf]
        on_faces(C, groups, keep, pin, {h: noises[h] for h in met}, plans, f"leaf {leaf}")

def check_square(C):
    """One linear shift keeps everything everywhere: D_α ≤ α·Σ rate·s², for every order α."""
    noises, n = noise_table(C["noises"]), C["length"]
    need(type(n) is int and n > 0, "length")
    shift = {h: terms(s) for h, (_, s) in C["common"].items()}
    need(all(s0 in (0, "0") for s0, _ in C["common"].values()) and set(shift) <= set(noises), "shift")
    need(all(noises[h][0] == "square" for h in shift), "only Gaussian noise may be shifted here")
    for h, s in shift.items():
        need(not noises[h][2] or all(v.denominator == 1 and k[0] == "q" for k, v in s.items()), "integers")
    for leaf, (keep, pin, drawn) in regions(C, noises).items():
        for t in keep + pin:
            total = {k: v for k, v in t.items() if k not in noises}
            need({k for k in t if k in noises} <= drawn, f"leaf {leaf}: noise not drawn")
            for h, v in t.items():
                for k, x in shift.get(h, {}).items():
                    total[k] = total.get(k, ZERO) + v * x
            need(not any(total.values()), f"leaf {leaf}: something changes")
    for face in (f for group in components(C, [f"q{j}" for j in range(n)]) for f in group):
        reach = {h: max(-least(ZERO, s, face), -least(ZERO, {k: -v for k, v in s.items()}, face))
                 for h, s in shift.items()}
        need(sum((noises[h][1] * r * r for h, r in reach.items()), ZERO) <= number(C["epsilon"]), "cost")

def check_selection(C):
    """The greatest of any number of values a·q + b·h: align the winner; m is the best of the rest."""
    noises, element = noise_table(C["noises"]), terms(C["element"])
    need(all(k in noises or k[0] in "qci" for k in element), "element")
    data = {k: v for k, v in element.items() if k not in noises}
    groups = []
    for group in components(C, ["q"]):
        ends = [(least(ZERO, data, f), -least(ZERO, {k: -v for k, v in data.items()}, f)) for f in group]
        if C["adjacency"]["name"] in ("l1", "replace_one"):  # one datum moves: the winner's or not
            others = [{"m": (min(a, ZERO), max(b, ZERO))} for a, b in ends]
            groups.append([x for pair in zip(group, others) for x in pair])
        else:
            groups.append([{**f, "m": e} for f, e in zip(group, ends)])
    need(not any(integral for _, _, integral in noises.values()), "ties of discrete noises matter")
    lead = {**element, "m": Q(-1)}
    on_faces(C, groups, [lead], [lead] if C["gap"] is not False else [], noises, C["alignments"], "winner")

def check_loop(C):
    """Budgets on the states of a loop: no step overdraws, for any corner of its datum's box."""
    noises, nodes, leaving = noise_table(C["noises"]), {n["id"]: n["slots"] for n in C["nodes"]}, {}
    for e in C["edges"] + C["dead"]:
        leaving.setdefault(e["from"], []).append(e)
    for n, edges in leaving.items():
        for reads in (True, False):
            these = [[decision(d) for d in e["if"]] for e in edges if e["reads"] is reads]
            need(reads or these or C["length"] != "any", f"node {n}: no way out of the loop")
            branches_cover(these, f"node {n}") if these else None
    for e in C["dead"]:
        branch = [decision(d) for d in e["if"]]
        used = sorted({k for d in branch for c in d[2] for k, _ in c[1] if k in noises})
        farkas(support(used, C) + [c for d in branch for c in d[2]], e["empty"], None, "dead branch", C)
    groups = components(C, ["q"])
    used = {k for e in C["edges"] for t in e["real"] + list(e["set"].values()) for k in t}
    used |= {k for e in C["edges"] for d in e["if"] for c in decision(d)[2] for k, _ in c[1]}
    corners = [[dict(zip(names, v)) for f in group for names in [sorted(k for k in f if k in used)]
                for v in itertools.product(*[sorted(set(f[k])) for k in names])] for group in groups]
    one_moves = C["adjacency"]["name"] in ("l1", "replace_one")
    if one_moves:
        corners = [[c for group in corners for c in group]]
    need(len(C["components"]) == len(corners), "components")
    for part, moves in zip(C["components"], corners):
        states = {s["id"]: s for s in part["states"]}
        steps = {(s["state"], s["edge"], s["move"]): s for s in part["steps"]}
        start = states[part["start"]]
        need(start["node"] == 0 and start["phase"] == 0 and not nodes[0], "start")
        need(number(start["budget"]) <= number(C["epsilon"]), "the start's budget")
        for s in states.values():
            need(s["node"] == -1 or set(s["difference"]) == set(nodes[s["node"]]), "slots")
            need(number(s["budget"]) >= 0, "budget")
            for i, e in enumerate(C["edges"]):
                if e["from"] != s["node"]:
                    continue
                if not e["reads"]:
                    turns = [(-1, {}, s["phase"])]
                elif one_moves:  # phase 0: nothing has moved yet; phase k: move k was made
                    turns = [(-1, {}, s["phase"])]
                    turns += [(m, c, m + 1) for m, c in enumerate(moves) if s["phase"] == 0]
                else:
                    turns = [(m, c, 0) for m, c in enumerate(moves)]
                for m, corner, phase in turns:
                    where = f"state {s['id']}, edge {i}, move {m}"
                    need((s["id"], i, m) in steps, where + ": missing")
                    step = steps[s["id"], i, m]
                    after = states[step["next"]]
                    need(after["node"] == e["to"] and (e["to"] == -1 or after["phase"] == phase), where)
                    slots = {**s["difference"], **dict.fromkeys((), ZERO)}
                    face = {k: (number(v), number(v)) for k, v in slots.items()}
                    face |= {k: (corner.get(k, ZERO),) * 2 for k in used if k[0] in "qci" and e["reads"]}
                    own = {h: noises[h] for h in e["noise"]}
                    new = {k: {**terms(t), "=" + k: Q(-1)} for k, t in e["set"].items()}
                    need(set(new) == set(after["difference"]), where + ": slots")
                    face |= {"=" + k: (number(after["difference"][k]),) * 2 for k in new}
                    keep = [dict(c[1]) for d in e["if"] for c in decision(d)[2]]
                    shift = {h: (number(x), {}) for h, x in step["shift"].items()}
                    bound = {h: (abs(x), {}) for h, (x, _) in shift.items()}
                    left = number(s["budget"]) - number(after["budget"])
                    aligned(keep, [terms(t) for t in e["real"]] + list(new.values()), own, face,
                            shift, bound, left, where)

def check(C):
    need(C["format"] == "dpest-certificate/1", "format")
    need(hashlib.sha256(C["source"].encode()).hexdigest() == C["sha256"], "digest of the source")
    {"cells": check_cells, "loop": check_loop, "selection": check_selection,
     "square": check_square}[C["method"]](C)
    unit = f"·{C['unit']}" if C["unit"] else ""
    return f"{C['mechanism']}: ε ≤ {C['epsilon']}{unit}, {C['adjacency']['name']}, length {C['length']}"

def main(paths):
    status = 0
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                print(f"valid    {path}  {check(json.load(file))}")
        except (Invalid, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            print(f"REFUSED  {path}  {type(error).__name__}: {error}")
            status = 1
    return status

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
