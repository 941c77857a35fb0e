"""Roots by scipy.optimize, as calibrations of noise look for them.

SciPy's own algorithms call the function of the user; here they are code that the machine executes,
so that this function is read like any other. They take the same steps as SciPy's, and a replay
compares what comes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from dpest.reading.machine import prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_XTOL, _RTOL, _TURNS = 2e-12, 4 * float(np.finfo(float).eps), 100  # SciPy's


def _between(code: Any) -> Any:
    def found(
        m: Machine,
        f: Any,
        a: Any,
        b: Any,
        args: Any = (),
        xtol: Any = _XTOL,
        rtol: Any = _RTOL,
        maxiter: Any = _TURNS,
        full_output: Any = False,
        disp: Any = True,
    ) -> Any:
        if full_output is not False or disp is not True:
            raise Refused("a root with the report of its search", "ask for the root alone")
        args = args if isinstance(args, tuple) else (args,)
        return Enter(code, (f, a, b, args, xtol, rtol, maxiter))

    return found


entry(scipy.optimize.brentq)(_between(prelude.brentq_))
entry(scipy.optimize.bisect)(_between(prelude.bisection_))


@entry(scipy.optimize.root_scalar)
def root_scalar(m: Machine, f: Any, args: Any = (), **options: Any) -> Any:
    method, bracket = options.pop("method", None), options.pop("bracket", None)
    ways = {None: prelude.brentq_, "brentq": prelude.brentq_, "bisect": prelude.bisection_}
    if bracket is None or options or method not in ways:
        raise Refused(
            "this way of scipy.optimize.root_scalar", "give a bracket, and the method brentq"
        )
    args = args if isinstance(args, tuple) else (args,)
    return Enter(prelude.root_scalar_, (ways[method], f, bracket, args, _XTOL, _RTOL, _TURNS))
