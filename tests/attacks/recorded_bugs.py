"""Six bugs as they were published of released libraries, each reduced to a function.

Plain code that knows nothing of dpest. Every one claims ε = 1 for one replaced record in [0, 1]
(the last two: for one that is added or removed). `BUGS` names the line that each of them is about.
"""

import random

import numpy as np

rng = np.random.default_rng(1)  # made at import, as people do


def sum_of_shifted_values(x):
    """The sum of 2v − 1 has sensitivity 2, the noise is for 1."""
    values = 2 * np.clip(np.asarray(x, dtype=float), 0, 1) - 1
    return float(values.sum() + rng.laplace(0.0, 1.0))  # BUG sensitivity


def clip_at_the_wrong_bound(x):
    """Values are clipped to [0, 10], the scale is computed for [0, 1]."""
    total = sum(min(max(v, 0.0), 10.0) for v in x)
    noise = random.gauss(0, 1)
    return total + 4.0 * noise  # BUG clip


def budget_spent_twice(x):
    """Count and sum get the whole budget each."""
    data = np.clip(np.asarray(x, dtype=float), 0, 1)
    high = np.count_nonzero(data > 0.5) + np.random.laplace(scale=1.0)  # noqa: NPY002
    total = data.sum() + np.random.laplace(scale=1.0)  # noqa: NPY002  # BUG twice
    return {"high": high, "total": total}


def not_a_number(x):
    """Clipping lets NaN pass, and one NaN makes the whole sum one."""
    data = np.clip(np.asarray(x, dtype=float), 0, 1)
    return data.sum() + rng.laplace(scale=1.0)  # BUG nan


def metadata(x):
    """The number of records goes out beside the noisy sum."""
    data = np.clip(np.asarray(x, dtype=float), 0, 1)
    return {"sum": data.sum() + rng.laplace(scale=1.0), "records": len(x)}


def control_flow(x):
    """A threshold on the data itself decides whether anything is added."""
    total = min(sum(x), 3.0)
    if len(x) > 3:
        total += np.random.laplace(0, 1.0)  # noqa: NPY002
    else:
        total = round(random.uniform(0, 1))  # BUG flow
    return total


NAN = float("nan")
BUGS = {
    "sum_of_shifted_values": ([0.0, 0.5, 0.5], [1.0, 0.5, 0.5], {}, "sensitivity", "sensitivity"),
    "clip_at_the_wrong_bound": (
        [0.0, 0.5],
        [10.0, 0.5],
        {"delta": 1e-5},
        "sensitivity",
        "clip",
    ),
    "budget_spent_twice": ([0.0, 0.5, 0.5], [1.0, 0.5, 0.5], {}, "budget", "twice"),
    "not_a_number": ([0.0, 0.5, 0.5], [NAN, 0.5, 0.5], {}, "not a number", "nan"),
    "metadata": (
        [0.5] * 3,
        [0.5] * 4,
        {"adjacency": "add_remove_one"},
        "released without noise",
        "",
    ),
    "control_flow": ([0.5] * 4, [0.5] * 3, {"adjacency": "add_remove_one"}, "control flow", "flow"),
}
