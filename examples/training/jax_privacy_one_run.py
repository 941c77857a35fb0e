"""One training with jax_privacy's clipped gradients, audited with canaries that a coin includes.

Every canary has a weight of its own, so that its score is read off the trained weights.
"""

# %% Canaries: orthogonal records, each included by a fair coin; those that are not are left out.
import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy import clipped_grad

import dpest

SIGMA, CLIP, STEPS = 2.0, 1.0, 4


def loss(weights, record):
    return -jnp.sum(record * weights)  # the gradient is the record itself, which is clipped


def trained_weights(included, seed):
    canaries = len(included)
    records = 10.0 * jnp.eye(canaries)[np.flatnonzero(included)]
    gradient = clipped_grad(loss, l2_clip_norm=CLIP)
    weights = jnp.zeros(canaries)
    key = jax.random.key(seed)
    for _ in range(STEPS):
        key, part = jax.random.split(key)
        noise = SIGMA * CLIP * jax.random.normal(part, (canaries,))
        weights = weights - (gradient(weights, records) + noise)
    return np.asarray(weights, dtype=float)


# %% The audit: high weights speak for inclusion.
def main(canaries=400, seed=0):
    included = np.random.default_rng(seed).random(canaries) < 0.5
    mu = STEPS**0.5 / SIGMA
    print(
        f"the accountant says {mu:.3f}-GDP: ε(1e-5) = {dpest.GaussianDP(mu).epsilon_at(1e-5):.2f}"
    )
    verdict = dpest.one_run(trained_weights(included, seed), included, delta=1e-5)
    print(verdict)
    return verdict


if __name__ == "__main__":
    main()
