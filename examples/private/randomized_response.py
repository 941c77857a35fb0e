"""A yes-or-no answer that each person randomises: 0 or 1 in, 0 or 1 out."""

import dpest


@dpest.mechanism(
    claim=dpest.PureDP(1.0986122886681098),  # ln 3
    adjacency=dpest.any_pair(),
    domain=dpest.finite([0, 1]),
)
def randomized_response(answer, rng):
    if rng.random() < 0.75:
        return answer
    return 1 - answer


if __name__ == "__main__":
    print(dpest.audit(randomized_response))
