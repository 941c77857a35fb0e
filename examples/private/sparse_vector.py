"""The sparse vector technique: which queries exceed a threshold, until the first one does."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(6))
def sparse_vector(queries, rng, *, eps=0.2, threshold=0.5):
    noisy_threshold = threshold + rng.laplace(scale=2 / eps)
    answers = []
    for q in queries:
        above = q + rng.laplace(scale=4 / eps) >= noisy_threshold
        if above:
            answers.append(True)
            break
        answers.append(False)
    return answers


if __name__ == "__main__":
    print(dpest.audit(sparse_vector))
