"""LDG for transfer learning: the estimator."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.domains import Domain, source_of
from vicinal.base.metric import LinearMetric
from vicinal.base.n_components import checked_n_components
from vicinal.base.validation import encoded, validate_data
from vicinal.ldg._eigenproblem import EigenProblem, Matrix, completed, same_signs
from vicinal.ldg._model_selection import (
    DIMENSIONS_BEYOND_CLASSES,
    KNN_K,
    choose_gamma,
    choose_n_neighbors,
    sampled_rows,
)
from vicinal.ldg._transfer_problem import TransferProblem
from vicinal.ldg._validation import (
    LDG_CONSTRAINTS,
    checked_priors,
    source_of_chance,
    warn_of_small_classes,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas


class TransferLDG(ClassifierMixin, LinearMetric):
    """Local discriminative Gaussians for transfer learning.

    Learns a map for a target domain with a few labelled rows from a source domain with
    many: one under which target points are near source points of their own class, and
    far from those of others (section 5 of [1]_). With α,

        (1 − α) (V_t − γA_t) + α (V_s − γA_s)

    stands for V − γA in :class:`vicinal.LDG` (eq. 7): the Gaussians around
    target points (V_t, A_t) and around source points (V_s, A_s) are both made of the
    k nearest source points. New target points are classified by 3-NN over the rows of
    both domains in the mapped space.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        How many dimensions to keep. "auto" is the number of classes and five more.
    n_neighbors : int or "cv", default="cv"
        k. "cv" chooses on the source domain as :class:`vicinal.LDG` does.
    gamma : float or "cv", default="cv"
        γ. "cv" chooses on the source domain as :class:`vicinal.LDG` does.
    alpha : float or "cv", default="cv"
        α, between 0 and 1: what the source's own term weighs. "cv" takes the best of
        0, 0.1, 0.3 and 0.5 for 3-NN in five folds of the target rows, with as many
        dimensions as there are classes and five more; the largest of equals. Rows that
        are held out serve neither the map nor as neighbours.
    standardize : bool, default=True
        Give each domain by itself mean 0 and standard deviation 1 in each feature.
    priors : array-like of shape (n_classes,) or None, default=None
        p(j), in the order of the sorted labels; None is each class's share of the
        source rows.
    var_floor : float, default=1e-3
        The least σ², as a part of the features' mean variance in the source.
    random_state : int, RandomState or None, default=None
        For the folds, and for which rows serve the choices. None draws the same
        ones each time.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map of target rows, with 1 / standard deviation folded in; 0 for features
        that are constant in either domain. float32 if X is.
    offset_ : ndarray of shape (n_components,)
        What is added after the map.
    source_components_, source_offset_ : ndarray
        The same for source rows.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the matrix above, ascending.
    alpha_ : float
        The α in use; 1 without a source.
    gamma_ : float
        The γ in use.
    n_neighbors_ : int
        The k in use.
    n_components_ : int
        The dimension of the map.
    classes_ : ndarray of shape (n_classes,)
        The labels of the source, sorted.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LDG : Learns from one domain.
    vicinal.classic.TransferITML : Learns from pairs across the domains.

    Notes
    -----
    Without a source, `fit(X, y)` is LDG on X alone with 3-NN.

    Cost: as of :class:`vicinal.LDG` on the rows of both domains, and for alpha="cv"
    five more fits for each α.

    References
    ----------
    .. [1] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TransferLDG
    >>> rng = np.random.default_rng(0)
    >>> y_source, y = np.arange(300) % 3, np.arange(12) % 3
    >>> X_source = rng.normal(size=(300, 20)) + 3 * np.eye(3, 20)[y_source]
    >>> X = 2 * rng.normal(size=(12, 20)) + 6 * np.eye(3, 20)[y] + 1
    >>> model = TransferLDG(random_state=0)
    >>> model = model.fit(X, y, X_source=X_source, y_source=y_source)
    >>> y_new = np.arange(90) % 3
    >>> X_new = 2 * rng.normal(size=(90, 20)) + 6 * np.eye(3, 20)[y_new] + 1
    >>> bool(model.score(X_new, y_new) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LDG_CONSTRAINTS,
        "alpha": [Interval(Real, 0, 1, closed="both"), StrOptions({"cv"})],
        "standardize": ["boolean"],
    }
    components_: FloatArray
    offset_: FloatArray
    source_components_: FloatArray
    source_offset_: FloatArray
    eigenvalues_: NDArray[np.float64]
    classes_: NDArray[Any]

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_neighbors: int | str = "cv",
        gamma: float | str = "cv",
        alpha: float | str = "cv",
        standardize: bool = True,
        priors: ArrayLike | None = None,
        var_floor: float = 1e-3,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.alpha = alpha
        self.standardize = standardize
        self.priors = priors
        self.var_floor = var_floor
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_source: ArrayLike | None = None,
        y_source: ArrayLike | None = None,
    ) -> Self:
        """Learn the map, and store the rows of both domains for prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points of the target domain.
        y : array-like of shape (n_samples,)
            Their classes, all of which the source must have.
        X_source : array-like of shape (n_source_samples, n_features) or None
            The points of the source domain.
        y_source : array-like of shape (n_source_samples,) or None
            Their classes, two at least.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            n_threads = effective_n_threads(self.n_jobs)
            random_state = source_of_chance(self.random_state)
            points, labels = validate_data(
                self, X, y, dtype=FLOATS, ensure_min_samples=1
            )
            given = source_of(self, labels, X_source, y_source)
            # Without a source the target is one, and nobody is left to adapt to.
            rows, row_labels = given or (points, labels)
            classes, codes = encoded(self, row_labels, "y_source" if given else "y")
            _check_classes_of_target(labels, classes)
            source = Domain.build(rows.astype(points.dtype, copy=False), codes)
            target = source.without_rows()
            if given is not None:
                target = Domain.build(points, np.searchsorted(classes, labels))
            priors = checked_priors(self.priors, codes)
            kept = source.varying() & (target.varying() | (given is None))
            wanted = self._wanted(int(kept.sum()), len(classes))
            warn_of_small_classes(
                classes, np.bincount(codes), self.n_neighbors, itself=1
            )

            if self.standardize:
                source = source.standardized()
                target = (
                    source.without_rows() if given is None else target.standardized()
                )
            problem = TransferProblem.build(
                source, target, kept, priors, self.var_floor, n_threads
            )
            k, gamma, alpha, mixed = self._choices(problem, random_state)
            values, found = mixed.smallest(gamma, wanted)
            directions = completed(problem.span.basis_to_features(found), wanted)
            self._store(source, target, same_signs(directions), kept, classes)
            self.eigenvalues_ = np.zeros(wanted)
            self.eigenvalues_[: len(values)] = values
            self.n_neighbors_, self.gamma_, self.alpha_ = k, gamma, alpha
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map points of the target domain to the space that both domains share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the target domain.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 if X is.
        """
        return self._of_target(X)

    def transform_source(self, X: ArrayLike) -> FloatArray:
        """Map points of the source domain to the space that both domains share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the source domain.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 if X is.
        """
        check_is_fitted(self)
        return self._mapped(X, self.source_components_, self.source_offset_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of points of the target domain, by 3-NN over both domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the target domain.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mapped = self._of_target(X)
        found: NDArray[Any] = self._knn.predict(mapped)
        return found

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return each class's share of the three nearest rows of both domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the target domain.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`.
        """
        mapped = self._of_target(X)
        proba: FloatArray = self._knn.predict_proba(mapped)
        return proba

    def _wanted(self, n_varying: int, n_classes: int) -> int:
        """Return the dimension of the map."""
        if not n_varying:
            raise ValueError(
                "No feature varies in every domain: each needs rows that differ."
            )
        if isinstance(self.n_components, str):
            return min(n_classes + DIMENSIONS_BEYOND_CLASSES, n_varying)
        return checked_n_components(
            self.n_components, n_varying,
            f"the {n_varying} features that vary in every domain", "'auto'",
        )  # fmt: skip

    def _choices(
        self, problem: TransferProblem, random_state: RandomState
    ) -> tuple[int, float, float, EigenProblem]:
        """Return k, γ and α, as given or chosen, and the problem they make."""
        source, n_threads = problem.source, problem.n_threads
        sample = sampled_rows(source.codes, random_state)
        points, codes = source.points[sample], source.codes[sample]
        k, gamma, alpha = self.n_neighbors, self.gamma, self.alpha
        if isinstance(k, str):
            k = choose_n_neighbors(
                points, codes, problem.priors, source.least_spread,
                problem.span.n_features, random_state, n_threads,
            )  # fmt: skip
        of_source = problem.of_source(k)
        if isinstance(gamma, str):
            gamma = choose_gamma(of_source, points, codes, n_threads)
        n_target = len(problem.target.points)
        if n_target == 0:
            return k, gamma, 1.0, of_source
        if isinstance(alpha, str):
            alpha = problem.choose_alpha(of_source, k, gamma, random_state)
        of_target = problem.of_target(k, np.ones(n_target, dtype=bool))
        return k, gamma, alpha, of_target.mixed(of_source, alpha)

    def _store(
        self,
        source: Domain,
        target: Domain,
        directions: Matrix,
        kept: NDArray[np.bool_],
        classes: NDArray[Any],
    ) -> None:
        """Make the estimator fitted with directions over the features that count."""
        from sklearn.neighbors import KNeighborsClassifier  # slow to import

        maps = [domain.map_of(directions, kept) for domain in (target, source)]
        (self.components_, self.offset_), of_source = maps
        self.source_components_, self.source_offset_ = of_source
        self.n_components_ = len(directions)
        self.classes_ = classes
        mapped = [
            domain.X @ components.T + offset
            for domain, (components, offset) in zip((target, source), maps, strict=True)
        ]
        codes = np.concatenate([target.codes, source.codes])
        self._knn = KNeighborsClassifier(min(KNN_K, len(codes)))
        self._knn.fit(np.vstack(mapped), classes[codes])

    def _of_target(self, X: ArrayLike) -> FloatArray:
        """Return mapped points as an array, whatever `set_output` says."""
        check_is_fitted(self)
        return self._mapped(X, self.components_, self.offset_)

    def _mapped(
        self, X: ArrayLike, components: FloatArray, offset: FloatArray
    ) -> FloatArray:
        points: FloatArray = validate_data(self, X, reset=False, dtype=FLOATS)
        dtype = points.dtype
        return points @ components.astype(dtype).T + offset.astype(dtype)


def _check_classes_of_target(y: NDArray[Any], classes: NDArray[Any]) -> None:
    lacking = np.setdiff1d(y, classes)
    if lacking.size:
        raise ValueError(
            f"The source domain has no rows of these classes of y: {lacking.tolist()}. "
            "The Gaussians of the target's points are made of source points: leave the "
            "rows of those classes out, or give source rows of them."
        )
