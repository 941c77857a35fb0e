"""Objects of privacy libraries as functions that dpest can audit.

Each adapter takes what a user of the library holds (a measurement, a mechanism, a tool, a query)
and returns a Mechanism: a function of one dataset, with the library's own claim where it states
one. A library is imported when its adapter is called; none is a dependency of dpest.

>>> from dpest import adapters
>>> f = adapters.plain(lambda x: x, epsilon=1.0, adjacency="add_remove_one")
>>> f.claim
PureDP(epsilon=1.0)
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpest.ask.adjacency import Adjacency, parse_adjacency
from dpest.ask.declaration import Mechanism
from dpest.notions.claims import ZCDP, ApproxDP, Claim, PureDP

Rows = Sequence[Sequence[Any]]
# A δ at which a claim of zCDP is stated as (ε, δ), so that runs can contradict it.
DELTA = 1e-3


def plain(
    function: Callable[[Any], Any],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    adjacency: Adjacency | str | None = None,
    name: str | None = None,
) -> Mechanism:
    """Any function with its claim."""
    claim = None if epsilon is None else _claim(epsilon, delta)
    rule = parse_adjacency(adjacency) if isinstance(adjacency, str) else adjacency
    shown = str(name or getattr(function, "__name__", "function"))
    return Mechanism(_one_argument(function), shown, claim=claim, adjacency=rule)


def _claim(epsilon: float, delta: float) -> Claim:
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def _one_argument(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose only parameter is the dataset: nothing that looks like `rng` or `size`."""

    def run(x: Any) -> Any:
        return function(x)

    return run


def _number(x: Any) -> Any:
    """A single number, handed in as such or as a dataset of one."""
    return x[0] if isinstance(x, (list, tuple)) else x


# OpenDP -----------------------------------------------------------------------------------------


def opendp(measurement: Any, d_in: float = 1, *, delta: float = DELTA) -> Mechanism:
    """An OpenDP measurement. The claim is what its own map says of inputs at distance `d_in`.

    A claim of zCDP is stated as the (ε, δ) that follows from it at `delta`.
    """
    metric = str(measurement.input_metric)
    kind = str(measurement.input_carrier_type)
    whole = "i" in kind.replace("Vec", "") and "f" not in kind
    single = not kind.startswith(("Vec", "HashMap"))

    def convert(x: Any) -> Any:
        cast = _cast(kind, whole)
        return cast(_number(x)) if single else [cast(v) for v in x]

    measure = str(measurement.output_measure)
    asked = float(d_in) if str(measurement.input_distance_type).startswith("f") else int(d_in)
    loss = measurement.map(asked)
    if isinstance(loss, tuple):
        claim: Claim = ApproxDP(float(loss[0]), float(loss[1]))
    elif "ZeroConcentrated" in measure:
        claim = ApproxDP(ZCDP(float(loss)).epsilon_at(delta), delta)
    else:
        claim = PureDP(float(loss))
    rule = "add_remove_one" if ("Symmetric" in metric or "InsertDelete" in metric) else None
    rule = rule or ("replace_one" if ("Change" in metric or "Hamming" in metric) else "any_pair")
    return Mechanism(
        lambda x: measurement(convert(x)),
        "OpenDP measurement",
        claim=claim,
        adjacency=parse_adjacency(rule),
    )


def _cast(kind: str, whole: bool) -> Callable[[Any], Any]:
    if "String" in kind:
        return str
    if "bool" in kind:
        return bool
    return int if whole else float


# diffprivlib ------------------------------------------------------------------------------------


def diffprivlib(
    target: Any, *, released: Sequence[str] | None = None, **settings: Any
) -> Mechanism:
    """A mechanism (an object), a tool (a function) or a model (a class) of diffprivlib.

    A mechanism randomises one number. A tool gets the dataset as an array. A model is fitted to
    rows whose last column is the target (of a classifier or a regression); what it learnt is
    released: the attributes named in `released`, by default all whose names end with "_".
    """
    warnings.filterwarnings("ignore", module="diffprivlib")
    if hasattr(target, "randomise"):
        claim = _claim(float(target.epsilon), float(target.delta))
        name = type(target).__name__
        function: Callable[[Any], Any] = lambda x: target.randomise(_number(x))  # noqa: E731
        return Mechanism(function, f"diffprivlib {name}", claim=claim)
    claim = _claim(float(settings.get("epsilon", 1.0)), float(settings.get("delta", 0.0)))
    if inspect.isclass(target):
        function = _fitted(target, released, settings)
    else:
        function = _tool(target, settings)
    return Mechanism(function, f"diffprivlib {target.__name__}", claim=claim)


