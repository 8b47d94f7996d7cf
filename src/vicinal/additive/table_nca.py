"""Estimators that learn an additive metric of a table."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
    _fit_context,
    is_regressor,
)
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_y,
    check_consistent_length,
    check_is_fitted,
)

from vicinal._typing import FloatArray, IntArray
from vicinal.additive._training import (
    Member,
    TrainingRows,
    initial_parameters,
    train,
)
from vicinal.base.columns import (
    ColumnEncoder,
    EncodedRows,
    categorical_columns,
    check_table,
    is_missing,
    split_columns,
)
from vicinal.base.metric import (
    CallbackSupportMixin,
    Monitor,
    check_sample_weight,
    encoded,
    unchanged_on_error,
    warn_caller,
)
from vicinal.base.selection import hold_out
from vicinal.maps import Additive, ColumnWeights, project_columns
from vicinal.neighborhood import (
    NeighborWeights,
    average,
    effective_n_threads,
    single_threaded_blas,
)

# With form="diagonal", a point has a coordinate for each category, and the points of
# the training rows are kept.
MAX_LEVELS = 4096


class NeighborExplanation(NamedTuple):
    """Training rows that determine predictions, and the columns that make them near.

    Attributes
    ----------
    rows : ndarray of int of shape (n_samples, n_neighbors)
        Positions of training rows, by decreasing weight.
    weights : ndarray of shape (n_samples, n_neighbors)
        Their shares of the vote; over all training rows, they sum to 1.
    distances : ndarray of shape (n_samples, n_neighbors)
        Their distances, the mean over the maps.
    shares : ndarray of shape (n_samples, n_neighbors, n_features)
        Share of each column in the distance; they sum to the distance. With Δ_c the
        difference of f_c and Δ their sum, the share is ⟨Δ_c, Δ⟩ / ‖Δ‖, the Shapley
        value of column c in ‖Δ‖², divided by ‖Δ‖. It is negative if the column brings
        the rows nearer to each other.

    See Also
    --------
    vicinal.TableNCAClassifier : Its `explain` returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = TableNCAClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> found = model.explain(X[:1], n_neighbors=2)
    >>> bool(np.allclose(found.shares.sum(axis=2), found.distances))
    True
    """

    rows: IntArray
    weights: FloatArray
    distances: FloatArray
    shares: FloatArray


class ShapeFunction(NamedTuple):
    """The learned curve of a column, f_c.

    Attributes
    ----------
    name : str
        The column.
    values : list
        Numbers, dates or levels in ascending order, or categories; None is a missing
        value.
    points : ndarray of shape (n_values, n_dimensions)
        f_c of each value.

    See Also
    --------
    vicinal.plotting.ShapeDisplay : Draws the curves.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = TableNCAClassifier(8, random_state=0).fit(X, X[:, 0] > 0)
    >>> [curve.name for curve in model.shape_functions()]
    ['x0', 'x1', 'x2']
    """

    name: str
    values: list[Any]
    points: FloatArray


def _at_least(least: int) -> Interval:
    return Interval(Integral, least, None, closed="left")


@dataclass(eq=False, repr=False)
class TableNCA(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Additive metric of a table: one learned curve for each column.

    A row x has the point z = Σ_c f_c(x_c). A number has the curve
    f_c(x) = a x + Σ_k b_k (cos ω_k x − 1) + c_k sin ω_k x with learned frequencies ω,
    where x is the mean of the value in robust standard deviations, with outliers drawn
    in, and of the normal score of its rank. A category has a learned vector for each
    value, and a missing value one of its own.
    The curves maximize the log-probability that a random neighbor, picked with
    p_ij ∝ exp(−‖z_i − z_j‖), is of the same class ([1]_, eq. 6).

    Parameters
    ----------
    n_components : int, default=32
        Dimension of the points.
    form : {"additive", "diagonal"}, default="additive"
        "diagonal" learns one weight for each column instead of a curve: a Gower
        distance, d² = Σ_c w_c² δ_c² with δ_c the difference of two numbers as they are
        encoded, or 1 for different categories. `n_components`,
        `n_frequencies` and `frequency_scale` then have no effect.
    n_frequencies : int, default=4
        Waves of each number; 0 learns a linear map.
    frequency_scale : float, default=2.0
        Standard deviation of the initial frequencies, per robust standard deviation of
        a column.
    categorical_features : "auto", array-like or None, default="auto"
        Categorical columns, by position, name or as booleans. "auto" selects the
        columns of a data frame that are neither numbers, booleans, dates nor ordered
        categories; None selects none.
    min_frequency : int, default=2
        Number of rows that a category must have for a vector of its own.
    batch_size : int, default=128
        Rows that a step predicts.
    n_references : int, default=256
        Further random rows that are their neighbors in that step.
    learning_rate : float, default=0.12
        Largest step of Adam, in units of the initial entries. It rises in the first
        twentieth of the steps and then falls by a cosine.
    max_iter : int, default=20
        Maximum number of iterations, of ten steps each.
    validation_fraction : float, default=0.15
        Fraction of the rows that score the iterations; each map has others. The
        parameters of the best iteration are kept, and scaled so that the held-out rows
        are predicted best. In predictions, the held-out rows are neighbors, too.
    n_iter_no_change : int, default=4
        Iterations without a better score after which the training stops.
    n_estimators : int or "auto", default="auto"
        Number of maps, with different initial values and held-out rows; their votes
        are averaged. "auto" is 2 up to 4,000 rows, and 1 beyond or if
        form="diagonal".
    warm_start : bool, default=False
        Whether fit continues from the maps of the previous fit. Columns and categories
        are kept.
    callback : callable or None, default=None
        Called as callback(parameters, n_iter) after each iteration; StopIteration ends
        the training of a map.
    verbose : int, default=0
        Whether to print a line for each iteration.
    random_state : int, RandomState or None, default=None
        Seed of initial values, draws and held-out rows.
    n_jobs : int or None, default=None
        Number of threads; None uses as many as BLAS would. The result does not depend
        on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_iter_ : int
        Largest number of iterations of a map.
    objective_curve_ : ndarray
        Mean objective of the mini-batches of each iteration of the first map.

    See Also
    --------
    TableNCAClassifier : Classifies by these neighbors.
    vicinal.NCA : Linear maps.

    Notes
    -----
    Cost: up to 10 · `max_iter` steps for each map, each on `batch_size` +
    `n_references` rows, so that a fit of many rows takes hardly longer than one of a
    few thousand. Prediction of m rows takes O(mnd).

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> TableNCA(8, random_state=0).fit_transform(X, np.abs(X[:, 0]) > 0.7).shape
    (200, 16)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [_at_least(1)],
        "form": [StrOptions({"additive", "diagonal"})],
        "n_frequencies": [_at_least(0)],
        "frequency_scale": [Interval(Real, 0, None, closed="neither")],
        "categorical_features": [StrOptions({"auto"}), "array-like", None],
        "min_frequency": [_at_least(1)],
        "batch_size": [_at_least(1)],
        "n_references": [_at_least(1)],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [_at_least(1)],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "n_iter_no_change": [_at_least(1)],
        "n_estimators": [_at_least(1), StrOptions({"auto"})],
        "warm_start": ["boolean"],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    _steps: ClassVar[int] = 10

    n_components: int = 32
    _: KW_ONLY
    form: str = "additive"
    n_frequencies: int = 4
    frequency_scale: float = 2.0
    categorical_features: str | Sequence[Any] | None = "auto"
    min_frequency: int = 2
    batch_size: int = 128
    n_references: int = 256
    learning_rate: float = 0.12
    max_iter: int = 20
    validation_fraction: float = 0.15
    n_iter_no_change: int = 4
    n_estimators: int | str = "auto"
    warm_start: bool = False
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the curves.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Any value may be missing.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Number of equal rows that each row represents.

        Returns
        -------
        self
        """
        with unchanged_on_error(self), single_threaded_blas():
            of_curves = "n_components", "n_frequencies", "frequency_scale"
            unused = [k for k in of_curves if getattr(self, k) != getattr(TableNCA, k)]
            if self.form == "diagonal" and unused:
                warn_caller(f"{unused[0]} has no effect with form='diagonal'.")
            before = self._members if self.warm_start and self._is_fitted() else []
            table = check_table(self, X, reset=not before)
            labels = self._check_labels(table, y)
            weights = check_sample_weight(sample_weight, labels)
            kept = np.flatnonzero(weights > 0)
            if before:
                encoder = self._encoder
                raw = encoder.split(table)
            else:
                categorical = categorical_columns(table, self.categorical_features)
                raw = split_columns(table, categorical)
                encoder = ColumnEncoder.fit(raw, "ranked", weights, self.min_frequency)
            rows = _matrix(encoder, encoder.transform(raw), raw.numbers.dtype)[kept]
            targets, codes, state = self._encode_targets(labels[kept], weights[kept])
            form = self._map(encoder)
            if not form.size:
                raise ValueError(
                    "X has no numbers, and no category that occurs at least "
                    f"min_frequency={self.min_frequency} times."
                )
            training = TrainingRows(
                rows.astype(np.float32), targets, codes, weights[kept]
            )
            state |= {
                "_encoder": encoder,
                "_form": form,
                "_kept": kept,
                "_rows": rows,
                "_targets": targets.astype(rows.dtype),
                "_weights": NeighborWeights.build(
                    weights[kept], np.ones(len(kept)), rows.dtype
                ),
            }
            n_members = self.n_estimators
            if isinstance(n_members, str):
                n_members = 1 if self.form == "diagonal" or len(kept) > 4000 else 2
            seeds = check_random_state(self.random_state).randint(
                2**31 - 1, size=n_members
            )
            members, curves = [], []
            keys = targets[:, 0] if codes is None else codes
            for i, seed in enumerate(seeds):
                held = np.zeros(len(kept), dtype=bool)
                folds = np.random.default_rng([seeds[0], 2])
                held[hold_out(keys, self.validation_fraction, folds, turn=i)] = True
                rng = np.random.default_rng([seed, 0])
                start, basis = initial_parameters(
                    form, training, np.flatnonzero(~held), _level_columns(encoder),
                    self.n_features_in_, self.frequency_scale, rng,
                )  # fmt: skip
                if i < len(before):
                    if before[i].parameters.shape != start.shape:
                        raise ValueError(
                            "n_components, form and n_frequencies must be those of the "
                            "fit to continue (warm_start=True). Restore them, or set "
                            "warm_start=False."
                        )
                    start = before[i].parameters
                described = partial(self._describe, form, state, held)
                monitor = Monitor(self, X, y, start, described, noisy=True)
                with monitor.running():
                    found, curve = train(
                        self, form, training, start, basis, held, seed, monitor
                    )
                # A map that continues may have learned from any row before.
                unseen = held & (i >= len(before))
                members.append(_member(form, rows, found, unseen))
                curves.append(curve)
            self.__dict__.update(state, _members=members)
            self.n_iter_ = max(len(curve) for curve in curves) - 1
            self.objective_curve_ = np.array(curves[0])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Map rows to points.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_maps * n_components)
            Points of all maps side by side.
        """
        check_is_fitted(self)
        return np.concatenate(self._project(self._encode(X)), axis=1)

    def explain(self, X: Any, n_neighbors: int = 10) -> NeighborExplanation:
        """Return the training rows that vote for each row, and why they are near.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to predict. A training row is its own neighbor.
        n_neighbors : int, default=10
            Number of training rows for each.

        Returns
        -------
        NeighborExplanation
            Training rows with their weights and distances, and the share of each
            column in the distance. The shares sum to the distance.
        """
        check_is_fitted(self)
        if isinstance(n_neighbors, bool) or not (
            isinstance(n_neighbors, Integral) and n_neighbors >= 1
        ):
            raise ValueError(
                f"n_neighbors must be a positive integer, got {n_neighbors!r}."
            )
        k = min(int(n_neighbors), len(self._rows))
        queries = self._encode(X).astype(np.float64)
        order = np.empty((len(queries), k), dtype=np.intp)
        weights = np.empty((len(queries), k))
        for part, p in self._soft_neighbors(self._project(queries)):
            order[part] = np.argsort(-p, axis=1, kind="stable")[:, :k]
            weights[part] = np.take_along_axis(p, order[part], axis=1)
        shares = np.zeros((*order.shape, self.n_features_in_))
        form, groups = self._form, _groups(self._encoder)
        for member in self._members:
            for i, row in enumerate(queries):
                both = np.concatenate([row[None], self._rows[order[i]]], dtype=float)
                parts = project_columns(form, both, member.parameters, groups)
                gaps = parts[0] - parts[1:]
                whole = gaps.sum(axis=1)
                distance = np.linalg.norm(whole, axis=1)
                product = np.einsum("kcd,kd->kc", gaps, whole)
                shares[i] += product / np.maximum(distance, 1e-300)[:, None]
        shares /= len(self._members)
        return NeighborExplanation(
            self._kept[order], weights, shares.sum(axis=2), shares
        )

    def shape_functions(self) -> list[ShapeFunction]:
        """Return the curve of each column, over its values in the training rows.

        Returns
        -------
        list of ShapeFunction
            Name, values and points f_c of each column. Points have the coordinates of
            `transform`.
        """
        check_is_fitted(self)
        form = self._form
        names = _check_feature_names_in(self)
        found = []
        for name, (values, rows, own) in zip(names, _grid(self._encoder), strict=True):
            parts = [
                project_columns(form, rows, member.parameters, [own])[:, 0]
                for member in self._members
            ]
            curve = np.concatenate(parts, axis=1)
            found.append(ShapeFunction(str(name), values, curve))
        return found

    def pairwise_distances(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the distances between rows, the mean over the maps.

        Parameters
        ----------
        X, Y : array-like or data frame of shape (n_samples, n_features)
            Rows; if Y is None, all pairs of rows of X.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            For estimators with metric="precomputed".
        """
        check_is_fitted(self)
        one = self._project(self._encode(X))
        other = one if Y is None else self._project(self._encode(Y))
        return np.mean([cdist(*both) for both in zip(one, other, strict=True)], axis=0)

    def _column_points(self, X: Any) -> FloatArray:
        """Return f_c, of shape (n_samples, n_features, n_maps * n_components)."""
        rows, groups = self._encode(X).astype(np.float64), _groups(self._encoder)
        parts = [
            project_columns(self._form, rows, member.parameters, groups)
            for member in self._members
        ]
        return np.concatenate(parts, axis=2)

    def _without_rows(self) -> Self:
        """Return a copy that transforms, and holds no training row to predict by."""
        bare = copy(self)
        bare._kept, bare._rows, bare._targets, *weights = (
            np.zeros_like(one[:1])
            for one in (self._kept, self._rows, self._targets, *self._weights)
        )
        bare._weights = NeighborWeights(*weights)
        bare._members = [
            Member(one.parameters, np.zeros_like(one.points[:1]), one.held[:1])
            for one in self._members
        ]
        return bare

    @property
    def column_weights_(self) -> FloatArray:
        """Learned weight of each column, with form="diagonal"; the mean over maps."""
        check_is_fitted(self)
        if self.form != "diagonal":
            raise AttributeError("column_weights_ requires form='diagonal'.")
        weights = [np.abs(member.parameters) for member in self._members]
        return np.mean(weights, axis=0)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean size of each column's part in the differences of random training rows.

        It is Σ ‖Δ_c‖ over 1,000 pairs of rows, with Δ_c the difference in f_c; the
        importances sum to 1.
        """
        check_is_fitted(self)
        pairs = np.random.default_rng(0).integers(len(self._rows), size=(2, 1000))
        groups = _groups(self._encoder)
        found = np.zeros(self.n_features_in_)
        for member in self._members:
            for part in gen_batches(1000, max(1, 10_000 // self.n_features_in_)):
                one, other = (
                    project_columns(self._form, rows, member.parameters, groups)
                    for rows in self._rows[pairs[:, part]].astype(np.float64)
                )
                found += np.linalg.norm(one - other, axis=2).sum(axis=0)
        return found / max(found.sum(), np.finfo(float).tiny)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _is_fitted(self) -> bool:
        return hasattr(self, "_members")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes from an untrusted file do not fit together."""
        self._validate_params()
        encoder, n = self._encoder, len(self._rows)
        encoder.check_loaded(self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        n_numbers, n_flags, n_categories = encoder.sizes
        form, levels = self._form, self._rows[:, n_numbers:]
        n_levels = n_flags + sum(n_categories)
        if isinstance(form, ColumnWeights):
            same = np.array_equal(form.levels, _level_columns(encoder))
            same = same and [list(one) for one in form.columns] == _groups(encoder)
        else:
            numbers = form.n_components, form.n_frequencies
            same = isinstance(form, Additive) and {*map(type, numbers)} == {int}
            same = same and numbers[0] > 0 and numbers[1] >= 0
        n_targets = self._targets.shape[1]
        floats = [self._rows, self._targets, *self._weights]
        floats += [one.points for one in self._members]
        checks = {
            "the map": same
            and (form.n_numbers, form.n_levels) == (n_numbers, n_levels),
            "the names": names is None or names.shape == (self.n_features_in_,),
            "the rows": self._rows.shape == (n, n_numbers + n_flags + len(n_categories))
            and bool(((levels >= -1) & (levels < form.n_levels)).all())
            and bool((levels == np.floor(levels)).all()),
            "the positions of the rows": self._kept.shape == (n,)
            and self._kept.dtype.kind == "i"
            and bool((self._kept >= 0).all()),
            "the targets": self._targets.shape == (n, n_targets)
            and n_targets == len(getattr(self, "classes_", [0])),
            "the weights": {one.shape for one in self._weights} == {(n,)},
            "the maps": bool(self._members)
            and {one.points.shape[0] for one in self._members} == {n}
            and {one.parameters.shape for one in self._members} == {(form.size,)}
            and {(one.held.shape, one.held.dtype.kind) for one in self._members}
            == {((n,), "b")}
            and all(np.isfinite(one.parameters).all() for one in self._members),
            "numbers": all(
                one.dtype == self._rows.dtype and np.isfinite(one).all()
                for one in floats
            )
            and self._rows.dtype.kind == "f",
        }
        for part, holds in checks.items():
            if not holds:
                raise ValueError(part)

    @property
    def _n_features_out(self) -> int:
        return sum(member.points.shape[1] for member in self._members)

    def _check_labels(self, X: Any, y: Any) -> NDArray[Any]:
        """Return validated labels, one for each row."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        listed = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
        if listed.dtype.kind == "O" and any(map(is_missing, listed.ravel())):
            raise ValueError(
                "y contains missing values (NaN or None). Drop these rows."
            )
        labels = _check_y(y, y_numeric=is_regressor(self), estimator=self)
        check_consistent_length(X, labels)
        if len(labels) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows, got n_samples = 1."
            )
        return labels

    def _encode_targets(
        self,
        labels: NDArray[Any],
        weights: FloatArray,  # noqa: ARG002  for numbers
    ) -> tuple[FloatArray, IntArray | None, dict[str, Any]]:
        """Return indicators, class codes, and the attributes that belong to them."""
        classes, codes = encoded(self, labels)
        return np.eye(len(classes))[codes], codes, {"classes_": classes}

    def _map(self, encoder: ColumnEncoder) -> Any:
        """Return the map of encoded rows to points."""
        sizes = encoder.sizes
        n_levels = sizes.n_flags + sum(sizes.n_categories)
        if self.form == "diagonal":
            if n_levels > MAX_LEVELS:
                raise ValueError(
                    f"The categorical columns have {n_levels:,} categories; "
                    f"form='diagonal' supports at most {MAX_LEVELS:,}. Raise "
                    "min_frequency, or drop columns that identify rows."
                )
            return ColumnWeights(
                _groups(encoder), sizes.n_numbers, n_levels, _level_columns(encoder)
            )
        return Additive(
            len(encoder.middle), n_levels, self.n_components, self.n_frequencies
        )

    def _describe(
        self,
        form: Any,
        state: dict[str, Any],
        held: NDArray[np.bool_],
        parameters: FloatArray,
    ) -> dict[str, Any]:
        """Return the fitted attributes of a map in training."""
        return state | {"_members": [_member(form, state["_rows"], parameters, held)]}

    def _encode(self, X: Any) -> FloatArray:
        """Return new rows as the maps take them."""
        raw = self._encoder.split(check_table(self, X, reset=False))
        self._encoder.warn_of_unknown(self, raw)
        return _matrix(self._encoder, self._encoder.transform(raw), raw.numbers.dtype)

    def _project(self, rows: FloatArray) -> list[FloatArray]:
        """Return the points of encoded rows under each map."""
        form, n_threads = self._form, effective_n_threads(self.n_jobs)
        return [
            form.project(rows, member.parameters.astype(rows.dtype), n_threads)
            for member in self._members
        ]

    def _soft_neighbors(
        self, queries: list[FloatArray], loo: bool = False
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield p_ij of blocks of rows, given their points under each map.

        With `loo`, the queries are the training rows, and p_ii is 0; a row is mapped by
        the maps that held it out, if there are any.
        """
        n = len(queries[0])
        shares = np.ones((len(queries), n))
        if loo:
            held = np.stack([member.held for member in self._members])
            shares[:, held.any(axis=0)] = held[:, held.any(axis=0)]
        shares /= shares.sum(axis=0)
        for part in gen_batches(n, max(1, 2**22 // len(self._rows))):
            p: Any = 0.0
            for Q, member, of in zip(queries, self._members, shares, strict=True):
                exponents = -cdist(Q[part], member.points) - self._weights.log_offsets
                if loo:
                    own = np.arange(n)[part]
                    itself = -self._weights.self_log_offsets[own]
                    exponents[np.arange(len(own)), own] = itself
                p = p + softmax(exponents, axis=1) * of[part, None]
            yield part, p

    def _votes(self, X: Any) -> FloatArray:
        """Return the mean targets of the soft neighbors.

        If X is None, those of the training rows, without themselves.
        """
        check_is_fitted(self)
        if X is None:
            own = [member.points for member in self._members]
            found = [p @ self._targets for _, p in self._soft_neighbors(own, loo=True)]
            return np.concatenate(found)
        n_threads = effective_n_threads(self.n_jobs)
        votes = [
            average(
                points.astype(member.points.dtype), member.points, self._targets,
                self._weights, n_threads, plain=True,
            )
            for points, member in zip(
                self._project(self._encode(X)), self._members, strict=True
            )
        ]  # fmt: skip
        return np.mean(votes, axis=0)


class TableNCAClassifier(ClassifierMixin, TableNCA):
    """Classifier by soft neighbors under an additive metric of a table.

    p(c | x) = Σ_{j ∈ c} p_j with p_j ∝ exp(−‖z − z_j‖) over the training rows, where
    z = Σ_c f_c(x_c) is a sum of one learned curve for each column. Numbers, categories,
    dates and missing values are used as they are. The distance to each neighbor is an
    exact sum over the columns.

    Parameters
    ----------
    n_components, form, n_frequencies, frequency_scale, categorical_features, \
min_frequency, batch_size, n_references, learning_rate, max_iter, \
validation_fraction, n_iter_no_change, n_estimators, warm_start, callback, verbose, \
random_state, n_jobs
        As for :class:`vicinal.TableNCA`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        Mean size of each column's part in the differences of random training rows.
    n_iter_ : int
        Largest number of iterations of a map.
    objective_curve_ : ndarray
        Mean objective of the mini-batches of each iteration of the first map.

    See Also
    --------
    vicinal.NCAClassifier : The same with a linear map of numbers.
    vicinal.TableNCARegressor : For numeric targets.

    Notes
    -----
    Cost: as for :class:`vicinal.TableNCA`. Prediction of m rows takes O(mnd).

    Examples
    --------
    >>> import pandas as pd
    >>> from vicinal import TableNCAClassifier
    >>> frame = pd.DataFrame({
    ...     "size": [1.0, 1.2, None, 3.1, 3.0, 2.9] * 10,
    ...     "color": ["red", "red", None, "blue", "red", "blue"] * 10,
    ... })
    >>> model = TableNCAClassifier(random_state=0).fit(frame, [0, 0, 0, 1, 1, 1] * 10)
    >>> model.predict(frame[:4]).tolist()
    [0, 0, 0, 1]
    """

    def predict_proba(self, X: Any = None) -> FloatArray:
        """Return p(c | x) of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or None
            New rows. None predicts each training row by the votes of the others, under
            the maps that held it out. This is slightly optimistic, as held-out rows
            stop the training and set the scale, and more so for rows that no map held
            out; from `n_estimators` = 1 / `validation_fraction` on, there are hardly
            any.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`.
        """
        votes = self._votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X: Any = None) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or None
            New rows. None predicts each training row by the votes of the others, under
            the maps that held it out. This is slightly optimistic, as held-out rows
            stop the training and set the scale, and more so for rows that no map held
            out; from `n_estimators` = 1 / `validation_fraction` on, there are hardly
            any.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]


class TableNCARegressor(RegressorMixin, TableNCA):
    """Regression by soft neighbors under an additive metric of a table.

    The prediction is Σ_j p_j y_j with p_j ∝ exp(−‖z − z_j‖) over the training rows,
    where z = Σ_c f_c(x_c) is a sum of one learned curve for each column. The curves
    minimize the squared error.

    Parameters
    ----------
    n_components, form, n_frequencies, frequency_scale, categorical_features, \
min_frequency, batch_size, n_references, learning_rate, max_iter, \
validation_fraction, n_iter_no_change, n_estimators, warm_start, callback, verbose, \
random_state, n_jobs
        As for :class:`vicinal.TableNCA`.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Mean size of each column's part in the differences of random training rows.
    n_iter_ : int
        Largest number of iterations of a map.
    objective_curve_ : ndarray
        Mean objective of the mini-batches of each iteration of the first map.

    See Also
    --------
    vicinal.NCARegressor : The same with a linear map of numbers.
    vicinal.TableNCAClassifier : For classes.

    Notes
    -----
    Cost: as for :class:`vicinal.TableNCA`. Prediction of m rows takes O(mnd).

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(500, 4))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    >>> model = TableNCARegressor(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    def _encode_targets(
        self, labels: NDArray[Any], weights: FloatArray
    ) -> tuple[FloatArray, IntArray | None, dict[str, Any]]:
        targets = labels.astype(np.float64)
        middle = float(np.average(targets, weights=weights))
        unit = float(np.sqrt(np.average(np.square(targets - middle), weights=weights)))
        unit = unit if unit > 0 else 1.0
        standardized = (targets - middle) / unit
        return standardized[:, None], None, {"_middle": middle, "_unit": unit}

    def predict(self, X: Any = None) -> FloatArray:
        """Return the mean target of each row's soft neighbors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or None
            New rows. None predicts each training row by the votes of the others, under
            the maps that held it out. This is slightly optimistic, as held-out rows
            stop the training and set the scale, and more so for rows that no map held
            out; from `n_estimators` = 1 / `validation_fraction` on, there are hardly
            any.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        votes = self._votes(X)[:, 0].astype(np.float64)
        return self._middle + self._unit * votes


def _member(
    form: Any, rows: FloatArray, parameters: FloatArray, held: NDArray[np.bool_]
) -> Member:
    """Return a trained map with the points of the training rows."""
    points = form.project(rows, parameters.astype(rows.dtype))
    return Member(parameters, points, held)


def _matrix(encoder: ColumnEncoder, rows: EncodedRows, dtype: Any) -> FloatArray:
    """Return numbers and levels side by side, as `vicinal.maps.Additive` takes them.

    The levels are those of missing numbers, then those of the categories.
    """
    n_flags = rows.flags.shape[1]
    starts = n_flags + np.cumsum([0, *encoder.sizes.n_categories])[:-1]
    gaps = np.where(rows.flags, np.arange(n_flags), -1)
    levels = np.where(rows.codes > 0, rows.codes - 1 + starts.astype(int), -1)
    matrix: FloatArray = np.concatenate([rows.numbers, gaps, levels], axis=1)
    return matrix.astype(dtype)


def _level_columns(encoder: ColumnEncoder) -> IntArray:
    """Return the column of the matrix that each level belongs to."""
    n_numbers, n_flags, n_categories = encoder.sizes
    columns = np.arange(n_flags + len(n_categories)) + n_numbers
    return np.repeat(columns, [*(1,) * n_flags, *n_categories])


def _groups(encoder: ColumnEncoder) -> list[list[int]]:
    """Return the columns of the matrix that each column of the table has."""
    n_numbers, n_flags = len(encoder.middle), len(encoder.flagged)
    n_columns = n_numbers + len(encoder.categorical)
    numeric = [c for c in range(n_columns) if c not in encoder.categorical]
    groups: list[list[int]] = [[] for _ in range(n_columns)]
    for i, c in enumerate(numeric):
        groups[c].append(i)
        if i in encoder.flagged:
            groups[c].append(n_numbers + encoder.flagged.index(i))
    for i, c in enumerate(encoder.categorical):
        groups[c].append(n_numbers + n_flags + i)
    return groups


def _grid(encoder: ColumnEncoder) -> Iterator[tuple[Any, FloatArray, list[int]]]:
    """Yield, for each column, values, encoded rows with these, and its columns."""
    n_numbers, n_flags = len(encoder.middle), len(encoder.flagged)
    starts = n_flags + np.cumsum([0, *encoder.sizes.n_categories])
    n_encoded = n_numbers + n_flags + len(encoder.categorical)
    for own in _groups(encoder):
        first = own[0]
        if first < n_numbers:
            numbers = np.unique(encoder.knots[:, first])
            levels, values = encoder.ordered[first], numbers.tolist()
            if levels is not None:
                values = [levels[int(rank)] for rank in values]
            elif first in encoder.dates:
                seconds = (86400 * numbers).round().astype("timedelta64[s]")
                values = list(np.datetime64(0, "s") + seconds)
            of_all = np.tile(encoder.middle, (len(numbers), 1))
            of_all[:, first] = numbers
            encoded = encoder.scaled(of_all)[:, first]
            if len(own) > 1:
                values.append(None)
        else:
            i = first - n_numbers - n_flags
            values = list(encoder.categories[i])
            encoded = starts[i] + np.arange(len(values))
        grid = np.zeros((len(values), n_encoded))
        grid[:, n_numbers:] = -1
        grid[: len(encoded), first] = encoded
        if len(encoded) < len(values):  # the last is a missing number
            grid[-1, own[1]] = encoder.flagged.index(first)
        yield values, grid, own
