"""Learned linear metrics: validation, warnings, callbacks, base classes."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils import validation as _sklearn
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray

_OURS = tuple(
    f"{Path(module).parent}{os.sep}"
    for module in (Path(__file__).parent, sklearn.__file__, joblib.__file__)
)

__all__ = [
    "CallbackSupportMixin",
    "LearnedMetric",
    "LinearMetric",
    "Monitor",
    "check_sample_weight",
    "encoded",
    "init_like",
    "init_of",
    "labeled",
    "unchanged_on_error",
    "unscale_components",
    "validate_data",
    "warn_caller",
]


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package, scikit-learn and joblib."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


MOST_WEIGHT = 1e30
"""Maximum weight of a row."""
LARGEST_VALUE = 1e75
"""Largest absolute value of X; its fourth power is finite. 1 / LARGEST_VALUE is the
least for the same reason."""


def validate_data(estimator: Any, /, *arrays: Any, **options: Any) -> Any:
    """Validate as scikit-learn does, in native byte order and within a safe range.

    scikit-learn keeps the byte order of data frame columns, for which no kernel is
    compiled. Arrays of other libraries, such as torch tensors, become NumPy arrays,
    whatever scikit-learn is configured to do. Values whose squares or fourth powers
    would overflow or underflow raise ValueError here, so that no other code needs to
    consider them.
    """
    with sklearn.config_context(array_api_dispatch=False):
        found = _sklearn.validate_data(estimator, *arrays, **options)
    X = found[0] if isinstance(found, tuple) else found
    values = X.data if issparse(X) else X
    if getattr(values, "dtype", np.dtype(int)).kind == "f" and values.size:
        largest = max(abs(float(values.max())), abs(float(values.min())))
        # A map of small values is large, and has the type of X. New rows may be small.
        least = max(1 / LARGEST_VALUE, 1e8 * float(np.finfo(values.dtype).tiny))
        least = least if options.get("reset", True) else 0.0
        if largest > LARGEST_VALUE or 0 < largest < least:
            raise ValueError(
                f"X has values of size {largest:.0e}, whose squares are out of the "
                "range of floats. Scale the data, for instance with StandardScaler."
            )
    arrays = found if isinstance(found, tuple) else (found,)
    native = [
        one.astype(one.dtype.newbyteorder("="))
        if hasattr(one, "dtype") and not one.dtype.isnative
        else one
        for one in arrays
    ]
    return tuple(native) if isinstance(found, tuple) else native[0]


def check_sample_weight(weights: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Return the weight of each row; 1 if none are given.

    Raises
    ------
    ValueError
        If a weight is negative or infinite, or so large that sums of weights or of
        their squares may overflow float32 or float64.
    """
    found: NDArray[np.float64] = _sklearn._check_sample_weight(
        weights, X, dtype=np.float64, ensure_non_negative=True
    )
    most = found.max(initial=0)
    if most > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight has weights up to {most:.0e}. A weight is a number of "
            f"copies of a row; divide them so that none is above {MOST_WEIGHT:.0e}."
        )
    return found


def labeled(
    estimator: Any, X: ArrayLike, y: ArrayLike
) -> tuple[Any, NDArray[Any], IntArray]:
    """Return the points, the sorted labels, and the class codes of the points.

    Raises
    ------
    ValueError
        If X or y is invalid for classification, or all rows have one class.
    """
    sparse = getattr(estimator, "_accept_sparse", False)
    points, labels = validate_data(
        estimator, X, y, dtype=FLOATS, accept_sparse=sparse, ensure_min_samples=2
    )
    return points, *encoded(estimator, labels)


def encoded(
    estimator: Any, y: NDArray[Any], name: str = "y"
) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, of which there must be at least two, and the codes."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes, but "
            f"{name} has only one class: {classes.tolist()[0]!r}."
        )
    return classes, codes


try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9 has no callback protocol

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for scikit-learn's mixin, without callbacks."""

        def _init_callback_context(self, **_: Any) -> "_NoContext":
            return _NoContext()


class _NoContext:
    """A callback context without callbacks."""

    def subcontext(self, **_: Any) -> "_NoContext":
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Do nothing."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        return False


