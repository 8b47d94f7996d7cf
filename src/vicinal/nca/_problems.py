"""Learning problems: validated rows and labels, objectives, held-out losses."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import (
    LARGEST_VALUE,
    check_sample_weight,
    validate_data,
    warn_caller,
)
from vicinal.neighborhood import (
    NeighborWeights,
    average,
    center_float32,
    effective_n_threads,
)
from vicinal.objectives import NCAObjective, TargetObjective, TruncatedNCA
from vicinal.objectives.matches import (
    SoftMatchObjective,
    check_matches,
    check_soft_labels,
)
from vicinal.objectives.nca import PairObjective, check_class_prior

MOST_ROWS = 1000
"""Maximum number of rows that choose between starts and penalties."""


class SparseRows(csr_array):
    """Sparse rows with `len`."""

    def __len__(self) -> int:
        return int(self.shape[0])


@dataclass(frozen=True)
class Problem:
    """Validated rows of positive weight, with their labels.

    Attributes
    ----------
    X : ndarray or sparse array of shape (n_rows, n_features)
        The rows; float32 rows far from the origin are centered.
    weights : ndarray of shape (n_rows,)
        Sample weights.
    kept : ndarray of bool
        Mask of these rows among the given rows.
    given : tuple
        X and y as given to fit, for callbacks.
    loss : str or PairLoss
        The objective.
    n_jobs : int or None
        Number of threads.
    offset : ndarray of shape (n_features,) or None
        Offset that was subtracted from the given rows.
    basis : ndarray of shape (n_given_features, n_features) or None
        Orthonormal basis of the span of the rows, if X has their coordinates in it.
    codes : ndarray of int or None
        Classes, if there are any.
    targets : ndarray or None
        Standardized targets of a regression.
    """

    X: Any
    weights: FloatArray
    kept: NDArray[np.bool_]
    given: tuple[Any, Any]
    loss: Any
    n_jobs: int | None
    offset: FloatArray | None = None
    codes: Any = None
    targets: Any = None
    curve_unit: float = 1.0
    basis: FloatArray | None = None

    def objective(self) -> PairObjective:
        """Return the objective of these rows."""
        raise NotImplementedError

    def scale_objective(self) -> PairObjective:
        """Return the objective that determines the scale of a start."""
        return self.objective()

    def truncated(self, est: Any) -> TruncatedNCA:
        """Return the objective with sums over `n_neighbors` neighbors."""
        raise NotImplementedError

    def part(self, rows: IntArray) -> Self:
        """Return some of the rows, with the same set of classes."""
        return replace(
            self,
            X=self.X[rows],
            weights=self.weights[rows],
            codes=None if self.codes is None else self.codes[rows],
            targets=None if self.targets is None else self.targets[rows],
        )

    def subproblem(self, rows: IntArray) -> Self:
        """Return some of the rows, with only the classes that occur in them."""
        return self.part(rows)

    def folds(self) -> "list[Fold]":
        """Return folds of training rows, with losses on held-out rows."""
        raise NotImplementedError

    def mapped(self, A: FloatArray) -> FloatArray:
        """Return the mapped rows."""
        if self.basis is not None and A.shape[1] != self.X.shape[1]:
            A = A @ self.basis
        Z: FloatArray = self.X @ A.T
        return Z

    def in_span(self) -> Self:
        """Return the rows in the coordinates of their span, from their mean."""
        X = self.X.astype(np.float64)
        center = np.average(X, axis=0, weights=self.weights)
        _, sizes, axes = np.linalg.svd(X - center, full_matrices=False)
        basis = axes[sizes > len(X) * np.finfo(self.X.dtype).eps * sizes[0]].T
        offset = center if self.offset is None else center + self.offset
        points = ((X - center) @ basis).astype(self.X.dtype)
        return replace(self, X=points, basis=basis, offset=offset)


@dataclass(frozen=True)
class Fold:
    """Training rows, and the losses of a map on held-out rows."""

    problem: Problem
    losses: Callable[[FloatArray], FloatArray]
    weights: FloatArray


@dataclass(frozen=True)
class ClassProblem(Problem):
    """Rows with class codes from 0."""

    prior: Any = None
    classes: Any = None

    @classmethod
    def validate(
        cls, est: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> Self:
        """Validate the arguments of an estimator's fit."""
        points, labels = validate_data(
            est, X, y, dtype=FLOATS, accept_sparse=["csr"], ensure_min_samples=2
        )
        if issparse(points):
            points = SparseRows(points)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        points, (codes,), weights, kept = _positive_rows(points, sample_weight, codes)
        present, codes = np.unique(codes, return_inverse=True)
        if len(present) == 1:
            warn_caller(
                f"y has one class only, {classes[present[0]]!s}; nothing is learned."
            )
        prior = None
        if est.class_prior is not None or est.objective == "class-density":
            prior = class_prior(est, classes, present, codes, weights)
        points, offset = center_float32(points)
        return cls(
            points, weights, kept, (X, y), est.objective, est.n_jobs, offset, codes,
            prior=prior, classes=classes[present],
        )  # fmt: skip

    def objective(self) -> NCAObjective:
        return NCAObjective(
            self.X, self.codes, self.loss, sample_weight=self.weights,
            class_prior=self.prior, n_jobs=self.n_jobs, check_input=False,
        )  # fmt: skip

    def truncated(self, est: Any) -> TruncatedNCA:
        """Return the objective with sums over `n_neighbors` neighbors."""
        seed = int(check_random_state(est.random_state).randint(2**31 - 1))
        objective = TruncatedNCA(
            self.X, self.codes, self.loss, n_neighbors=est.n_neighbors, seed=seed,
            sample_weight=self.weights, class_prior=self.prior, n_jobs=self.n_jobs,
            check_input=False,
        )  # fmt: skip
        k = est.n_neighbors
        if not objective.may_truncate and k < objective.n_rows - 1:
            warn_caller(
                f"n_neighbors={k} lists {k * objective.n_rows:.1e} neighbors, more "
                "than fit in memory; sums run over all pairs. Lower n_neighbors, or "
                "use solver='stochastic'."
            )
        return objective

    def subproblem(self, rows: IntArray) -> Self:
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        prior = self.prior
        if prior is not None:
            prior = prior[present] / prior[present].sum()
        return replace(
            self.part(rows),
            codes=codes,
            prior=prior,
            classes=self.classes[present],
        )

    def folds(self) -> list[Fold]:
        found = []
        for learn, held in hash_folds(self.X, self.weights):
            # Held-out rows of classes without training rows are not scored.
            known = held[np.isin(self.codes[held], self.codes[learn])]
            if not len(known) or len(np.unique(self.codes[learn])) < 2:
                continue
            part, judges = self.subproblem(learn), self.part(known)
            objective = part.objective()
            truth = np.searchsorted(part.classes, self.classes[judges.codes])

            def losses(
                A: FloatArray,
                objective: NCAObjective = objective,
                rows: Any = judges.X,
                truth: IntArray = truth,
            ) -> FloatArray:
                p = objective.class_probabilities(A, rows)[np.arange(len(truth)), truth]
                # A lower bound, so that outliers, which see one neighbor, do not
                # decide: with 1e-4, heavy tails favor maps that tell nothing apart.
                return -np.log(np.maximum(p.astype(np.float64), 0.01))

            found.append(Fold(part, losses, judges.weights))
        return found


