# ruff: noqa
# mypy: ignore-errors
# fmt: off
"""An independent checker of privacy certificates: `python checker.py FILE...`

Standard library, exact rationals, no solver, nothing shared with the prover. It trusts that the model in the certificate is the program
in it (the prover tests that on random inputs; `dpest check` reads the source again) and a lemma: a shift of the noise that is the same
throughout a region of fixed release, or depends only on noises that are not shifted, is injective with Jacobian 1, so that probabilities
differ by at most e^cost. Everything else is recomputed here."""
import hashlib, itertools, json, math, re, sys
from fractions import Fraction as Q
ZERO, STILL = Q(0), (0, 0)  # family: (rule, integral, least value); absolute: rate·|s|; upward: rate·s, s ≥ 0; square: rate·s²
FAMILIES = {"laplace": ("absolute", False, None), "discrete_laplace": ("absolute", True, None), "two_sided_geometric": ("absolute", True, None),
            "exponential": ("upward", False, 0), "geometric": ("upward", True, 1), "gumbel": ("upward", False, None),
            "gaussian": ("square", False, None), "discrete_gaussian": ("square", True, None)}
class Invalid(Exception): """The certificate does not show what it says."""
def need(holds, message):
    if not holds: raise Invalid(message)
number = lambda v: need(type(v) is int or re.fullmatch(r"-?\d+(/[1-9]\d*)?", v), f"not a rational: {v!r}") or Q(v)
end = lambda v: {"inf": math.inf, "-inf": -math.inf}[v] if v in ("inf", "-inf") else number(v)
terms = lambda j: {k: number(v) for k, v in j.items() if number(v)}
minus = lambda t: {k: -v for k, v in t.items()}
frozen = lambda constant, t, strict: (constant, tuple(sorted(t.items())), strict)
affine = lambda j: {h: (number(s0), terms(s)) for h, (s0, s) in j.items()}
def add(*parts):
    total = {}
    for factor, k, v in ((factor, *item) for factor, t in parts for item in t.items()):
        total[k] = total.get(k, ZERO) + factor * v
    return {k: v for k, v in total.items() if v}
def noise_table(C):
    """name -> (rule, rate, integral); other families have no rate: they can't be shifted."""
    table = {}  # the scale of a Gaussian is its variance
    for h, (family, scale), (rule, integral, _) in ((h, x, FAMILIES.get(x[0], ("absolute", False, None))) for h, x in C["noises"].items()):
        need(h[0] == "h" and (family not in FAMILIES or number(scale) > 0), "noise " + h)
        table[h] = rule, family in FAMILIES and 1 / ((1 + (rule == "square")) * number(scale)), integral
    return table
def support(names, C):
    ends = {h: (FAMILIES[C["noises"][h][0]][2], None) if C["noises"][h][0] in FAMILIES else C["bounds"].get(h, ()) for h in names}
    return [(-sign * number(e), ((h, Q(sign)),), False) for h in names for sign, e in zip((1, -1), ends[h]) if e is not None]
def components(C, inputs):
    """The adjacency as a union of convex hulls of boxes of differences; entries may have several fields."""
    name, r, ranges = C["adjacency"]["name"], end(C["adjacency"]["radius"]), [[*map(end, e)] for e in C["domain"].get("range", [])]
    need(r > 0 and (len(ranges) < 2 or name == "replace_one") and (name != "any_pair" or C["adjacency"]["radius"] == C["domain"]["width"]), "radius")
    entries = [[q, *(f"{q}_{k}" for k in range(1, len(ranges)))] for q in inputs]
    reach = [(a - b, b - a) for a, b in ranges] if ranges and r == math.inf else [(-r, r)]
    boxes = {"linf": [[{q: (-r, r) for q in inputs}]], "any_pair": [[{q: (-r, r) for q in inputs}]],
             "monotone": [[{q: (ZERO, r) for q in inputs}], [{q: (-r, ZERO) for q in inputs}]],
             "l1": [[{q: (v, v)} for q in inputs for v in (r, -r)]],
             "replace_one": [[dict(zip(entry, reach))] for entry in entries]}
    jumps = any(FAMILIES.get(f, STILL)[1] for f, _ in C["noises"].values()) or any(rule["kind"] == "indicator" for rule in C["derived"].values())
    need(name != "l1" or not jumps or (C["domain"]["kind"] == "integers" and r <= 1), "a hull of integers, or of steps")
    return [[derive(face, C["derived"], name) for face in group] for group in boxes[name]]
