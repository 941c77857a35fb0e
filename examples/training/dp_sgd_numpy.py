"""DP-SGD in NumPy, audited by canaries: many trainings, then one training with many canaries.

Read it as a notebook: each part stands on its own.
"""

# %% A training: logistic regression, clipped gradients, Gaussian noise.
import numpy as np

import dpest

SIGMA, STEPS, CLIP = 4.0, 20, 1.0
MU = STEPS**0.5 / SIGMA  # what an accountant says: Gaussian DP with this μ

_data = np.random.default_rng(0)
RECORDS = _data.normal(size=(50, 5))
RECORDS /= np.linalg.norm(RECORDS, axis=1, keepdims=True)
LABELS = (RECORDS[:, 0] > 0).astype(float)
CANARY = np.array([0.0, 0.0, 0.0, 0.0, 10.0])


def train(with_canary, rng):
    w = np.zeros(5)
    records = np.vstack([RECORDS, CANARY]) if with_canary else RECORDS
    labels = np.append(LABELS, 0.0) if with_canary else LABELS
    for _ in range(STEPS):
        gradients = (1 / (1 + np.exp(-records @ w)) - labels)[:, None] * records
        sizes = np.linalg.norm(gradients, axis=1, keepdims=True) / CLIP
        total = (gradients / np.maximum(1, sizes)).sum(axis=0)
        # The rate must not depend on how many records there are: that would be a leak.
        w = w - 0.01 * (total + SIGMA * CLIP * rng.normal(size=5))
    return w


# %% Many trainings, with the canary and without it. The canary pushes the last weight down.
def many_trainings(trainings, seed=0):
    rng = np.random.default_rng(seed)
    inside = [-train(True, rng)[-1] for _ in range(trainings // 2)]
    outside = [-train(False, rng)[-1] for _ in range(trainings // 2)]
    return dpest.audit_scores(inside, outside, delta=1e-5)


# %% One training with many canaries: each has a weight of its own, and a coin includes it.
def one_training(canaries, seed=0):
    rng = np.random.default_rng(seed)
    included = rng.random(canaries) < 0.5
    w = np.zeros(canaries)
    for _ in range(STEPS):
        pull = np.where(included, CLIP, 0.0)  # each canary's gradient has the size of the clip
        w = w + pull + SIGMA * CLIP * rng.normal(size=canaries)
    return dpest.one_run(w, included, delta=1e-5)


# %%
def main(trainings=4000, canaries=1000):
    print(
        f"the accountant says {MU:.3f}-GDP: ε(1e-5) = {dpest.GaussianDP(MU).epsilon_at(1e-5):.2f}"
    )
    verdicts = many_trainings(trainings), one_training(canaries)
    for verdict in verdicts:
        print(f"\n{verdict}")
    return verdicts


if __name__ == "__main__":
    main()
