"""Exact values of products, quotients and transforms of noise, against mpmath to ten digits.

The functions are read as they are; mpmath integrates the textbook formula with 30 digits.

    python validation/transforms.py
"""

import math
import sys

import mpmath as mp

import dpest

mp.mp.dps = 30
DIGITS = 1e-10


def exponential_of(x, rng):
    return math.exp(x + rng.laplace(scale=2.0))


def logarithm_of(x, rng):
    return math.log(x + rng.exponential(scale=0.5))


def cube_of(x, rng):
    return (x + rng.laplace(scale=1.5)) ** 3


def square_of(x, rng):
    return (x + rng.normal(0.0, 2.0)) ** 2


def root_of(x, rng):
    return math.sqrt(x + rng.exponential(scale=1.0))


def inverse_of(x, rng):
    return 1 / (x + rng.exponential(scale=1.0))


def product_of(x, rng):
    return (x + rng.laplace(scale=1.0)) * rng.exponential(scale=2.0)


def gaussian_product(x, rng):
    return (x + rng.normal(0.0, 1.0)) * rng.normal(0.0, 1.0)


def quotient_of(x, rng):
    return (x + rng.laplace(scale=1.0)) / rng.exponential(scale=1.0)


def cauchy(x, rng):
    return (x + rng.normal(0.0, 1.0)) / rng.normal(0.0, 1.0)


def sum_of_two(x, rng):
    return math.exp(x + rng.normal(0.0, 1.0)) * 2 + rng.exponential(scale=1.0)


def laplace(b, y):
    return mp.exp(-abs(y) / b) / (2 * b)


def normal(s, y):
    return mp.exp(-(y**2) / (2 * s**2)) / (s * mp.sqrt(2 * mp.pi))


def expo(b, y):
    return mp.exp(-y / b) / b if y >= 0 else mp.mpf(0)


def line(f, *points):
    return mp.quad(f, [*points])


def rows():
    """(name, ours, mpmath's)"""
    q = mp.mpf
    d = dpest.distribution
    f = d(exponential_of, 0.5)
    yield "exp(1/2 + Lap(2)): density at 3", f.density(3.0), laplace(2, mp.log(3) - q("0.5")) / 3
    yield (
        "exp(1/2 + Lap(2)): P(1 < out < 4)",
        f.probability(1.0, 4.0),
        line(lambda y: laplace(2, y - q("0.5")), 0, q("0.5"), mp.log(4)),
    )
    yield "exp(x + Lap(2)): ε of 0 and 1", dpest.exact(exponential_of, 0.0, 1.0).epsilon, q(1) / 2
    f = d(logarithm_of, 0.25)
    yield "log(1/4 + Exp(1/2)): density at 0", f.density(0.0), expo(q("0.5"), q("0.75"))
    yield "log(1/4 + Exp(1/2)): P(out < 0)", f.probability(-math.inf, 0.0), 1 - mp.exp(q("-1.5"))
    f = d(cube_of, 1.0)
    yield "(1 + Lap(3/2))³: density at -8", f.density(-8.0), laplace(q("1.5"), -3) / 12
    yield "(1 + Lap(3/2))³: density at 27", f.density(27.0), laplace(q("1.5"), 2) / 27
    yield "(x + Lap(3/2))³: ε of 0 and 1", dpest.exact(cube_of, 0.0, 1.0).epsilon, q(2) / 3
    f = d(square_of, 1.0)
    yield "(1 + N(2))²: density at 4", f.density(4.0), (normal(2, 1) + normal(2, -3)) / 4
    yield (
        "(1 + N(2))²: P(out < 9)",
        f.probability(0.0, 9.0),
        line(lambda y: normal(2, y - 1), -3, 0, 3),
    )
    f = d(root_of, 0.5)
    yield "√(1/2 + Exp(1)): density at 2", f.density(2.0), 4 * expo(1, q("3.5"))
    f = d(inverse_of, 0.5)
    yield "1/(1/2 + Exp(1)): density at 1", f.density(1.0), expo(1, q("0.5"))
    f = d(product_of, 0.5)
    for z in ("1.5", "-2"):
        want = line(
            lambda v, z=z: laplace(1, q(z) / v - q("0.5")) * expo(2, v) / v,
            0,
            q("0.01"),
            q("0.2"),
            1,
            2,
            3,
            6,
            12,
            40,
            120,
        )
        yield f"(1/2 + Lap(1))·Exp(2): density at {z}", f.density(float(z)), want
    f = d(gaussian_product, 0.0)
    yield "N(1)·N(1): density at 1/2", f.density(0.5), mp.besselk(0, q("0.5")) / mp.pi
    f = d(gaussian_product, 1.0)
    cuts = (-12, -4, -2, -1, q("-0.5"), q("-0.1"), 0, q("0.1"), q("0.5"), 1, 2, 4, 12)
    yield (
        "(1 + N(1))·N(1): density at 1",
        f.density(1.0),
        line(lambda v: normal(1, 1 / v - 1) * normal(1, v) / abs(v) if v else mp.mpf(0), *cuts),
    )
    f = d(quotient_of, 0.5)
    yield (
        "(1/2 + Lap(1))/Exp(1): density at 2",
        f.density(2.0),
        line(lambda v: laplace(1, 2 * v - q("0.5")) * v * expo(1, v), 0, q("0.25"), 1, 5, 20, 60),
    )
    yield (
        "(1/2 + Lap(1))/Exp(1): density at -1",
        f.density(-1.0),
        line(lambda v: laplace(1, -v - q("0.5")) * v * expo(1, v), 0, 1, 5, 20, 60),
    )
    f = d(cauchy, 0.0)
    yield "N(1)/N(1): density at 3/2 (Cauchy)", f.density(1.5), 1 / (mp.pi * (1 + q("2.25")))
    f = d(cauchy, 1.0)
    yield (
        "(1 + N(1))/N(1): density at 1",
        f.density(1.0),
        line(lambda v: normal(1, v - 1) * abs(v) * normal(1, v), -12, -3, 0, q("0.5"), 1, 3, 12),
    )
    f = d(sum_of_two, 0.0)
    yield (
        "2·exp(N(1)) + Exp(1): density at 3",
        f.density(3.0),
        line(lambda y: normal(1, mp.log(y / 2)) / y * expo(1, 3 - y), 0, q("0.2"), 1, 2, 3),
    )


def main() -> int:
    failures = 0
    count = 0
    for name, ours, theirs in rows():
        count += 1
        gap = abs(ours / float(theirs) - 1)
        good = gap < DIGITS
        failures += not good
        print(f"{name:42} {ours:.14g}  {mp.nstr(theirs, 14)}  {gap:.1e}{'' if good else '  WRONG'}")
    print(f"{count - failures} of {count} agree to ten digits")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