def derive(face, rules, name):
    """Add the ranges of clipped data and of indicators; an l1 vertex is not cut (it spans a hull)."""
    for symbol, rule in rules.items():
        t, kind = terms(rule["of"]), rule["kind"]
        floor, top = (d if e is None else number(e) for e, d in zip(rule["ends"], (-math.inf, math.inf)))
        low, high = least(ZERO, t, face), -least(ZERO, minus(t), face)
        if kind == "indicator": low, high = STILL if all(face.get(k, STILL) == STILL for k in t) else (Q(-1), Q(1))
        elif name != "l1": low, high = max(low, floor - top), min(high, top - floor)
        need(kind in ("clip", "indicator") and symbol[0] in "ci", "derived data")
        face = face | {symbol: (min(low, ZERO), max(high, ZERO))}
    return face
def least(constant, slopes, face):
    """The least value of constant + slopes·d on a box; symbols that are not in it don't move."""
    moving = ((v, face[k]) for k, v in slopes.items() if v and face.get(k, STILL) != STILL)
    return constant + sum((min(v * e for e in ends) for v, ends in moving), ZERO)
def whole(k, C):
    """Whether these data differ by integers: integer data, indicators, integer clips of such."""
    if k not in C["derived"]: return k[0] == "q" and C["domain"]["kind"] == "integers"
    rule, t = C["derived"][k], terms(C["derived"][k]["of"])
    numbers = (*t.values(), *(number(e) for e in (*rule["ends"], rule["constant"]) if e is not None))
    return rule["kind"] == "indicator" or (all(whole(j, C) for j in t) and all(v.denominator == 1 for v in numbers))
def points(k, ends, integral, C):
    """Where to split a range: its ends, as costs are convex in d; a mixture of integers is none: with integer noise, at every integer."""
    if not integral or ends[0] == ends[1]: return sorted(set(ends))
    return [Q(v) for v in range(math.ceil(ends[0]), math.floor(ends[1]) + 1)] if whole(k, C) else []
def covered(face, given, integral, C):
    """The given boxes are the face itself, or split it at all its points."""
    fits = lambda g: all(g[k] == e or (g[k][0] == g[k][1] and g[k][0] in points(k, e, integral, C)) for k, e in face.items())
    given = [g for g in given if g.keys() == face.keys() and fits(g)]
    for k, e in face.items():
        if face not in given and e[0] != e[1] and given and all(g[k][0] == g[k][1] for g in given):
            return all(covered({**face, k: (v, v)}, given, integral, C) for v in points(k, e, integral, C))
    return face in given
def aligned(C, keep, pin, noises, face, shift, bound, budget, where, squares=False):
    """Shifts affine in the difference keep all conditions and releases; the cost is in the budget."""
    need({*shift, *bound} <= set(noises) and {k for _, s in (*shift.values(), *bound.values()) for k in s} <= set(face), where + ": unknown")
    def change(t):
        need(set(t) <= {*noises, *face}, f"{where}: unknown symbol in {sorted(t)}")
        parts = [(v, *(shift.get(k, (ZERO, {})) if k in noises else (ZERO, {k: Q(1)}))) for k, v in t.items()]
        return sum((v * s0 for v, s0, _ in parts), ZERO), add(*((v, s) for v, _, s in parts))
    need(all(least(*change(t), face) >= 0 for t in keep), where + ": a branch is not kept")
    for c, b in map(change, pin):
        need(least(c, b, face) == 0 == least(-c, minus(b), face), where + ": a release changes")
    left, rest = budget, {}
    for h, (rule, rate, integral) in noises.items():
        s0, s = shift.get(h, (ZERO, {}))
        need((rate or not (s0 or any(s.values()))) and (rule == "square") == (squares and bool(rate)), where + ": can't be shifted")
        need(not integral or (all(x.denominator == 1 for x in (s0, *s.values())) and all(whole(k, C) for k in s)), where + ": not an integer")
        t0, t = bound.get(h, (ZERO, {})) if rule == "absolute" else (s0 * s0, {}) if squares else (s0, s)
        for sign in (1, -1) if rule == "absolute" else (0,):
            need(least(t0 + sign * s0, add((1, t), (sign, s)), face) >= 0, where + ": bound of a shift")
        left, rest = left - rate * t0, add((1, rest), (-rate, t))
    need(least(left, rest, face) >= 0, where + ": cost above the bound")
