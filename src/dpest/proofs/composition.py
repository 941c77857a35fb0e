"""Programs that call proved mechanisms: their budgets add up (the sequence rule of apRHL).

The machine executes the program with a token in place of the data, which it can only hand to one of
the proved mechanisms (`.composed_calls`). What these release is opaque and free to use; a branch on
it is followed both ways. On every path the costs of the calls add up; the worst path counts.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest import kernel
from dpest.ask.adjacency import Adjacency, parse_adjacency
from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.ask.domains import ANY
from dpest.errors import RefusedError
from dpest.proofs import certificates
from dpest.proofs.composed_calls import Call, Note, ways_of
from dpest.proofs.proof import Proof
from dpest.running.places import is_user_file, source_of


def compose(
    program: Callable[..., Any] | Mechanism,
    parts: Mapping[Any, Proof] | Sequence[tuple[Any, Proof]],
    *,
    adjacency: Adjacency | str,
    params: Mapping[str, Any] | None = None,
    unit: str | None = None,
) -> Proof:
    """The bound of a program from the proofs of the mechanisms that it calls.

    `parts` maps each mechanism (the function or the Mechanism that the program names) to its
    proof, or pairs them. A call may scale the unit: `laplace(x, rng, eps=eps / 2)` costs half of
    the proved bound. Bounds on ε add up, and so do bounds on ρ of zCDP; where both occur, ε counts
    as ρ = ε²/2.
    """
    target = as_mechanism(program).with_params(params)
    rule = parse_adjacency(adjacency)
    pairs = list(parts.items() if isinstance(parts, Mapping) else parts)
    listed, proofs = [part for part, _ in pairs], [proof for _, proof in pairs]
    part_unit = _common_unit(proofs, rule)
    values = target.all_params
    own = unit or next((n for n in (part_unit, "eps", "epsilon", "rho") if n in values), None)
    paths = _paths(target, pairs, own, part_unit)
    check_releases_alone_matter(target, listed)
    squares = [p.rho is not None for p in proofs]
    power = _power(proofs, part_unit)
    bound = max((sum((_cost(proofs[i], s) for i, s in q), Fraction(0)) for q in paths), default=0)
    if any(squares):
        bound = max(
            (sum((_rho(proofs[i], s) for i, s in q), Fraction(0)) for q in paths), default=0
        )
    length = _common_length(proofs)
    certificate = _certificate(
        target, proofs, length, paths, Fraction(bound), own if part_unit else None, power
    )
    try:
        kernel.check(certificate)
    except kernel.Invalid as error:
        raise RefusedError(f"the kernel did not accept the certificate ({error})") from None
    base = next((p for p in proofs if p.rho is not None), proofs[0])
    return replace(
        base,
        mechanism=target.name,
        bound=Fraction(bound),
        status="upper bound",
        method="composition",
        claim=target.claim,
        claimed=None,
        lower=None,
        certificate=certificate,
        unit=own if part_unit else None,
        length=length,
        gaussian=all(p.gaussian for p in proofs),
        mixture=_mixture(proofs, paths) if any(squares) and not all(squares) else None,
        notes=("costs of the calls add up; post-processing is free",),
        words=None,
    )


def _common_unit(proofs: list[Proof], rule: Adjacency) -> str | None:
    """The unit of all bounds; raises where parts have no proof, or one of something else."""
    for proof in proofs:
        if proof.bound is None or proof.certificate is None:
            raise RefusedError(f"a part without a proof: {proof.summary()}")
        if (proof.adjacency.name, proof.adjacency.radius) != (rule.name, rule.radius):
            raise RefusedError(
                f"{proof.mechanism} was proved for {proof.adjacency}, not for {rule}"
            )
    units = {p.unit for p in proofs}
    if len(units) > 1:
        raise RefusedError(f"the parts are proved in different units: {sorted(map(str, units))}")
    return units.pop() if units else None


def _common_length(proofs: list[Proof]) -> Any:
    """The length that all parts are proved for: ANY, or the one that some of them name."""
    named = sorted({p.length for p in proofs if isinstance(p.length, int)})
    if len(named) > 1:
        raise RefusedError(f"the parts are proved for different lengths: {named}")
    return named[0] if named else ANY


def _power(proofs: list[Proof], unit: str | None) -> int:
    """The power of the unit in ρ; it must be one for all that is added up."""
    powers = {p.power for p in proofs if p.rho is not None}
    pure = any(p.rho is None for p in proofs)
    if powers and pure and unit is not None:
        powers.add(2)  # ε²/2
    if len(powers) > 1:
        raise RefusedError(
            "the bounds of the parts are multiples of different powers of the unit: give it a "
            "value (unit=None)"
        )
    return powers.pop() if powers else 1


def _cost(proof: Proof, scale: Fraction) -> Fraction:
    return scale**proof.power * (proof.bound or 0)


def _rho(proof: Proof, scale: Fraction) -> Fraction:
    cost = _cost(proof, scale)
    return cost if proof.rho is not None else cost * cost / 2  # ε-DP is ε²/2-zCDP


def _mixture(
    proofs: list[Proof], paths: list[list[tuple[int, Fraction]]]
) -> tuple[Fraction, Fraction, bool]:
    """The most that pure parts cost in ε on a path, and the others in ρ; are those Gaussian?"""
    found = []
    for squares in (False, True):
        sums = (
            sum((_cost(proofs[i], s) for i, s in q if (proofs[i].rho is not None) is squares))
            for q in paths
        )
        found.append(Fraction(max(sums, default=0)))
    return found[0], found[1], all(p.gaussian for p in proofs if p.rho is not None)


def calls_of(program: Mechanism, unit: str | None) -> list[tuple[Any, dict[str, Any]]]:
    """The functions that a program gives its data and generator to, with their parameters.

    Raises RefusedError where it gives them to none, or looks at the data itself.
    """
    names = {
        **program.function.__globals__,
        **inspect.getclosurevars(program.function).nonlocals,
    }
    parts = [v for v in names.values() if v is not program and _takes_rng(v)]
    used: dict[int, tuple[Any, dict[str, Any]]] = {}

    def note(part: Any, arguments: dict[str, Any]) -> None:
        if used.setdefault(id(part), (part, arguments))[1] != arguments:
            raise RefusedError(f"{as_mechanism(part).name} is called with different parameters")

    _run_all(program, parts, unit, note)
    if not used:
        raise RefusedError(f"{program.name} calls no mechanism of its own on the data")
    return list(used.values())


def _takes_rng(value: Any) -> bool:
    if isinstance(value, Mechanism):
        return not value.black_box
    if not isinstance(value, types.FunctionType) or not is_user_file(value.__code__.co_filename):
        return False
    return "rng" in value.__code__.co_varnames[: value.__code__.co_argcount + 4]


def _run_all(
    target: Mechanism, parts: Sequence[Any], unit: str | None, note: Note
) -> list[list[Call]]:
    if target.function.__closure__:
        raise RefusedError("a program that closes over variables: define it at the top level")
    return ways_of(target, parts, unit, note)


def with_parts(target: Mechanism, calls: Mapping[int, Any], parts: Sequence[Any]) -> Any:
    """The program with other functions in place of its parts."""
    names = dict(target.function.__globals__)
    for part in parts:
        for name, value in list(names.items()):
            if value is part or (isinstance(value, Mechanism) and value == part):
                names[name] = calls[id(part)]
    function = types.FunctionType(
        target.function.__code__, names, target.name, target.function.__defaults__
    )
    function.__kwdefaults__ = target.function.__kwdefaults__
    return function


def check_releases_alone_matter(target: Mechanism, parts: Sequence[Any], trials: int = 12) -> None:
    """The untouched program on other data, but with the same releases, must return the same.

    What it does with the data beyond handing them on would show: a look at their type, too.
    """
    import numpy as np

    for trial in range(trials):
        source = np.random.default_rng([17, trial])
        length = 1 + trial % 4
        x, other = (source.integers(-40, 40, length) / 8 for _ in range(2))
        log: list[Any] = []
        inner = np.random.default_rng([18, trial])
        first = {id(p): _logged(as_mechanism(p), log, inner) for p in parts}
        again = {id(p): _replayed(log) for p in parts}
        for given, changed in ((x.tolist(), other.tolist()), (x, other)):
            log.clear()
            try:
                told = with_parts(target, first, parts)(
                    given, rng=np.random.default_rng(trial), **target.all_params
                )
            except Exception as error:
                failure: Exception | None = error
                continue
            failure = None
            seen = with_parts(target, again, parts)(
                changed, rng=np.random.default_rng(trial), **target.all_params
            )
            if repr(told) != repr(seen):
                raise RefusedError(
                    "the program itself looks at the data: with the same releases it returned "
                    f"{told!r} on {given!r} and {seen!r} on {changed!r}"
                )
            break
        if failure is not None:
            raise RefusedError(f"the program can't be run on {x.tolist()}: {failure}")


def _logged(part: Mechanism, log: list[Any], inner: Any) -> Callable[..., Any]:
    """The part, with noise of its own, so that the program draws the same without it."""

    def call(*args: Any, **options: Any) -> Any:
        args = tuple(inner if isinstance(v, type(inner)) else v for v in args)
        options = {k: inner if isinstance(v, type(inner)) else v for k, v in options.items()}
        found = part.function(*args, **options)
        log.append(found)
        return found

    return call


def _replayed(log: list[Any]) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        if not log:
            raise RefusedError("the program calls its parts otherwise on other data")
        return log.pop(0)

    return call


def _paths(
    target: Mechanism,
    pairs: Sequence[tuple[Any, Proof]],
    unit: str | None,
    part_unit: str | None,
) -> list[list[tuple[int, Fraction]]]:
    listed = [part for part, _ in pairs]
    proved: dict[int, list[Mapping[str, str]]] = {}
    for part, proof in pairs:
        assert proof.certificate is not None
        proved.setdefault(id(part), []).append(proof.certificate.get("parameters", {}))

    def note(part: Any, arguments: dict[str, Any]) -> None:
        mechanism = as_mechanism(part)
        if part_unit is not None and arguments["unit"] != part_unit:
            raise RefusedError(f"{mechanism.name}: {part_unit} must be a multiple of the unit")
        for name, value in {**mechanism.all_params, **arguments["params"]}.items():
            made_for = {known.get(name, repr(value)) for known in proved[id(part)]}
            if name != part_unit and made_for != {repr(value)}:
                raise RefusedError(f"{mechanism.name} was proved for another value of {name}")

    runs = _run_all(target, listed, unit, note)
    places = {id(part): i for i, part in enumerate(listed)}
    return [[(places[id(part)], scale) for part, scale in calls] for calls in runs]


def _certificate(
    target: Mechanism,
    proofs: list[Proof],
    length: Any,
    paths: list[list[tuple[int, Fraction]]],
    epsilon: Fraction,
    unit: str | None,
    power: int,
) -> dict[str, Any]:
    source = source_of(target.function)
    first = proofs[0].certificate
    assert first is not None
    body = {
        "format": certificates.FORMAT,
        "version": certificates.VERSION,
        "mechanism": target.name,
        "source": source,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "parameters": {k: repr(v) for k, v in target.all_params.items()},
        "unit": unit,
        "adjacency": first["adjacency"],
        "length": "any" if length is ANY else length,
        "method": "composition",
        "epsilon": str(epsilon),
        "parts": [p.certificate for p in proofs],
        "paths": [[[i, str(scale)] for i, scale in path] for path in paths],
    }
    if any(p.rho is not None for p in proofs):
        body["power"] = power
    return certificates.sealed(body)
