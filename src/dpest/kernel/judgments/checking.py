"""From the certificate of a judgment to the judgment that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..fields import Fields, line
from ..invalid import Invalid, need
from ..sealing import sha256, unsealed
from .assertions import SIDED, Assertion, assertion_text, read_assertion, variables
from .derivations import Derivations, Goal
from .entailments import need_entailed
from .programs import Program, read_program
from .skeletons import ReturnSkeleton, output_names, read_skeletons, returned

FORMAT = "dpest judgment 2"


@dataclass(frozen=True)
class Judgment:
    """{pre} first ~(epsilon, delta) second {post}, shown for the programs of a certificate.

    `functions` are the names of the functions that the programs were read from, and `sources` the
    digests of their sources; whether the programs are theirs is for those to say who can read them.
    `returns` are the skeletons of what each may return.
    """

    functions: tuple[str, str]
    sources: tuple[str, str]
    returns: tuple[tuple[ReturnSkeleton, ...], tuple[ReturnSkeleton, ...]]
    pre: Assertion
    post: Assertion
    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        one, two = self.functions
        cost = f"({self.epsilon}, {self.delta})"
        asked = (
            f"{{{assertion_text(self.pre)}}} {one} ~{cost} {two} {{{assertion_text(self.post)}}}"
        )
        return f"{asked}, where {self._returns()}"

    def _returns(self) -> str:
        each = [
            f"{name} returns {' or '.join(map(str, found))}"
            for name, found in zip(self.functions, self.returns, strict=True)
        ]
        return each[0] if each[0] == each[1] else " and ".join(each)


@dataclass(frozen=True)
class _ProgramSide:
    function: str
    source: str
    inputs: tuple[str, ...]
    returns: tuple[ReturnSkeleton, ...]
    code: Program


def check(certificate: object) -> Judgment:
    """The judgment that a certificate shows about its programs, or `Invalid`."""
    try:
        return _check(certificate)
    except RecursionError:
        raise Invalid("too deeply nested to be checked") from None
    except (ValueError, ArithmeticError) as error:
        raise Invalid(f"numbers beyond what can be checked: {error}") from None


def check_text(text: str) -> Judgment:
    """The same for the text of a file, whose digest must be right."""
    return check(unsealed(text))


def _check(certificate: object) -> Judgment:
    fields = Fields(certificate, "judgment")
    fields.optional("digest")
    need(fields.text("format") == FORMAT, "judgment: another format")
    need(fields.text("method") == "judgment", "judgment: another method")
    skeletons = read_skeletons(fields.take("skeletons"), "skeletons")
    one, two = (_side(fields.inner(key), skeletons) for key in ("first", "second"))
    pre = read_assertion(fields.take("pre"), SIDED, "pre")
    post = read_assertion(fields.take("post"), SIDED, "post")
    _need_of(pre, one.inputs, two.inputs, "pre")
    _need_of(post, output_names(skeletons), output_names(skeletons), "post")
    epsilon, delta = fields.number("epsilon"), fields.number("delta")
    goal = Goal(one.code, two.code, post)
    shown = Derivations().check(fields.take("derivation"), goal, "derivation")
    need_entailed(pre, shown.pre, fields.take("proof"), "proof")
    fields.done()
    need(shown.epsilon <= epsilon, f"epsilon: the derivation costs {shown.epsilon}")
    need(shown.delta <= delta, f"delta: the derivation costs {shown.delta}")
    names, sources = (one.function, two.function), (one.source, two.source)
    return Judgment(names, sources, (one.returns, two.returns), pre, post, epsilon, delta)


def _side(fields: Fields, skeletons: tuple[ReturnSkeleton, ...]) -> _ProgramSide:
    function = line(fields.take("function"), f"{fields.where}.function")
    need(function.split() == [function], f"{fields.where}: no name of a function")
    source = fields.text("source")
    inputs = fields.texts("inputs")
    code = read_program(fields.take("code"), fields.where)
    fields.done()
    both = set(inputs) & set(output_names(skeletons))
    need(not both, f"{fields.where}: an input that is an output")
    places = sorted(returned(code, skeletons, fields.where))
    returns = tuple(skeletons[place] for place in places)
    return _ProgramSide(function, sha256(source), inputs, returns, code)


def _need_of(
    assertion: Assertion, first: tuple[str, ...], second: tuple[str, ...], where: str
) -> None:
    """A precondition speaks of inputs, a postcondition of outputs; of nothing else."""
    known = {f"{name}<1>" for name in first} | {f"{name}<2>" for name in second}
    for name in sorted(variables(assertion) - known):
        raise Invalid(f"{where}: {name[:40]} is neither")