def on_faces(C, groups, keep, pin, noises, plans, where):
    """The plans align every face of every component, on the data that are used."""
    used, integral = {k for t in keep + pin for k in t if k not in noises}, any(x[2] for x in noises.values())
    need(used <= {k for group in groups for f in group for k in f}, where + ": unknown data")
    for g, group in enumerate(groups):
        wanted = [{k: e for k, e in face.items() if k in used and e != STILL} for face in group]
        given = [(p, {k: (*map(number, e),) for k, e in p["face"].items()}) for p in plans if p["component"] == g]
        need(all(not f or covered(f, [x[1] for x in given], integral, C) for f in wanted), where + ": not covered")
        for p, face in given:
            aligned(C, keep, pin, noises, {**{k: STILL for k in used}, **face}, affine(p["shift"]), affine(p["bound"]), number(C["epsilon"]), where)
def farkas(held, weights, goal, where, C):
    """The weighted conditions add up to the goal or to a contradiction (borders are null sets)."""
    total, t, strict = ZERO, {}, False
    for i, w in weights.items():
        w, (c, its, is_strict) = abs(number(w)), held[int(i)]
        smooth = goal is None and any(FAMILIES.get(C["noises"].get(k, [""])[0], STILL)[1] is False for k, _ in its)
        total, t, strict = total + w * c, add((1, t), (w, dict(its))), strict or (w > 0 and (is_strict or smooth))
    goal_c, goal_t, goal_strict = goal or (ZERO, (), True)
    need(t == dict(goal_t) and (goal_c > total or (goal_c == total and (strict or not goal_strict))), where + ": the weights don't add up")
condition = lambda j: frozen(number(j[0]), terms(j[1]), {True: True, False: False}[j[2]])
def decision(j):
    """(what is asked, which answer, the conditions): a condition holds, or one value is greatest."""
    if j[0] != "greatest":
        c, other = condition(j), frozen(-number(j[0]), minus(terms(j[1])), not j[2])
        return (min(c, other), max(c, other)), c > other, [c]
    values, i = [(number(c), terms(t)) for c, t in j[1]], j[2]  # of equal ones the first is greatest
    others, (c0, t0) = [(k, *v) for k, v in enumerate(values) if k != i], values[i]
    return json.dumps(j[1]), i, [frozen(c0 - c, add((1, t0), (-1, t)), k < i) for k, c, t in others]
def branches_cover(paths, where):
    if paths == [[]]: return
    need(paths and all(paths) and len({p[0][0] for p in paths}) == 1, where + ": branches overlap")
    asked, answers = paths[0][0][0], {p[0][1] for p in paths}
    every = {False, True} if isinstance(asked, tuple) else set(range(len(json.loads(asked))))
    need(answers == every and len(every) > 1, where + ": a branch is missing")
    for answer in answers: branches_cover([p[1:] for p in paths if p[0][1] == answer], where)
def dead_branches(C, known, noises, leaving):
    for e in C["dead"]:
        leaving.setdefault((e["from"], e.get("reads")), []).append(branch := [decision(d) for d in e["if"]])
        held = [c for d in branch for c in d[2]]
        used = sorted({k for c in held for k, _ in c[1] if k in noises})
        farkas(known[e["from"]] + support(used, C) + held, e["empty"], None, f"dead {e['from']}", C)
def regions(C, noises):
    """leaf -> the conditions that make it: exactly its region, as regions are shown disjoint."""
    known, drawn, plain, leaving, leaves = {}, {}, {}, {}, [leaf["node"] for leaf in C["leaves"]]
    for node in C["nodes"]:
        i, ways = node["id"], []
        need(i not in known and (node["in"] or not known), "nodes")
        drawn[i], plain[i] = set(), len(node["in"]) <= 1
        for edge in node["in"]:
            source, new, where = edge["from"], edge["noise"], f"node {i} from {edge['from']}"
            need(source in known and source not in leaves, where + ": out of order")
            leaving.setdefault((source, None), []).append(branch := [decision(d) for d in edge["if"]])
            need(len(set(new) & set(noises) - drawn[source]) == len(new), where + ": a noise is drawn twice, or unknown")
            drawn[i], plain[i] = drawn[i] | drawn[source] | set(new), plain[i] and plain[source]
            ways.append((edge, list(dict.fromkeys(known[source] + support(new, C) + [c for d in branch for c in d[2]])), where))
        known[i] = ways[0][1] if len(ways) == 1 else [condition(c) for c in node.get("invariant", [])]
        for edge, held, where in ways if len(ways) > 1 else []:
            goals = [(None, edge["empty"])] if "empty" in edge else [(g, edge["proof"][str(k)]) for k, g in enumerate(known[i]) if g not in held]
            for goal, weights in goals: farkas(held, weights, goal, where, C)
    dead_branches(C, known, noises, leaving)
    need(len(set(leaves)) == len(leaves) > 0 and set(leaves) <= set(known), "leaves")
    for i in known:
        need((i in leaves) != ((i, None) in leaving), f"node {i}: neither a leaf nor inside")
        branches_cover(leaving.get((i, None), [[]]), f"node {i}")
    proofs = {tuple(d["pair"]): d["proof"] for d in C["disjoint"]}
    for pair in itertools.combinations(leaves, 2):
        if not all(plain[i] for i in pair):  # plain ones are different ways down one tree
            need(pair in proofs, f"leaves {pair} may overlap")
            farkas(known[pair[0]] + known[pair[1]], proofs[pair], None, f"leaves {pair}", C)
    for leaf in C["leaves"]:
        i, keep, pin = leaf["node"], [dict(c[1]) for c in known[leaf["node"]]], [terms(t) for t in leaf["real"]]
        need((met := {k for t in keep + pin for k in t if k in noises}) <= drawn[i], f"leaf {i}: a noise that was not drawn")
        yield i, keep, pin, {h: noises[h] for h in met}
