"""Random programs: what the trace says of an output against outputs of the untouched function.

Outputs are drawn by NumPy. The traced density of every one must be positive under the input that
it came from; the average of q/p over draws from p is at most 1; and no draw shows a greater loss
than the exact engine found, where that is complete. A false alarm needs an average that is eight
standard errors off.
"""

from __future__ import annotations

import linecache
import math
import random

import numpy as np
import pytest

import dpest

DRAWS = 120
LONG = (1, 15, 17)  # programs whose released numbers hang together by several hidden noises
NOISES = (
    *("laplace(scale={s})", "laplace(scale={s})", "exponential({s})", "normal(0, {s})"),
    *("gumbel(0, {s})", "uniform(-{s}, {s})", "geometric(0.5)", "binomial(3, 0.25)"),
    *("integers(3)", "poisson({s})"),
)
PAIRS = (
    ([0.0, 1.0], [1.0, 1.0]),
    ([0.5, 1.0], [0.5, 0.0]),
    ([0.0, 2.0], [1.0, 2.0]),
    ([0.0, 1.0, -1.0], [0.0, 1.0, 0.0]),
)


def program(source):
    def noise():
        return "rng." + source.choice(NOISES).format(s=source.choice(("1", "2", "0.5")))

    lines = ["def mechanism(x, rng):"]
    names = []
    for k in range(source.randint(0, 2)):
        lines.append(f"    s{k} = {noise()}")
        names.append(f"s{k}")
    shared = source.choice([*names, "0.5"])
    if source.random() < 0.6:
        lines += ["    out = []", "    for q in x:"]
        lines.append(f"        v = {source.choice(('q', '2 * q', '-q'))} + {noise()}")
        relation = source.choice((">", ">=", "<"))
        lines.append(f"        if v {relation} {source.choice(('0', '1', shared))}:")
        values = (
            *("v", "v", f"v - {shared}", "1", "True", "0", f"q + {noise()}"),
            *("abs(v)", "max(v, 0)", "min(v, 1)"),
        )
        lines.append(f"            out.append({source.choice(values)})")
        other = source.choice(("append", "append", "break", "nothing"))
        if other == "append":
            lines += ["        else:", f"            out.append({source.choice(values)})"]
        elif other == "break":
            lines += ["        else:", "            break"]
        release = ("out", "out", "len(out)", "tuple(out)", "max(out, default=0)")
        lines.append(f"    return {source.choice((*release, f'[*out, {shared}]'))}")
    else:
        lines.append(f"    a = [q + {noise()} for q in x]")
        lines.append(f"    b = x[0] + {noise()}")
        release = (
            *("max(a)", "min(a) + b", "[max(a), b]", "(sum(a), a[0])", "[b, a[0] > b]"),
            *("np.clip(np.array(a), 0, 1)", "abs(b)", f"(b, b > {shared})", "sorted(a)"),
            *("[v > b for v in a]", "a[0] if a[1] > b else b", "(int(np.argmax(a)), b)"),
        )
        lines.append(f"    return {source.choice(release)}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "number",
    [pytest.param(k, marks=pytest.mark.slow if k >= 24 or k in LONG else ()) for k in range(120)],
)
def test_the_densities_are_those_of_the_function(number):
    source = random.Random(f"densities {number}")
    text = program(source)
    scope = {"np": np}
    name = f"<program {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    mechanism = scope["mechanism"]
    pair = source.choice(PAIRS)
    loss = dpest.exact(mechanism, *pair)
    known = [dpest.distribution(mechanism, x) for x in pair]
    rng = np.random.default_rng(number)
    ratios = ([], [])
    for turn in range(DRAWS):
        side = turn % 2
        output = mechanism(pair[side], rng)
        logs = [d.log_density(output) for d in known]
        shown = f"{text}\n{pair[side]}: {output!r} has log densities {logs}; {loss}"
        assert logs[side] > -math.inf, shown
        if loss.complete:
            assert logs[side] - logs[1 - side] <= loss.epsilon + loss.error + 1e-7, shown
        ratios[side].append(math.exp(min(logs[1 - side] - logs[side], 50.0)))
    # An output with a probability of its own under one input may have a mere density under the
    # other; then ε is infinite, and the two don't compare.
    for values in ratios if loss.epsilon < math.inf else ():
        spread = np.std(values) / math.sqrt(len(values))
        assert np.mean(values) <= 1 + 8 * spread + 1e-9, f"{text}\n{pair}: {np.mean(values)}"
