"""A mean without clipping: one rich person moves it as far as they like."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.replace_one(), domain=dpest.reals(4))
def forgotten_clip(salaries, rng, *, eps=1.0, cap=100):
    return sum(salaries) / len(salaries) + rng.laplace(scale=cap / len(salaries) / eps)


if __name__ == "__main__":
    print(dpest.audit(forgotten_clip))
