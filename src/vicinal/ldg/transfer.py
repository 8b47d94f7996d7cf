"""LDG for transfer learning: the estimator."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.linalg import Domain, source_of, span_of, varying_axes
from vicinal.base.metric import LinearMetric, encoded, validate_data
from vicinal.base.selection import (
    checked_n_components,
    held_out,
    majority,
    nearest_points,
)
from vicinal.ldg.eigenproblem import EigenProblem, Matrix, complete_rows
from vicinal.ldg.local_gaussians import ClassPoints, least_spread, scatters
from vicinal.ldg.local_qda import LocalQDA, at_least_one
from vicinal.ldg.selection import (
    DIMENSIONS_BEYOND_CLASSES,
    Sample,
    choose_gamma,
    choose_n_neighbors,
    warn_of_small_classes,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.objectives.nca import check_class_prior


@dataclass(eq=False, repr=False)
class TransferLDG(ClassifierMixin, LinearMetric):
    """Local discriminative Gaussians for transfer learning.

    Learns a map for a target domain with few labeled rows from a source domain with
    many. Under the map, target points are near source points of their own class and
    far from those of others (section 5 of [1]_). The matrix

        (1 − α) (V_t − γA_t) + α (V_s − γA_s)

    replaces V − γA of :class:`vicinal.LDG` (eq. 7). The Gaussians around target points
    (V_t, A_t) and around source points (V_s, A_s) are both fitted to the k nearest
    source points. New target points are classified by 3-NN over the rows of both
    domains in the mapped space.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of dimensions to keep. "auto" is the number of classes plus five.
    n_neighbors : int or "auto", default="auto"
        k. "auto" chooses on the source domain as :class:`vicinal.LDG` does.
    gamma : float or "auto", default="auto"
        γ. "auto" chooses on the source domain as :class:`vicinal.LDG` does.
    alpha : float or "auto", default="auto"
        α, between 0 and 1: the weight of the source's own term. "auto" takes the best
        of 0, 0.1, 0.3 and 0.5 for 3-NN in five folds of the target rows, the largest if
        several are. The dimension is then the number of classes plus five. Held-out
        rows are used neither for the map nor as neighbors.
    standardize : bool, default=True
        Whether to scale each feature to mean 0 and standard deviation 1, separately in
        each domain.
    class_prior : array-like of shape (n_classes,), "empirical" or None, \
