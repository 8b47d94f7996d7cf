"""The bridge: affine maps between the vectors of two embedding models."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata, t
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.adapters._objective import N_SAMPLED_DOCUMENTS
from vicinal.adapters._regression import Regression
from vicinal.adapters._validation import check_vectors, has_unit_length, to_unit_length
from vicinal.base.linalg import distinct_rows
from vicinal.base.metric import warn_caller
from vicinal.base.selection import one_standard_error_choice
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighbors import nearest

N_NEIGHBORS = 10
# Penalties on the distance from the rotation, in units of the mean variance of a
# feature: from a map near the rotation to a fit that is nearly unpenalized.
ALPHAS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
N_FOLDS = 10
MAX_HELD_OUT = 2000
MIN_PAIRS = 30
N_PERMUTATIONS = 199


class Estimate(NamedTuple):
    """A mean over held-out texts, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Certificate:
    """Agreement of a bridge with re-embedding, on held-out texts.

    A held-out text is a query. Its mapped vector and its own vector of the target
    model search the same index, the target vectors of the texts of the fit.

    Attributes
    ----------
    recall : named tuple (value, low, high)
        Share of the 10 nearest texts of the own vector that are among the 10 nearest of
        the mapped vector: mean and 95 % interval.
    ndcg : named tuple (value, low, high)
        The same, with the ranks of the mapped vector discounted as in nDCG@10.
    rank_correlation : named tuple (value, low, high)
        Spearman correlation of the similarities to up to 500 texts of the index.
    chance : float
        Recall between different texts, the mean of random permutations.
    matched : bool
        False if the recall is not above chance (permutation test, p > 0.01): the two
        arrays are of different texts, or in different orders.
    method : str
        Map that was chosen: "procrustes", "low rank" or "ridge".
    alpha : float
        Its penalty, in units of the mean variance of a feature.
    rank : int
        Rank of the linear map.
    n_pairs, n_held_out : int
        Number of distinct pairs, and of those that were held out, in ten folds.
    learning_curve : tuple of (int, float)
        Recall with fewer pairs, and with those of the fit.
    recall_at_twice : float
        Recall expected with twice the pairs: the last doubling's gain, reduced as it
        was from the doubling before.

    See Also
    --------
    vicinal.adapters.EmbeddingBridge : Its `certificate_` is one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import EmbeddingBridge
    >>> old = np.random.default_rng(0).normal(size=(200, 5))
    >>> new = np.roll(old, 1, axis=1)
    >>> certificate = EmbeddingBridge(random_state=0).fit(new, old).certificate_
    >>> certificate.matched, certificate.method, round(certificate.recall.value, 2)
    (True, 'procrustes', 1.0)
    """

    recall: Estimate
    ndcg: Estimate
    rank_correlation: Estimate
    chance: float
    matched: bool
    method: str
    alpha: float
    rank: int
    n_pairs: int
    n_held_out: int
    learning_curve: tuple[tuple[int, float], ...]
    recall_at_twice: float

    def _check_loaded(self) -> None:
        """Raise ValueError if values from an untrusted file cannot be printed."""
        sizes, recalls = zip(*self.learning_curve, strict=True)
        counts = [self.rank, self.n_pairs, self.n_held_out, *sizes]
        numbers = [*self.recall, *self.ndcg, *self.rank_correlation, self.chance]
        numbers += [self.alpha, self.recall_at_twice, *recalls]
        for holds, problem in (
            (self.method in ("procrustes", "low rank", "ridge"), "the method"),
            (type(self.matched) is bool, "matched has another type"),
            (all(type(one) is int for one in counts), "the numbers of pairs"),
            (all(type(one) is float for one in numbers), "the scores"),
            (np.isfinite(numbers).all(), "the scores are not finite"),
        ):
            if not holds:
                raise ValueError(problem)

    def __str__(self) -> str:
        setting = f", alpha {self.alpha:g}" if self.alpha else ""
        lines = [
            f"{self.method} (rank {self.rank}{setting}), from {self.n_pairs:,} pairs; "
            f"{self.n_held_out:,} texts held out",
            f"{'score':<18}{'mean':>7}   95 % interval",
        ]
        for name in ("recall", "ndcg", "rank_correlation"):
            value, low, high = getattr(self, name)
            title = name.replace("_", " ") + ("@10" if len(name) < 7 else "")
            lines.append(f"{title:<18}{value:>7.3f}   {low:.3f} to {high:.3f}")
        curve = ", ".join(f"{one:.3f} ({n:,})" for n, one in self.learning_curve)
        lines.append(f"recall@10 by pairs: {curve}")
        lines.append(f"expected with twice the pairs: {self.recall_at_twice:.3f}")
        if not self.matched:
            lines.append(f"NOT MATCHED: different texts have {self.chance:.3f}")
        return "\n".join(lines)


