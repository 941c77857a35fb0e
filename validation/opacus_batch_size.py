"""A published bug of Opacus: with a mean loss the noise of a step tells the size of the batch.

One step of DP-SGD on 4 records, or on 5 with a canary: noise multiplier 1, clip 1. Opacus divides
the clipped sum and its noise by the batch size that it sees, so that the weights have the standard
deviation 1/4 or 1/5. Its accountant says what holds for a Gaussian mechanism of noise multiplier 1:
1-GDP, hence 0.5-zCDP, (1, 0.127)-DP, (4.377, 1e-5)-DP and so on. Each is a claim that dpest tests
on a black box. The step is written in NumPy; the real one is run too where torch and opacus are
installed.

"best possible" is what Neyman and Pearson's event would need, the outputs whose true ratio of
densities exceeds e^ε, known beforehand: runs with which it refutes the claim at α in half of all
audits. (4.377, 1e-5) alone is a weak claim: 20,000 steps can't refute it, as too few outputs speak
against it; it is refuted with more.

    python validation/opacus_batch_size.py
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

import dpest

ALPHA = 0.05


def numpy_step(x, rng):  # type: ignore[no-untyped-def]
    """The step as Opacus takes it: clipped gradients and noise, over the size of the batch."""
    there = x[0] > 0.5
    noise = rng.normal(size=3)
    if there:
        return [noise[0] / 5, noise[1] / 5, (1 + noise[2]) / 5]
    return [noise[0] / 4, noise[1] / 4, noise[2] / 4]


def opacus_step() -> Callable[[list[float]], list[float]] | None:
    """The real step; None where it can't be had."""
    try:
        import torch
        from opacus import PrivacyEngine
    except ImportError:
        return None
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)

    def step(x: list[float]) -> list[float]:
        features, targets = torch.zeros(4, 3), torch.zeros(4, 1)
        if x[0] > 0.5:
            features = torch.cat([features, torch.tensor([[0.0, 0.0, 10.0]])])
            targets = torch.cat([targets, torch.ones(1, 1)])
        model = torch.nn.Linear(3, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        data = torch.utils.data.TensorDataset(features, targets)
        loader = torch.utils.data.DataLoader(data, batch_size=len(features))
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        for a, b in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(a), b, reduction="mean").backward()
            optimizer.step()
        return model._module.weight.detach().numpy().ravel().tolist()

    return step


def least_runs(epsilon: float, delta: float, alpha: float) -> float:
    """Runs that the event of the true ratio needs, in half of all audits."""
    rng = np.random.default_rng(0)
    size = 2_000_000

    def ratio(rows: np.ndarray) -> np.ndarray:
        without = -(rows**2).sum(1) * 16 / 2 + 3 * math.log(4)
        canary = -((rows - [0, 0, 0.2]) ** 2).sum(1) * 25 / 2 + 3 * math.log(5)
        return without - canary

    told = ratio(rng.normal(size=(size, 3)) / 4)
    told = told[told > epsilon]
    # The canary's probability by importance: few of its own outputs would fall there.
    p, q = len(told) / size, float(np.exp(-told).sum()) / size
    gap = p - math.exp(epsilon) * q - delta
    variance = p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)
    return 2 * variance * (float(ndtri(1 - alpha)) / gap) ** 2


CLAIMS = [
    ("gdp:1", None, 20_000, 8),
    ("zcdp:0.5", None, 20_000, 8),
    ("approx:1.5,0.0567", (1.5, 0.0567), 10_000, 8),
    ("approx:4.377,1e-5", (4.377, 1e-5), 3_000_000, 1),
]


def row(
    name: str, step: Callable, claim: str, at: tuple[float, float] | None, runs: int, seeds: int
) -> bool:
    """A line of the table; whether at least half of the audits refute the claim."""
    started, busy = time.monotonic(), time.process_time()
    verdicts = [
        dpest.audit(
            step,
            claim=claim,
            domain=dpest.integers(1, low=0, high=1),
            adjacency="l1",
            alpha=ALPHA,
            budget=runs,
            seed=seed,
            engines=("attack",),
        )
        for seed in range(seeds)
    ]
    seconds = (time.monotonic() - started) / seeds
    cpu = (time.process_time() - busy) / seeds
    best = f"{least_runs(*at, ALPHA):,.0f}" if at is not None else "-"
    lower = float(np.median([v.lower.value for v in verdicts if v.lower is not None]))
    refuted = sum(v.violated for v in verdicts)
    print(
        f"{name:7} {claim:18} {runs:9,} {best:>13} {refuted:4} of {seeds} {lower:7.3f} "
        f"{seconds:6.1f} s, {cpu:.1f} s of computing each",
        flush=True,
    )
    return 2 * refuted >= seeds


def main() -> int:
    print(
        f"{'step':7} {'claim':18} {'runs':>9} {'best possible':>13} {'refuted':>9} {'median':>7}"
        f" (α = {ALPHA:g})"
    )
    failed = [claim[0] for claim in CLAIMS if not row("NumPy", numpy_step, *claim)]
    real = opacus_step()
    if real is None:
        print("opacus is not installed here")
    elif not row("Opacus", real, "approx:1.5,0.0567", None, 8_000, 1):
        failed.append("Opacus")
    print(f"not refuted: {', '.join(failed)}" if failed else "every claim is refuted")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
