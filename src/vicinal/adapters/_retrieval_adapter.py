"""The adapter: linear maps of queries and documents, learned from relevance."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, minimize_scalar
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.adapters._evaluation import Evaluation, check_k, score_vectors
from vicinal.adapters._objective import MiniBatches, RetrievalObjective
from vicinal.adapters._selection import Centers, HeldOutQueries, nested_axes
from vicinal.adapters._validation import (
    check_data,
    check_vectors,
    for_metric,
    has_unit_length,
    judged_queries,
    to_unit_length,
)
from vicinal.base.metric import check_sample_weight, warn_caller
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighbors import nearest
from vicinal.optimize import Ridge, Stochastic, maximize, solution

# Multiplications of an evaluation over all documents above which the closed form or
# mini-batches are used; see "Large collections" in docs/adapters.md.
MAX_PRODUCTS = 2e10


@dataclass(eq=False, repr=False)
class RetrievalAdapter(BaseEstimator):
    """Linear map of embeddings, learned from queries and their relevant documents.

    The vectors come from any embedding model. A query q picks document x with
    probability p ∝ exp(⟨A q, x⟩ / T); for cosines, vectors have length 1 before the
    map. The map A maximizes the mean over the queries of
    Σ_x w_qx log p_qx − alpha ‖A − C‖², with weights w of the relevant documents that
    sum to 1 (eq. 8 of [1]_, normalized for each query). The center C is the identity
    or a closed form: the Procrustes rotation [2]_ of the queries to their documents, or
    a ridge regression that shrinks towards it. Center, penalty, and whether to learn at
    all, are chosen on held-out queries. The closed forms themselves are candidates.

    With side "query" or "two", queries and documents may have different widths. The
    Procrustes rotation then stands in for the identity.

    Parameters
    ----------
    side : {"query", "both", "two"}, default="query"
        Mapped vectors: only the queries, so that an index of documents stays
        unchanged; both by the same map; or each by its own map.
    n_components : int or None, default=None
        Number of dimensions of the mapped vectors; None keeps all of them. Must be
        None with side "query", because documents are not mapped.
    nested : bool, default=False
        Whether the first components of mapped vectors are good vectors by themselves,
        for any number of them (Matryoshka [3]_). The maps are followed by a rotation,
        which changes no ranking by all components. It orders them by the agreement of
        queries with relevant documents and by the variance of the documents. Needs side
        "both" or "two".
    metric : {"auto", "cosine", "euclidean"}, default="auto"
        Distance that ranks the documents. "auto" is the cosine if all vectors have
        length 1, and Euclidean otherwise.
    alpha : float or "auto", default="auto"
        Penalty on the distance from the center. "auto" tries several values and
        centers on held-out queries. It takes those with the largest gain in mean
        average precision, less its standard error. It keeps the identity if the gain is
        below one standard error, or if nDCG at the largest `k` falls. With a number,
        the center is the identity.
    temperature : float or "auto", default="auto"
        T. "auto" is half of the temperature under which the relevant documents are most
        probable before learning. If alpha is "auto", too, that temperature and a
        quarter of it are also tried.
    k : int or sequence of int, default=(1, 10)
        Ranks at which the scores are cut off.
    n_folds : int, default=5
        Number of folds of held-out queries, which need two queries each. With more than
        4,000 queries, 500 of them are held out once.
    batch_size : int, default=512
        Queries in a mini-batch, used for large collections and to find the temperature.
    n_candidates : int, default=4096
        Random documents in a mini-batch, besides the relevant ones.
    max_iter : int, default=100
        Maximum number of iterations of L-BFGS; on mini-batches, each iteration is ten
        steps.
    tol : float, default=1e-3
        Stop if the relative change of the objective is smaller.
    verbose : int, default=0
        Whether to print the scores of the held-out queries.
    random_state : int, RandomState instance or None, default=None
        Determines the folds and the mini-batches.
    n_jobs : int or None, default=None
        Number of threads; None uses the threads that BLAS would use.

    Attributes
    ----------
    query_components_ : ndarray of shape (n_components, n_features)
        Map of the queries.
    document_components_ : ndarray of shape (n_components, n_document_features)
        Map of the documents; the identity with side "query".
    evaluation_ : Evaluation
        Scores of held-out queries before and after, with intervals. Only available if
        `alpha="auto"`. With different widths, "before" is the rotation.
    is_adapted_ : bool
        False if the identity is kept or, with `n_components`, the principal axes of
        the documents.
    alpha_, temperature_ : float
        Penalty and temperature of the fit. With an infinite penalty, the map is a
        closed form.
    metric_ : str
        "cosine" or "euclidean".
    n_iter_ : int
        Number of iterations of the last fit.
    n_features_in_ : int
        Number of features of the queries.

    See Also
    --------
    vicinal.PairNCA : Pairs among the rows of one table.
    vicinal.adapters.save_adapter : Writes the adapter to a file.

    Notes
    -----
    Cost: O(n_queries · n_documents · D) for each evaluation, in blocks, for each
    setting and fold that is tried. If that exceeds 2·10¹⁰, a closed form or
    mini-batches are used.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.
    .. [2] Schönemann. A generalized solution of the orthogonal Procrustes problem.
       Psychometrika 31, 1966.
    .. [3] Kusupati et al. Matryoshka representation learning. Advances in Neural
       Information Processing Systems 35, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter
    >>> rng = np.random.default_rng(0)
    >>> documents = rng.normal(size=(300, 16))
    >>> wanted = rng.integers(300, size=120)
    >>> turned = np.roll(np.eye(16), 1, axis=0)   # queries live in a rotated space
    >>> queries = documents[wanted] @ (np.eye(16) + turned) + rng.normal(size=(120, 16))
    >>> pairs = np.column_stack([np.arange(120), wanted])
    >>> adapter = RetrievalAdapter(random_state=0).fit(queries, documents, pairs)
    >>> adapter.evaluation_["mrr"].gain > 0.1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "side": [StrOptions({"query", "both", "two"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "nested": ["boolean"],
        "metric": [StrOptions({"auto", "cosine", "euclidean"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "temperature": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "k": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _: KW_ONLY
    side: str = "query"
    n_components: int | None = None
    nested: bool = False
    metric: str = "auto"
    alpha: float | str = "auto"
    temperature: float | str = "auto"
    k: int | Sequence[int] = (1, 10)
    n_folds: int = 5
    batch_size: int = 512
    n_candidates: int = 4096
    max_iter: int = 100
    tol: float = 1e-3
    verbose: int = 0
    random_state: Any = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        queries: ArrayLike,
        documents: ArrayLike,
        relevance: Any,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the maps.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Query vectors.
        documents : array-like of shape (n_documents, n_document_features)
            Document vectors. With side "query" or "two" they may have another width.
        relevance : array-like of shape (n_pairs, 2 or 3), sparse matrix, or lists
            Pairs of positions (query, document), optionally with a grade; a sparse
            matrix of grades with a row for each query; or for each query the list of
            its documents. Grades of repeated pairs are summed.
        sample_weight : array-like of shape (n_queries,) or None, default=None
            Weights of the queries in the objective and in the scores.

        Returns
        -------
        RetrievalAdapter
            The fitted adapter.
        """
        return self._fit(queries, documents, relevance, sample_weight, None)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        queries: ArrayLike,
        documents: ArrayLike,
        relevance: Any,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more queries, starting from the maps learned so far.

        The penalty is on the distance from these maps. They are kept unless held-out
        queries of this call gain more than one standard error; `evaluation_` has their
        scores before and after the call. The first call is `fit`.

        Parameters
        ----------
        queries, documents, relevance, sample_weight
            As for `fit`; the queries are those that arrived since the last call.

        Returns
        -------
        RetrievalAdapter
            The fitted adapter.
        """
        maps = None
        if hasattr(self, "query_components_"):
            maps = self.query_components_, self.document_components_
        return self._fit(queries, documents, relevance, sample_weight, maps)

    def _fit(
        self,
        queries: ArrayLike,
        documents: ArrayLike,
        relevance: Any,
        sample_weight: ArrayLike | None,
        maps: tuple[FloatArray, FloatArray] | None,
    ) -> Self:
        """Learn from some queries, starting from maps learned before, if any."""
        Q, X, grades = check_data(
            queries, documents, relevance, same_width=self.side == "both"
        )
        widths = Q.shape[1], X.shape[1]
        weight = check_sample_weight(sample_weight, Q)
        judged = judged_queries(grades)
        judged = judged[weight[judged] > 0]
        metric: str = self.metric if maps is None else self.metric_
        if metric == "auto":
            unit_length = has_unit_length(Q) and has_unit_length(X)
            metric = "cosine" if unit_length else "euclidean"
        Q, X = for_metric(Q[judged], X, metric)
        centers = self._centers(X, widths, maps)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with single_threaded_blas():
            objective = RetrievalObjective(
                centers.padded(Q),
                centers.padded(X),
                normalize(grades[judged], norm="l1"),
                sample_weight=weight[judged] / weight[judged].mean(),
                side=self.side,
                unit_length=metric == "cosine",
                n_jobs=self.n_jobs,
            )
            sampled = Q.size * len(X) > MAX_PRODUCTS
            solve = partial(self._solve, sampled=sampled, seed=seed)
            ridge, evaluation = None, None
            if self.alpha == "auto":
                held_out = HeldOutQueries(
                    objective, self.n_folds, check_k(self.k), seed
                )
                candidates = held_out.search(
                    solve,
                    centers,
                    lambda ridge: self._temperatures(
                        objective, centers(objective, ridge)
                    ),
                )
                is_narrow = len(centers.frame) < widths[0] == widths[1]
                chosen, before, after = held_out.evaluate(
                    candidates, unmapped=is_narrow and maps is None
                )
                ridge, alpha, temperature = chosen[:3]
                rows = judged[np.sort(held_out.rows)]
                weights = None if sample_weight is None else weight[rows]
                evaluation = Evaluation(
                    before, after, seed, rows, sample_weight=weights
                )
            start = centers(objective, ridge)
            if self.alpha != "auto":
                alpha = float(self.alpha)
                temperature = self._temperatures(objective, start)[0]
            objective.temperature = temperature
            result = solution(start, 0, [], "converged", "the center")
            if np.isfinite(alpha):
                result = solve(objective, alpha, start, start)
            learned = ridge is not None or bool(np.isfinite(alpha))
            if self.nested and (learned or maps is None):
                result.x = nested_axes(objective, result.x) @ result.x
        if learned or maps is None:
            A, B = result.x if self.side == "two" else (result.x, result.x)
            A, B = A[:, : widths[0]], B[:, : widths[1]]
            B = np.eye(len(A)) if self.side == "query" else B
            self.query_components_ = A.astype(Q.dtype)
            self.document_components_ = B.astype(Q.dtype)
            self.alpha_, self.temperature_ = float(alpha), temperature
            self.is_adapted_ = learned
        self.metric_: str = metric
        self.n_features_in_, self.n_iter_ = widths[0], result.nit
        self.__dict__.pop("evaluation_", None)  # of an earlier fit
        if evaluation is not None:
            self.evaluation_ = evaluation
            self._report(evaluation, learned=learned, is_update=maps is not None)
        if result.reason == "max_iter":
            warn_caller(
                f"The fit did not converge in {result.nit} iterations: increase "
                "max_iter.",
                ConvergenceWarning,
            )
        return self

    def _centers(
        self,
        X: FloatArray,
        widths: tuple[int, int],
        maps: tuple[FloatArray, FloatArray] | None,
    ) -> Centers:
        """Return the maps before learning and their closed forms."""
        if maps is None:
            frame = self._frame(X)
            kept = frame if widths[0] == widths[1] else None
        else:
            kept, frame = maps
            if (kept.shape[1], frame.shape[1]) != widths:
                raise ValueError(
                    f"The maps take queries of {kept.shape[1]} and documents of "
                    f"{frame.shape[1]} numbers, got {widths[0]} and {widths[1]}."
                )
        return Centers(kept, frame, self.side, widths)

    def _frame(self, X: FloatArray) -> FloatArray:
        """Return the identity or, for fewer components, the axes of the documents."""
        D = X.shape[1]
        d = D if self.n_components is None else self.n_components
        if self.side == "query" and d != D:
            raise ValueError(
                f"n_components={d} cannot be combined with side='query', which leaves "
                f"documents in their {D} dimensions; use side='both' or 'two'."
            )
        if self.side == "query" and self.nested:
            raise ValueError(
                "nested=True cannot be combined with side='query', which leaves "
                "documents as they are; use side='both' or 'two'."
            )
        if d > D:
            raise ValueError(f"n_components={d} is above the {D} features.")
        if d == D:
            return np.eye(D)
        # Not centered: cosines and maps refer to the origin.
        _, axes = np.linalg.eigh(X.T.astype(np.float64) @ X)
        return axes[:, ::-1][:, :d].T

    def _temperatures(
        self, objective: RetrievalObjective, start: FloatArray
    ) -> list[float]:
        """Return the temperatures to try, the default first."""
        if self.temperature != "auto":
            return [float(self.temperature)]
        rng = np.random.default_rng(0)
        sample = objective.sample(self.batch_size, self.n_candidates, rng)
        X = sample.documents.astype(np.float64)
        # Squared distances of cosines are at most 4; the unit of others is their own.
        unit = 1.0 if sample.unit_length else X.var(axis=0).sum() or 1.0

        def loss(log_temperature: float) -> float:
            sample.temperature = float(np.exp(log_temperature))
            return -float(sample.terms(start).mean())

        found = minimize_scalar(
            loss,
            bounds=np.log(np.array([1e-3, 10.0]) * unit),
            method="bounded",
            options={"xatol": 0.02},
        )
        # Lower temperatures emphasize the first ranks.
        return [factor * float(np.exp(found.x)) for factor in (0.5, 1.0, 0.25)]

    def _solve(
        self,
        objective: RetrievalObjective,
        alpha: float,
        init: FloatArray,
        center: FloatArray,
        *,
        sampled: bool,
        seed: int,
    ) -> OptimizeResult:
        """Maximize the objective minus alpha ‖A − center‖² per query, from init."""
        if not sampled:
            ridge = Ridge(objective, alpha * len(objective.queries), center)
            return maximize(ridge, init, max_iter=self.max_iter, tol=self.tol)
        if objective.side == "query" and objective.unit_length:
            found = objective.closed_form(alpha, center)
            return solution(found, 1, [], "converged", "closed form")
        batches = MiniBatches(
            objective, alpha, center, self.batch_size, self.n_candidates
        )
        # The largest step is a twentieth of a typical entry of the map.
        adam = Stochastic(self.max_iter, seed, steps=10, first_step=0.05)
        return adam.maximize(batches, init, lambda *_: False)

    def _report(
        self, evaluation: Evaluation, *, learned: bool, is_update: bool
    ) -> None:
        """Warn if learning does not help, or print the gain."""
        gain = evaluation["map"]
        summary = (
            f"mean average precision of {gain.n_queries} held-out queries: "
            f"{gain.before:.3f} before, {gain.after:.3f} after, a difference of "
            f"{gain.low:+.3f} to {gain.high:+.3f}"
        )
        d, n_features = self.document_components_.shape
        is_worse = d < n_features and gain.high < 0
        if learned and not is_worse:
            if self.verbose:
                print(f"[RetrievalAdapter] {summary}")  # noqa: T201
            return
        if is_worse:
            advice = "Increase n_components."
        elif gain.before == 1:
            advice = "They are already ranked perfectly."
        else:
            two = "" if self.side == "two" else ", or side='two'"
            advice = f"More pairs may help{two}."
        outcome = f"n_components={d} lowers the scores of held-out queries"
        if not learned:
            kept = "original vectors are"
            if d < n_features:
                kept = "axes of the documents are"
            if n_features != self.n_features_in_:
                kept = "rotation is"
            if is_update:
                kept = "earlier maps are"
            outcome = (
                f"Nothing was learned that helps held-out queries; the {kept} kept"
            )
        warn_caller(f"{outcome} ({summary}). {advice}")

    def transform_queries(
        self, queries: ArrayLike, n_components: int | None = None
    ) -> FloatArray:
        """Map queries.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Query vectors.
        n_components : int or None, default=None
            Number of first components of a nested map; None is all.

        Returns
        -------
        ndarray of shape (n_queries, n_components)
            Mapped queries, of length 1 under the cosine.
        """
        return self._transform(queries, "query", n_components)

    def transform_documents(
        self, documents: ArrayLike, n_components: int | None = None
    ) -> FloatArray:
        """Map documents; with side "query" they stay unchanged.

        Parameters
        ----------
        documents : array-like of shape (n_documents, n_features)
            Document vectors.
        n_components : int or None, default=None
            Number of first components of a nested map; None is all.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Mapped documents, of length 1 under the cosine.
        """
        return self._transform(documents, "document", n_components)

    def _transform(
        self, vectors: ArrayLike, kind: str, n_components: int | None
    ) -> FloatArray:
        check_is_fitted(self)
        points = check_vectors(vectors, "vectors")
        components = getattr(self, f"{kind}_components_")
        if n_components is not None:
            if not self.nested:
                raise ValueError("n_components needs an adapter with nested=True.")
            if not 1 <= n_components <= len(components):
                raise ValueError(
                    f"n_components must be between 1 and {len(components)}, got "
                    f"{n_components}."
                )
        if points.shape[1] != components.shape[1]:
            raise ValueError(
                f"Expected {kind} vectors of {components.shape[1]} numbers, got "
                f"{points.shape[1]}."
            )
        if self.metric_ == "cosine":
            points = to_unit_length(points, kind)
        if kind == "document" and self.side == "query":
            return points
        components = components[:n_components]
        mapped: FloatArray = points @ components.T.astype(points.dtype, copy=False)
        return to_unit_length(mapped, kind) if self.metric_ == "cosine" else mapped

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes from an untrusted file do not fit together."""
        A, B = self.query_components_, self.document_components_
        d = B.shape[-1] if self.n_components is None else self.n_components
        shapes = (d, self.n_features_in_), (d, B.shape[-1])
        for holds, problem in (
            ((A.shape, B.shape) == shapes, "the shapes of the maps"),
            (A.dtype == B.dtype and A.dtype in FLOATS, "the maps are not floats"),
            (type(self.is_adapted_) is bool, "is_adapted_ has another type"),
            (type(self.n_iter_) is int, "n_iter_ has another type"),
            (np.isfinite(A).all() and np.isfinite(B).all(), "the maps are not finite"),
            (self.metric_ in ("cosine", "euclidean"), "the metric is unknown"),
            (self.alpha_ >= 0, "alpha or temperature is out of range"),
            (0 < self.temperature_ < np.inf, "alpha or temperature is out of range"),
        ):
            if not holds:
                raise ValueError(problem)
        self._validate_params()
        if hasattr(self, "evaluation_"):
            self.evaluation_._check_loaded()

    def rank(
        self, queries: ArrayLike, documents: ArrayLike, k: int = 10
    ) -> tuple[IntArray, FloatArray]:
        """Return the k nearest documents of each query, nearest first.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Query vectors as they come from the encoder.
        documents : array-like of shape (n_documents, n_features)
            Document vectors as they come from the encoder.
        k : int, default=10
            Number of documents for each query.

        Returns
        -------
        positions : ndarray of shape (n_queries, k)
            Positions of the documents.
        scores : ndarray of shape (n_queries, k)
            Cosines; under the Euclidean metric ⟨u, v⟩ − ½‖v‖², which ranks as minus
            the distance does.
        """
        U, V = self.transform_queries(queries), self.transform_documents(documents)
        if not 1 <= k <= len(V):
            raise ValueError(f"k must be between 1 and {len(V)} documents, got {k}.")
        return nearest(
            U,
            V.astype(U.dtype, copy=False),
            k,
            inner_product=self.metric_ == "cosine",
            n_threads=effective_n_threads(self.n_jobs),
        )

    def evaluate(
        self,
        queries: ArrayLike,
        documents: ArrayLike,
        relevance: Any,
        n_components: int | None = None,
    ) -> Evaluation:
        """Score new queries before and after, with intervals and tests.

        Parameters
        ----------
        queries, documents, relevance
            As for `fit`; the queries should not be those of the fit.
        n_components : int or None, default=None
            Number of first components of a nested map; None is all.

        Returns
        -------
        Evaluation
            Recall, hits and nDCG at each k, reciprocal rank and average precision.
        """
        check_is_fitted(self)
        Q, X, grades = check_data(queries, documents, relevance, same_width=False)
        if Q.shape[1] != X.shape[1]:
            raise ValueError(
                "Vectors of different widths cannot be compared before they are mapped:"
                " use ranking_scores on the mapped vectors."
            )
        judged = judged_queries(grades)
        before, after = (
            score_vectors(
                *vectors,
                grades[judged],
                check_k(self.k),
                unit_length=self.metric_ == "cosine",
                n_threads=effective_n_threads(self.n_jobs),
            )
            for vectors in (
                for_metric(Q[judged], X, self.metric_),
                (
                    self.transform_queries(Q[judged], n_components),
                    self.transform_documents(X, n_components),
                ),
            )
        )
        return Evaluation(before, after, queries=judged)
