"""Proofs: upper bounds for all neighbouring inputs, with certificates (apRHL's couplings).

`prove` finds the cheapest alignment of the noise by linear programming, exactly, and writes a
certificate that `dpest.kernel` (standard library only) accepts or refuses.
"""

from __future__ import annotations

from dpest.proofs.coqc import theorem_note
from dpest.proofs.proof import Lower, Proof, Ray
from dpest.proofs.proving import prove, prove_goal
from dpest.proofs.question import INTEGER_DATA, goal_of

__all__ = [
    "INTEGER_DATA",
    "Lower",
    "Proof",
    "Ray",
    "goal_of",
    "prove",
    "prove_goal",
    "theorem_note",
]
