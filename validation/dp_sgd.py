"""A small DP-SGD: proved for every number of records, and four mistakes in it found by an audit.

    python validation/dp_sgd.py

Logistic regression, 20 steps, Poisson sampling, every record's gradient clipped by its norm, all
iterates released; as loops over dictionaries and as array code. The bound must be within 1 % of
dp-accounting's ε at δ = 1e-5; each mistake must be refuted, with a pair and an event. Prints the
time that each took; the exit status is 1 where one fails.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

import dpest

DELTA = 1e-5
FIELDS = {"x1": (-5, 5), "x2": (-5, 5), "y": (0, 1)}
CLAIM = 2.41


def loops(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    w, trace = np.zeros(2), []
    for _ in range(steps):
        total = np.zeros(2)
        for r in data:
            if rng.random() < q:
                p = 1 / (1 + np.exp(-(w[0] * r["x1"] + w[1] * r["x2"])))
                g = [(p - r["y"]) * r["x1"], (p - r["y"]) * r["x2"]]
                scale = min(1.0, clip / (math.sqrt(g[0] ** 2 + g[1] ** 2) + 1e-12))
                for j in range(2):
                    total[j] += g[j] * scale
        for j in range(2):
            w[j] -= lr * (total[j] + rng.normal(0, sigma * clip))
        trace.append(list(w))
    return trace


def arrays(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    x, y = data[:, :2], data[:, 2]
    w, trace = np.zeros(2), []
    for _ in range(steps):
        keep = rng.random(len(data)) < q
        p = 1 / (1 + np.exp(-(x[keep] @ w)))
        g = (p - y[keep])[:, None] * x[keep]
        g = g / np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True) / clip)
        w = w - lr * (g.sum(axis=0) + rng.normal(0, sigma * clip, size=2))
        trace.append(w)
    return trace


def clip_forgotten(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    w, trace = np.zeros(2), []
    for _ in range(steps):
        total = np.zeros(2)
        for r in data:
            if rng.random() < q:
                p = 1 / (1 + np.exp(-(w[0] * r["x1"] + w[1] * r["x2"])))
                total[0] += (p - r["y"]) * r["x1"]
                total[1] += (p - r["y"]) * r["x2"]
        for j in range(2):
            w[j] -= lr * (total[j] + rng.normal(0, sigma * clip))
        trace.append(list(w))
    return trace


def clipped_after_averaging(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    w, trace = np.zeros(2), []
    for _ in range(steps):
        total, count = np.zeros(2), 0
        for r in data:
            if rng.random() < q:
                p = 1 / (1 + np.exp(-(w[0] * r["x1"] + w[1] * r["x2"])))
                total[0] += (p - r["y"]) * r["x1"]
                total[1] += (p - r["y"]) * r["x2"]
                count += 1
        g = [t / max(count, 1) for t in total]
        scale = min(1.0, clip / (math.sqrt(g[0] ** 2 + g[1] ** 2) + 1e-12))
        for j in range(2):
            w[j] -= lr * (g[j] * scale + rng.normal(0, sigma * clip / (q * 100)))
        trace.append(list(w))
    return trace


def noise_by_batch_size(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    w, trace = np.zeros(2), []
    for _ in range(steps):
        total, count = np.zeros(2), 0
        for r in data:
            if rng.random() < q:
                p = 1 / (1 + np.exp(-(w[0] * r["x1"] + w[1] * r["x2"])))
                g = [(p - r["y"]) * r["x1"], (p - r["y"]) * r["x2"]]
                scale = min(1.0, clip / (math.sqrt(g[0] ** 2 + g[1] ** 2) + 1e-12))
                for j in range(2):
                    total[j] += g[j] * scale
                count += 1
        for j in range(2):
            w[j] -= lr * (total[j] + rng.normal(0, sigma * clip / max(count, 1)))
        trace.append(list(w))
    return trace


def noise_drawn_once(data, rng, *, steps=20, q=0.5, clip=1.0, sigma=4.0, lr=0.5):
    w, trace = np.zeros(2), []
    noise = [rng.normal(0, sigma * clip), rng.normal(0, sigma * clip)]
    for _ in range(steps):
        total = np.zeros(2)
        for r in data:
            if rng.random() < q:
                p = 1 / (1 + np.exp(-(w[0] * r["x1"] + w[1] * r["x2"])))
                g = [(p - r["y"]) * r["x1"], (p - r["y"]) * r["x2"]]
                scale = min(1.0, clip / (math.sqrt(g[0] ** 2 + g[1] ** 2) + 1e-12))
                for j in range(2):
                    total[j] += g[j] * scale
        for j in range(2):
            w[j] -= lr * (total[j] + noise[j])
        trace.append(list(w))
    return trace


def main() -> int:
    theirs = (
        pld.from_gaussian_mechanism(4.0, sampling_prob=0.5, use_connect_dots=True)
        .self_compose(20)
        .get_epsilon_for_delta(DELTA)
    )
    failed = False
    for function, shape in ((loops, "dicts"), (arrays, "matrix")):
        domain = dpest.table(dpest.ANY, as_=shape, **FIELDS)
        began, spent = time.monotonic(), time.process_time()
        proof = dpest.prove(
            function, adjacency="add_remove_one", domain=domain, claim=f"approx:{CLAIM},{DELTA}"
        )
        took, spent = time.monotonic() - began, time.process_time() - spent
        ratio = math.inf if proof.bound is None else float(proof.bound) / theirs
        failed |= not 1 <= ratio <= 1.01 or not proof.proved
        print(
            f"{function.__name__:24} {proof.bound_text()} for every length: {ratio:.6f} of "
            f"dp-accounting's {theirs:.6f}; {took:.1f} s ({spent:.1f} s of processor time)",
            flush=True,
        )
    wrong = (clip_forgotten, clipped_after_averaging, noise_by_batch_size, noise_drawn_once)
    for function in wrong:
        began, spent = time.monotonic(), time.process_time()
        verdict = dpest.audit(
            function,
            epsilon=CLAIM,
            delta=DELTA,
            adjacency="add_remove_one",
            domain=dpest.records(dpest.ANY, fields=FIELDS),
        )
        took, spent = time.monotonic() - began, time.process_time() - spent
        failed |= verdict.status != "violated"
        low = verdict.lower
        shown = (
            "no lower bound" if low is None else f"ε ≥ {low.value:.3f}, {low.witness.event[:70]}"
        )
        print(
            f"{function.__name__:24} {verdict.status}: {shown}; {took:.1f} s ({spent:.1f} s of "
            "processor time)",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