def check_cells(C):
    groups = components(C, [f"q{j}" for j in range(C["length"])])
    for leaf, keep, pin, noises in regions(C, noise_table(C)):
        on_faces(C, groups, keep, pin, noises, [a for a in C["alignments"] if a["leaf"] == leaf], str(leaf))
def check_square(C):
    """One linear shift keeps everything everywhere: D_α ≤ α·Σ rate·s², for every order α."""
    table, shift = noise_table(C), {h: terms(s) for h, s in C["common"].items()}
    for h, s in shift.items():
        need(table[h][0] == "square" and (not table[h][2] or all(v.denominator == 1 and whole(k, C) for k, v in s.items())), "only Gaussian noise may move")
    for leaf, keep, pin, noises in regions(C, table):
        for t in keep + pin:
            need(not add(*((v, shift.get(k, {}) if k in noises else {k: Q(1)}) for k, v in t.items())), f"leaf {leaf} changes")
    faces = [f for g in components(C, [f"q{j}" for j in range(C["length"])]) for f in g]
    need({k for s in shift.values() for k in s} <= {k for f in faces for k in f}, "unknown data")
    for f in faces:
        need(sum((table[h][1] * max(-least(ZERO, s, f), -least(ZERO, minus(s), f)) ** 2 for h, s in shift.items()), ZERO) <= number(C["epsilon"]), "cost")
def check_selection(C):
    """The greatest of any number of values a·q + b·h: align the winner; m is the best of the rest. `rule`: why it is the program's."""
    noises, element, rule = noise_table(C), terms(C["element"]), ({f for f, _ in C["noises"].values()}, C.get("rule"))
    need(rule[1] is None or rule in [({"exponential"}, "race"), *(({"gumbel"}, r) for r in ("choice", "inversion", "rejection"))], "rule")
    need(all(k in noises or k[0] in "qci" for k in element) and not any(x[2] for x in noises.values()), "ties matter")
    data, groups, lead = {k: v for k, v in element.items() if k not in noises}, [], {**element, "m": Q(-1)}
    for group in components(C, ["q"]):
        ends = [(least(ZERO, data, f), -least(ZERO, minus(data), f)) for f in group]
        one = C["adjacency"]["name"] in ("l1", "replace_one")  # one datum moves: the winner's or not
        others = [{"m": (min(a, ZERO), max(b, ZERO)) if one else (a, b)} for a, b in ends]
        groups.append(group + others if one else [{**f, **m} for f, m in zip(group, others)])
    on_faces(C, groups, [lead], [lead] if C["gap"] is not False else [], noises, C["alignments"], "winner")
