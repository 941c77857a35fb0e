"""The public verbs: audit, exact, distribution, attack, prove, calibrate, assert_private.

Here the engines meet; none of them knows another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.ask.adjacency import Adjacency, any_pair, parse_adjacency
from dpest.ask.arguments import check_arguments
from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.ask.domains import ANY, Domain
from dpest.ask.input_form import as_taken
from dpest.ask.questions import resolve
from dpest.attacks.budget import Budget, Report
from dpest.campaign import attacking
from dpest.campaign.findings import Findings
from dpest.campaign.sampling import runs_to_catch
from dpest.campaign.settings import Settings
from dpest.errors import DpestError, InputError, TargetError, described
from dpest.evidence import Evidence, Measure
from dpest.notebooks import showing_progress
from dpest.notions.claims import Claim
from dpest.verdict import Verdict

if TYPE_CHECKING:
    from dpest.campaign.campaign import Campaign
    from dpest.exact.losses.loss import ExactLoss
    from dpest.exact.outputs.output import OutputDistribution
    from dpest.exact.transforms import TransformedDistribution
    from dpest.execution.runner import Runner
    from dpest.proofs.proof import Proof

Target = Callable[..., Any] | Mechanism


def audit(
    target: Target,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Claim | str | None = None,
    adjacency: Adjacency | str | None = None,
    domain: Domain | str | None = None,
    length: int | Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    alpha: float = 0.001,
    budget: Budget | str | int | None = None,
    seed: int = 0,
    engines: Sequence[str] = ("proof", "exact", "attack"),
    floating_point: bool | None = None,
    progress: Report | None = None,
    workers: int = 1,
    cluster: str | None = None,
    state: str | None = None,
    state_repair: bool = False,
    device: str = "numpy",
    patience: float = 1.0,
    isolate: bool = False,
    coq: bool = False,
) -> Verdict:
    """How private is `target`? Two bounds with all the evidence.

    What isn't given comes from the mechanism's own declaration; what was assumed is in the notes.
    Proof and exact engines come first; runs are spent on what they leave open. `alpha` is the
    chance, over the sampling, that the lower bound is too large: it pays for everything tried. (It
    is small: a verdict may stop a release. `attack` takes the 5 % of the literature.)
    `length` may be a range: the verdict is then on the largest, with how ε grows in its details.
    `floating_point` asks for the audit of the machine's doubles, a verdict of its own; None: it is
    made, briefly, for functions without `rng` that release doubles.
    Interrupted with Ctrl-C, it returns what was established so far (`details["interrupted"]`).
    Runs are made by `workers` processes or on a Dask `cluster`, and finished ones are kept in the
    file `state`; none of this changes the answer. `device` is "numpy" or one of torch ("cuda").
    Engines give up on what takes them too long, in seconds of their own computing; the notes say
    so. With a `patience` of 10 they try ten times as long. With `isolate` all of it is done in a
    copy of this process, which the code can exit, hang or fill; the verdict then has no pictures.
    With `coq` an upper bound by a certificate says whether Coq has checked it as a theorem.
    """
    given = {name: value for name, value in locals().items() if name != "target"}
    check_arguments(**given)
    _check_device(device)
    if isolate:
        from dpest.execution.own_process import in_own_process

        return in_own_process(lambda: _bare(audit(target, **{**given, "isolate": False})))
    from dpest.campaign.campaign import Campaign  # all engines: more than an attack loads

    lengths: list[int | None] = (
        list(length) if isinstance(length, Sequence) else [None if length is None else int(length)]
    )

    def at(n: int | None, runner: Runner | None, report: Report | None) -> Campaign:
        question = resolve(
            target,
            epsilon=epsilon,
            delta=delta,
            claim=claim,
            adjacency=adjacency,
            domain=domain,
            length=n,
            params=params,
        )
        settings = Settings(
            alpha=alpha,
            budget=budget,
            seed=seed,
            engines=tuple(engines),
            floating_point=floating_point,
            progress=report,
            runner=runner,
            device=device,
            patience=patience,
            coq=coq,
        )
        return Campaign(question, settings)

    with (
        showing_progress(progress) as report,
        _running(workers, cluster, state, state_repair) as runner,
        _not_leaving(target),
    ):
        if len(lengths) == 1:
            return at(lengths[0], runner, report).run()
        from dpest.growth import growth

        return growth([at(n, runner, report) for n in lengths])


def _check_device(device: str) -> None:
    """Refuse a device that isn't there before anything is done, not when it is needed."""
    if device in ("numpy", "cpu"):
        return
    import numpy as np

    from dpest.running.batch.arrays import arrays_for

    try:
        arrays_for(device, np.random.SeedSequence(0))
    except DpestError:
        raise
    except Exception as error:
        raise InputError(f"the device {device!r} can't be used: {error}") from None


