"""The exact engine's entry points: a mechanism and inputs in, distributions and losses out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import RefusedError, UntraceableError
from dpest.exact.integration.quadrature import Floats
from dpest.exact.losses.likelihood import log_densities
from dpest.exact.losses.loss import ExactLoss, privacy_loss
from dpest.exact.losses.pairs import compare
from dpest.exact.outputs.products import agree, independent_results
from dpest.exact.outputs.templates import Template, independent_parts, shape_key
from dpest.exact.transforms import loss_of_linear_part
from dpest.reading.fixed import check_generator
from dpest.reading.paths import Trace
from dpest.running.samples import Samples


def _traced(results: Sequence[Mechanism], x: Any) -> list[Trace]:
    """Independent parts of the output: those of each result."""
    from dpest.reading.trace import trace

    return [part for result in results for part in independent_parts(trace(result, x))]


def exact_loss(
    mechanism: Any,
    x: Any,
    x2: Any,
    *,
    params: Mapping[str, Any] | None = None,
    certify: bool = False,
) -> ExactLoss:
    """The exact privacy loss of a mechanism between two inputs.

    Raises UntraceableError or RefusedError, with the reason, where the answer can't be exact.
    """
    target = as_mechanism(mechanism).with_params(params)
    try:
        return _of_paths(target, x, x2, certify)
    except UntraceableError as error:
        found = loss_of_linear_part(target, x, x2)
        if found is None:
            raise error from None
        return found


def _of_paths(target: Mechanism, x: Any, x2: Any, certify: bool) -> ExactLoss:
    results = independent_results(target, x, x2)
    first, second = _traced(results, x), _traced(results, x2)
    if len(first) != len(second):
        from dpest.reading.trace import trace

        return privacy_loss(trace(target, x), trace(target, x2), certify=certify)
    return privacy_loss(first, second, certify=certify)


class PairObjective:
    """ε of a mechanism as a function of the pair of inputs, for searches.

    Inputs of one shape share one symbolic trace where the mechanism has one; otherwise traces are
    remembered by input. A pair that can't be answered exactly raises as `exact_loss` does.

    `complete` turns False when a pair's value is a lower bound only (see `ExactLoss.complete`).
    """

    def __init__(self, mechanism: Any, *, params: Mapping[str, Any] | None = None) -> None:
        self._mechanism = as_mechanism(mechanism).with_params(params)
        self._results: dict[Any, list[Mechanism]] = {}
        self._templates: dict[Any, list[Template] | None] = {}
        self._traces: dict[str, list[Trace]] = {}
        self._values: dict[tuple[str, str], float] = {}
        self._worst: tuple[tuple[str, str], ExactLoss] | None = None
        self.complete = True

    def __call__(self, x: Any, x2: Any) -> float:
        key = (repr(x), repr(x2))
        known = self._values.get(key)
        if known is None:
            loss = self.loss(x, x2)
            self.complete = self.complete and loss.complete
            if self._worst is None or loss.epsilon > self._worst[1].epsilon:
                self._worst = (key, loss)
            known = self._values[key] = self._values[key[::-1]] = loss.epsilon
        return known

    def loss(self, x: Any, x2: Any) -> ExactLoss:
        """The whole loss of a pair; that of the worst one so far is remembered."""
        if self._worst is not None and self._worst[0] == (repr(x), repr(x2)):
            return self._worst[1]
        first, second = self._trace(x), self._trace(x2)
        if len(first) != len(second):
            return exact_loss(self._mechanism, x, x2)
        return privacy_loss(first, second)

    def densities(self, x: Any, x2: Any) -> Callable[[Samples], tuple[Floats, Floats]]:
        """Both log densities of any outputs, for whoever draws some."""
        first, second = self._trace(x), self._trace(x2)
        if len(first) != len(second):
            raise RefusedError("the outputs of the two inputs fall into different parts")
        if any(trace.leftover for trace in (*first, *second)):
            raise RefusedError("a loop without a bound was cut off: no density is complete")
        parts = [compare(p, q) for p, q in zip(first, second, strict=True)]
        return functools.partial(log_densities, parts)

    def _trace(self, x: Any) -> list[Trace]:
        key = repr(x)
        found = self._traces.get(key)
        if found is None:
            if len(self._traces) > 64:
                self._traces.pop(next(iter(self._traces)))
            found = self._traces[key] = self._fresh(x)
        return found

    def _fresh(self, x: Any) -> list[Trace]:
        shape = shape_key(x)
        if shape not in self._templates:
            results = self._results[shape] = independent_results(self._mechanism, x)
            found = []
            for result in results:  # all or none: a trace for this input serves no other
                template = Template.of(result, x)
                if template is None:
                    break
                found.append(template)
            self._templates[shape] = found if len(found) == len(results) else None
        results = self._results[shape]
        if len(results) > 1 and not agree(self._mechanism, results, x, checks=2):
            return _traced([self._mechanism], x)
        templates = self._templates[shape]
        if templates is not None:
            # A trace of numbers is held against NumPy's own generator; so is this one.
            check_generator(self._mechanism, x)
            return [part for template in templates for part in template.at(x)]
        return _traced(results, x)
