"""metric-learn's public names, parameters and shapes for the estimators of vicinal.

Scripts run after a change of their imports::

    import vicinal.compat.metric_learn as metric_learn
    from vicinal.compat.metric_learn.constraints import wrap_pairs

metric-learn's submodules exist here, too: `constraints`, `base_metric`, and one for
each method. docs/migration-metric-learn.md lists the differences.

>>> import vicinal.compat.metric_learn as metric_learn
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> lfda = metric_learn.LFDA(n_components=2, k=2)
>>> lfda.fit_transform(X, y).shape
(150, 2)
>>> pairs, y_pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]]], [1, -1]
>>> itml = metric_learn.ITML().fit(pairs, y_pairs)
>>> itml.predict(pairs).tolist()
[1, -1]
"""

import sys
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_features

from vicinal import classic
from vicinal import nca as _nca
from vicinal.compat.metric_learn import base_metric as base_metric
from vicinal.compat.metric_learn.base_metric import (
    DEPRECATED,
    BaseMetricLearner,
    Parameters,
)
from vicinal.compat.metric_learn.constraints import Constraints, wrap_pairs

# The version of metric-learn whose names these are.
__version__ = "0.7.0"

__all__ = [
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "Constraints",
    "Covariance",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
    "SDML_Supervised",
    "__version__",
    "wrap_pairs",
]


class Covariance(
    BaseMetricLearner,
    ours=classic.Covariance,
    parameters="preprocessor",
    learns_from="points",
):
    """`vicinal.classic.Covariance` with metric-learn's parameters.

    Parameters
    ----------
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.

    See Also
    --------
    vicinal.classic.Covariance : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> metric_learn.Covariance().fit(X).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from points, or their indices."""
        return self._fit(self._points(X), y)


