"""One training by Opacus, audited with canaries that a coin includes (torch and opacus).

Every canary has a weight of its own, so that its score is read off the trained model. The loss is
summed: with a mean, Opacus would divide by the size of the batch, which tells it (see
validation/opacus_batch_size.py).
"""

# %% Canaries: orthogonal records, each included by a fair coin.
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine

import dpest

SIGMA, CLIP, STEPS = 2.0, 1.0, 4


def trained_weights(included, seed):
    torch.manual_seed(seed)
    warnings.filterwarnings("ignore")
    canaries = len(included)
    features = 10.0 * torch.eye(canaries)[torch.as_tensor(included)]
    targets = torch.ones(len(features), 1) * 1e6  # so far off that every gradient is clipped
    model = torch.nn.Linear(canaries, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    data = torch.utils.data.TensorDataset(features, targets)
    loader = torch.utils.data.DataLoader(data, batch_size=len(features))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        poisson_sampling=False,
        loss_reduction="sum",
    )
    for _ in range(STEPS):
        for a, b in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(a), b, reduction="sum").backward()
            optimizer.step()
    return model._module.weight.detach().numpy().ravel()


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