def _bare(verdict: Verdict) -> Verdict:
    """Without what would run the code again."""
    return replace(verdict, picturing=None, demonstrating=None)


@contextmanager
def _not_leaving(target: Target) -> Iterator[None]:
    """Code that calls sys.exit, or raises what is no Exception, must not end its auditor."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except SystemExit as stop:
        raise TargetError(
            f"{name_of(target)} called sys.exit({stop.code!r}); a mechanism returns"
        ) from None
    except BaseException as error:
        raise TargetError(f"{name_of(target)} raised {described(error)}") from error


def name_of(target: Any) -> str:
    return str(getattr(target, "name", None) or getattr(target, "__name__", "the mechanism"))


@contextmanager
def _running(
    workers: int, cluster: str | None, state: str | None, repair: bool = False
) -> Iterator[Runner | None]:
    """A runner for the runs of an attack; none where they are made here and not kept."""
    if workers == 1 and cluster is None and state is None:
        yield None
        return
    if state is not None:
        from dpest.execution.state import check_path

        check_path(state)
    from dpest.execution.runner import open_runner

    with open_runner(workers, cluster, state, repair) as runner:
        yield runner


def exact(
    target: Target,
    x: Any,
    x2: Any,
    *,
    params: Mapping[str, Any] | None = None,
    adjacency: Adjacency | str | None = None,
    certify: bool = False,
) -> ExactLoss:
    """The exact privacy loss between two inputs; `certify=True` adds an enclosure.

    The inputs must be neighbours under `adjacency` (default: the mechanism's own; any pair of
    equal length if it states none). Raises an error that names the reason where the loss has no
    exact answer.
    """
    check_arguments(params=params, adjacency=adjacency, certify=certify)
    from dpest.exact.engine import exact_loss

    mechanism = as_mechanism(target).with_params(params)
    _neighbours(mechanism, x, x2, adjacency)
    x, x2 = as_taken(mechanism, x, x2)
    return exact_loss(mechanism, x, x2, certify=certify)


def distribution(
    target: Target, x: Any, *, params: Mapping[str, Any] | None = None
) -> OutputDistribution | TransformedDistribution:
    """The whole output distribution on one input: to look at, evaluate, plot and sample.

    Where the output is a product, a quotient, a power, a logarithm or an exponential of noises, it
    is a density by closed forms and quadrature (`exact/transforms.py`).
    """
    from dpest.exact.transforms import distribution_of

    return distribution_of(as_mechanism(target).with_params(params), x)


def attack(
    target: Target | None = None,
    x: Any = None,
    x2: Any = None,
    *,
    samples: tuple[Any, Any] | None = None,
    method: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Claim | str | None = None,
    adjacency: Adjacency | str | None = None,
    domain: Domain | str | None = None,
    length: int | None = None,
    params: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
    budget: Budget | str | int | None = None,
    seed: int = 0,
    progress: Report | None = None,
    workers: int = 1,
    cluster: str | None = None,
    state: str | None = None,
    state_repair: bool = False,
    device: str = "numpy",
    **options: Any,
) -> Evidence:
    """A lower bound from runs of the code, sound at confidence 1 − alpha.

    Without a pair it searches one first, on samples that are not used again. The method is
    "sequential" for ε, and "scores" for every other measure (ε at a δ, μ, ρ, Rényi divergences).
    Runs that were made elsewhere go in as `samples`, the outputs on either input; those are all
    that is used then.

    The method "recorded" is the grey box: a few runs, and a finding instead of a bound (standing
    `estimate`). It names each place where noise meets a value, with the sensitivity that was
    measured there.
    """
    given, free = dict(locals()), ("target", "x", "x2", "samples", "options")
    check_arguments(**{name: value for name, value in given.items() if name not in free})
    _check_device(device)
    if samples is not None:
        return _attack_samples(target, samples, epsilon, delta, claim, alpha, seed, options)
    if target is None:
        raise InputError("an attack needs a mechanism, or samples=(outputs, other outputs)")
    if (x is None) != (x2 is None):
        raise InputError("give both inputs of the pair, or none")
    question = resolve(
        target,
        epsilon=epsilon,
        delta=delta,
        claim=claim,
        adjacency=adjacency,
        domain=domain,
        length=length,
        params=params,
        find_form=x is None,
    )
    if method is None:
        method = "sequential" if question.measure == Measure() else "scores"
    if x is not None and method == "recorded":
        # NaN is no number that a neighbour is measured by, but what code does with it matters.
        _neighbours(question.mechanism, _numbers(x), _numbers(x2), question.adjacency)
    elif x is not None:
        _neighbours(question.mechanism, x, x2, question.adjacency)
        x, x2 = as_taken(question.mechanism, x, x2)
    with _running(workers, cluster, state, state_repair) as runner, _not_leaving(target):
        settings = Settings(
            alpha=alpha,
            budget=budget,
            seed=seed,
            progress=progress,
            runner=runner,
            device=device,
        )
        return attacking.attack(Findings(question, settings), method, x, x2, **options)


def _attack_samples(
    target: Any,
    samples: tuple[Any, Any],
    epsilon: float | None,
    delta: float | None,
    claim: Claim | str | None,
    alpha: float,
    seed: int,
    options: Mapping[str, Any],
) -> Evidence:
    from dpest.scoring import attack_samples, measure_of

    if target is not None:
        raise InputError("give a mechanism to run, or samples of one, not both")
    unknown = [name for name in options if name != "learn"]
    if unknown:
        raise InputError(f"samples take no option {unknown[0]!r}: they have been drawn")
    measure, limit = measure_of(claim, epsilon, delta)
    found = attack_samples(
        samples, measure=measure, alpha=alpha, seed=seed, learn=options.get("learn")
    )
    refuted = limit is not None and found.value > limit
    return found.with_(details={**found.details, "refuted_claim": refuted})


def prove(
    target: Target,
    *,
    adjacency: Adjacency | str | None = None,
    length: Any = ANY,
    params: Mapping[str, Any] | None = None,
    unit: str | None = None,
    domain: Domain | str | None = None,
    claim: Claim | str | None = None,
) -> Proof:
    """The least provable ε for all neighbouring inputs, as a rational multiple of the unit.

    For every length where the mechanism allows it; otherwise for the domain's, and it says so.
    """
    check_arguments(
        adjacency=adjacency, length=length, params=params, unit=unit, domain=domain, claim=claim
    )
    from dpest.proofs import goal_of, prove_goal

    if adjacency is None and as_mechanism(target).adjacency is None:
        raise InputError("a proof needs an adjacency: linf, l1, monotone, replace_one, …")
    question = resolve(
        target,
        adjacency=adjacency,
        domain=domain,
        length=None if length is ANY else length,
        params=params,
        unit=unit,
        claim=claim,
    )
    fallback = question.length if question.domain_assumed else None
    return prove_goal(goal_of(question, length, claim), fallback)


def _neighbours(mechanism: Mechanism, x: Any, x2: Any, adjacency: Adjacency | str | None) -> None:
    rule = parse_adjacency(adjacency) if isinstance(adjacency, str) else adjacency
    (rule or mechanism.adjacency or any_pair()).check(x, x2)


def _numbers(x: Any) -> Any:
    """The input with zeros for NaN."""
    if isinstance(x, (list, tuple)):
        return type(x)(_numbers(v) for v in x)
    return 0.0 if isinstance(x, float) and math.isnan(x) else x


def assert_private(
    target: Target,
    *,
    false_alarm: float = 1e-6,
    catches: float | None = None,
    missed: float = 0.05,
    budget: Budget | str | int | None = None,
    **question: Any,
) -> Verdict:
    """Fail (AssertionError) if the claim is refuted; for a test-suite.

    `false_alarm` is the chance that a mechanism that keeps its claim fails; it is zero where the
    exact engine or a proof decides. For code that can only be run, `catches` is a true ε that must
    not go unnoticed: enough runs are made to miss it with chance at most `missed`, if the pair is
    among those searched and the leak shows in common outputs (as Laplace noise leaks). Without it,
    the notes of the verdict say what the budget would have missed. The machine's doubles are
    audited only if asked for (`floating_point=True`). The message is the
    counterexample, with lines to replay it. Takes everything that `audit` takes.
    """
    check_arguments(false_alarm=false_alarm, catches=catches, missed=missed, budget=budget)
    if catches is not None:
        budget = _enough(target, catches, false_alarm, missed, budget, question)
    question.setdefault("floating_point", False)
    verdict = audit(target, alpha=false_alarm, budget=budget, **question)
    from dpest.assertions import check

    return check(verdict)


def _enough(
    target: Target,
    catches: float,
    false_alarm: float,
    missed: float,
    budget: Budget | str | int | None,
    question: Mapping[str, Any],
) -> Budget:
    """The budget that catches such a leak; an error if a smaller one was given."""
    stated = ("epsilon", "delta", "claim", "params")
    asked = resolve(target, find_form=False, **{k: question[k] for k in stated if k in question})
    if asked.limit is None or asked.measure != Measure():
        raise InputError("`catches` needs a claim of pure ε: give epsilon")
    runs = runs_to_catch(asked.limit, catches, false_alarm, missed)
    given = None if budget is None else Budget.of(budget)
    if given is not None and (given.runs is None or given.runs < runs):
        raise InputError(
            f"to miss ε = {catches:g} with chance at most {missed:g} takes {runs:,} runs; "
            f"the budget is {budget}"
        )
    return given if given is not None else Budget(runs=runs)


__all__ = [
    "assert_private",
    "attack",
    "audit",
    "distribution",
    "exact",
    "prove",
]
