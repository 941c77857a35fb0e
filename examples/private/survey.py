"""A survey of any size: each answer is randomised on its own, then all of them are published."""

import math

import dpest


@dpest.mechanism(
    claim=dpest.PureDP("eps"),
    adjacency=dpest.replace_one(),
    domain=dpest.integers(dpest.ANY, 0, 1),
)
def survey(answers, rng, *, eps=1.0):
    flip = 1 / (1 + math.exp(eps))
    return [1 - answer if rng.random() < flip else answer for answer in answers]


if __name__ == "__main__":
    print(dpest.audit(survey))
