"""The methods that can be compared, by name.

A method becomes a pipeline of three steps, ``impute``, ``scale`` and ``metric``, which
learns only from the rows it is fitted on. `register` adds a method. Importing this
module loads no numerical library: estimators are imported when a pipeline is built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray

    Seed = int | np.random.RandomState | None

TASKS = ("classification", "regression", "none")


@dataclass(frozen=True, eq=False)
class FitRequest:
    """The training rows and the user's choices, from which the steps are built."""

    X: FloatArray
    y: Any
    n_components: int | None
    random_state: Seed
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Method:
    """A method that can be compared.

    Attributes
    ----------
    name : str
        Its name everywhere.
    factory : callable
        From a `FitRequest` to the last step of the pipeline.
    summary : str
        A few words on the metric.
    tasks : tuple of str
        The kinds of target it can learn from, some of `TASKS`.
    complexity : int
        Rank by the effort to explain and to compute it: 0 for raw features, 1 for one
        scale or bandwidth, 6 for networks. Simple methods run first, and are
        recommended if more complex ones are not better.
    scale : {"auto", "standard", "none"}
        The step before: standardized features or one common unit, whichever gives
        better neighbors; standardized features; or the features as they are.
    default : bool
        Whether it is compared if no methods are named.
    many_rows : bool
        Whether the fit can learn from any number of rows in a limited time: its cost
        does not grow with the number of pairs of rows, or it can be interrupted.
    own_rule : bool
        Whether the estimator predicts by its own soft neighbors. Otherwise the vote of
        the neighbors is chosen.
    gaps : bool
        Whether the estimator learns from missing values. Otherwise they are filled.
    storable : bool
        Whether a model file can hold the metric: a linear map, or curves.
    """

    name: str
    factory: Callable[[FitRequest], Any]
    summary: str
    tasks: tuple[str, ...]
    complexity: int
    scale: Literal["auto", "standard", "none"] = "auto"
    default: bool = True
    many_rows: bool = False
    own_rule: bool = False
    gaps: bool = False
    storable: bool = True

    def pipeline(
        self,
        X: FloatArray,
        y: IntArray | FloatArray | None,
        n_components: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> Pipeline:
        """Return an unfitted pipeline for these training rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The training rows; NaN marks missing values.
        y : ndarray of shape (n_samples,) or None
            Classes as integers from 0, or numbers.
        n_components : int, optional
            Dimensions, for the methods that reduce them.
        random_state : int, RandomState or None
            For the methods that draw random numbers.
        n_jobs : int, optional
            Threads, for the methods that use them.
        """
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import Pipeline

        from vicinal.app.methods.baselines import AutoScaler, CategoryScaler

        scale: Any = "passthrough"
        if self.scale == "auto" and y is not None:
            scale = AutoScaler("regression" if y.dtype.kind == "f" else TASKS[0])
        elif self.scale != "none":
            scale = CategoryScaler()
        request = FitRequest(X, y, n_components, random_state, n_jobs)
        impute = SimpleImputer(strategy="median", keep_empty_features=True)
        return Pipeline(
            [
                ("impute", "passthrough" if self.gaps else impute),
                ("scale", scale),
                ("metric", self.factory(request)),
            ]
        )


NEEDS_TORCH = (
    "neural-nca needs PyTorch, the extra 'torch': pip install 'vicinal[torch]'."
)
METHODS: dict[str, Method] = {}
"""The registered methods, in the order of tables."""


def register(
    name: str,
    factory: str | Callable[..., Any],
    summary: str = "",
    tasks: tuple[str, ...] = TASKS[:1],
    *,
    complexity: int = 5,
    scale: Literal["auto", "standard", "none"] = "auto",
    default: bool = False,
    many_rows: bool = False,
    own_rule: bool = False,
    gaps: bool = False,
    storable: bool = True,
) -> Method:
    """Add a method to `METHODS`.

    Parameters
    ----------
    name : str
        A name that no method has.
    factory : str, class or callable
        An estimator with `fit` and `transform`: its dotted path or its class, built
        as `estimator` does, or a function from a `FitRequest` to the estimator.
        Without a target, the estimator also needs `score_samples`.
    summary : str
        A few words on the metric, for the report.
    tasks : tuple of str, default=("classification",)
        Some of `TASKS`.
    complexity, scale, default, many_rows, own_rule, gaps, storable
        As for `Method`.

    Returns
    -------
    Method
        The registered method.

    Raises
    ------
    ValueError
        If the name is taken or a task is unknown.

    Examples
    --------
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> from vicinal.app.methods.registry import METHODS, register
    >>> method = register("random", GaussianRandomProjection, "a random map")
    >>> METHODS.pop("random") is method
    True
    """
    if name in METHODS:
        raise ValueError(f"The method {name!r} is already registered.")
    if not tasks or set(tasks) - set(TASKS):
        raise ValueError(f"tasks must be some of {', '.join(TASKS)}; got {tasks!r}.")
    if isinstance(factory, str | type):
        factory = estimator(factory, at_most="features")
    method = Method(
        *(name, factory, summary, tasks, complexity, scale),
        *(default, many_rows, own_rule, gaps, storable),
    )
    METHODS[name] = method
    return method


def estimator(
    kind: str | type,
    *,
    regressor: str | None = None,
    at_most: Literal["", "features", "rows", "classes"] = "",
    **params: Any,
) -> Callable[[FitRequest], Any]:
    """Return a factory for an estimator, which is imported when it is built.

    Parameters
    ----------
    kind : str or class
        The class or its dotted path. Its `random_state` and `n_jobs` are those of the
        request, if it has them.
    regressor : str, optional
        The path of another class, for numeric targets.
    at_most : {"", "features", "rows", "classes"}, default=""
        Whether `n_components` is passed on if the user gives it: not at all, as it is,
        or limited to one less than the number of rows or classes.
    **params
        Parameters of the estimator.
    """

    def build(request: FitRequest) -> Any:
        numeric = request.y is not None and request.y.dtype.kind == "f"
        made = regressor if regressor and numeric else kind
        if isinstance(made, str):
            module, _, name = made.rpartition(".")
            made = getattr(import_module(module), name)
        given = {"random_state": request.random_state, "n_jobs": request.n_jobs}
        if at_most and request.n_components is not None:
            limit = request.n_components
            if at_most == "rows":
                limit = len(request.X) - 1
            elif at_most == "classes":
                limit = len(set(request.y.tolist())) - 1
            given["n_components"] = min(request.n_components, limit)
        known = signature(made).parameters
        own = {name: value for name, value in given.items() if name in known}
        return made(**{**params, **own})

    return build


def _features(_: FitRequest) -> str:
    return "passthrough"


def _pca(request: FitRequest) -> Any:
    from sklearn.decomposition import PCA

    d = request.n_components
    return PCA(0.95 if d is None else min(d, len(request.X)), svd_solver="full")


# fmt: off
_LABELED, _CLASSES, _NUMBERS, _NO_TARGET = TASKS[:2], TASKS[:1], TASKS[1:2], TASKS[2:]

register("euclidean", _features, "the features as they are", _LABELED,
         complexity=0, scale="none", default=True, many_rows=True)
register("standardised", _features, "each feature in its standard deviation", _LABELED,
         complexity=1, scale="standard", default=True, many_rows=True)
register("whitened", estimator("vicinal.app.methods.baselines.Whitening"),
         "the Mahalanobis metric of all rows", _LABELED,
         complexity=2, scale="standard", default=True, many_rows=True)
register("pca", _pca, "the directions of most variance", _LABELED,
         complexity=2, default=True, many_rows=True)
register("lda", estimator("sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
                          at_most="classes"),
         "linear discriminant analysis", complexity=3, default=True, many_rows=True)
register("fda", estimator("vicinal.classic.FDA", at_most="classes", n_components=None),
         "Fisher's discriminants, shrunk", complexity=3, many_rows=True)
register("lfda", "vicinal.classic.LFDA", "local Fisher discriminant analysis",
         complexity=4, default=True)
register("rca", estimator("vicinal.classic.RCA", at_most="rows"),
         "relevant component analysis", complexity=3, many_rows=True)
register("itml", "vicinal.classic.ITML", "information-theoretic metric", complexity=4)
register("mmc", "vicinal.classic.MMC", "pairs of two classes far apart", complexity=4)
register("sdml", "vicinal.classic.SDML", "a sparse metric of pairs", complexity=4)
register("lsml", "vicinal.classic.LSML", "distances in order, by residuals",
         complexity=4)
register("scml", "vicinal.classic.SCML", "a few local discriminants, weighted",
         complexity=4)
register("lmnn", estimator("vicinal.classic.LMNN", at_most="rows"),
         "large-margin nearest neighbours", complexity=5)
register("mcml", estimator("vicinal.classic.MCML", at_most="rows"),
         "each class collapsed to a point", complexity=5)
register("ldg", "vicinal.ldg.LDG", "local discriminative Gaussians",
         complexity=4, default=True)
# alpha is chosen on held-out rows, so that NCA is seldom worse than plain k-NN.
register("nca", estimator("vicinal.nca.NCA", regressor="vicinal.nca.NCARegressor",
                          at_most="features", alpha="auto"),
         "neighbourhood components analysis", _LABELED, complexity=5, default=True,
         many_rows=True)
register("nca-soft", estimator("vicinal.nca.NCAClassifier",
                               regressor="vicinal.nca.NCARegressor",
                               at_most="features", alpha="auto"),
         "NCAClassifier or NCARegressor, by its soft neighbours", _LABELED,
         complexity=5, many_rows=True, own_rule=True)
register("nca-log", estimator("vicinal.nca.NCA", at_most="features", alpha="auto",
                              objective="log"),
         "NCA, likelihood of the labels", complexity=5, many_rows=True)
register("table-nca", estimator("vicinal.additive.TableNCAClassifier",
                                regressor="vicinal.additive.TableNCARegressor"),
         "NCA with a curve for each column, by its soft neighbours", _LABELED,
         complexity=6, scale="standard", own_rule=True, gaps=True)
if find_spec("torch") is not None:
    # One map without votes, which `transform` returns.
    register("neural-nca", estimator("vicinal.neural.NeuralNCA",
                                     regressor="vicinal.neural.NeuralNCARegressor",
                                     at_most="features", n_estimators=1,
                                     linear_vote=False),
             "NCA by a network on periodic features", _LABELED,
             complexity=6, scale="none", many_rows=True, storable=False)
register("mlkr", "vicinal.classic.MLKR",
         "metric learning for kernel regression, what nca is for numbers", _NUMBERS,
         complexity=5)
register("kernel-density", "vicinal.app.methods.baselines.KernelDensityMetric",
         "one bandwidth for all directions", _NO_TARGET, complexity=1, default=True)
register("gaussian", "vicinal.app.methods.baselines.GaussianMetric",
         "one Gaussian, shrunk", _NO_TARGET, complexity=0, default=True, many_rows=True)
register("lca-diagonal", estimator("vicinal.lca.LCA", covariance="diagonal"),
         "LCA, a bandwidth for each feature", _NO_TARGET, complexity=2, default=True)
register("lca", estimator("vicinal.lca.LCA"), "local component analysis", _NO_TARGET,
         complexity=3, default=True)
register("lca-gauss", estimator("vicinal.lca.LCAGauss"), "LCA beside a Gaussian part",
         _NO_TARGET, complexity=4, default=True)
# fmt: on


def resolve_methods(methods: Any, task: str) -> list[Method]:
    """Return the methods that were asked for.

    Parameters
    ----------
    methods : str, estimator, iterable of these, or None
        Names, in one string with commas between them or one by one; ``"all"`` for all
        methods of the task, None for the default ones. Estimators with `transform`, or
        pairs of a name and an estimator.
    task : str
        One of `TASKS`.

    Returns
    -------
    list of Method
        In the order of `METHODS`, followed by the estimators as given.

    Raises
    ------
    ValueError
        If a name is unknown or taken, or a method does not fit the task.
    """
    able = {name: one for name, one in METHODS.items() if task in one.tasks}
    if methods is None:
        return [method for method in able.values() if method.default]
    if isinstance(methods, str):
        methods = methods.replace(",", " ").split()
    # A pipeline has a length, but is one method.
    asked = [methods] if hasattr(methods, "fit") else list(methods)
    names = [one for one in asked if isinstance(one, str)]
    if names == ["all"]:
        names = list(able)
    unknown = sorted(set(names).difference(able))
    if unknown or not asked:
        raise ValueError(_unknown_methods(unknown, able, task))
    found = [method for name, method in able.items() if name in names]
    for one in asked:
        if isinstance(one, str):
            continue
        method = _user_method(one, task)
        name = method.name
        if name in METHODS or any(other.name == name for other in found):
            raise ValueError(
                f"There are two methods {name!r}; give yours another name, like "
                f"('my {name}', …)."
            )
        found.append(method)
    return found


def _user_method(given: Any, task: str, max_length: int = 40) -> Method:
    """Return the method of a user's estimator, or of a name and an estimator.

    Without a name, it is called as it is written, by its class if that is longer than
    `max_length`, or by the classes of a pipeline's steps. A pipeline gets the features
    as they are.
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from vicinal.additive import TableNCAClassifier, TableNCARegressor
    from vicinal.nca import NCAClassifier, NCARegressor

    name, made = "", given
    if isinstance(given, tuple | list):
        if len(given) != 2 or not isinstance(given[0], str) or not given[0].strip():
            raise ValueError(
                f"A method with a name is written like ('mine', NCA(2)); got {given!r}."
            )
        name, made = " ".join(given[0].split()), given[1]
    is_pipeline = isinstance(made, Pipeline)
    shown = re.sub(r"\s+", " ", repr(made))
    if is_pipeline:
        shown = "+".join(type(step).__name__ for _, step in made.steps)
    elif len(shown) > max_length:
        shown = type(made).__name__
    name = name or shown
    if isinstance(made, type):
        raise TypeError(
            f"{made.__name__} is a class; give an estimator, {made.__name__}()."
        )
    if not all(hasattr(made, one) for one in ("fit", "get_params")):
        raise TypeError(
            f"methods are names, estimators, or pairs of the two; got {made!r}."
        )
    if not hasattr(made, "transform"):
        raise ValueError(
            f"{name} has no transform, so it defines no metric. If its last step "
            "predicts, leave it out: compare predicts with nearest neighbors."
        )
    if task == "none" and not hasattr(made, "score_samples"):
        raise ValueError(
            f"{name} has no score_samples; without a target, it must return "
            "log-densities."
        )
    last = made[-1] if is_pipeline else made
    return Method(
        name,
        lambda _: clone(made),
        "your own estimator",
        TASKS,
        complexity=1 + max(method.complexity for method in METHODS.values()),
        scale="none" if is_pipeline else "auto",
        # The rule of "class-density" weighs each class; a vote does not.
        own_rule=isinstance(last, TableNCAClassifier | TableNCARegressor)
        or (
            isinstance(last, NCAClassifier | NCARegressor)
            and last.objective != "class-density"
        ),
    )


def _unknown_methods(unknown: list[str], able: dict[str, Method], task: str) -> str:
    """Return an error message that names the valid methods and the likely ones."""
    if "neural-nca" in unknown and "neural-nca" not in METHODS:
        return NEEDS_TORCH
    target = {
        "classification": "classes",
        "regression": "a numeric target",
        "none": "data without a target",
    }
    got = []
    for name in unknown:
        similar = get_close_matches(name.lower(), able, 1, 0.6)
        hint = f": did you mean {similar[0]!r}?" if similar else ""
        if other := METHODS.get(name.lower()):
            hint = f", which is for {' or '.join(target[one] for one in other.tasks)}"
        got.append(f"{name!r}{hint}")
    listed = ", ".join(got) or "none"
    end = "" if listed.endswith("?") else "."
    where = "" if task == "classification" else f" for {target[task]}"
    return (
        f"methods must be some of {', '.join(able)}{where}, or all; got {listed}{end}"
    )
