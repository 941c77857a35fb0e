"""The kernel: is a certificate of privacy right? The part that is believed because it is read.

Standard library, exact rationals, no solver, nothing shared with the prover, nothing executed. A
certificate is parsed strictly, its rule is looked up (`rules/`, one file each with its lemma), and
what was shown comes back as a `Statement` about the model in the certificate, or `Invalid` with the
reason. It trusts the lemmas in its docstrings, Python's integers, and nothing else.

    python -m dpest.kernel FILE...
"""

from . import judgments
from .checking import check, check_text
from .invalid import Invalid
from .sealing import digest
from .statement import Statement

__all__ = ["Invalid", "Statement", "check", "check_text", "digest", "judgments"]