class LFDA(
    BaseMetricLearner,
    ours=classic.LFDA,
    parameters="n_components k embedding_type preprocessor",
    defaults={"k": None},
    translate=lambda given: {"embedding": given["embedding_type"], "alpha": 1e-6},
):
    """`vicinal.classic.LFDA` with metric-learn's parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map.
    k : int or None, default=None
        The neighbor that sets the scale of a point; None is 7, but less than the
        number of features.
    embedding_type : {"weighted", "orthonormalized", "plain"}, default="weighted"
        As `embedding` of :class:`vicinal.classic.LFDA`.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.

    See Also
    --------
    vicinal.classic.LFDA : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LFDA(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        points = self._points(X)
        k = self.k or max(1, min(7, _num_features(points) - 1))
        return self._fit(points, y, n_neighbors=k)


class LMNN(
    BaseMetricLearner,
    ours=classic.LMNN,
    parameters="init n_neighbors min_iter max_iter learn_rate regularization "
    "convergence_tol verbose preprocessor n_components random_state k",
    translate=lambda given: {"tol": min(given["convergence_tol"], 1e-5)},
    ignored="min_iter learn_rate",
):
    """`vicinal.classic.LMNN` with metric-learn's parameters.

    Parameters
    ----------
    init, n_neighbors, max_iter, regularization, verbose, n_components, random_state
        As for :class:`vicinal.classic.LMNN`.
    min_iter, learn_rate
        Without effect: the solver chooses its step lengths.
    convergence_tol : float, default=1e-3
        Values above 1e-5 stand for 1e-5, since vicinal measures convergence otherwise.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.
    k : int
        The old name of n_neighbors.

    See Also
    --------
    vicinal.classic.LMNN : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LMNN(max_iter=500, n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """


class NCA(
    BaseMetricLearner,
    ours=_nca.NCA,
    parameters="init n_components max_iter tol verbose preprocessor random_state",
    defaults={"max_iter": 100, "tol": None},
):
    """`vicinal.NCA` with metric-learn's parameters.

    Parameters
    ----------
    init, n_components, max_iter, tol, verbose, random_state
        As for :class:`vicinal.NCA`; a tol of None is 1e-5.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.

    See Also
    --------
    vicinal.NCA : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.NCA(max_iter=500, n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """


class MLKR(
    BaseMetricLearner,
    ours=classic.MLKR,
    parameters="n_components init tol max_iter verbose preprocessor random_state",
    defaults={"tol": None},
    translate=lambda _: {"alpha": 0.0},
):
    """`vicinal.classic.MLKR` with metric-learn's parameters and without a penalty.

    Parameters
    ----------
    n_components, init, tol, max_iter, verbose, random_state
        As for :class:`vicinal.classic.MLKR`; a tol of None is 1e-5.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.

    See Also
    --------
    vicinal.classic.MLKR : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.MLKR(n_components=2, max_iter=500).fit(X, y.astype(float))
    >>> model.transform(X).shape
    (150, 2)
    """


class RCA(
    BaseMetricLearner,
    ours=classic.RCA,
    parameters="n_components preprocessor",
    learns_from="chunks",
):
    """`vicinal.classic.RCA` with metric-learn's parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.

    See Also
    --------
    vicinal.classic.RCA : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> chunks = metric_learn.Constraints(y).chunks(20, random_state=0)
    >>> metric_learn.RCA().fit(X, chunks).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, X: ArrayLike, chunks: ArrayLike) -> Self:
        """Learn from points, or their indices, and the chunk of each, or -1."""
        return _fit_chunks(self, self._points(X), np.asarray(chunks))


class RCA_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=RCA,
    parameters="n_components n_chunks chunk_size preprocessor random_state num_chunks",
):
    """RCA from labels, with random chunks.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map.
    n_chunks, chunk_size : int, default=100 and 2
        Number of chunks to draw, and of points in each.
    preprocessor : array-like or callable, default=None
        The points, if X is an array of indices.
    random_state : int, RandomState or None, default=None
        Draws the chunks.
    num_chunks : int
        The old name of n_chunks.

    See Also
    --------
    vicinal.classic.RCA : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.RCA_Supervised(n_chunks=30, random_state=0).fit(X, y)
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        points = self._points(X)
        self._check_points(points)
        n = self.n_chunks if self.num_chunks == DEPRECATED else self.num_chunks
        chunks = Constraints(y).chunks(n, self.chunk_size, self.random_state)
        return _fit_chunks(self, points, chunks)


class ITML(
    BaseMetricLearner,
    ours=classic.ITML,
    parameters="gamma max_iter tol prior verbose preprocessor random_state "
    "convergence_threshold",
    learns_from="pairs",
):
    """`vicinal.classic.ITML` with metric-learn's parameters.

    Parameters
    ----------
    gamma, max_iter, prior, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.ITML`; the prior may be "random".
    tol : float, default=1e-3
        Values above 1e-5 stand for 1e-5, since vicinal measures convergence otherwise.
    convergence_threshold : float
        The old name of tol.

    See Also
    --------
    vicinal.classic.ITML : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.ITML().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        bounds: ArrayLike | None = None,
        calibration_params: Parameters | None = None,
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_tuples(pairs, y, calibration_params, bounds=_bounds(bounds))


class ITML_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=ITML,
    parameters="gamma max_iter tol n_constraints prior verbose preprocessor "
    "random_state num_constraints convergence_threshold",
):
    """ITML from labels.

    Parameters
    ----------
    gamma, max_iter, tol, prior, verbose, preprocessor, random_state
        As for `ITML`.
    n_constraints : int or None, default=None
        Number of pairs of one class, and of two classes; None is 20 times the squared
        number of classes.
    num_constraints, convergence_threshold
        Old names of n_constraints and tol.

    See Also
    --------
    vicinal.classic.ITML : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.ITML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, X: ArrayLike, y: ArrayLike, bounds: ArrayLike | None = None) -> Self:
        """Learn from points, or their indices, and labels."""
        return self._fit_labels(X, y, bounds=_bounds(bounds))


class MMC(
    BaseMetricLearner,
    ours=classic.MMC,
    parameters="max_iter max_proj tol init diagonal diagonal_c verbose preprocessor "
    "random_state convergence_threshold",
    defaults={"max_iter": 100, "init": "identity"},
    translate=lambda given: {"form": "diagonal" if given["diagonal"] else "full"},
    learns_from="pairs",
    ignored="max_proj init",
):
    """`vicinal.classic.MMC` with metric-learn's parameters.

    Parameters
    ----------
    max_iter, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.MMC`.
    max_proj, init
        Without effect: the problem has one optimum and is solved without projections.
    tol : float, default=1e-3
        Values above 1e-6 stand for 1e-6, since vicinal measures convergence otherwise.
    diagonal : bool, default=False
        Whether M is diagonal.
    diagonal_c : float, default=1.0
        The scale of a diagonal M: the squared distances of similar pairs sum to half
        of it.
    convergence_threshold : float
        The old name of tol.

    See Also
    --------
    vicinal.classic.MMC : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.MMC().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(
        self, pairs: ArrayLike, y: ArrayLike, calibration_params: Any = None
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_tuples(pairs, y, calibration_params)


class MMC_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=MMC,
    parameters="max_iter max_proj tol n_constraints init diagonal diagonal_c verbose "
    "preprocessor random_state num_constraints convergence_threshold",
    defaults={"tol": 1e-6},
):
    """MMC from labels.

    Parameters
    ----------
    max_iter, max_proj, tol, init, diagonal, diagonal_c, verbose, preprocessor, \
random_state
        As for `MMC`.
    n_constraints : int or None, default=None
        Number of pairs of one class, and of two classes; None is 20 times the squared
        number of classes.
    num_constraints, convergence_threshold
        Old names of n_constraints and tol.

    See Also
    --------
    vicinal.classic.MMC : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.MMC_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """


