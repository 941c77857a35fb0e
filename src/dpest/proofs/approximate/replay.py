"""The untouched function against its model: the same draws, the same ways, the same output."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import ReplayError
from dpest.proofs.approximate.comparison import OutputComparison
from dpest.proofs.approximate.recorder import Recorder
from dpest.proofs.approximate.run_draws import Different
from dpest.proofs.approximate.run_values import RunValues
from dpest.proofs.approximate.sample_data import (
    as_argument,
    random_records,
    sample_lengths,
    special_records,
)
from dpest.proofs.conformance import call
from dpest.reading.contributions.forms import Raised
from dpest.reading.contributions.reading import Data, PublicWay
from dpest.reading.scripted import ScriptStage, StandIns

TRIALS = 30
_ADVICE = (
    "A mechanism must depend on its input, its parameters and `rng` alone, and treat numbers alike "
    "whatever their type"
)


def replay(
    mechanism: Mechanism, ways: Sequence[PublicWay], data: Data, constants: Sequence[float]
) -> tuple[str, ...]:
    """Raises ReplayError where a run and the model differ; what is to be said comes back."""
    source = random.Random(17)
    lengths = [data.length] if data.length is not None else sample_lengths(constants)
    stage = ScriptStage()
    found = StandIns(stage, mechanism.function, [n for way in ways for n in way.namespaces])
    with found.in_place() as rng:
        runs = _ReplayedRuns(mechanism, ways, data, stage, rng)
        for trial in range(max(TRIALS, len(lengths))):
            length = lengths[trial % len(lengths)]
            runs.replay(random_records(data, length, source, constants, trial), trial)
        for trial, records in enumerate(special_records(data, ways, source, constants)):
            runs.replay(records, trial)
        if data.length is None and not data.replace:
            try:
                runs.replay([], TRIALS)
            except ReplayError:
                return (
                    "the bound is for data sets of at least one record: none at all is special",
                )
    return ()


@dataclass
class _ReplayedRuns:
    """The runs of one replay; `types`: those of what the runs so far gave, which must not change.

    A way is known by its place among the ways, a value by its path in the output.
    """

    mechanism: Mechanism
    ways: Sequence[PublicWay]
    data: Data
    stage: ScriptStage
    generator: object
    types: dict[tuple[int, str], str] = field(default_factory=dict)

    def replay(self, records: list[dict[Any, Any]], trial: int) -> None:
        """One run, which exactly one way must fit."""
        rng = Recorder(1000 + trial)
        self.stage.script = rng
        given = as_argument(self.data, records)
        output = self._output(given)
        fitting, other = 0, None
        for place, way in enumerate(self.ways):
            try:
                run = RunValues(way, self.data, records, rng)
            except Different as reason:
                other = reason  # a way with other draws; this run's own must fit
                continue
            try:
                if all(run.holds(t) for t in way.decided):
                    fitting += 1
                    self._compare(place, run, output)
            except Different as reason:
                raise ReplayError(
                    f"the function is not what was read of it: {reason}, on {given!r}", _ADVICE
                ) from None
        if fitting != 1:
            why = f"{fitting} ways fit a run" if fitting or other is None else str(other)
            raise ReplayError(
                f"the function is not what was read of it: {why} on {given!r}", _ADVICE
            )

    def _output(self, given: Any) -> Any:
        """What the function gives, or the exception that it raises where some way does so."""
        try:
            with np.errstate(all="ignore"):
                if not self.mechanism.black_box:
                    return call(self.mechanism, given, self.generator)
                result = self.mechanism.function(given, **self.mechanism.params)
                return list(result) if inspect.isgenerator(result) else result
        except ReplayError:
            raise
        except Exception as error:
            if not any(isinstance(way.output, Raised) for way in self.ways):
                raise ReplayError(
                    f"the function raises {type(error).__name__} ({error}) on {given!r}", _ADVICE
                ) from error
            return Raised(error)

    def _compare(self, place: int, run: RunValues, output: Any) -> None:
        comparison = OutputComparison(run)
        comparison.compare(run.way.output, output)
        run.draws.finish(run.uniforms_read())
        for path, kind in comparison.types.items():
            before = self.types.setdefault((place, path), kind)
            if before != kind:
                raise Different(
                    f"the type of what it gives is {kind} here, and {before} on other data: a "
                    "receiver sees that, and float(…) around it makes them alike"
                )
