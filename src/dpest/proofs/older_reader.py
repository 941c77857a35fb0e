"""Whether the reader that came before the machine may be asked about a function."""

from __future__ import annotations

from pathlib import Path

from dpest.ask.domains import ANY, Finite
from dpest.proofs.question import ProofGoal
from dpest.reading import guard
from dpest.running.places import code_of

_PROOFS = str(Path(__file__).parent)


def check(question: ProofGoal) -> None:
    """Raises UntraceableError where its stand-ins for numbers could be told from numbers."""
    code = code_of(question.mechanism.function)
    if code is not None and code.co_filename.startswith(_PROOFS):
        return  # a model that a proof has made
    guard.check(question.mechanism, form=_form(question), symbols=_symbols(question))


def _symbols(question: ProofGoal) -> set[str]:
    """What is symbolic in a proof."""
    found = {"data", "noise"}
    if question.unit is not None:
        found.add("parameter")
    return found | {"length"} if question.length is ANY else found


def _form(question: ProofGoal) -> str:
    """What the function takes, as the guard tells it apart."""
    values = getattr(question.domain, "values", ())
    if isinstance(question.domain, Finite) and values:
        return guard.form_of(next(iter(values)))
    return question.form