default="empirical"
        p(j), in the order of the sorted labels. "empirical" is each class's share of
        the source rows; None is uniform.
    var_floor : float, default=1e-3
        The smallest σ², relative to the mean variance of the features in the source.
    random_state : int, RandomState or None, default=None
        Draws the folds, and the rows that the choices are made on.
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map of target rows, including the division by standard deviations; 0 for
        features that are constant in either domain. float32 if X is.
    offset_ : ndarray of shape (n_components,)
        Added after the map.
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
        Names of the features, if X has string names.

    See Also
    --------
    vicinal.LDG : Learns from one domain.
    vicinal.classic.TransferITML : Learns from pairs across the domains.

    Notes
    -----
    Without a source, `fit(X, y)` is LDG on X alone with 3-NN.

    Cost: that of :class:`vicinal.LDG` on the rows of both domains, plus five fits for
    each α if alpha="auto".

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
        **LocalQDA._parameter_constraints,
        "n_components": [at_least_one, StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "standardize": ["boolean"],
    }

    n_components: int | str = "auto"
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    gamma: float | str = "auto"
    alpha: float | str = "auto"
    standardize: bool = True
    class_prior: ArrayLike | str | None = "empirical"
    var_floor: float = 1e-3
    random_state: int | RandomState | None = None
    n_jobs: int | None = None

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
            Their classes. The source must have all of them.
        X_source : array-like of shape (n_source_samples, n_features) or None
            The points of the source domain.
        y_source : array-like of shape (n_source_samples,) or None
            Their classes, at least two.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            n_threads = effective_n_threads(self.n_jobs)
            random_state = check_random_state(self.random_state)
            points, labels = validate_data(
                self, X, y, dtype=FLOATS, ensure_min_samples=1
            )
            given = source_of(self, labels, X_source, y_source)
            # Without a source, X takes its place and the target has no rows.
            rows, row_labels = given or (points, labels)
            classes, codes = encoded(self, row_labels, "y_source" if given else "y")
            missing = np.setdiff1d(labels, classes)
            if missing.size:
                raise ValueError(
                    "The source domain has no rows of these classes of y: "
                    f"{missing.tolist()}. Remove the rows of those classes, or add "
                    "source rows of them."
                )
            source = Domain.build(rows.astype(points.dtype, copy=False), codes)
            target = None
            if given is not None:
                target = Domain.build(points, np.searchsorted(classes, labels))
            sizes = np.bincount(codes)
            priors = check_class_prior(self.class_prior, sizes)
            kept = source.varying() & (True if target is None else target.varying())
            wanted = self._wanted(int(kept.sum()), len(classes))
            warn_of_small_classes(classes, sizes, self.n_neighbors, itself=1)

            if self.standardize:
                source = source.standardized()
                target = target and target.standardized()
            target = target or source.without_rows()
            span = span_of(np.vstack([source.points(kept), target.points(kept)]))
            n, both = len(codes), span.coordinates
            floor = least_spread(both[:n], self.var_floor)
            subset = ClassPoints.build(both[:n], source.codes, floor)
            sample = Sample.draw(
                subset, priors, int(kept.sum()), random_state, n_threads
            )
            k, axes = choose_n_neighbors(sample, self.n_neighbors), varying_axes(both)

            def matrices(queries: ClassPoints | None = None) -> EigenProblem:
                """Return V_t and A_t of target points, or V_s and A_s without any."""
                centers = None if queries is None else queries.points
                neighbors = subset.nearest(k, centers, n_threads)  # source points
                V, A = scatters(
                    subset, neighbors, priors, sample.n_features, n_threads, queries
                )
                return EigenProblem.build(axes, V, A)

            of_source = problem = matrices()
            gamma, alpha = choose_gamma(of_source, sample, self.gamma), self.alpha
            if given is None:
                alpha = 1.0
            else:
                queries = ClassPoints.build(both[n:], target.codes, 0, len(classes))
                if isinstance(alpha, str):
                    alpha = _choose_alpha(
                        subset, queries, sample, gamma, of_source, matrices
                    )
                problem = matrices(queries).mixed(of_source, alpha)
            values, found = problem.smallest(gamma, problem.rank)
            found = _ordered_null_space(values, found, both)[:, :wanted]
            directions = complete_rows(span.basis_to_features(found), wanted)
            self._store(source, target, directions, kept, classes)
            self.eigenvalues_ = np.zeros(wanted)
            self.eigenvalues_[: len(values)] = values[:wanted]
            self.n_neighbors_, self.gamma_, self.alpha_ = k, gamma, alpha
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map target points to the common space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the target domain.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 if X is.
        """
        return self._map(X)

    def transform_source(self, X: ArrayLike) -> FloatArray:
        """Map source points to the common space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the source domain.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 if X is.
        """
        return self._map(X, "source_")

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of target points by 3-NN over both domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the target domain.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        Z = self._map(X)
        return self._knn.predict(Z)

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
        Z = self._map(X)
        return self._knn.predict_proba(Z)

    def _wanted(self, n_varying: int, n_classes: int) -> int:
        """Return the dimension of the map."""
        if not n_varying:
            raise ValueError("No feature varies in every domain.")
        if isinstance(self.n_components, str):
            return min(n_classes + DIMENSIONS_BEYOND_CLASSES, n_varying)
        return checked_n_components(
            self.n_components, n_varying,
            f"the {n_varying} features that vary in every domain", "'auto'",
        )  # fmt: skip

    def _store(
        self,
        source: Domain,
        target: Domain,
        directions: Matrix,
        kept: NDArray[np.bool_],
        classes: NDArray[Any],
    ) -> None:
        """Set the maps from directions over the kept features, and fit 3-NN."""
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
        self._knn = KNeighborsClassifier(min(3, len(codes)))
        self._knn.fit(np.vstack(mapped), classes[codes])

    def _map(self, X: ArrayLike, domain: str = "") -> FloatArray:
        """Return mapped points as an array, regardless of `set_output`."""
        check_is_fitted(self)
        points: FloatArray = validate_data(self, X, reset=False, dtype=FLOATS)
        components, offset = (
            getattr(self, f"{domain}{name}").astype(points.dtype)
            for name in ("components_", "offset_")
        )
        return points @ components.T + offset


def _ordered_null_space(
    values: Matrix, directions: Matrix, points: FloatArray
) -> Matrix:
    """Return eigenvectors, those of eigenvalue 0 by the variance of the points.

    With α = 0, eq. 7 has as many terms as there are target rows and classes, often
    fewer than features. It does not order the directions outside of their span, and
    rounding would. Those of least variance come first: they change distances least.
    """
    largest = np.abs(values).max(initial=0.0)
    null = np.abs(values) <= len(values) * np.finfo(np.float64).eps * largest
    rest = directions[:, null]
    mapped = (points - points.mean(axis=0, dtype=np.float64)) @ rest
    ordered = directions.copy()
    ordered[:, null] = rest @ np.linalg.eigh(mapped.T @ mapped)[1]
    return ordered


def _choose_alpha(
    source: ClassPoints,
    target: ClassPoints,
    sample: Sample,
    gamma: float,
    of_source: EigenProblem,
    matrices: Callable[[ClassPoints], EigenProblem],
) -> float:
    """Return the α whose 3-NN is best in folds of the target rows.

    Of equally good ones the largest. Held-out rows are used neither for the map nor as
    neighbors. The candidates were chosen on other draws of figure 5 (docs/ldg.md).
    """
    points, codes = target.points, target.codes
    alphas = (0.0, 0.1, 0.3, 0.5)
    d = source.n_classes + DIMENSIONS_BEYOND_CLASSES
    right = np.zeros(len(alphas), dtype=np.intp)
    for held in held_out(codes, sample.random_state):
        rest = ClassPoints.build(points[~held], codes[~held], 0, source.n_classes)
        of_target = matrices(rest)
        known = np.vstack([source.points, points[~held]])
        labels = np.concatenate([source.codes, codes[~held]])
        for a, alpha in enumerate(alphas):
            B = of_target.mixed(of_source, alpha).smallest(gamma, d)[1]
            B = B.astype(points.dtype)
            nearest = nearest_points(
                points[held] @ B, known @ B, n_threads=sample.n_threads
            )
            right[a] += (majority(labels[nearest[0]]) == codes[held]).sum()
    return max(zip(right.tolist(), alphas, strict=True))[1]
