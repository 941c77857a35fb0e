"""A published bug: the query's noisy value is released with the noise that chose it."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(6))
def sparse_vector_releases_value(queries, rng, *, eps=0.2, threshold=1):
    noisy_threshold = threshold + rng.laplace(scale=2 / eps)
    answers = []
    for q in queries:
        noisy = q + rng.laplace(scale=2 / eps)
        if noisy >= noisy_threshold:
            answers.append(noisy)
            break
        answers.append(None)
    return answers


if __name__ == "__main__":
    print(dpest.audit(sparse_vector_releases_value))
