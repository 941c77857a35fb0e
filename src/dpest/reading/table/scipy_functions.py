"""Functions of scipy.special, which have no effects: on known values they answer themselves."""

from __future__ import annotations

import numpy as np
import scipy.special

from dpest.reading.table.registry import native

native(f for f in vars(scipy.special).values() if isinstance(f, np.ufunc))
native(
    [
        *(scipy.special.softmax, scipy.special.log_softmax, scipy.special.logsumexp),
        *(scipy.special.comb, scipy.special.perm, scipy.special.factorial),
        *(scipy.special.factorial2, scipy.special.multigammaln),
    ]
)
