"""The metrics that can be compared: names, what they are for, how they are made.

Each becomes a pipeline of three steps, ``impute``, ``scale`` and ``metric``, that
learns all it knows from the rows it is fitted on. All of them are affine: see
`vicinal.app.methods.linear_map`; but estimators of your own may be what they like.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vicinal.app.methods.mistaken import mistaken
from vicinal.app.methods.baselines import BesideCategories, CategoryScaler, one_hot_groups
from vicinal.app.methods.user_estimators import check_own, is_own, maker, name_of, scales_itself
from vicinal.app.methods.baselines import AutoScaler

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import FloatArray, IntArray

__all__ = ["METHODS", "TASKS", "Method", "resolve_methods"]

TASKS = ("classification", "regression", "none")
Seed = int | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class FitRequest:
    """What a pipeline is made for: the rows it will see, and the user's choices."""

    X: FloatArray
    y: Any
    n_components: int | None
    random_state: Seed
    n_jobs: int | None


def _nothing(_: FitRequest) -> Any:
    return "passthrough"


def _standard(_: FitRequest) -> Any:
    return CategoryScaler()


def _auto_scaler(request: FitRequest) -> Any:
    if request.y is None:
        return CategoryScaler()
    numbers = request.y.dtype.kind == "f"
    return AutoScaler("regression" if numbers else "classification")


