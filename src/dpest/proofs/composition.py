"""Programs that call proved mechanisms: their budgets add up (the sequence rule of apRHL).

The program runs with a token in place of the data: all that it can do with the token is to hand it
to one of the proved mechanisms. What these release is opaque and free to use; a branch on it is
followed both ways. On every path the costs of the calls add up; the worst path counts.
"""

from __future__ import annotations

import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.declaration import Mechanism, as_mechanism
from dpest.errors import RefusedError
from dpest.inputs.adjacency import Adjacency, parse_adjacency
from dpest.program.unit import Unit
from dpest.proofs import certificates, checker
from dpest.proofs.proof import Proof

_MOST_PATHS = 256


class Data:
    """The private data: only a proved mechanism may look at them."""

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise RefusedError(
            "the program itself looks at the data: only the proved mechanisms may be given them"
        )

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __add__ = __radd__ = _refused
    __sub__ = __mul__ = __float__ = __int__ = __lt__ = __gt__ = __array__ = _refused


class _Run:
    def __init__(self, prefix: list[bool]) -> None:
        self.prefix = prefix
        self.taken: list[bool] = []
        self.calls: list[tuple[int, Fraction]] = []

    def decide(self) -> bool:
        at = len(self.taken)
        self.taken.append(self.prefix[at] if at < len(self.prefix) else True)
        return self.taken[-1]


class Released:
    """Something that was released: whatever is computed from it is released, too."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def _more(self, *_: Any, **__: Any) -> Released:
        return Released(self._run)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _more
    __rtruediv__ = __neg__ = __abs__ = __getitem__ = __lt__ = __le__ = __gt__ = __ge__ = _more
    __call__ = __pow__ = __mod__ = __floordiv__ = __round__ = __and__ = __or__ = __invert__ = _more

    def __eq__(self, other: object) -> Any:
        return Released(self._run)

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Released(self._run)

    def __bool__(self) -> bool:
        return self._run.decide()

    def __iter__(self) -> Any:
        raise RefusedError("a loop over a release: its length is not known here")


def compose(
    program: Callable[..., Any] | Mechanism,
    parts: Mapping[Any, Proof],
    *,
    adjacency: Adjacency | str,
    params: Mapping[str, Any] | None = None,
    unit: str | None = None,
) -> Proof:
    """The bound of a program from the proofs of the mechanisms that it calls.

    `parts` maps each mechanism (the function or the Mechanism that the program names) to its
    proof. A call may scale the unit: `laplace(x, rng, eps=eps / 2)` costs half of the proved bound.
    """
    target = as_mechanism(program).with_params(params)
    rule = parse_adjacency(adjacency)
    proofs = list(parts.values())
    for proof in proofs:
        if proof.epsilon is None or proof.certificate is None or proof.measure.kind != "epsilon":
            raise RefusedError(f"a part without a proof of pure ε: {proof.summary()}")
        if (proof.adjacency.name, proof.adjacency.radius) != (rule.name, rule.radius):
            raise RefusedError(
                f"{proof.mechanism} was proved for {proof.adjacency}, not for {rule}"
            )
    units = {p.unit for p in proofs}
    if len(units) > 1:
        raise RefusedError(f"the parts are proved in different units: {sorted(map(str, units))}")
    part_unit = units.pop() if units else None
    values = target.all_params
    own = unit or next((n for n in (part_unit, "eps", "epsilon") if n in values), None)
    paths = _paths(target, dict(zip(parts, proofs, strict=True)), own, part_unit)
    epsilon = max(
        (sum((s * (proofs[i].epsilon or 0) for i, s in path), Fraction(0)) for path in paths),
        default=Fraction(0),
    )
    certificate = _certificate(target, proofs, paths, epsilon, rule, part_unit)
    checker.check(certificate)
    base = proofs[0]
    lengths = {p.length for p in proofs}
    return replace(
        base,
        mechanism=target.name,
        bound=epsilon,
        status="upper bound",
        method="composition",
        claim=target.claim,
        claimed=None,
        lower=None,
        certificate=certificate,
        unit=own if part_unit else None,
        length=base.length if len(lengths) == 1 else min(x for x in lengths if isinstance(x, int)),
        notes=("costs of the calls add up; post-processing is free",),
        words=None,
    )


def _paths(
    target: Mechanism, parts: Mapping[Any, Proof], unit: str | None, part_unit: str | None
) -> list[list[tuple[int, Fraction]]]:
    found: list[list[tuple[int, Fraction]]] = []
    pending: list[list[bool]] = [[]]
    while pending:
        prefix = pending.pop()
        if len(found) >= _MOST_PATHS:
            raise RefusedError("the program has too many branches on what was released")
        run = _Run(prefix)
        data, rng = Data(), object()
        names = dict(target.function.__globals__)
        closure = inspect.getclosurevars(target.function).nonlocals
        for place, part in enumerate(parts):
            call = _call(place, as_mechanism(part), run, data, rng, part_unit)
            for name, value in {**names, **closure}.items():
                if value is part or (isinstance(value, Mechanism) and value == part):
                    names[name] = call
        function = types.FunctionType(target.function.__code__, names, target.name)
        if target.function.__closure__:
            raise RefusedError("a program that closes over variables: define it at the top level")
        arguments = {**target.all_params, **({unit: Unit()} if unit else {})}
        function(data, rng=rng, **arguments)
        found.append(run.calls)
        for at in range(len(prefix), len(run.taken)):
            pending.append([*run.taken[:at], not run.taken[at]])
    return found


def _call(
    place: int, part: Mechanism, run: _Run, data: Data, rng: Any, unit: str | None
) -> Callable[..., Any]:
    signature = inspect.signature(part.function)

    def call(*args: Any, **options: Any) -> Released:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        first = next(iter(bound.arguments.values()))
        if first is not data or bound.arguments.get("rng") is not rng:
            raise RefusedError(f"{part.name} must be given the program's own data and rng")
        scale = Fraction(1)
        for name, value in list(bound.arguments.items())[1:]:
            if name == "rng":
                continue
            if isinstance(value, Released):
                raise RefusedError(
                    f"{part.name} is called with a released value for {name}: its proof is for one "
                    "value of it"
                )
            if name == unit:
                if not isinstance(value, Unit) or value.power != 1 or value.factor <= 0:
                    raise RefusedError(f"{part.name}: {name} must be a multiple of the unit")
                scale = value.factor
            elif value != part.all_params.get(name, value):
                raise RefusedError(f"{part.name} was proved for another value of {name}")
        run.calls.append((place, scale))
        return Released(run)

    return call


def _certificate(
    target: Mechanism,
    proofs: list[Proof],
    paths: list[list[tuple[int, Fraction]]],
    epsilon: Fraction,
    adjacency: Adjacency,
    unit: str | None,
) -> dict[str, Any]:
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(target.function)))
    first = proofs[0].certificate
    assert first is not None
    body = {
        "format": certificates.FORMAT,
        "mechanism": target.name,
        "source": source,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "parameters": {k: repr(v) for k, v in target.all_params.items()},
        "unit": unit,
        "adjacency": first["adjacency"],
        "length": first["length"],
        "method": "composition",
        "epsilon": str(epsilon),
        "parts": [p.certificate for p in proofs],
        "paths": [[[i, str(scale)] for i, scale in path] for path in paths],
    }
    return certificates.sealed(body)