def _tool(tool: Callable[..., Any], settings: Mapping[str, Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        import numpy as np

        result = tool(np.asarray(x, dtype=float), **settings)
        return result[0] if isinstance(result, tuple) else result

    return run


def _fitted(
    model: Any, released: Sequence[str] | None, settings: Mapping[str, Any]
) -> Callable[[Any], Any]:
    supervised = "y" in inspect.signature(model.fit).parameters
    needs_target = supervised and inspect.signature(model.fit).parameters["y"].default is (
        inspect.Parameter.empty
    )

    def run(rows: Any) -> Any:
        import numpy as np

        table = np.asarray(rows, dtype=float)
        made = model(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if needs_target:
                made.fit(table[:, :-1], table[:, -1])
            else:
                made.fit(table)
        names = released or sorted(
            n
            for n in vars(made)
            if n.endswith("_") and not n.startswith("_") and n != "n_features_in_"
        )
        return {n: getattr(made, n) for n in names if hasattr(made, n)}

    return run


# python-dp and PipelineDP -----------------------------------------------------------------------


def pydp(algorithm: Any, *, epsilon: float = 1.0, delta: float = 0.0, **settings: Any) -> Mechanism:
    """An algorithm of python-dp (a class): a new one for each run, on the whole dataset."""
    whole = settings.get("dtype", "int") == "int"
    given = {**settings, **({"delta": delta} if delta else {})}

    def run(x: Any) -> Any:
        made = algorithm(epsilon=epsilon, **given)
        return made.quick_result([int(v) if whole else float(v) for v in x])

    rule = parse_adjacency("add_remove_one")
    name = f"python-dp {algorithm.__name__}"
    return Mechanism(run, name, claim=_claim(epsilon, delta), adjacency=rule)


def pipeline_dp(
    metrics: Sequence[str],
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    partitions: Sequence[Any] | None = None,
    **settings: Any,
) -> Mechanism:
    """An aggregation of PipelineDP on its local backend, of rows (user, partition, value).

    `metrics` by name ("COUNT", "SUM", …); `settings` as for `AggregateParams`, with a noise kind
    of Laplace and one contribution per user by default. Without public `partitions` those of the
    data are selected privately, which needs a δ.
    """
    import pipeline_dp as library

    options = {
        "noise_kind": library.NoiseKind.LAPLACE,
        "max_partitions_contributed": 1,
        "max_contributions_per_partition": 1,
        **settings,
    }
    chosen = [_metric(library, name) for name in metrics]

    def run(rows: Any) -> Any:
        accountant = library.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
        engine = library.DPEngine(accountant, library.LocalBackend())
        extract = library.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        params = library.AggregateParams(metrics=chosen, **options)
        public = None if partitions is None else list(partitions)
        result = engine.aggregate([tuple(r) for r in rows], params, extract, public)
        accountant.compute_budgets()
        return {key: tuple(values) for key, values in sorted(result, key=lambda kv: str(kv[0]))}

    rule = parse_adjacency("add_remove_one")
    name = f"PipelineDP {', '.join(metrics)}"
    return Mechanism(run, name, claim=_claim(epsilon, delta), adjacency=rule)


def _metric(library: Any, name: str) -> Any:
    word, _, number = name.partition(":")
    found = getattr(library.Metrics, word)
    return found(int(number)) if number else found


# SmartNoise -------------------------------------------------------------------------------------


def smartnoise(
    query: str,
    columns: Mapping[str, Mapping[str, Any]],
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    **options: Any,
) -> Mechanism:
    """A query on SmartNoise's reader, of rows that become the table S.T.

    `columns` describes them in SmartNoise's own words, in order. SmartNoise spends `epsilon` on
    each noisy column of the result; the claim is what it says that the query costs in all.
    """
    import pandas as pd
    import snsql

    names = list(columns)
    table: dict[str, Any] = {**options, **{n: dict(c) for n, c in columns.items()}}
    metadata = {"": {"S": {"T": table}}}

    def reader_of(rows: Any) -> Any:
        frame = pd.DataFrame([tuple(r) for r in rows], columns=names)
        privacy = snsql.Privacy(epsilon=epsilon, delta=delta)
        return snsql.from_df(frame, metadata=metadata, privacy=privacy)

    def run(rows: Any) -> Any:
        return [list(row) for row in reader_of(rows).execute(query)[1:]]

    cost = reader_of([]).get_privacy_cost(query)
    rule = parse_adjacency("add_remove_one")
    claim = _claim(float(cost[0]), float(cost[1]))
    return Mechanism(run, "SmartNoise query", claim=claim, adjacency=rule)


# Tumult -----------------------------------------------------------------------------------------


def tumult(
    query: Any, *, columns: Sequence[str], epsilon: float = 1.0, rho: float | None = None
) -> Mechanism:
    """A query of Tumult Analytics on the table "t", of rows with these columns.

    `query` is a QueryBuilder, or a function of no argument that makes one. One row is added or
    removed. With `rho`, the budget is zCDP.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    import pandas as pd
    from tmlt import analytics

    budget = analytics.PureDPBudget(epsilon) if rho is None else analytics.RhoZCDPBudget(rho)

    def run(rows: Any) -> Any:
        spark = tumult_spark()
        frame = spark.createDataFrame(pd.DataFrame([tuple(r) for r in rows], columns=list(columns)))
        session = analytics.Session.from_dataframe(
            privacy_budget=budget,
            source_id="t",
            dataframe=frame,
            protected_change=analytics.AddOneRow(),
        )
        asked = query() if callable(query) else query
        found = session.evaluate(asked, session.remaining_privacy_budget)
        return sorted((tuple(row) for row in found.collect()), key=str)

    claim: Claim = PureDP(epsilon)
    if rho is not None:
        claim = ZCDP(rho)
    return Mechanism(run, "Tumult query", claim=claim, adjacency=parse_adjacency("add_remove_one"))


def tumult_spark() -> Any:
    """A Spark session on this machine alone, quiet and small."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def tumult_measurement(measurement: Any, d_in: Any = 1) -> Mechanism:
    """A measurement of tmlt.core on one number; the claim is its privacy function at `d_in`."""
    loss = float(measurement.privacy_function(d_in).to_float(round_up=True))
    concentrated = type(measurement.output_measure).__name__ == "RhoZCDP"
    claim: Claim = ZCDP(loss) if concentrated else PureDP(loss)
    name = f"Tumult {type(measurement).__name__}"
    return Mechanism(lambda x: measurement(_number(x)), name, claim=claim)


# Training ---------------------------------------------------------------------------------------


def opacus(
    features: int,
    *,
    sigma: float = 1.0,
    clip: float = 1.0,
    delta: float = 1e-5,
    reduction: str = "mean",
    batch_size: int | None = None,
) -> Mechanism:
    """One step of DP-SGD by Opacus on a linear model, of rows whose last column is the target.

    What is released are the weights. The claim is that of Gaussian noise of multiplier `sigma`.
    `batch_size` None: the whole dataset, as a script does that passes `len(data)`.
    """
    from dpest.notions.claims import GaussianDP

    def run(rows: Any) -> Any:
        import torch
        from opacus import PrivacyEngine

        table = torch.tensor([list(map(float, r)) for r in rows], dtype=torch.float32)
        model = torch.nn.Linear(features, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        data = torch.utils.data.TensorDataset(table[:, :-1], table[:, -1:])
        loader = torch.utils.data.DataLoader(data, batch_size=batch_size or len(table))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, optimizer, loader = PrivacyEngine().make_private(
                module=model,
                optimizer=optimizer,
                data_loader=loader,
                noise_multiplier=sigma,
                max_grad_norm=clip,
                poisson_sampling=False,
                loss_reduction=reduction,
            )
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(inputs), targets, reduction=reduction)
                loss.backward()
                optimizer.step()
        return model._module.weight.detach().numpy().ravel().tolist()

    claim = ApproxDP(math.ceil(GaussianDP(1 / sigma).epsilon_at(delta) * 1e4) / 1e4, delta)
    return Mechanism(run, "Opacus step", claim=claim, adjacency=parse_adjacency("add_remove_one"))


def jax_privacy(
    features: int, *, sigma: float = 1.0, clip: float = 1.0, delta: float = 1e-5
) -> Mechanism:
    """One step by jax-privacy on a linear model: the sum of clipped gradients, made private.

    Rows end with the target. What is released is the noisy sum.
    """
    from dpest.notions.claims import GaussianDP

    def run(rows: Any) -> Any:
        import secrets

        import jax.numpy as jnp
        import numpy as np
        from jax_privacy import clipping, noise_addition

        table = np.asarray(rows, dtype=np.float32)

        def loss(weights: Any, inputs: Any, targets: Any) -> Any:
            return jnp.sum((inputs @ weights - targets) ** 2)

        gradient = clipping.clipped_grad(loss, l2_clip_norm=clip, batch_argnums=(1, 2))
        weights = jnp.zeros(features)
        summed = gradient(weights, jnp.asarray(table[:, :-1]), jnp.asarray(table[:, -1]))
        privatizer = noise_addition.matrix_factorization_privatizer(
            jnp.eye(1), stddev=sigma * clip, prng_key=secrets.randbits(31)
        )
        noisy, _ = privatizer.update(summed, privatizer.init(weights))
        return np.asarray(noisy, dtype=float).tolist()

    claim = ApproxDP(math.ceil(GaussianDP(1 / sigma).epsilon_at(delta) * 1e4) / 1e4, delta)
    rule = parse_adjacency("add_remove_one")
    return Mechanism(run, "jax-privacy step", claim=claim, adjacency=rule)


__all__ = [
    "diffprivlib",
    "jax_privacy",
    "opacus",
    "opendp",
    "pipeline_dp",
    "plain",
    "pydp",
    "smartnoise",
    "tumult",
    "tumult_measurement",
]
