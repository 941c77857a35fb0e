"""Judgments of apRHL, {Φ} c₁ ~(ε,δ) c₂ {Ψ}: two programs, and a derivation that is checked.

Meaning (Sato, MFPS 2016): for all memories m₁, m₂ that Φ relates and every measurable set A of
memories, Pr[c₁(m₁) ∈ A] ≤ e^ε·Pr[c₂(m₂) ∈ Ψ(A)] + δ, where Ψ(A) is what Ψ relates to some member
of A. Variables are real numbers. For Ψ "the outputs are equal" this is (ε, δ)-privacy.
"""

from .checking import Judgment, check, check_text

__all__ = ["Judgment", "check", "check_text"]
