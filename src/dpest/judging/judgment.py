"""dpest.judge: {pre} c1 ~(epsilon, delta) c2 {post}, derived and checked, or refuted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import DpestError, InputError
from dpest.geometry.linear import rational
from dpest.judging.conditions import parsed
from dpest.judging.deriving import (
    DerivationCost,
    DerivationSearch,
    Exhausted,
    Node,
    ProgramPair,
    assertion_json,
)
from dpest.judging.entailing import proof_of
from dpest.judging.loops import looped
from dpest.judging.outputs import OutputTerm
from dpest.judging.pointwise import pointwise
from dpest.judging.refuting import JudgmentCounterexample, refuted
from dpest.judging.showing import program_text, tree
from dpest.judging.writing import program_json
from dpest.kernel import Invalid
from dpest.kernel.forms import ZERO, LinearInequality
from dpest.kernel.judgments import Judgment, check
from dpest.kernel.judgments.assertions import (
    All,
    Assertion,
    LinearTerm,
    Some,
    all_of,
    at_least_zero,
    negated,
    variable,
)
from dpest.kernel.judgments.checking import FORMAT
from dpest.kernel.judgments.derivations import Derivations, Goal
from dpest.kernel.judgments.entailments import Hand
from dpest.kernel.judgments.skeletons import OUT
from dpest.proofs.certificates import sealed
from dpest.reading.programs.replaying import replayed
from dpest.reading.programs.translation import ProgramCode, translated

Status = Literal["holds", "false", "unsettled"]
_MOST_MOVES = 4


@dataclass(frozen=True)
class Judged:
    """What became of a judgment.

    `holds`: the kernel has checked the derivation in `certificate`, and `judgment` is what it
    shows. `false`: `counterexample` refutes it. `unsettled`: neither was found.
    """

    status: Status
    question: str
    judgment: Judgment | None
    certificate: dict[str, Any] | None
    counterexample: JudgmentCounterexample | None
    codes: tuple[ProgramCode, ProgramCode]

    @property
    def derivation(self) -> str:
        """The derivation as a tree with apRHL's rules."""
        if self.certificate is None:
            return "there is no derivation"
        one, two = self.codes
        return tree(self.certificate["derivation"], one.program, two.program)

    @property
    def programs(self) -> str:
        """Both programs in the while language."""
        return "\n\n".join(
            f"{code.function}({', '.join(code.inputs)}):\n{program_text(code.program, '  ')}"
            for code in (self.codes[:1] if self.codes[0] == self.codes[1] else self.codes)
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate, for `dpest check`."""
        if self.certificate is None:
            raise DpestError("there is no certificate: the judgment was not shown")
        Path(path).write_text(json.dumps(self.certificate, indent=1) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        if self.status == "holds":
            return f"holds: {self.question}\n{self.derivation}"
        if self.counterexample is not None:
            return f"false: {self.question}\n{self.counterexample}"
        return f"unsettled: {self.question}"


def judge(
    c1: Callable[..., Any] | Mechanism,
    c2: Callable[..., Any] | Mechanism | None = None,
    *,
    pre: str = "True",
    post: str | None = None,
    epsilon: float | Fraction | str = 0,
    delta: float | Fraction | str = 0,
    length: int | tuple[int, int] | None = None,
    params: Mapping[str, Any] | None = None,
    shifts: Sequence[float | Fraction | str] = (),
    seed: int = 0,
) -> Judged:
    """Does {pre} c1 ~(epsilon, delta) c2 {post} hold? Without `c2`, both programs are `c1`.

    A program is a function f(x, rng, **params) of one number, or of a list of `length` numbers (a
    pair of lengths, if they differ). `pre` speaks of the inputs, x<1> and x<2> (or x1 and x2) by
    the name of the function's first parameter; `post` of the outputs, out<1> and out<2>; without
    one it says that the outputs are equal, in their containers, lengths and types, too, which is
    (epsilon, delta)-privacy for the inputs in `pre`. A decimal number stands for itself: 0.1 is
    1/10.

    A derivation is searched with shifts of noise by 0, by the numbers of both conditions and by
    `shifts`; it is reported only after the kernel has checked it, and after the programs were
    held against runs of the functions.
    """
    first = as_mechanism(c1).with_params(params)
    second = first if c2 is None else as_mechanism(c2).with_params(params)
    lengths = length if isinstance(length, tuple) else (length, length)
    codes = _together(_read(first, lengths[0], seed), _read(second, lengths[1], seed))
    before = parsed(pre, _inputs(codes))
    after = parsed(post, _outputs(codes)) if post is not None else _equal_outputs(codes)
    cost = DerivationCost(_number(epsilon, "epsilon"), _number(delta, "delta"))
    question = _question(codes, pre, post, cost)
    sizes = _sizes(before, after, [_number(s, "shifts") for s in shifts])
    certificate = _derived(codes, before, after, cost, sizes)
    if certificate is not None:
        shown = check(certificate)
        return Judged("holds", question, shown, certificate, None, codes)
    found = refuted((first, second), codes, before, after, (cost.epsilon, cost.delta), seed)
    status: Status = "unsettled" if found is None else "false"
    return Judged(status, question, None, None, found, codes)


def _read(mechanism: Mechanism, length: int | None, seed: int) -> ProgramCode:
    code = translated(mechanism, length)
    replayed(mechanism, code, length, seed)
    return code


def _together(one: ProgramCode, two: ProgramCode) -> tuple[ProgramCode, ProgramCode]:
    """Both with the same outputs: of all skeletons that either may return."""
    table = tuple(dict.fromkeys((*one.skeletons, *two.skeletons)))
    return one.among(table), two.among(table)


def _number(value: float | Fraction | str, name: str) -> Fraction:
    try:
        found = Fraction(value) if isinstance(value, str) else rational(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
    if found < 0 and name != "shifts":
        raise InputError(f"{name} must not be negative, got {value!r}")
    return found


def _inputs(codes: tuple[ProgramCode, ProgramCode]) -> dict[str, LinearTerm | list[LinearTerm]]:
    names: dict[str, LinearTerm | list[LinearTerm]] = {}
    for side, code in enumerate(codes, 1):
        items = [variable(f"{name}<{side}>") for name in code.inputs]
        alone = code.inputs == (code.argument,)
        names[f"{code.argument}{side}"] = items[0] if alone else items
        names.setdefault(f"x{side}", items[0] if alone else items)
    return names


def _outputs(codes: tuple[ProgramCode, ProgramCode]) -> dict[str, OutputTerm]:
    return {f"{OUT}{side}": OutputTerm(code, side) for side, code in enumerate(codes, 1)}


def _equal_outputs(codes: tuple[ProgramCode, ProgramCode]) -> Assertion:
    one, two = _outputs(codes).values()
    return one.is_output(two)


def _question(
    codes: tuple[ProgramCode, ProgramCode], pre: str, post: str | None, cost: DerivationCost
) -> str:
    price = f"({cost.epsilon}, {cost.delta})"
    after = "out<1> == out<2>" if post is None else post
    return f"{{{pre}}} {codes[0].function} ~{price} {codes[1].function} {{{after}}}"


def _sizes(pre: Assertion, post: Assertion, given: list[Fraction]) -> tuple[Fraction, ...]:
    """Shifts worth trying: none, then the constants of both conditions and twice those of `pre`.

    (A noise that has to make up for two differences, its own and another's, moves by twice one.)
    """
    found = {abs(v) for v in (*_constants(pre), *_constants(post), *given)} - {ZERO}
    twice = {2 * abs(v) for v in _constants(pre)} - {ZERO}
    return (ZERO, *sorted(found | twice))


def _constants(assertion: Assertion) -> Iterator[Fraction]:
    if isinstance(assertion, LinearInequality):
        yield assertion.constant
    else:
        for part in assertion.parts:
            yield from _constants(part)


def _derived(
    codes: tuple[ProgramCode, ProgramCode],
    pre: Assertion,
    post: Assertion,
    cost: DerivationCost,
    sizes: tuple[Fraction, ...],
) -> dict[str, Any] | None:
    """A certificate that the kernel accepts, or None."""
    for node in _candidates(codes, pre, post, cost, sizes):
        one, two = codes
        goal = Goal(one.program, two.program, post)
        try:
            shown = Derivations().check(node, goal, "derivation")
        except Invalid:
            continue
        proof = proof_of(pre, shown.pre)
        if proof is None or shown.epsilon > cost.epsilon or shown.delta > cost.delta:
            continue
        certificate = {
            "format": FORMAT,
            "method": "judgment",
            "skeletons": [[s.container, list(s.types)] for s in one.table],
            "first": _side(one),
            "second": _side(two),
            "pre": assertion_json(pre),
            "post": assertion_json(post),
            "epsilon": str(cost.epsilon),
            "delta": str(cost.delta),
            "derivation": node,
            "proof": proof,
        }
        return sealed(certificate)
    return None


def _side(code: ProgramCode) -> dict[str, Any]:
    return {
        "function": code.function,
        "source": code.source,
        "inputs": list(code.inputs),
        "code": program_json(code.program),
    }


def _candidates(
    codes: tuple[ProgramCode, ProgramCode],
    pre: Assertion,
    post: Assertion,
    cost: DerivationCost,
    sizes: tuple[Fraction, ...],
) -> Iterator[Node]:
    """Derivations to try: of the whole, pointwise, and by cases of the precondition."""

    def quick(given: Assertion) -> Node | None:
        return _searched(codes, given, post, cost, sizes, 1)

    def each(given: Assertion) -> Node | None:
        return pointwise(codes, given, post, cost, sizes, _searched)

    def whole(given: Assertion) -> Node | None:
        return _searched(codes, given, post, cost, sizes)

    for way in (quick, each, whole):
        found = way(pre)
        if found is not None:
            yield found
    for way in (quick, each, whole):
        found = _by_cases(pre, list(_splits(pre, codes)), way)
        if found is not None:
            yield found


def _searched(
    codes: tuple[ProgramCode, ProgramCode],
    pre: Assertion,
    post: Assertion,
    cost: DerivationCost,
    sizes: tuple[Fraction, ...],
    most_moves: int = _MOST_MOVES,
) -> Node | None:
    one, two = codes
    hand = Hand((), ()).with_(pre)
    for moves in range(most_moves + 1):
        search = DerivationSearch(post, sizes, looped)
        try:
            found = search.derive(ProgramPair(one.program, two.program, {}, hand, cost, moves))
        except Exhausted:
            return None
        if found is not None:
            return found
    return None


def _splits(pre: Assertion, codes: tuple[ProgramCode, ProgramCode]) -> Iterator[Assertion]:
    """Cases worth telling apart: the disjuncts of the precondition, then which input is larger."""
    parts = pre.parts if isinstance(pre, All) else (pre,)
    for part in parts:
        if isinstance(part, Some):
            yield from part.parts[:-1]
    one, two = codes
    if len(one.inputs) == len(two.inputs) <= 2:
        for left, right in zip(one.inputs, two.inputs, strict=True):
            apart = variable(f"{left}<1>").plus(variable(f"{right}<2>"), Fraction(-1))
            yield at_least_zero(apart)


def _by_cases(
    pre: Assertion, splits: list[Assertion], way: Callable[[Assertion], Node | None]
) -> Node | None:
    """One derivation for each combination of the cases."""
    if not splits or len(splits) > 6:
        return None
    test, rest = splits[0], splits[1:]
    node: Node = {"rule": "case", "test": assertion_json(test)}
    for key, part in (("yes", test), ("no", negated(test))):
        given = all_of(pre, part)
        if proof_of(given, Some(())) is not None:
            node[key] = {"rule": "absurd"}
            continue
        found = way(given)
        if found is None:
            found = _by_cases(given, rest, way)
        if found is None:
            return None
        node[key] = found
    return node
