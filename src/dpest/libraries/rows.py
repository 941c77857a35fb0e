"""What is audited of each library: its mechanisms and typical queries, with the glue as it is run.

The glue is text because the table shows it: what is shown is what was executed. It makes `f`, a
Mechanism with its claim, in at most two lines. `why` says what causes a violation or a finding
that is expected; a row that is violated without one fails the benchmark.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LibraryRow:
    """One mechanism or query, and the pair of inputs that it is run on."""

    library: str
    name: str
    glue: str
    x: Any
    x2: Any
    claim: str = ""  # as it is typed, where the library states none that the adapter can read
    why: str = ""  # the cause, if the claim does not hold
    doubles: str = ""  # the cause, if the machine's doubles leak

    @property
    def label(self) -> str:
        return f"{self.library}: {self.name}"


@dataclass(frozen=True)
class Library:
    """A package by its name on PyPI, what the glue of its rows imports, and what it needs."""

    package: str
    imports: str
    needs: str = ""


LIBRARIES = (
    Library("opendp", "import opendp.prelude as dp; dp.enable_features('contrib')"),
    Library(
        "diffprivlib", "from diffprivlib import mechanisms as m, models, tools", "scikit-learn<1.9"
    ),
    Library(
        "python-dp",
        "from pydp.algorithms import laplacian, numerical_mechanisms as numerical",
    ),
    Library("pipeline-dp", "import pipeline_dp as pdp"),
    Library("smartnoise-sql", "import snsql", "pandas<3"),
    Library(
        "tmlt.core",
        "from tmlt.core.measurements import noise_mechanisms as noise\n"
        "from tmlt.core.domains.numpy_domains import NumpyFloatDomain, NumpyIntegerDomain",
        "numpy<2",
    ),
    Library("tmlt.analytics", "from tmlt.analytics import KeySet, QueryBuilder", "numpy<2, Java"),
    Library("opacus", "import opacus, torch", "torch, the build for the CPU"),
    Library("jax-privacy", "import jax_privacy"),
)

_TEXTBOOK = (
    "the noise is sampled in floating point and added to the value: the low bits of the result "
    "depend on the value (Mironov, 2012)"
)
_GRID = (
    "the noise lies on a grid (multiples of 2^-53 at this scale) that is finer than the spacing of "
    "doubles of its size, so that the rounding of noise and sum to doubles shows: of the results "
    "below 1/2, one in two is a multiple of 2^-52 for the value 0, and three in four for 1"
)
_CLASSES = (
    "the classes are taken from the labels of the data (`np.unique(y)` in fit), so that a "
    "label that only one record has shows in what is released, without noise"
)
_LOWER_TWICE = (
    "`_construct_regression_obj` computes the sensitivity of a squared feature as "
    "max(|lower|, |lower|)²: the lower bound is used twice, the upper one not at all. With "
    "bounds [0, 1] the sensitivity is taken for 0, and no noise is added"
)
_INTERCEPT = (
    _LOWER_TWICE + "; with an intercept the bounds are moved by the noisy means first, so that the "
    "sensitivity is too small on some draws of noise and not on others"
)
_NUMBER = ([0.0], [1.0])
_WHOLE = ([0], [1])
_BITS = "[1.0, 0.0, 1.0, 1.0, 0.0, 1.0]"
_TEN = "[0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]"
_TEN2 = "[10.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]"
_LESS = "[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]"
_FLOATS = "dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()"
_OpenDPRow = tuple[str, str, list[Any], list[Any]]
_INTS = "dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()"


def _opendp() -> list[LibraryRow]:
    return [
        LibraryRow("opendp", name, f"f = adapters.opendp({glue})", x, x2)
        for name, glue, x, x2 in (*_opendp_mechanisms(), *_opendp_queries())
    ]


def _opendp_mechanisms() -> list[_OpenDPRow]:
    number = "dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)"
    whole = "dp.atom_domain(T=int), dp.absolute_distance(T=int)"
    vector = "dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.{}_distance(T=float)"
    return [
        ("Laplace", f"dp.m.make_laplace({number}, 1.0), 1.0", *_NUMBER),
        ("discrete Laplace", f"dp.m.make_laplace({whole}, 1.0), 1", *_WHOLE),
        ("Gaussian", f"dp.m.make_gaussian({number}, 1.0), 1.0", *_NUMBER),
        ("discrete Gaussian", f"dp.m.make_gaussian({whole}, 1.0), 1", *_WHOLE),
        ("geometric", f"dp.m.make_geometric({whole}, 1.0), 1", *_WHOLE),
        (
            "Laplace on a vector",
            f"dp.m.make_laplace({vector.format('l1')}, 1.0), 1.0",
            [0.0, 1.0],
            [0.5, 1.5],
        ),
        (
            "Gaussian on a vector",
            f"dp.m.make_gaussian({vector.format('l2')}, 1.0), 1.0",
            [0.0, 0.0],
            [0.6, 0.8],
        ),
        (
            "noisy max",
            "dp.m.make_noisy_max(dp.vector_domain(dp.atom_domain(T=float, nan=False)), "
            "dp.linf_distance(T=float), dp.max_divergence(), scale=2.0), 1.0",
            [1.0, 1.0, 1.0],
            [2.0, 0.0, 0.0],
        ),
        (
            "randomised response",
            "dp.m.make_randomized_response_bool(prob=0.75), 1",
            [True],
            [False],
        ),
        (
            "randomised response, three answers",
            "dp.m.make_randomized_response(categories=['a', 'b', 'c'], prob=0.6), 1",
            ["a"],
            ["b"],
        ),
    ]


def _opendp_queries() -> list[_OpenDPRow]:
    return [
        (
            "sum of clamped floats",
            f"({_FLOATS}) >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() "
            ">> dp.m.then_laplace(10.0)",
            [10.0, 2.0, 3.0],
            [2.0, 3.0],
        ),
        (
            "sum of clamped integers",
            f"({_INTS}) >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum() >> dp.m.then_laplace(10.0)",
            [10, 2, 3],
            [2, 3],
        ),
        (
            "count",
            f"({_FLOATS}) >> dp.t.then_count() >> dp.m.then_laplace(1.0)",
            [1.0, 2.0, 3.0],
            [1.0, 2.0],
        ),
        (
            "count by category",
            "(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()) "
            ">> dp.t.then_count_by_categories(categories=['a', 'b']) >> dp.m.then_laplace(1.0)",
            ["a", "b", "a"],
            ["b", "a"],
        ),
    ]


def _diffprivlib_mechanisms() -> list[LibraryRow]:
    one = "epsilon=1.0, sensitivity=1"
    both = "epsilon=0.5, delta=1e-3, sensitivity=1"
    made = [
        ("Laplace", f"m.Laplace({one})", *_NUMBER, _TEXTBOOK),
        ("LaplaceTruncated", f"m.LaplaceTruncated({one}, lower=-5, upper=5)", *_NUMBER, _TEXTBOOK),
        ("LaplaceFolded", f"m.LaplaceFolded({one}, lower=-5, upper=5)", *_NUMBER, _TEXTBOOK),
        (
            "LaplaceBoundedDomain",
            f"m.LaplaceBoundedDomain({one}, lower=-5, upper=5)",
            *_NUMBER,
            _TEXTBOOK,
        ),
        ("LaplaceBoundedNoise", f"m.LaplaceBoundedNoise({both})", *_NUMBER, _TEXTBOOK),
        ("Gaussian", f"m.Gaussian({both})", *_NUMBER, _TEXTBOOK),
        ("GaussianAnalytic", f"m.GaussianAnalytic({both})", *_NUMBER, _TEXTBOOK),
        ("GaussianDiscrete", f"m.GaussianDiscrete({both})", *_WHOLE, ""),
        ("Staircase", f"m.Staircase({one})", *_NUMBER, _TEXTBOOK),
        ("Uniform", "m.Uniform(delta=0.1, sensitivity=1)", *_NUMBER, _TEXTBOOK),
        ("Snapping", f"m.Snapping({one}, lower=-5, upper=5)", *_NUMBER, ""),
        ("Geometric", f"m.Geometric({one})", *_WHOLE, ""),
        ("GeometricTruncated", f"m.GeometricTruncated({one}, lower=0, upper=9)", *_WHOLE, ""),
        ("GeometricFolded", f"m.GeometricFolded({one}, lower=0, upper=9)", *_WHOLE, ""),
        ("Binary", "m.Binary(epsilon=1.0, value0='no', value1='yes')", ["no"], ["yes"], ""),
    ]
    return [
        LibraryRow("diffprivlib", n, f"f = adapters.diffprivlib({glue})", x, x2, doubles=cause)
        for n, glue, x, x2, cause in made
    ]


def _diffprivlib_selection() -> list[LibraryRow]:
    glue = (
        "choose = lambda x: m.{}(epsilon=1.0, sensitivity=1, utility=x).randomise()\n"
        "f = adapters.plain(choose, epsilon=1.0)"
    )
    return [
        LibraryRow("diffprivlib", name, glue.format(name), [2.0, 1.0, 0.0], [1.0, 2.0, 1.0])
        for name in ("Exponential", "PermuteAndFlip")
    ]


def _diffprivlib_tools() -> list[LibraryRow]:
    bounded = "epsilon=1.0, bounds=(0, 10)"
    replaced = (ast.literal_eval(_TEN), ast.literal_eval(_TEN2))
    removed = (ast.literal_eval(_TEN), ast.literal_eval(_LESS))
    made = [
        ("count_nonzero", "tools.count_nonzero, epsilon=1.0", *replaced, ""),
        ("mean", f"tools.mean, {bounded}", *replaced, _TEXTBOOK),
        ("sum", f"tools.sum, {bounded}", *replaced, _TEXTBOOK),
        ("var", f"tools.var, {bounded}", *replaced, _TEXTBOOK),
        ("std", f"tools.std, {bounded}", *replaced, _TEXTBOOK),
        ("median", f"tools.median, {bounded}", *replaced, _TEXTBOOK),
        ("quantile", f"tools.quantile, quant=0.25, {bounded}", *replaced, _TEXTBOOK),
        ("histogram", "tools.histogram, epsilon=1.0, bins=4, range=(0, 10)", *removed, ""),
    ]
    return [
        LibraryRow(
            "diffprivlib", f"tools.{n}", f"f = adapters.diffprivlib({glue})", x, x2, doubles=cause
        )
        for n, glue, x, x2, cause in made
    ]


def _diffprivlib_models() -> list[LibraryRow]:
    box = "epsilon=1.0, bounds=([0, 0], [1, 1])"
    lines = "epsilon=1.0, bounds_X=([0, 0], [1, 1]), bounds_y=(0, 1)"
    labelled = [[0.1, 0.2, 0], [0.3, 0.4, 0], [0.5, 0.5, 1], [0.9, 0.8, 1]]
    other = [*labelled[:3], [0.9, 0.8, 2]]
    moved = [*labelled[:3], [0.0, 0.0, 1]]
    points = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.5]]
    points2 = [[1.0, 1.0, 1.0], *points[1:]]
    learnt = "released=['theta_', 'var_', 'class_count_']"
    return [
        LibraryRow(
            "diffprivlib",
            "GaussianNB, a label that is new",
            f"f = adapters.diffprivlib(models.GaussianNB, {box}, {learnt})",
            labelled,
            other,
            why=_CLASSES,
            doubles=_CLASSES,
        ),
        LibraryRow(
            "diffprivlib",
            "GaussianNB, labels that are known",
            f"f = adapters.diffprivlib(models.GaussianNB, {box}, {learnt})",
            labelled,
            moved,
            doubles=_TEXTBOOK,
        ),
        LibraryRow(
            "diffprivlib",
            "LinearRegression without intercept",
            f"f = adapters.diffprivlib(models.LinearRegression, {lines}, fit_intercept=False, "
            "released=['coef_'])",
            points,
            points2,
            why=_LOWER_TWICE,
            doubles=_TEXTBOOK,
        ),
        LibraryRow(
            "diffprivlib",
            "LinearRegression",
            f"f = adapters.diffprivlib(models.LinearRegression, {lines}, released=['coef_'])",
            points,
            points2,
            why=_INTERCEPT,
            doubles=_TEXTBOOK,
        ),
        LibraryRow(
            "diffprivlib",
            "StandardScaler",
            f"f = adapters.diffprivlib(models.StandardScaler, {box}, released=['mean_', 'var_'])",
            [row[:2] for row in points],
            [row[:2] for row in points2],
            doubles=_TEXTBOOK,
        ),
    ]


def _python_dp() -> list[LibraryRow]:
    whole = ([10, 2, 3, 4, 5], [2, 3, 4, 5])
    floats = ([10.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0])
    bounds = "lower_bound=0, upper_bound=10"
    made = [
        ("Count", "laplacian.Count, dtype='int'", whole),
        ("BoundedSum of integers", f"laplacian.BoundedSum, {bounds}, dtype='int'", whole),
        ("BoundedSum of floats", f"laplacian.BoundedSum, {bounds}, dtype='float'", floats),
        ("BoundedMean", f"laplacian.BoundedMean, {bounds}, dtype='float'", floats),
        ("BoundedVariance", f"laplacian.BoundedVariance, {bounds}, dtype='float'", floats),
        (
            "BoundedStandardDeviation",
            f"laplacian.BoundedStandardDeviation, {bounds}, dtype='float'",
            floats,
        ),
        ("Max", f"laplacian.Max, {bounds}, dtype='int'", whole),
        ("Min", f"laplacian.Min, {bounds}, dtype='int'", whole),
        ("Median", f"laplacian.Median, {bounds}, dtype='int'", whole),
    ]
    rows = [LibraryRow("python-dp", n, f"f = adapters.pydp({glue})", *xs) for n, glue, xs in made]
    laplace = (
        "noise = numerical.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)\n"
        "f = adapters.plain(lambda x: noise.add_noise(x[0]), epsilon=1.0)"
    )
    gaussian = (
        "noise = numerical.GaussianMechanism(epsilon=0.5, delta=1e-3, sensitivity=1.0)\n"
        "f = adapters.plain(lambda x: noise.add_noise(x[0]), epsilon=0.5, delta=1e-3)"
    )
    return [
        LibraryRow("python-dp", "LaplaceMechanism", laplace, *_NUMBER),
        LibraryRow("python-dp", "GaussianMechanism", gaussian, *_NUMBER, doubles=_GRID),
        *rows,
    ]


def _pipeline_dp() -> list[LibraryRow]:
    data = [[1, "a", 0.5], [2, "a", 0.7], [3, "b", 1.0], [4, "a", 1.0]]
    less = data[:3]
    bounds = "min_value=0, max_value=1"
    public = "partitions=['a', 'b']"
    gaussian = "delta=1e-3, noise_kind=pdp.NoiseKind.GAUSSIAN"
    empty = (
        "the engine raises ValueError (`col must be non-empty`) on an empty collection: whether "
        "anybody is in the data shows without noise. An exception that is not shown to the "
        "analyst releases nothing"
    )
    made = [
        ("COUNT", f"['COUNT'], {public}", data, less, ""),
        ("SUM", f"['SUM'], {public}, {bounds}", data, less, ""),
        ("MEAN", f"['MEAN'], {public}, {bounds}", data, less, ""),
        ("VARIANCE", f"['VARIANCE'], {public}, {bounds}", data, less, ""),
        ("PRIVACY_ID_COUNT", f"['PRIVACY_ID_COUNT'], {public}", data, less, ""),
        ("COUNT and SUM", f"['COUNT', 'SUM'], {public}, {bounds}", data, less, ""),
        ("COUNT, Gaussian", f"['COUNT'], {public}, {gaussian}", data, less, ""),
        ("COUNT, private partitions", "['COUNT'], delta=1e-2", data, less, ""),
        ("COUNT, no data", "['COUNT'], partitions=['a']", data[:1], [], empty),
    ]
    return [
        LibraryRow(
            "pipeline-dp",
            n,
            f"f = adapters.pipeline_dp({glue})",
            x,
            x2,
            why=cause,
            doubles=cause or (_GRID if "GAUSSIAN" in glue else ""),
        )
        for n, glue, x, x2, cause in made
    ]


def _smartnoise() -> list[LibraryRow]:
    data = [[i, 30 + i % 20, "ab"[i % 2]] for i in range(40)] + [[40, 100, "a"]]
    columns = (
        "columns = {'id': {'type': 'int', 'private_id': True}, "
        "'age': {'type': 'int', 'lower': 0, 'upper': 100}, 'city': {'type': 'string'}}"
    )
    made = [
        ("COUNT(*)", "SELECT COUNT(*) AS n FROM S.T"),
        ("COUNT(DISTINCT id)", "SELECT COUNT(DISTINCT id) AS n FROM S.T"),
        ("SUM", "SELECT SUM(age) AS n FROM S.T"),
        ("AVG", "SELECT AVG(age) AS n FROM S.T"),
        ("VAR", "SELECT VAR(age) AS n FROM S.T"),
        ("COUNT by group", "SELECT city, COUNT(*) AS n FROM S.T GROUP BY city"),
    ]
    return [
        LibraryRow(
            "smartnoise-sql",
            n,
            f"{columns}\nf = adapters.smartnoise({query!r}, columns)",
            data,
            data[:-1],
        )
        for n, query in made
    ]


def _tumult() -> list[LibraryRow]:
    core = [
        ("AddGeometricNoise", "noise.AddGeometricNoise(alpha=1)", *_WHOLE),
        (
            "AddLaplaceNoise",
            "noise.AddLaplaceNoise(NumpyFloatDomain(), scale=1)",
            *_NUMBER,
        ),
        ("AddDiscreteGaussianNoise", "noise.AddDiscreteGaussianNoise(sigma_squared=1)", *_WHOLE),
        (
            "AddGaussianNoise",
            "noise.AddGaussianNoise(NumpyFloatDomain(), sigma_squared=1)",
            *_NUMBER,
        ),
    ]
    rows = [
        LibraryRow("tmlt.core", n, f"f = adapters.tumult_measurement({glue}, 1)", x, x2)
        for n, glue, x, x2 in core
    ]
    data = [[1, "x"], [2, "y"], [10, "x"]]
    keys = "KeySet.from_dict({'b': ['x', 'y']})"
    queries = [
        ("count", "count()", ""),
        ("sum", "sum('a', 0, 10)", ""),
        ("average", "average('a', 0, 10)", ""),
        ("count by group", f"groupby({keys}).count()", ""),
        ("sum by group", f"groupby({keys}).sum('a', 0, 10)", ""),
        ("count, zCDP", "count()", ", rho=0.5"),
    ]
    return rows + [
        LibraryRow(
            "tmlt.analytics",
            n,
            f"f = adapters.tumult(lambda: QueryBuilder('t').{query}, columns=['a', 'b']{more})",
            data,
            data[:-1],
        )
        for n, query, more in queries
    ]


def _training() -> list[LibraryRow]:
    rest = [[0.0, 0.0, 0.0, 0.0] for _ in range(4)]
    canary = [*rest, [0.0, 0.0, 10.0, 1.0]]
    mean = (
        "the noisy sum of gradients is divided by the size of the batch (`expected_batch_size`), "
        "which is the number of records where a script passes `len(data)`: the deviation of the "
        "noise that comes out is 1/4 without the canary and 1/5 with it"
    )
    return [
        LibraryRow(
            "opacus",
            "one step, mean loss, the batch is the data",
            "f = adapters.opacus(3)",
            rest,
            canary,
            why=mean,
            doubles=mean,
        ),
        LibraryRow(
            "opacus",
            "one step, sum loss",
            "f = adapters.opacus(3, reduction='sum')",
            rest,
            canary,
        ),
        LibraryRow(
            "opacus",
            "one step, sum loss, more noise",
            "f = adapters.opacus(3, reduction='sum', sigma=2.0)",
            rest,
            canary,
        ),
        LibraryRow("jax-privacy", "one step", "f = adapters.jax_privacy(3)", rest, canary),
        LibraryRow(
            "jax-privacy",
            "one step, more noise",
            "f = adapters.jax_privacy(3, sigma=2.0)",
            rest,
            canary,
        ),
    ]


def all_rows() -> list[LibraryRow]:
    """Every row, in the order of the table."""
    return [
        *_opendp(),
        *_diffprivlib_mechanisms(),
        *_diffprivlib_selection(),
        *_diffprivlib_tools(),
        *_diffprivlib_models(),
        *_python_dp(),
        *_pipeline_dp(),
        *_smartnoise(),
        *_tumult(),
        *_training(),
    ]