@dataclass(eq=False)
class Monitor:
    """Observer of the iterations of one fit; a solver calls it after each.

    It has the fields of a result, so that an interrupted fit can keep the best map
    so far.

    Parameters
    ----------
    estimator : estimator with `max_iter`, `verbose` and `callback`
        Estimator that is being fitted.
    X, y : array-likes
        Training data, passed on to scikit-learn's callbacks.
    start : ndarray of shape (n_components, n_features) or (n_features,)
        The initial map, or the diagonal of a diagonal one.
    state : callable
        Returns the fitted attributes of a map.
    solver : object, default=None
        The solver, for `verbose`.
    noisy : bool, default=False
        Whether the curve is an estimate; if so, the latest map is kept.
    """

    estimator: Any
    X: Any
    y: Any
    start: FloatArray
    state: Callable[[FloatArray], dict[str, Any]]
    solver: Any = None
    noisy: bool = False
    n_iter: int = field(default=0, init=False)
    curve: list[float] = field(default_factory=list, init=False)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tell callbacks of the begin and end of the fit, and print its progress."""
        est = self.estimator
        self.components = self._current = self.start
        self._data = {"estimator": est, "X": self.X, "y": self.y}
        self._context = est._init_callback_context(max_subtasks=est.max_iter)
        self._context.call_on_fit_task_begin(**self._data)
        self._task: Any = self._context.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(**self._data)
        self._began = self._ticked = time.perf_counter()
        if est.verbose:
            if self.solver is not None:
                name = type(self.solver).__name__
                name = getattr(self.solver, "description", name)
                say(
                    est,
                    f"solver {self.solver if isinstance(self.solver, str) else name}",
                )
            titles = f"{'iteration':>10} {'objective':>16} {'seconds':>9} {'left':>9}"
            say(est, titles)
        try:
            yield
        finally:
            if self._task is not None:  # an iteration that was announced and not run
                self._task.call_on_fit_task_end(estimator=est)
        if est.verbose:
            say(est, f"took {time.perf_counter() - self._began:.2f} s")
        self._context.call_on_fit_task_end(
            **self._data, reconstruction_attributes=self._as_if_fitted
        )

    def __call__(self, components: FloatArray, curve: list[float]) -> bool:
        """Record an iteration; return True to stop the solver."""
        self.curve = curve
        self.n_iter += 1
        self._current = components
        if self.noisy or curve[-1] >= max(curve):
            self.components = components
        if self.estimator.verbose:
            now = time.perf_counter()
            # An upper bound: many solvers stop before all iterations are done.
            pace = (now - self._began) / self.n_iter
            left = pace * (self.estimator.max_iter - self.n_iter)
            say(
                self.estimator,
                f"{self.n_iter:>10} {curve[-1]:>16.6e} {now - self._ticked:>9.3f} "
                f"{left:>9.1f}",
            )
            self._ticked = now
        task, self._task = self._task, None
        stop = bool(
            task.call_on_fit_task_end(
                **self._data, reconstruction_attributes=self._as_if_fitted
            )
        )
        if self.estimator.callback is not None:
            try:
                self.estimator.callback(components.ravel(), self.n_iter)
            except StopIteration:
                stop = True
        if not stop and self.n_iter < self.estimator.max_iter:
            self._task = self._context.subcontext(task_name="iteration")
            self._task.call_on_fit_task_begin(**self._data)
        return stop

    def _as_if_fitted(self) -> dict[str, Any]:
        """Return the attributes that make a copy of the estimator usable."""
        return {**self.state(self._current), "n_iter_": self.n_iter}


def say(est: Any, line: str) -> None:
    """Print a line about the progress of an estimator."""
    sys.stdout.write(f"[{type(est).__name__}] {line}\n")
    sys.stdout.flush()


@dataclass(frozen=True, eq=False)  # scikit-learn requires hashable metrics
class LearnedMetric:
    """Distance between two vectors for `metric=` arguments; it can be pickled.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A; the distance is ‖A u − A v‖.
    """

    components: FloatArray

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        """Return the distance between u and v, or its square; rows are vectors, too."""
        n_features = self.components.shape[1]
        if {np.shape(u), np.shape(v)} - {(n_features,), (1, n_features)}:
            raise ValueError(
                f"Expected two vectors of {n_features} features, got shapes "
                f"{np.shape(u)} and {np.shape(v)}."
            )
        # Convert to float: unsigned integers would wrap around.
        u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
        image = self.components @ (u - v).ravel()
        distance = float(image @ image)
        return distance if squared else float(np.sqrt(distance))


def unscale_components(
    components: FloatArray, unit: FloatArray | float, dtype: Any
) -> FloatArray:
    """Convert components fitted on X / unit to components for X, of the given dtype."""
    with np.errstate(over="ignore", divide="ignore"):
        components = (components / unit).astype(dtype)
    if not np.isfinite(components).all():
        raise ValueError(
            "X has values too small to compute with: the map's entries would overflow. "
            "Scale the data."
        )
    return components


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore n_features_in_ and feature_names_in_ if fit fails.

    Other attributes are set only on success, and scikit-learn's callbacks store state
    there. If a map was kept, as after Ctrl-C, nothing is restored.
    """
    noted = ("n_features_in_", "feature_names_in_")
    state = vars(estimator)
    before = {name: state[name] for name in noted if name in state}
    components = state.get("components_")
    try:
        yield
    except BaseException:
        if state.get("components_") is components:
            for name in noted:
                state.pop(name, None)
            state.update(before)
        raise


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators that learn a linear map A, stored in `components_`.

    The learned distance is ‖A u − A v‖, the Mahalanobis distance with matrix AᵀA.
    """

    components_: FloatArray
    _unchanged_on_error = unchanged_on_error
    # Formats of sparse X that fit supports, and whether it needs y.
    _accept_sparse: ClassVar[list[str] | bool] = False
    _requires_y: ClassVar[bool] = False

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map the points to the space in which the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; sparse if fit supports sparse X.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            X Aᵀ; float32 if X is.
        """
        check_is_fitted(self)
        points: FloatArray = validate_data(
            self, X, reset=False, dtype=FLOATS, accept_sparse=self._accept_sparse
        )
        return points @ self.components_.astype(points.dtype, copy=False).T

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return AᵀA, of shape (n_features, n_features)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def get_metric(self) -> LearnedMetric:
        """Return the distance as a function of two vectors.

        Use it for `metric=` arguments that call a function for each pair. For many
        points, it is much faster to `transform` them and use the Euclidean metric.
        """
        check_is_fitted(self)
        return LearnedMetric(self.components_.copy())

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of points.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self)
        points: FloatArray = check_array(
            pairs, dtype=FLOATS, allow_nd=True, ensure_2d=False, input_name="pairs"
        )
        n_features = self.components_.shape[1]
        if points.ndim != 3 or points.shape[1:] != (2, n_features):
            raise ValueError(
                f"pairs must have shape (n_pairs, 2, {n_features}), got {points.shape}."
            )
        images = (points[:, 0] - points[:, 1]) @ self.components_.astype(points.dtype).T
        return np.sqrt(np.einsum("ij,ij->i", images, images))

    def pair_score(self, pairs: ArrayLike) -> FloatArray:
        """Return minus the distance of each pair; higher is more similar.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of points.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Scores, as expected by `sklearn.metrics.roc_auc_score`.
        """
        return -self.pair_distance(pairs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = bool(self._accept_sparse)
        tags.target_tags.required |= self._requires_y
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]


def init_of(parameters: Iterable[Parameter]) -> Callable[..., None]:
    """Return an `__init__` that stores its arguments as scikit-learn expects.

    Parameters
    ----------
    parameters : iterable of Parameter
        The parameters after `self`; all have defaults.
    """
    owner = Parameter("self", Parameter.POSITIONAL_ONLY)
    full = Signature([owner, *parameters])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            bound = full.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        bound.apply_defaults()
        del bound.arguments["self"]
        vars(self).update(bound.arguments)

    # scikit-learn's get_params reads the names from here.
    __init__.__signature__ = full  # type: ignore[attr-defined]
    return __init__


def init_like(
    other: type, *, without: Sequence[str] = (), **more: Any
) -> Callable[..., None]:
    """Return an `__init__` with the parameters of another class.

    Parameters
    ----------
    other : type
        The class.
    without : sequence of str, default=()
        Its parameters that do not apply.
    **more
        Other defaults of its parameters, and further parameters with their defaults.
    """
    known = signature(other).parameters
    kept = [
        one.replace(default=more.pop(name, one.default))
        for name, one in known.items()
        if name not in without
    ]
    for name, default in more.items():
        kept.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    return init_of(kept)