def _sdml(given: Parameters) -> Parameters:
    sparsity = given["sparsity_param"]
    return {"sparsity": "auto" if sparsity == 0.01 else sparsity}


class SDML(
    BaseMetricLearner,
    ours=classic.SDML,
    parameters="balance_param sparsity_param prior verbose preprocessor random_state",
    translate=_sdml,
    learns_from="pairs",
    ignored="balance_param",
):
    """`vicinal.classic.SDML` with metric-learn's parameters.

    Parameters
    ----------
    balance_param : float, default=0.5
        Without effect: half of the largest balance that has a solution is used.
    sparsity_param : float, default=0.01
        As `sparsity` of :class:`vicinal.classic.SDML`; the default is its "auto".
    prior, preprocessor, random_state
        As for :class:`vicinal.classic.SDML`; the prior may be "random".
    verbose : bool, default=False
        Without effect.

    See Also
    --------
    vicinal.classic.SDML : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.SDML().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(
        self, pairs: ArrayLike, y: ArrayLike, calibration_params: Any = None
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_tuples(pairs, y, calibration_params)


class SDML_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=SDML,
    parameters="balance_param sparsity_param prior n_constraints verbose preprocessor "
    "random_state num_constraints",
):
    """SDML from labels.

    Parameters
    ----------
    balance_param, sparsity_param, prior, verbose, preprocessor, random_state
        As for `SDML`.
    n_constraints : int or None, default=None
        Number of pairs of one class, and of two classes; None is 20 times the squared
        number of classes.
    num_constraints : int
        The old name of n_constraints.

    See Also
    --------
    vicinal.classic.SDML : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.SDML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """


class LSML(
    BaseMetricLearner,
    ours=classic.LSML,
    parameters="tol max_iter prior verbose preprocessor random_state",
    learns_from="quadruplets",
):
    """`vicinal.classic.LSML` with metric-learn's parameters.

    Parameters
    ----------
    tol : float, default=1e-3
        Values above 1e-6 stand for 1e-6, since vicinal measures convergence otherwise.
    max_iter, prior, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.LSML`; the prior may be "random".

    See Also
    --------
    vicinal.classic.LSML : The same with vicinal's parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> a, b, c, d = constraints.positive_negative_pairs(50, random_state=0)
    >>> quadruplets = X[np.column_stack([a, b, c, d])]
    >>> metric_learn.LSML().fit(quadruplets).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, quadruplets: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Learn from quadruplets."""
        return self._fit_tuples(quadruplets, fit_params={"weights": weights})


class LSML_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=LSML,
    parameters="tol max_iter prior n_constraints weights verbose preprocessor "
    "random_state num_constraints",
    ignored="weights",
):
    """LSML from labels.

    Parameters
    ----------
    tol, max_iter, prior, verbose, preprocessor, random_state
        As for `LSML`.
    n_constraints : int or None, default=None
        Number of quadruplets; None is 20 times the squared number of classes.
    weights : array-like of shape (n_constraints,) or None, default=None
        Without effect: the quadruplets are random.
    num_constraints : int
        The old name of n_constraints.

    See Also
    --------
    vicinal.classic.LSML : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LSML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """


def _scml(given: Parameters) -> Parameters:
    basis = given["basis"]
    return {
        "basis": "auto" if isinstance(basis, str) else basis,
        "n_near": given.get("k_genuine", 3),
        "n_far": given.get("k_impostor", 10),
        "max_iter": 500,
    }


class SCML(
    BaseMetricLearner,
    ours=classic.SCML,
    parameters="beta basis n_basis gamma max_iter output_iter batch_size verbose "
    "preprocessor random_state",
    defaults={"basis": "triplet_diffs", "gamma": 5e-3, "max_iter": 10_000},
    translate=_scml,
    learns_from="triplets",
    ignored="gamma max_iter output_iter batch_size",
):
    """`vicinal.classic.SCML` with metric-learn's parameters.

    Parameters
    ----------
    beta, n_basis, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.SCML`; n_basis of None is "auto".
    basis : "triplet_diffs", "lda" or array-like, default="triplet_diffs"
        Directions to combine. Either name chooses them from the data.
    gamma, max_iter, output_iter, batch_size
        Without effect: the solver is not stochastic.

    See Also
    --------
    vicinal.classic.SCML : The same with vicinal's parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> triplets = metric_learn.Constraints(y).generate_knntriplets(X, 2, 2)
    >>> model = metric_learn.SCML(random_state=0).fit(X[triplets])
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """

    def fit(self, triplets: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from triplets."""
        return self._fit_tuples(triplets)