@dataclass(frozen=True)
class Method:
    """A metric to compare.

    Attributes
    ----------
    name : str
        What it is called everywhere.
    tasks : tuple of str
        Some of ``"classification"``, ``"regression"`` and ``"none"``: what kind of
        target it can learn beside.
    summary : str
        What near means under it, in a few words.
    make : callable
        From a `FitRequest` to the last step of the pipeline.
    scale : callable
        From a `FitRequest` to the step before: what unit the features come in.
    usual : bool
        Whether it takes part unless other methods are named.
    """

    name: str
    tasks: tuple[str, ...]
    summary: str
    make: Callable[[FitRequest], Any]
    scale: Callable[[FitRequest], Any] = _auto_scaler
    usual: bool = True

    def pipeline(
        self,
        X: FloatArray,
        y: IntArray | FloatArray | None,
        n_components: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> Pipeline:
        """Return the three steps, not yet fitted, for rows like these.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The training rows; NaN where a value is missing.
        y : ndarray of shape (n_samples,) or None
            Classes as integers from 0, or numbers.
        n_components : int, optional
            Dimensions, for the methods that reduce them.
        random_state : int, RandomState or None
            For the methods that draw numbers.
        n_jobs : int, optional
            Threads, for the methods that use them.
        """
        request = FitRequest(X, y, n_components, random_state, n_jobs)
        return Pipeline(
            [
                ("impute", SimpleImputer(strategy="median", keep_empty_features=True)),
                ("scale", self.scale(request)),
                ("metric", self.make(request)),
            ]
        )


def _pca(request: FitRequest) -> Any:
    d = request.n_components
    kept = 0.95 if d is None else min(d, len(request.X))
    return PCA(kept, svd_solver="full")


def _whitened(request: FitRequest) -> Any:
    filled = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(
        request.X
    )
    # Whitened, a category of k values would weigh as much as k - 1 numbers.
    if groups := one_hot_groups(filled):
        return BesideCategories(groups)
    # Whitening a direction without variance would blow up its rounding errors.
    rank = np.linalg.matrix_rank(StandardScaler().fit_transform(filled))
    return PCA(int(rank), whiten=True, svd_solver="full")


def _lda(request: FitRequest) -> Any:
    d = request.n_components
    return LinearDiscriminantAnalysis(
        n_components=d and min(d, np.unique(request.y).size - 1)
    )


def _fda(request: FitRequest) -> Any:
    from vicinal.classic import FDA

    d = request.n_components
    return FDA(d and min(d, np.unique(request.y).size - 1))


def _lfda(request: FitRequest) -> Any:
    from vicinal.classic import LFDA

    return LFDA(request.n_components)


def _itml(request: FitRequest) -> Any:
    from vicinal.classic import ITML

    return ITML(random_state=request.random_state)


def _rca(request: FitRequest) -> Any:
    from vicinal.classic import RCA

    return RCA(_at_most_rank(request))


def _mmc(request: FitRequest) -> Any:
    from vicinal.classic import MMC

    return MMC(random_state=request.random_state)


def _sdml(request: FitRequest) -> Any:
    from vicinal.classic import SDML

    return SDML(random_state=request.random_state)


def _lsml(request: FitRequest) -> Any:
    from vicinal.classic import LSML

    return LSML(random_state=request.random_state)


def _scml(request: FitRequest) -> Any:
    from vicinal.classic import SCML

    return SCML(random_state=request.random_state)


def _lmnn(request: FitRequest) -> Any:
    from vicinal.classic import LMNN

    return LMNN(
        n_components=_at_most_rank(request),
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )


def _mcml(request: FitRequest) -> Any:
    from vicinal.classic import MCML

    return MCML(
        _at_most_rank(request),
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )


def _at_most_rank(request: FitRequest) -> int | None:
    """Return the dimensions asked for; no more than rows differ in."""
    d = request.n_components
    return d and min(d, len(request.X) - 1)


def _ldg(request: FitRequest) -> Any:
    from vicinal.ldg import LDG

    return LDG(
        "auto" if request.n_components is None else request.n_components,
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )


def _nca(request: FitRequest) -> Any:
    from vicinal.nca import NCA, NCARegressor

    kind = NCARegressor if request.y.dtype.kind == "f" else NCA
    return kind(
        request.n_components,
        # Found on rows held out: a first result should not be worse than plain k-NN.
        alpha="auto",
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )


def _nca_log(request: FitRequest) -> Any:
    return _nca(request).set_params(objective="log")


def _neural_nca(request: FitRequest) -> Any:
    from vicinal.neural import NeuralNCA, NeuralNCARegressor

    kind = NeuralNCARegressor if request.y.dtype.kind == "f" else NeuralNCA
    # One map, which `transform` then gives.
    found = kind(
        n_estimators=1,
        linear_vote=False,
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )
    if request.n_components is not None:
        found.set_params(n_components=request.n_components)
    return found


def _mlkr(request: FitRequest) -> Any:
    from vicinal.classic import MLKR

    return MLKR(
        request.n_components, random_state=request.random_state, n_jobs=request.n_jobs
    )


def _lca(request: FitRequest) -> Any:
    from vicinal.lca import LCA

    return LCA(random_state=request.random_state, n_jobs=request.n_jobs)


def _lca_diagonal(request: FitRequest) -> Any:
    return _lca(request).set_params(covariance="diagonal")


def _lca_gauss(request: FitRequest) -> Any:
    from vicinal.lca import LCAGauss

    return LCAGauss(
        random_state=request.random_state,
        n_jobs=request.n_jobs,
    )


def _kernel_density(_: FitRequest) -> Any:
    from vicinal.app.methods.baselines import KernelDensityMetric

    return KernelDensityMetric()


def _gaussian(_: FitRequest) -> Any:
    from vicinal.app.methods.baselines import GaussianMetric

    return GaussianMetric()


_LABELLED = ("classification", "regression")
_CLASSES = ("classification",)
_LIST = (
    Method("euclidean", _LABELLED, "the features as they are", _nothing, _nothing),
    Method(
        "standardised",
        _LABELLED,
        "each feature in its standard deviation",
        _nothing,
        _standard,
    ),
    Method(
        "whitened",
        _LABELLED,
        "the Mahalanobis metric of all rows",
        _whitened,
        _standard,
    ),
    Method("pca", _LABELLED, "the directions of most variance", _pca),
    Method("lda", _CLASSES, "linear discriminant analysis", _lda),
    Method("fda", _CLASSES, "Fisher's discriminants, shrunk", _fda, usual=False),
    Method("lfda", _CLASSES, "local Fisher discriminant analysis", _lfda),
    Method("rca", _CLASSES, "relevant component analysis", _rca, usual=False),
    Method("itml", _CLASSES, "information-theoretic metric", _itml, usual=False),
    Method("mmc", _CLASSES, "pairs of two classes far apart", _mmc, usual=False),
    Method("sdml", _CLASSES, "a sparse metric of pairs", _sdml, usual=False),
    Method("lsml", _CLASSES, "distances in order, by residuals", _lsml, usual=False),
    Method("scml", _CLASSES, "a few local discriminants, weighed", _scml, usual=False),
    Method("lmnn", _CLASSES, "large-margin nearest neighbours", _lmnn, usual=False),
    Method("mcml", _CLASSES, "each class collapsed to a point", _mcml, usual=False),
    Method("ldg", _CLASSES, "local discriminative Gaussians", _ldg),
    Method("nca", _LABELLED, "neighbourhood components analysis", _nca),
    Method("nca-log", _CLASSES, "NCA, likelihood of the labels", _nca_log, usual=False),
    Method(
        "mlkr",
        ("regression",),
        "metric learning for kernel regression, what nca is for numbers",
        _mlkr,
        usual=False,
    ),
    Method(
        "kernel-density", ("none",), "one bandwidth for all directions", _kernel_density
    ),
    Method("gaussian", ("none",), "one Gaussian, shrunk", _gaussian),
    Method(
        "lca-diagonal", ("none",), "LCA, a bandwidth for each feature", _lca_diagonal
    ),
    Method("lca", ("none",), "local component analysis", _lca),
    Method("lca-gauss", ("none",), "LCA beside a Gaussian part", _lca_gauss),
)
METHODS = {method.name: method for method in _LIST}
# In its place among the others, where PyTorch is installed.
NEURAL = Method(
    "neural-nca",
    _LABELLED,
    "NCA by a network on periodic features",
    _neural_nca,
    _nothing,
    usual=False,
)
if find_spec("torch") is not None:
    _names = list(METHODS)
    _place = _names.index("nca-log") + 1
    METHODS = {
        **{name: METHODS[name] for name in _names[:_place]},
        NEURAL.name: NEURAL,
        **{name: METHODS[name] for name in _names[_place:]},
    }


def resolve_methods(methods: Any, task: str) -> list[Method]:
    """Return the methods that were asked for.

    Parameters
    ----------
    methods : str, estimator, iterable of these, or None
        Names, in a string with commas between them or one by one; ``"all"`` for all
        that can do the task, None for the usual ones of them. Estimators with
        `transform`, or pairs of a name and an estimator.
    task : str
        One of `TASKS`.

    Returns
    -------
    list of Method
        In the order of `METHODS`, then estimators in theirs.

    Raises
    ------
    ValueError
        When a name is unknown or taken twice, or a method cannot do the task.
    """
    able = {name: m for name, m in METHODS.items() if task in m.tasks}
    if methods is None:
        return [method for method in able.values() if method.usual]
    if isinstance(methods, str):
        methods = methods.replace(",", " ").split()
    # A pipeline has a length, but is one method.
    asked = [methods] if hasattr(methods, "fit") else list(methods)
    names = [one for one in asked if not is_own(one)]
    if names == ["all"]:
        names = list(able)
    unknown = sorted(set(names).difference(able))
    if unknown or not asked:
        if NEURAL.name in unknown and NEURAL.name not in METHODS:
            raise ValueError(
                f"{NEURAL.name} needs PyTorch, the extra 'torch': pip install "
                "'vicinal[torch]'."
            )
        tasks = {name: method.tasks for name, method in METHODS.items()}
        raise ValueError(mistaken(unknown, list(able), task, tasks))
    found = [method for name, method in able.items() if name in names]
    for one in filter(is_own, asked):
        name, estimator = name_of(one)
        check_own(name, estimator, task)
        scale = _nothing if scales_itself(estimator) else _auto_scaler
        method = Method(name, TASKS, "your own estimator", maker(estimator), scale)
        if name in METHODS or any(other.name == name for other in found):
            raise ValueError(
                f"There are two methods {name!r}; give yours another name, like "
                f"('my {name}', …)."
            )
        found.append(method)
    return found