def contributions(C):
    """What one record may add to the sums: the corners of its cases, which cover all records; and whether that is all."""
    ranges = {f"q_{k}" if k else "q": (*map(end, e),) for k, e in enumerate(C["domain"]["range"])}
    known = [(-sign * e, ((k, Q(sign)),), False) for k, ends in ranges.items() for sign, e in zip((1, -1), ends) if abs(e) != math.inf]
    found = branches_cover([[decision(d) for d in case["if"]] for case in C["cases"]], "cases") or {}
    for case in C["cases"]:
        held, box = [x for d in case["if"] for x in decision(d)[2]], dict(ranges)
        if "empty" in case: farkas(known + held, case["empty"], None, "a case", C)
        for cut, sign, k in ((-c / t[0][1], t[0][1], t[0][0]) for c, t, _ in held if len(t) == 1):
            box[k] = (max(box[k][0], cut), box[k][1]) if sign > 0 else (box[k][0], min(box[k][1], cut))
        values = {t: (number(a), terms(b)) for t, (a, b) in case.get("value", {}).items()}
        used = sorted({k for _, b in values.values() for k in b})
        need(all(t[0] == "t" for t in values) and all(abs(e) < math.inf for k in used for e in box[k]), "a record adds anything")
        for at in itertools.product(*([(k, e) for e in box[k]] for k in used)) if "empty" not in case and all(a <= b for a, b in box.values()) else ():
            point = ((t, a + sum((v * dict(at)[k] for k, v in b.items()), ZERO)) for t, (a, b) in values.items())
            found[tuple(sorted((t, v) for t, v in point if v))] = not used
    return list(found), all(found.values())
def record_moves(C, integral):
    """By how much the sums differ: by what a record adds, or by a difference of two; an order statistic moves by part of it."""
    (found, finite), statistics, name = contributions(C), {*C["statistics"]}, C["adjacency"]["name"]
    moves = [*found, *(tuple((t, -v) for t, v in p) for p in found)]
    if name == "replace_one" and C["steps"] == 1:
        pairs = dict.fromkeys(tuple(sorted(add((1, dict(b)), (-1, dict(a))).items())) for a, b in itertools.product(found, found))
        moves = [tuple(x for x in m if x) for p in pairs for m in itertools.product(*[(x, None) if x[0] in statistics else (x,) for x in p])]
    need((name, C["steps"]) in (("replace_one", 1), *([] if statistics else [("replace_one", 2), ("add_remove_one", 1)])), "steps")
    need(not integral or (finite and not statistics and all(v.denominator == 1 for m in moves for _, v in m)), "integers")
    return [[dict(m) for m in dict.fromkeys(moves)]]
def check_loop(C):
    """Budgets on the states of a loop: no step overdraws, for any corner of its datum's box."""
    noises, slots, leaving = noise_table(C), {n["id"]: set(n["slots"]) for n in C["nodes"]}, {}
    for e in C["edges"]:
        leaving.setdefault((e["from"], e["reads"]), []).append([decision(d) for d in e["if"]])
        need(type(e["reads"]) is bool and set(e["noise"]) <= set(noises), "edge")
    dead_branches(C, {n: [] for n in slots}, noises, leaving)
    for (n, reads), paths in leaving.items():
        need(branches_cover(paths, f"node {n}") or not reads or (n, False) in leaving or C["length"] != "any", f"node {n}: endless")
    met = [{k for t in (*e["real"], *e["set"].values(), *(dict(c[1]) for d in e["if"] for c in decision(d)[2])) for k in t} for e in C["edges"]]
    used, cases, seen = set().union(*met), "cases" in C, {}
    integral, squares = any(x[2] for x in noises.values()), any(x[0] == "square" for x in noises.values())
    corners = record_moves(C, integral) if cases else [
        [dict(zip(names, v)) for f in group for names in [sorted(k for k in f if k in used)]
         for v in itertools.product(*[points(k, f[k], integral, C) for k in names])] for group in components(C, ["q"])]
    need(all(corners) and all(whole(k, C) for k in (used - {*noises} if integral else ()) if k[0] in "qci"), "integers")
    for e, names in zip(C["edges"], met) if cases else ():  # a turn only adds to sums, and nothing else sees data
        adds = all(number(t.get(v, "0")) == 1 and all(k == v or k[0] == "t" for k in t) for v, t in e["set"].items()) and e["from"] == e["to"]
        need(adds and not any(e[k] for k in ("if", "noise", "real", "release")) if e["reads"] else not any(k[0] in "qcit" for k in names), "a turn")
    if one_moves := C["adjacency"]["name"] in ("l1", "replace_one", "add_remove_one"): corners = [[c for group in corners for c in group]]
    need(len(C["components"]) == len(corners) and (one_moves or not squares) and not (squares and C.get("steps", 1) > 1) and {n for n, _ in leaving} == set(slots), "dead end")
    for part, moves in zip(C["components"], corners):
        states, steps = {s["id"]: s for s in part["states"]}, {(s["state"], s["edge"], s["move"]): s for s in part["steps"]}
        need((start := states[part["start"]])["node"] == start["phase"] == 0 and not slots[0] and C.get("steps", 1) * number(start["budget"]) <= number(C["epsilon"]), "start")
        for s, (i, e) in itertools.product(states.values(), enumerate(C["edges"])):
            need(number(s["budget"]) >= 0 and set(s["difference"]) == slots.get(s["node"], set()), "state")
            turns = [(-1, {}, s["phase"])] if one_moves or not e["reads"] else []
            if e["reads"] and (not one_moves or s["phase"] == 0):  # phase k + 1: move k was made
                turns += [(m, c, m + 1 if one_moves else 0) for m, c in enumerate(moves)]
            for m, corner, phase in turns if e["from"] == s["node"] else []:
                where = f"state {s['id']}, edge {i}, move {m}"
                need((s["id"], i, m) in steps, where + ": missing")
                after = states[steps[s["id"], i, m]["next"]]
                need(after["node"] == e["to"] and (e["to"] == -1 or after["phase"] == phase) and set(e["set"]) == set(after["difference"]), where + ": leads elsewhere")
                face = {k: (number(v),) * 2 for k, v in s["difference"].items()}
                face |= {k: (corner.get(k, ZERO),) * 2 for k in (*moves[0], *(k for k in used if k[0] == "t"), "q", *C["derived"]) if e["reads"]}
                face |= {"=" + k: (number(v),) * 2 for k, v in after["difference"].items()}
                pin = [terms(t) for t in e["real"]] + [{**terms(t), "=" + k: Q(-1)} for k, t in e["set"].items()]
                shift = {h: (number(x), {}) for h, x in steps[s["id"], i, m]["shift"].items()}
                keep = [dict(c[1]) for d in e["if"] for c in decision(d)[2]]  # Gaussian: left as it is, by one shift for all edges
                need(not squares or all(seen.setdefault((s["id"], e["reads"], m, h), shift.get(h)) == shift.get(h) for h in e["noise"]), "shifts differ")
                aligned(C, [] if squares else keep, pin + keep * squares, {h: noises[h] for h in e["noise"]}, face, shift,
                        {h: (abs(x), {}) for h, (x, _) in shift.items()}, number(s["budget"]) - number(after["budget"]), where, squares)