class SCML_Supervised(  # noqa: N801
    BaseMetricLearner,
    like=SCML,
    parameters="k_genuine k_impostor beta basis n_basis gamma max_iter output_iter "
    "batch_size verbose preprocessor random_state",
    defaults={"basis": "lda"},
):
    """SCML from labels.

    Parameters
    ----------
    k_genuine, k_impostor : int, default=3 and 10
        Number of nearest neighbors of the same class, and of other classes.
    beta, basis, n_basis, gamma, max_iter, output_iter, batch_size, verbose, \
preprocessor, random_state
        As for `SCML`.

    See Also
    --------
    vicinal.classic.SCML : Also accepts labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.SCML_Supervised(random_state=0).fit(X, y)
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """


def _bounds(bounds: Any) -> tuple[float, ...] | None:
    """Return metric-learn's bounds, any array of two numbers, as a tuple."""
    return None if bounds is None else tuple(np.ravel(bounds).tolist())


def _fit_chunks(learner: Any, points: Any, chunks: Any) -> Any:
    """Fit RCA, like metric-learn without shrinkage if the covariance is invertible."""
    inside = chunks != -1
    sizes = np.unique(chunks[inside], return_counts=True)[1]
    if (sizes - 1).sum() < _num_features(points):
        return learner._fit(points, chunks, shrinkage="auto")
    if (sizes > 1).all():  # without -1, RCA need not ask whether it is a class
        points, chunks = _safe_indexing(points, inside), chunks[inside]
    return learner._fit(points, chunks, shrinkage=0.0)


# Make metric-learn's modules importable, such as `itml` with ITML.
for _learner in BaseMetricLearner.__subclasses__():
    _name = _learner.__name__.removesuffix("_Supervised").lower()
    _path = f"{__name__}.{_name}"
    _module = sys.modules.setdefault(_path, ModuleType(_path, "metric-learn's module."))
    setattr(_module, _learner.__name__, _learner)
    globals()[_name] = _module
