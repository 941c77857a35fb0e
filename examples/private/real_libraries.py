"""Released libraries, audited as black boxes (pip install 'dpest-audit[targets]').

Nothing contradicts the mathematics of their claims at this budget; a black box can't be proved
private by running it. The doubles that diffprivlib's Laplace returns do leak: that is a verdict of
its own.
"""

import warnings

import opendp.prelude as dp

import dpest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from diffprivlib.mechanisms import Laplace
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

dp.enable_features("contrib")
_opendp = dp.m.make_laplace(
    dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=1.0
)
_diffprivlib = Laplace(epsilon=1.0, sensitivity=1.0)
_python_dp = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)

declare = dpest.mechanism(claim=dpest.PureDP(1.0), adjacency=dpest.l1(1), domain=dpest.reals(1))


@declare
def opendp_laplace(x, size):
    return _opendp([float(x[0])] * size)


@declare
def diffprivlib_laplace(x):
    return _diffprivlib.randomise(float(x[0]))


@declare
def python_dp_laplace(x):
    return _python_dp.add_noise(float(x[0]))


if __name__ == "__main__":
    for library in (opendp_laplace, diffprivlib_laplace, python_dp_laplace):
        print(dpest.audit(library, budget="100000runs"))