@dataclass(frozen=True)
class RegressionProblem(Problem):
    """Rows with targets in units of their standard deviation."""

    middle: float = 0.0
    unit: float = 1.0
    width: float = 1.0

    @classmethod
    def validate(
        cls, est: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> Self:
        """Validate the arguments of an estimator's fit."""
        points, targets = validate_data(
            est, X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2
        )
        targets = targets.astype(np.float64)
        points, (targets,), weights, kept = _positive_rows(
            points, sample_weight, targets
        )
        middle, unit = _location_and_unit(targets, weights)
        points, offset = center_float32(points)
        curve_unit = unit**2 if est.objective == "squared-error" else 1.0
        return cls(
            points, weights, kept, (X, y), est.objective, est.n_jobs, offset,
            targets=(targets - middle) / unit,
            curve_unit=curve_unit,
            middle=middle,
            unit=unit,
            width=1 / 3 if isinstance(est.width, str) else est.width / unit,
        )  # fmt: skip

    def objective(self) -> TargetObjective:
        return TargetObjective(
            self.X, self.targets, self.loss, width=self.width,
            sample_weight=self.weights, n_jobs=self.n_jobs, check_input=False,
        )  # fmt: skip

    def scale_objective(self) -> TargetObjective:
        # Predictions minimize the squared error, whichever objective is optimized.
        return replace(self, loss="squared-error", width=1.0).objective()

    def folds(self) -> list[Fold]:
        found = []
        for learn, held in hash_folds(self.X, self.weights):
            part, judges = self.part(learn), self.part(held)

            def losses(
                A: FloatArray,
                part: "RegressionProblem" = part,
                judges: "RegressionProblem" = judges,
            ) -> FloatArray:
                components = A.astype(part.X.dtype)
                means = part.predict(components, judges.X @ components.T)
                return np.square(means - judges.targets)

            found.append(Fold(part, losses, judges.weights))
        return found

    def predict(self, A: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the mean standardized target of mapped queries' soft neighbors."""
        dtype = self.X.dtype
        targets = self.targets.astype(dtype)[:, None]
        weights = NeighborWeights.build(self.weights, np.ones(len(self.X)), dtype)
        threads = effective_n_threads(self.n_jobs)
        means = average(queries, self.X @ A.T, targets, weights, threads)
        return means[:, 0].astype(np.float64)


@dataclass(frozen=True)
class MatchProblem(Problem):
    """Rows with soft labels, a match matrix, or pairs."""

    labels: Any = None

    @classmethod
    def validate(
        cls, est: Any, X: ArrayLike, Y: Any, sample_weight: ArrayLike | None
    ) -> Self:
        """Validate rows with soft labels, or with a sparse match matrix."""
        points: FloatArray = validate_data(est, X, dtype=FLOATS, ensure_min_samples=2)
        labels = check_soft_labels(Y, len(points))
        if est.objective not in ("expected", "log"):
            raise ValueError(
                f"objective={est.objective!r} needs a class for each row, not soft "
                "labels; use 'expected' or 'log'."
            )
        needs_classes = {
            "anneal": bool(est.anneal),
            "early_stopping": est.early_stopping,
            "n_neighbors": est.n_neighbors != "all",
            "class_prior": est.class_prior is not None,
            "n_components": est.n_components == "auto",
            "alpha": est.alpha == "auto",
            "n_init": est.n_init > 1,
        }
        for name in (name for name, needed in needs_classes.items() if needed):
            raise ValueError(
                f"{name}={getattr(est, name)!r} needs a class for each row, not soft "
                "labels."
            )
        points, (labels,), weights, kept = _positive_rows(points, sample_weight, labels)
        codes = None  # starts cannot use matches
        if issparse(labels):
            labels = labels[:, kept]
            check_matches(labels)
        else:
            codes = np.unique(labels.argmax(axis=1), return_inverse=True)[1]
        points, offset = center_float32(points)
        return cls(
            points, weights, kept, (X, Y), est.objective, est.n_jobs, offset, codes,
            labels=labels,
        )  # fmt: skip

    def objective(self) -> SoftMatchObjective:
        return SoftMatchObjective(
            self.X, self.labels, self.loss, counts=self.weights, n_jobs=self.n_jobs
        )


def class_prior(
    est: Any,
    classes: NDArray[Any],
    present: IntArray,
    codes: IntArray,
    weights: FloatArray,
) -> FloatArray | None:
    """Return p(c) of the classes that occur; None unless the objective has it."""
    if not (isinstance(est.objective, str) and est.objective == "class-density"):
        if est.class_prior is not None:
            raise ValueError(
                f"class_prior has no effect with objective={est.objective!r}; only "
                "'class-density' has class priors."
            )
        return None
    sizes = np.bincount(codes, weights=weights).astype(np.float64)
    if est.class_prior is None or isinstance(est.class_prior, str):
        return check_class_prior(est.class_prior, sizes)
    given = check_class_prior(est.class_prior, np.ones(len(classes)))[present]
    return given / given.sum()


def _positive_rows(
    X: Any, sample_weight: ArrayLike | None, *labels: Any
) -> tuple[Any, tuple[Any, ...], FloatArray, NDArray[np.bool_]]:
    """Return the rows of positive weight; a weight of 0 is equivalent to no row."""
    if sample_weight is None:
        weights = np.ones(X.shape[0])
    else:
        weights = check_sample_weight(sample_weight, X)
    kept = weights > 0
    if not kept.all():
        X, weights = X[kept], weights[kept]
        labels = tuple(one[kept] for one in labels)
    if X.shape[0] < 2:
        raise ValueError("Fewer than two rows have a weight above 0.")
    return X, labels, weights, kept


def _location_and_unit(targets: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation of the targets; 1 if they do not vary."""
    size = float(np.abs(targets).max())
    if size > LARGEST_VALUE or 0 < size < 1 / LARGEST_VALUE:
        raise ValueError(
            f"y has values of size {size:.0e}, whose squares are out of the range of "
            "floats. Scale the targets."
        )
    middle = float(np.average(targets, weights=weights))
    unit = float(np.sqrt(np.average((targets - middle) ** 2, weights=weights)))
    return middle, unit if unit > np.finfo(float).eps * size else 1.0


def hash_folds(
    X: Any,
    weights: FloatArray,
    test_size: float = 0.2,
    n_folds: int = 3,
    few: int = 400,
    fewest: int = 40,
) -> list[tuple[IntArray, IntArray]]:
    """Return folds of training rows and held-out rows.

    The split is based on a hash of each row, so that duplicates are in the same part
    and a weight of 2 is equivalent to a duplicated row. The defaults are from
    `benchmarks.defaults`.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        The rows.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    test_size : float, default=0.2
        Share of the rows that are held out.
    n_folds : int, default=3
        Number of folds for up to `few` rows; otherwise one.
    few, fewest : int
        Fewer than `fewest` rows are not split.
    """
    n_points = float(weights.sum())
    if n_points < fewest:
        return []
    draw = _hash_to_uniform(X) * max(1.0, n_points / MOST_ROWS, len(X) / MOST_ROWS)
    taken = draw < 1
    found = []
    for k in range(n_folds if n_points <= few else 1):
        held = (k * test_size <= draw) & (draw < (k + 1) * test_size)
        if 0 < 2 * weights[held].sum() <= weights[taken].sum():
            found.append((np.flatnonzero(taken & ~held), np.flatnonzero(held)))
    if found and np.count_nonzero(taken) <= 2 * MOST_ROWS:
        return found
    # Few distinct rows, or weights that are not counts: split by position.
    order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    n_held = max(1, round(test_size * len(order)))
    return [(np.sort(order[n_held:]), np.sort(order[:n_held]))]


def _hash_to_uniform(X: Any) -> FloatArray:
    """Hash each row to [0, 1) deterministically; duplicates have the same hash.

    Rows are rounded to three digits of each feature's range, so that conversion to
    float32, or another unit or origin of the data, rarely changes the hash.
    """
    rng = np.random.default_rng(0)
    if issparse(X):
        directions = rng.standard_normal(X.shape[1])
        X = (csr_array(X, dtype=np.float64) @ directions)[:, None]
        rng = np.random.default_rng(0)
    factors = rng.integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    least = X.min(axis=0).astype(np.float64)
    extent = X.max(axis=0).astype(np.float64) - least
    unit = np.where(extent > 0, extent, 1.0)
    mixed = np.empty(len(X), dtype=np.uint64)
    for rows in gen_batches(len(X), max(1, 2**18 // X.shape[1])):
        digits = np.rint(1000 * ((X[rows].astype(np.float64) - least) / unit))
        mixed[rows] = digits.astype(np.int64).view(np.uint64) @ factors  # modulo 2⁶⁴
    # The finalizer of MurmurHash3: each input bit affects all output bits.
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    uniform: FloatArray = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
    return uniform