def check_composition(C):
    """Parts are checked on their own; the budgets of the calls on one path add up, ε or ρ."""
    pure, power = [is_rho(C) and not is_rho(part) for part in C["parts"]], C.get("power", 1)  # ε-DP is ε²/2-zCDP
    for part, converted in zip(C["parts"], pure):
        same = power == 2 or not C["unit"] if converted else part.get("power", 1) == power
        need(check(part) and same and all(part[k] == C[k] for k in ("adjacency", "unit")), "parts")
    for path in C["paths"]:
        costs = [(i, abs(number(scale)) ** (1 if pure[i] else power) * number(C["parts"][i]["epsilon"])) for i, scale in path]
        need(sum((c * c / 2 if pure[i] else c for i, c in costs), ZERO) <= number(C["epsilon"]), "the calls cost more")
is_rho = lambda C: any(FAMILIES.get(f, STILL)[0] == "square" for f, _ in C.get("noises", {}).values()) or any(map(is_rho, C.get("parts", [])))
METHODS = dict(composition=check_composition, cells=check_cells, loop=check_loop, selection=check_selection, square=check_square)
def check(C):
    need(C["format"] == "dpest-certificate/1" and hashlib.sha256(C["source"].encode()).hexdigest() == C["sha256"], "format, or digest of the source")
    METHODS[C["method"]](C)
    name, unit, limits = "ρ" if is_rho(C) else "ε", f"·{C['unit']}" if C["unit"] else "", [f"[{a}, {b}]" for a, b in C.get("domain", {}).get("range", ()) if (a, b) != ("-inf", "inf")]
    return f"{C['mechanism']}: {name} ≤ {C['epsilon']}{unit}, {C['adjacency']['name']}, n: {C['length']}{', data in ' * bool(limits)}{' x '.join(limits)}"
def verdict(path):
    try:
        with open(path, encoding="utf-8") as file: C = json.load(file)
        body = json.dumps({k: v for k, v in C.items() if k != "digest"}, sort_keys=True)
        need(hashlib.sha256(body.encode()).hexdigest() == C["digest"], "digest of the certificate")
        return print(f"valid    {path}  {check(C)}") or 0
    except Exception as error: return print(f"REFUSED  {path}  {type(error).__name__}: {error}") or 1
if __name__ == "__main__": sys.exit(max(map(verdict, sys.argv[1:]), default=0))
