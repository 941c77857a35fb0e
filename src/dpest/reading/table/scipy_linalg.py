"""Functions of scipy.linalg without effects: on known matrices they answer themselves."""

from __future__ import annotations

import scipy.linalg

from dpest.reading.table.registry import native

native(
    [
        *(scipy.linalg.hadamard, scipy.linalg.toeplitz, scipy.linalg.circulant, scipy.linalg.dft),
        *(scipy.linalg.block_diag, scipy.linalg.hilbert, scipy.linalg.norm, scipy.linalg.inv),
        *(scipy.linalg.pinv, scipy.linalg.solve, scipy.linalg.det, scipy.linalg.expm),
        *(scipy.linalg.sqrtm, scipy.linalg.cholesky, scipy.linalg.eigh, scipy.linalg.eigvalsh),
        *(scipy.linalg.svd, scipy.linalg.svdvals, scipy.linalg.qr, scipy.linalg.null_space),
        *(scipy.linalg.orth, scipy.linalg.solve_triangular, scipy.linalg.lstsq),
    ]
)
