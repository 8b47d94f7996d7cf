"""The adapter: linear maps of queries and documents, learned from relevance."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._evaluation import Evaluation
from vicinal.adapters._fit import Learned, first_maps, learn
from vicinal.adapters._optimizer import Optimizer, is_worth_sampling
from vicinal.adapters._ranking import top_documents
from vicinal.adapters._relevance import check_relevance, shares, warn_of_empty
from vicinal.adapters._scores import DEFAULT_K, check_k, scores_of_vectors
from vicinal.adapters._vectors import (
    check_both,
    check_vectors,
    for_metric,
    has_unit_length,
    to_unit_length,
)
from vicinal.base.metric import warn_caller
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.objectives import RetrievalObjective


class RetrievalAdapter(BaseEstimator):
    """Learn from queries and their relevant documents a map that finds them better.

    The vectors come from any embedding model. A query q picks document x with
    probability p ∝ exp(⟨A q, x⟩ / T), with vectors of length 1 before the map where
    cosines are compared. The map A maximises the mean over the queries of
    Σ_x w_qx log p_qx − alpha ‖A − I‖², with weights w of the relevant documents that
    sum to 1 (eq. 8 of [1]_, normalised for each query). How strong the penalty is, and
    whether to learn at all, is decided on queries held out.

    Parameters
    ----------
    side : {"query", "both", "two"}, default="query"
        What is mapped: the queries alone, so that an index of documents stays as it
        is; both by one map; or each by a map of its own.
    n_components : int or None, default=None
        Dimensions of the mapped vectors; None is as many as before. With side "query"
        documents stay where they are, and it must be None.
    metric : {"auto", "cosine", "euclidean"}, default="auto"
        What makes a document near. "auto" is the cosine where all vectors have length
        1, and Euclidean otherwise.
    alpha : float or "auto", default="auto"
        The penalty on leaving the identity. "auto" tries several on queries held out,
        and keeps the identity where none raises their average precision by more than a
        standard error.
    temperature : float or "auto", default="auto"
        T. "auto" is half of the one under which the relevant documents are most
        probable before learning; where alpha is "auto", too, all of it and a quarter of
        it are also tried.
    k : int or sequence of int, default=(1, 10)
        How many of the first documents count in the scores.
    n_folds : int, default=5
        How many parts of the queries are held out, one after the other; with more than
        4,000 queries, 500 of them are held out once.
    batch_size : int, default=512
        Queries in a mini-batch, where there are too many pairs of queries and documents
        to look at all of them in every step.
    n_candidates : int, default=4096
        Random documents in a mini-batch, besides the relevant ones.
    max_iter : int, default=100
        Iterations of L-BFGS, or tens of steps on mini-batches.
    tol : float, default=1e-3
        Stop when an iteration gains less, relative to the objective.
    verbose : int, default=0
        Whether to print what is decided.
    random_state : int, RandomState instance or None, default=None
        For the folds and the mini-batches.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use.

    Attributes
    ----------
    query_components_ : ndarray of shape (n_components, n_features)
        The queries' map.
    document_components_ : ndarray of shape (n_components, n_features)
        The documents' map: the identity with side "query".
    evaluation_ : Evaluation
        Scores of held-out queries before and after, with intervals; only where
        `alpha="auto"`.
    is_adapted_ : bool
        False where nothing was learned: vectors stay as they are or, with
        `n_components`, their main axes are kept.
    alpha_, temperature_ : float
        What was used.
    metric_ : str
        "cosine" or "euclidean".
    n_iter_ : int
        Iterations of the last fit.
    n_features_in_ : int
        Length of the vectors.

    See Also
    --------
    vicinal.PairNCA : Pairs among the rows of one table.
    vicinal.adapters.save_adapter : Keeps it in a file.

    Notes
    -----
    Cost: O(n_queries · n_documents · D) for each evaluation, in blocks, for each
    temperature and fold that is tried; where that exceeds 2·10¹⁰, a closed form or
    mini-batches.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter
    >>> rng = np.random.default_rng(0)
    >>> documents = rng.normal(size=(300, 16))
    >>> wanted = rng.integers(300, size=120)
    >>> turned = np.roll(np.eye(16), 1, axis=0)   # queries live in a turned space
    >>> queries = documents[wanted] @ (np.eye(16) + turned) + rng.normal(size=(120, 16))
    >>> pairs = np.column_stack([np.arange(120), wanted])
    >>> adapter = RetrievalAdapter(random_state=0).fit(queries, documents, pairs)
    >>> adapter.evaluation_["mrr"].gain > 0.1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "side": [StrOptions({"query", "both", "two"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
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

    def __init__(
        self,
        *,
        side: str = "query",
        n_components: int | None = None,
        metric: str = "auto",
        alpha: float | str = "auto",
        temperature: float | str = "auto",
        k: int | Sequence[int] = DEFAULT_K,
        n_folds: int = 5,
        batch_size: int = 512,
        n_candidates: int = 4096,
        max_iter: int = 100,
        tol: float = 1e-3,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.side = side
        self.n_components = n_components
        self.metric = metric
        self.alpha = alpha
        self.temperature = temperature
        self.k = k
        self.n_folds = n_folds
        self.batch_size = batch_size
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, queries: ArrayLike, documents: ArrayLike, relevance: Any) -> Self:
        """Learn the maps.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            The queries' vectors.
        documents : array-like of shape (n_documents, n_features)
            The documents' vectors.
        relevance : array-like of shape (n_pairs, 2 or 3), sparse matrix, or lists
            Pairs of positions (query, document), perhaps with a grade; a sparse matrix
            of grades with a row for each query; or for each query the list of its
            documents. Grades of the same pair add up.

        Returns
        -------
        RetrievalAdapter
            The fitted adapter.
        """
        Q, X = check_both(queries, documents)
        grades = check_relevance(relevance, len(Q), len(X))
        asked = warn_of_empty(grades)
        metric = self._metric_of(Q, X)
        Q, X = for_metric(Q[asked], X, metric)
        grades = grades[asked]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with single_threaded_blas():
            objective = RetrievalObjective(
                Q,
                X,
                shares(grades),
                temperature=1.0,
                side=self.side,  # type: ignore[arg-type]  # checked above
                unit_length=metric == "cosine",
                n_jobs=self.n_jobs,
            )
            optimizer = Optimizer(
                start=first_maps(X, self.side, self.n_components),
                max_iter=self.max_iter,
                tol=self.tol,
                batch_size=self.batch_size,
                n_candidates=self.n_candidates,
                sampled=is_worth_sampling(objective),
                seed=seed,
            )
            learned = learn(
                objective,
                grades,
                optimizer,
                alpha=self.alpha,
                temperature=self.temperature,
                ks=check_k(self.k),
                n_folds=self.n_folds,
            )
        if learned.evaluation is not None and learned.evaluation.queries is not None:
            numbers = asked[learned.evaluation.queries]
            told = replace(learned.evaluation, queries=numbers)
            learned = replace(learned, evaluation=told)
        self._store(learned, metric, Q.dtype)
        if not learned.is_adapted:
            kept = "vectors stay as they are"
            if self.n_components is not None:
                kept = "the documents' main axes are kept"
            warn_caller(
                f"Nothing was learned that helps queries held out "
                f"({learned.in_words()}): {kept}. {learned.advice()}",
            )
        elif learned.is_loss:
            warn_caller(
                f"Queries held out find less than by the vectors as they are "
                f"({learned.in_words()}): that is what n_components="
                f"{self.n_components} costs. {learned.advice()}",
            )
        elif self.verbose:
            print(f"[RetrievalAdapter] {learned.in_words()}")  # noqa: T201
        return self

    def transform_queries(self, queries: ArrayLike) -> FloatArray:
        """Map queries to where their documents are near.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            The queries' vectors.

        Returns
        -------
        ndarray of shape (n_queries, n_components)
            Of length 1 under the cosine.
        """
        return self._mapped(queries, "query")

    def transform_documents(self, documents: ArrayLike) -> FloatArray:
        """Map documents; with side "query" they stay where they are.

        Parameters
        ----------
        documents : array-like of shape (n_documents, n_features)
            The documents' vectors.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Of length 1 under the cosine.
        """
        return self._mapped(documents, "document")

    def rank(
        self, queries: ArrayLike, documents: ArrayLike, k: int = 10
    ) -> tuple[IntArray, FloatArray]:
        """Return each query's k nearest documents, nearest first.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            The queries' vectors, as they come from the encoder.
        documents : array-like of shape (n_documents, n_features)
            The documents' vectors, as they come from the encoder.
        k : int, default=10
            How many; at most as many as there are documents.

        Returns
        -------
        positions : ndarray of shape (n_queries, k)
            Of the documents.
        scores : ndarray of shape (n_queries, k)
            Cosines; under the Euclidean metric ⟨u, v⟩ − ½‖v‖², which ranks as minus
            the distance does.
        """
        U, V = self.transform_queries(queries), self.transform_documents(documents)
        if not 1 <= k <= len(V):
            raise ValueError(f"k must be between 1 and {len(V)} documents, got {k}.")
        return top_documents(
            U,
            V.astype(U.dtype, copy=False),
            k,
            unit_length=self.metric_ == "cosine",
            n_threads=effective_n_threads(self.n_jobs),
        )

    def evaluate(
        self, queries: ArrayLike, documents: ArrayLike, relevance: Any
    ) -> Evaluation:
        """Score new queries before and after, with intervals and tests.

        Parameters
        ----------
        queries, documents, relevance
            As for `fit`; queries that took no part in it.

        Returns
        -------
        Evaluation
            Recall, hits and nDCG at each k, reciprocal rank and average precision.
        """
        check_is_fitted(self)
        Q, X = check_both(queries, documents)
        grades = check_relevance(relevance, len(Q), len(X))
        asked = warn_of_empty(grades)
        plain = for_metric(Q[asked], X, self.metric_)
        mapped = (self.transform_queries(Q[asked]), self.transform_documents(X))
        before, after = (
            scores_of_vectors(
                *vectors,
                grades[asked],
                check_k(self.k),
                unit_length=self.metric_ == "cosine",
                n_threads=effective_n_threads(self.n_jobs),
            )
            for vectors in (plain, mapped)
        )
        return Evaluation(before, after, queries=asked)

    def _store(self, learned: Learned, metric: str, dtype: Any) -> None:
        maps = learned.components.astype(dtype)
        if self.side == "query":
            self.query_components_ = maps
            self.document_components_ = np.eye(maps.shape[1], dtype=dtype)
        else:
            two = maps if maps.ndim == 3 else (maps, maps)
            self.query_components_, self.document_components_ = two
        self.n_features_in_ = maps.shape[-1]
        self.alpha_, self.temperature_ = learned.alpha, learned.temperature
        self.is_adapted_, self.n_iter_ = learned.is_adapted, learned.n_iter
        self.metric_ = metric
        if learned.evaluation is None:
            self.__dict__.pop("evaluation_", None)
        else:
            self.evaluation_ = learned.evaluation

    def _metric_of(self, Q: FloatArray, X: FloatArray) -> str:
        if self.metric != "auto":
            return self.metric
        return "cosine" if has_unit_length(Q) and has_unit_length(X) else "euclidean"

    def _mapped(self, vectors: ArrayLike, kind: str) -> FloatArray:
        check_is_fitted(self)
        points = check_vectors(vectors, "vectors")
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Expected vectors of {self.n_features_in_} numbers, got "
                f"{points.shape[1]}."
            )
        if self.metric_ == "cosine":
            points = to_unit_length(points, kind)
        if kind == "document" and self.side == "query":
            return points
        components = (
            self.query_components_ if kind == "query" else self.document_components_
        )
        image = points @ components.T.astype(points.dtype, copy=False)
        return to_unit_length(image, kind) if self.metric_ == "cosine" else image
