"""A published bug: the queries themselves get no noise, so that their order shows."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(4))
def sparse_vector_no_query_noise(queries, rng, *, eps=0.5, threshold=1):
    noisy_threshold = threshold + rng.laplace(scale=2 / eps)
    return [bool(q >= noisy_threshold) for q in queries]


if __name__ == "__main__":
    print(dpest.audit(sparse_vector_no_query_noise))