class Candidate(NamedTuple):
    """Settings of a map."""

    method: str
    is_centered: bool
    alpha: float = 0.0
    rank: int | None = None


class Moments(NamedTuple):
    """Sums over pairs, which all maps are computed from."""

    n: Any
    x: Any
    y: Any
    xx: Any
    xy: Any

    @classmethod
    def of(cls, X: FloatArray, Y: FloatArray) -> Self:
        """Sum in float64, in blocks of pairs."""
        sums: list[Any] = [0, 0, 0, 0, 0]
        for rows in gen_batches(len(X), 8192):
            x, y = X[rows].astype(np.float64), Y[rows].astype(np.float64)
            block = (len(x), x.sum(axis=0), y.sum(axis=0), x.T @ x, x.T @ y)
            sums = [total + one for total, one in zip(sums, block, strict=True)]
        return cls(*sums)

    def without(self, other: Self) -> Self:
        """Return the sums over the other pairs."""
        return type(self)(*(a - b for a, b in zip(self, other, strict=True)))


class Solver:
    """Affine maps from the sums over some pairs."""

    def __init__(self, moments: Moments) -> None:
        n, x, y, xx, xy = moments
        self.means = x / n, y / n
        self.regressions = {
            False: Regression(xx, xy),
            True: Regression(xx - np.outer(x, x) / n, xy - np.outer(x, y) / n),
        }

    def solve(self, candidate: Candidate) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients, of shape (n_targets, n_features), and intercepts."""
        regression = self.regressions[candidate.is_centered]
        alpha = np.inf if candidate.method == "procrustes" else candidate.alpha
        W = regression.solve(alpha, candidate.rank)
        x, y = self.means
        return W.T, y - x @ W if candidate.is_centered else np.zeros(len(y))


class HeldOutTexts:
    """Folds of held-out texts, and their nearest texts by their own vectors.

    Parameters
    ----------
    X, Y : ndarray of shape (n_pairs, n_features), (n_pairs, n_targets)
        Vectors of the source and target models.
    unit_length : bool
        Whether the index compares cosines.
    rng : RandomState
        Draws the folds.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self,
        X: FloatArray,
        Y: FloatArray,
        *,
        unit_length: bool,
        rng: np.random.RandomState,
        n_threads: int,
    ) -> None:
        self.X, self.Y = X, Y
        self.unit_length, self.n_threads = unit_length, n_threads
        self.moments = Moments.of(X, Y)
        order = rng.permutation(len(X))
        self.tests = np.array_split(order[:MAX_HELD_OUT], N_FOLDS)
        self.train = [order[~np.isin(order, test)] for test in self.tests]
        self.solvers = [
            Solver(self.moments.without(Moments.of(X[test], Y[test])))
            for test in self.tests
        ]
        self.truth = [self._search(i, Y[test]) for i, test in enumerate(self.tests)]

    def _search(self, fold: int, queries: FloatArray) -> IntArray:
        """Return the nearest texts in the index of a fold."""
        return nearest(
            queries,
            self.Y[self.train[fold][:N_SAMPLED_DOCUMENTS]],
            N_NEIGHBORS,
            inner_product=self.unit_length,
            n_threads=self.n_threads,
        )[0]

    def _mapped(self, fold: int, solver: Solver, candidate: Candidate) -> FloatArray:
        """Return the mapped vectors of the texts that a fold holds out."""
        mapped = apply_map(self.X[self.tests[fold]], *solver.solve(candidate))
        return mapped.astype(self.Y.dtype, copy=False)

    def found(self, candidate: Candidate) -> list[IntArray]:
        """Return the texts found by the mapped vectors, for each fold."""
        return [
            self._search(fold, self._mapped(fold, solver, candidate))
            for fold, solver in enumerate(self.solvers)
        ]

    def hits(self, found: list[IntArray]) -> FloatArray:
        """Return whether each found text is a neighbor of the text's own vector."""
        pairs = zip(found, self.truth, strict=True)
        return np.concatenate([agreement(*one) for one in pairs])

    def choose(self) -> tuple[Candidate, list[IntArray]]:
        """Return the simplest candidate within one standard error, and its finds.

        Ridge regressions are centered if that is better for the rotation. Low ranks are
        tried with the best penalty of full rank.
        """
        found: dict[Candidate, list[IntArray]] = {}

        def best(candidates: list[Candidate]) -> Candidate:
            found.update({one: self.found(one) for one in candidates})
            return max(candidates, key=lambda one: self.hits(found[one]).sum())

        rigid = [Candidate("procrustes", is_centered) for is_centered in (False, True)]
        is_centered = best(rigid).is_centered
        ridge = [Candidate("ridge", is_centered, alpha) for alpha in ALPHAS]
        alpha = best(ridge).alpha
        width = min(self.X.shape[1], self.Y.shape[1])
        ranks = [rank for rank in (width // 4, width // 2) if rank]
        low = [Candidate("low rank", is_centered, alpha, rank) for rank in ranks]
        found |= {one: self.found(one) for one in low}
        simplest = [*rigid, *low, *ridge]
        recalls = np.stack([self.hits(found[one]).mean(axis=1) for one in simplest])
        chosen = simplest[one_standard_error_choice(recalls)]
        return chosen, found[chosen]

    def certify(self, candidate: Candidate, found: list[IntArray]) -> Certificate:
        """Return the certificate of a candidate."""
        hits = self.hits(found)
        recalls = hits.mean(axis=1)
        discount = 1 / np.log2(2 + np.arange(N_NEIGHBORS))
        rng = np.random.default_rng(0)
        chance = np.array(
            [
                self.hits([rng.permutation(one) for one in found]).mean()
                for _ in range(N_PERMUTATIONS)
            ]
        )
        n_as_good = 1 + np.count_nonzero(chance >= recalls.mean() * (1 - 1e-9))
        curve, n_train = self._learning_curve(candidate, hits), len(self.train[0])
        first, second = np.diff([one for _, one in curve[1:]])
        gain = second * min(second / first, 1.0) if min(first, second) > 0 else 0.0
        return Certificate(
            recall=estimate(recalls, n_train),
            ndcg=estimate(hits @ discount / discount.sum(), n_train),
            rank_correlation=estimate(self._rank_correlations(candidate), n_train),
            chance=float(chance.mean()),
            matched=bool(n_as_good <= 0.01 * (1 + N_PERMUTATIONS)),
            method=candidate.method,
            alpha=candidate.alpha,
            rank=candidate.rank or min(self.X.shape[1], self.Y.shape[1]),
            n_pairs=len(self.X),
            n_held_out=len(hits),
            learning_curve=curve,
            recall_at_twice=min(float(recalls.mean() + gain), 1.0),
        )

    def _learning_curve(
        self, candidate: Candidate, hits: FloatArray
    ) -> tuple[tuple[int, float], ...]:
        """Return recalls from an eighth, a fourth, half and all pairs of a fold.

        Differences to all pairs are measured on three folds.
        """
        n, recall = len(self.train[0]), float(hits.mean())
        ends = np.cumsum([len(one) for one in self.tests])
        curve = []
        for share in (0.125, 0.25, 0.5):
            # The penalty stays the same sum, which suits any number of pairs.
            scaled = candidate._replace(alpha=candidate.alpha / share)
            some = []
            for fold, rows in enumerate(self.train[:3]):
                part = rows[: max(round(share * n), 1)]
                solver = Solver(Moments.of(self.X[part], self.Y[part]))
                found = self._search(fold, self._mapped(fold, solver, scaled))
                some.append(agreement(found, self.truth[fold]))
            lost = hits[: ends[2]].mean() - np.concatenate(some).mean()
            curve.append((round(share * n), float(recall - lost)))
        return (*curve, (n, recall))

    def _rank_correlations(self, candidate: Candidate) -> FloatArray:
        """Return the correlation of similarities for each held-out text."""
        found = []
        for fold, test in enumerate(self.tests):
            index = self.Y[self.train[fold][:500]].astype(np.float64)
            offset = 0 if self.unit_length else np.einsum("ij,ij->i", index, index) / 2
            mapped = self._mapped(fold, self.solvers[fold], candidate)
            own, bridged = (
                rankdata(one @ index.T - offset, axis=1)
                for one in (self.Y[test], mapped)
            )
            own, bridged = (
                one - one.mean(axis=1, keepdims=True) for one in (own, bridged)
            )
            norms = np.sqrt(np.square(own).sum(axis=1) * np.square(bridged).sum(axis=1))
            found.append((own * bridged).sum(axis=1) / np.where(norms > 0, norms, 1))
        return np.concatenate(found)


def agreement(found: IntArray, truth: IntArray) -> FloatArray:
    """Return 1 for each found text that is among the true ones, and otherwise 0."""
    hits: FloatArray = (
        (found[:, :, None] == truth[:, None, :]).any(axis=2).astype(float)
    )
    return hits


def estimate(values: FloatArray, n_train: int) -> Estimate:
    """Return the mean with its 95 % t interval, corrected for the common training rows.

    The variance is that of Nadeau and Bengio (Machine Learning 52, 2003).
    """
    mean, n = float(values.mean()), len(values)
    error = values.std(ddof=1) * np.sqrt(1 / n + 1 / n_train)
    half = float(t.ppf(0.975, n - 1) * error)
    return Estimate(mean, mean - half, mean + half)


def apply_map(X: FloatArray, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    """Return the mapped points, in the precision of X."""
    mapped: FloatArray = X @ coef.T.astype(X.dtype) + intercept.astype(X.dtype)
    return mapped


@dataclass(eq=False, repr=False)
class EmbeddingBridge(TransformerMixin, BaseEstimator):
    """Affine maps between the vectors of two embedding models.

    A new model replaces an old one, and the index of the old model's vectors stays:
    `transform` maps vectors of the new model into the space of the old one. A sample of
    texts that both models have embedded is enough; there are no labels. The map is an
    orthogonal Procrustes rotation with a scale [1]_, a ridge regression that shrinks
    towards that rotation, or one of reduced rank. It is chosen by the recall of the 10
    nearest old neighbors on held-out texts: the simplest within one standard error of
    the best. `inverse_transform` has a map of its own, chosen in the same way.

    Parameters
    ----------
    metric : {"auto", "cosine", "euclidean"}, default="auto"
        Distance that the indexes use. "auto" is the cosine if all vectors of both
        models have length 1, and Euclidean otherwise. Under the cosine, vectors are
        scaled to length 1 before and after the map.
    random_state : int, RandomState instance or None, default=None
        Determines the held-out texts.
    n_jobs : int or None, default=None
        Number of threads; None uses the threads that BLAS would use.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Linear map from new to old vectors.
    intercept_ : ndarray of shape (n_targets,)
        Its offset.
    inverse_coef_ : ndarray of shape (n_features, n_targets)
        Linear map from old to new vectors.
    inverse_intercept_ : ndarray of shape (n_features,)
        Its offset.
    certificate_, inverse_certificate_ : Certificate
        Agreement with re-embedding on held-out texts, for `transform` and for
        `inverse_transform`.
    metric_ : str
        "cosine" or "euclidean".
    n_features_in_ : int
        Number of features of the new model.

    See Also
    --------
    vicinal.adapters.RetrievalAdapter : Learns from queries and relevant documents.
    vicinal.save : Writes the bridge to a file.

    Notes
    -----
    Cost: O(n_pairs · D²) for the maps, and for each of about ten candidates the search
    of up to 2,000 held-out texts among up to 20,000 others. Memory: a copy of the
    vectors, and O(D²).

    The certificate is of texts like those of the fit, in an index of those texts. In a
    larger index, fewer neighbors are shared. If queries differ from documents, add
    queries to the pairs.

    References
    ----------
    .. [1] Schönemann. A generalized solution of the orthogonal Procrustes problem.
       Psychometrika 31, 1966.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import EmbeddingBridge
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.normal(size=(400, 8))
    >>> old = topics @ rng.normal(size=(8, 12)) + 0.1 * rng.normal(size=(400, 12))
    >>> new = topics @ rng.normal(size=(8, 20)) + 0.1 * rng.normal(size=(400, 20))
    >>> bridge = EmbeddingBridge(random_state=0).fit(new[:300], old[:300])
    >>> bridge.transform(new[300:]).shape
    (100, 12)
    >>> bridge.certificate_.recall.low > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions({"auto", "cosine", "euclidean"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _: KW_ONLY
    metric: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn both maps from vectors of the same texts.

        Parameters
        ----------
        X : array-like of shape (n_pairs, n_features)
            Vectors of the new model.
        y : array-like of shape (n_pairs, n_targets)
            Vectors of the old model, of the same texts in the same order. Repeated
            vectors of either model are left out.

        Returns
        -------
        EmbeddingBridge
            The fitted bridge.
        """
        new, old = check_vectors(X, "X"), check_vectors(y, "y")
        if len(new) != len(old):
            raise ValueError(
                f"X has {len(new)} vectors and y {len(old)}: both must be of the same "
                "texts, in the same order."
            )
        metric = self.metric
        if metric == "auto":
            unit_length = has_unit_length(new) and has_unit_length(old)
            metric = "cosine" if unit_length else "euclidean"
        if metric == "cosine":
            new, old = to_unit_length(new, "text"), to_unit_length(old, "text")
        rows = np.intersect1d(distinct_rows(new)[0], distinct_rows(old)[0])
        if len(rows) < MIN_PAIRS:
            raise ValueError(
                f"{len(rows)} pairs of different texts are too few to hold some out: "
                f"give {MIN_PAIRS} or more."
            )
        new, old = new[rows], old[rows]
        rng = check_random_state(self.random_state)
        learned = []
        with single_threaded_blas():
            for source, target in ((new, old), (old, new)):
                texts = HeldOutTexts(
                    source,
                    target,
                    unit_length=metric == "cosine",
                    rng=rng,
                    n_threads=effective_n_threads(self.n_jobs),
                )
                chosen, found = texts.choose()
                certificate = texts.certify(chosen, found)
                learned.append((*Solver(texts.moments).solve(chosen), certificate))
        (self.coef_, self.intercept_, self.certificate_) = learned[0]
        (self.inverse_coef_, self.inverse_intercept_, self.inverse_certificate_) = (
            learned[1]
        )
        self.metric_, self.n_features_in_ = metric, new.shape[1]
        if not self.certificate_.matched:
            warn_caller(
                "X and y seem to be of different texts, or in different orders: recall "
                f"of held-out texts is {self.certificate_.recall.value:.3f}, and "
                f"{self.certificate_.chance:.3f} by chance."
            )
        return self

    @property
    def learning_curve_(self) -> tuple[tuple[int, float], ...]:
        """Recall of `transform` on held-out texts at growing numbers of pairs."""
        return self.certificate_.learning_curve

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map vectors of the new model into the space of the old one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of the new model.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
            Mapped vectors, of length 1 under the cosine.
        """
        check_is_fitted(self)
        return self._map(X, self.coef_, self.intercept_)

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Map vectors of the old model into the space of the new one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_targets)
            Vectors of the old model.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Mapped vectors, of length 1 under the cosine.
        """
        check_is_fitted(self)
        return self._map(X, self.inverse_coef_, self.inverse_intercept_)

    def _map(self, X: ArrayLike, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        points = check_vectors(X, "X")
        if points.shape[1] != coef.shape[1]:
            raise ValueError(
                f"X has {points.shape[1]} features, but the map takes {coef.shape[1]}."
            )
        if self.metric_ == "euclidean":
            return apply_map(points, coef, intercept)
        points = to_unit_length(points, "text")
        return to_unit_length(apply_map(points, coef, intercept), "mapped text")

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes from an untrusted file do not fit together."""
        maps = [self.coef_, self.intercept_]
        maps += [self.inverse_coef_, self.inverse_intercept_]
        d, n_features = self.coef_.shape
        shapes = [(d, n_features), (d,), (n_features, d), (n_features,)]
        for holds, problem in (
            ([one.shape for one in maps] == shapes, "the shapes of the maps"),
            (n_features == self.n_features_in_, "the number of features"),
            (all(one.dtype in FLOATS for one in maps), "the maps are not floats"),
            (all(np.isfinite(one).all() for one in maps), "the maps are not finite"),
            (self.metric_ in ("cosine", "euclidean"), "the metric is unknown"),
        ):
            if not holds:
                raise ValueError(problem)
        self._validate_params()
        for one in (self.certificate_, self.inverse_certificate_):
            one._check_loaded()
