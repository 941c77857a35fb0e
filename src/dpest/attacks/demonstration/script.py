"""The script of a demonstration: plain Python and NumPy, run by whoever doubts the verdict."""

from __future__ import annotations

import inspect
from typing import Any

from dpest.ask.declaration import Mechanism, data_first
from dpest.ask.entries import as_code
from dpest.attacks.statdp import reading
from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.replay import import_lines

_HEAD = '''"""{name} is run {runs:,} times on each of two neighbouring inputs.

If it were {claim}, the p-value below would be under 0.001 in fewer than one of a thousand runs of
this script. It uses fresh randomness every time.
"""

import copy
'''

_COUNTING = '''

def event(output, leaves):  # {words}
    return bool({source})


def count(given):
    hits = 0
    for _ in range(RUNS):
        try:
            x = copy.deepcopy(given)
            output = {call}
        except Exception as error:
            output = raised(error)
        if hasattr(output, "__next__"):
            output = list(output)
        hits += event(output, leaves(output))
    return hits


def at_least(k, n, p):
    """The chance of k or more of n, each with chance p, to full precision."""
    if k <= 0 or p >= 1:
        return 1.0
    if p <= 0:
        return 0.0
    first = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    first += k * math.log(p) + (n - k) * math.log1p(-p)
    i = np.arange(k, n)
    steps = np.cumsum(np.log((n - i) / (i + 1)) + math.log(p) - math.log1p(-p))
    return min(1.0, float(np.exp(first) * (1 + np.exp(steps).sum())))

'''

_PURE = """
# If P(event on D1) ≤ e^ε·P(event on D2), a hit comes from D1 with chance at most e^ε/(1+e^ε).
p_value = at_least(c1, c1 + c2, math.exp(EPSILON) / (1 + math.exp(EPSILON)))
"""

_APPROXIMATE = """
# Either P(event on D2) is above this number, fixed before the runs, or P(event on D1) is below
# e^ε times it plus δ: one of the two must be refuted by the counts, and both are.
MIDDLE = {middle!r}
p_value = max(
    at_least(c1, RUNS, min(1.0, math.exp(EPSILON) * MIDDLE + DELTA)),
    at_least(RUNS - c2, RUNS, 1 - MIDDLE),
)
"""


def _reading() -> tuple[str, str]:
    """How outputs are read, as Python: what it imports, and its functions."""
    text = inspect.getsource(reading)
    imports, first, functions = text[text.index("import collections") :].partition("def leaves")
    return imports.rstrip() + "\n", f"\n\n{first}{functions.rstrip()}\n"


def script(
    mechanism: Mechanism,
    x: Any,
    x2: Any,
    event: Event,
    epsilon: float,
    delta: float,
    runs: int,
    middle: float,
) -> str:
    """`middle`: a chance on the second input that the counts refute from both sides, for δ > 0."""
    extra = "".join(f", {key}={value!r}" for key, value in mechanism.params.items())
    both = "x, rng" if data_first(mechanism.function) else "rng, x"
    call = f"mechanism(x{extra})" if mechanism.black_box else f"mechanism({both}{extra})"
    claim = f"{epsilon:g}-DP" if not delta else f"({epsilon:g}, {delta:g})-DP"
    source = event.source.replace("nan", "math.nan")
    imports, functions = _reading()
    lines = [
        _HEAD.format(name=mechanism.name, runs=runs, claim=claim) + imports,
        "\n".join(import_lines(mechanism.function, not mechanism.black_box)),
        "",
        f"D1 = {as_code(x)}",
        f"D2 = {as_code(x2)}",
        f"EPSILON, DELTA, RUNS = {epsilon!r}, {delta!r}, {runs}",
        "rng = np.random.default_rng()",
        functions,
        _COUNTING.format(words=event.words, source=source, call=call),
        "c1, c2 = count(D1), count(D2)",
        _APPROXIMATE.format(middle=middle) if delta else _PURE,
        'print(f"the event happened in {c1} of {RUNS} runs on D1 and in {c2} of {RUNS} on D2")',
        f'print(f"p-value of the claim {claim}: {{p_value:.3g}}")',
    ]
    return "\n".join(lines) + "\n"
