"""Fitted neural estimators as plain data and arrays, and back; nothing is pickled."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from vicinal.neural._base import NETWORK_PARAMETERS, NeuralEstimator
from vicinal.neural._columns import ColumnEncoder, Rows
from vicinal.neural._estimators import (
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
)
from vicinal.neural._loss import Kernel
from vicinal.neural._members import Member
from vicinal.neural._network import TableNetwork, linear_network

_KINDS: dict[str, type[NeuralEstimator]] = {
    kind.__name__: kind for kind in (NeuralNCA, NeuralNCAClassifier, NeuralNCARegressor)
}
_HEADER: dict[str, Any] = {
    "kind": [StrOptions(set(_KINDS))],
    "parameters": [dict],
    "network": [dict],
    "temperatures": [list],
    "plain": ["boolean"],
    "n_iter": [Interval(Integral, 0, 2**31, closed="left")],
    "classes": [list, None],
    "feature_names": [list, None],
    "n_features": [Interval(Integral, 1, 2**31, closed="left")],
    "linear_share": [Interval(Real, 0, 1, closed="both")],
    "flagged": [list],
    "categorical": [list],
    "categories": [list],
    "squash": ["boolean"],
}
_OF_ENCODER = ("flagged", "categorical", "categories", "squash")
_CURVES = ("objective_curve", "validation_scores", "effective_neighbors")
# Parameters that are code, or depend on the session.
_NOT_SAVED = ("module", "callback", "categorical_features", "random_state")


def to_parts(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON header and the arrays of a fitted estimator.

    Raises
    ------
    ValueError
        If its network is the user's own module.
    """
    members, encoder, known = estimator._members, estimator._encoder, estimator._known
    if not all(isinstance(member.network, TableNetwork) for member in members):
        raise ValueError(
            "A custom network (module=...) is code, which a model file cannot hold. "
            "Save `networks_[0].module.state_dict()` with torch.save instead."
        )
    classes = getattr(estimator, "classes_", None)
    names = getattr(estimator, "feature_names_in_", None)
    parameters = estimator.get_params(deep=False)
    header = {
        "kind": type(estimator).__name__,
        "parameters": {k: v for k, v in parameters.items() if k not in _NOT_SAVED},
        "network": members[0].network.settings,
        "temperatures": [member.kernel.temperature for member in members],
        "plain": members[0].kernel.plain,
        "n_iter": estimator.n_iter_,
        "classes": None if classes is None else classes.tolist(),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": estimator.n_features_in_,
        "linear_share": float(estimator.linear_share_),
        **{name: getattr(encoder, name) for name in _OF_ENCODER},
    }
    target_unit = [getattr(estimator, name, 0.0) for name in ("_middle", "_unit")]
    arrays: dict[str, NDArray[Any]] = {
        "middle": encoder.middle,
        "unit": encoder.unit,
        "numbers": known.numbers.numpy(),
        "codes": known.codes.numpy(),
        "target": known.target.numpy(),
        "target_unit": np.array(target_unit),
        **{name: getattr(estimator, f"{name}_") for name in _CURVES},
    }
    if known.weights is not None:
        arrays["weights"] = known.weights.numpy()
    named = {str(i): member for i, member in enumerate(members)}
    if estimator._linear is not None:
        named["linear"] = estimator._linear
    for prefix, member in named.items():
        arrays[f"{prefix}/points"] = member.points.cpu().numpy()
        for name, weights in member.network.state_dict().items():
            arrays[f"{prefix}/{name}"] = weights.cpu().numpy()
    return header, arrays


def from_parts(header: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the estimator of a header and arrays from an untrusted file.

    Raises
    ------
    ValueError
        If they are inconsistent.
    """
    _require(isinstance(header, dict) and set(header) == set(_HEADER), "the header")
    validate_parameter_constraints(_HEADER, header, "The file")
    kind, parameters = _KINDS[header["kind"]], header["parameters"]
    allowed = set(kind._get_param_names()) - set(_NOT_SAVED)
    _require(set(parameters) == allowed, "parameters")
    estimator: Any = kind(**parameters)
    estimator._validate_params()
    estimator._encoder = _encoder(header, arrays)
    estimator.n_features_in_, names = header["n_features"], header["feature_names"]
    if names is not None:
        good = _are(names, str) and len(names) == estimator.n_features_in_
        _require(good, "the features' names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    _set_known(estimator, header["classes"], arrays)
    estimator.n_iter_ = header["n_iter"]
    for name in _CURVES:
        _require(name in arrays, f"{name} is missing")
        setattr(estimator, f"{name}_", arrays[name])

    sizes, n_rows = estimator._encoder.sizes, len(estimator._known)
    settings, temperatures = header["network"], header["temperatures"]
    _require(set(settings) == set(NETWORK_PARAMETERS), "the network's keys")
    constraints = {name: kind._parameter_constraints[name] for name in settings}
    validate_parameter_constraints(constraints, settings, "The network")
    good = 0 < len(temperatures) <= len(arrays) and _are(temperatures, float)
    _require(good and all(0 < t < np.inf for t in temperatures), "the temperatures")
    estimator._members = []
    for i, temperature in enumerate(temperatures):
        weights = _of_member(arrays, str(i))
        # Each block has weights of its own, so their number bounds the blocks.
        _require(settings["n_blocks"] <= len(weights), "the number of blocks")
        with torch.device("meta"):  # shapes only: a hostile file costs no memory
            try:
                network = TableNetwork(sizes, **settings)
            except (RuntimeError, TypeError, ArithmeticError) as error:
                raise ValueError("the network's size") from error
        kernel = Kernel(header["plain"], temperature)
        estimator._members.append(_member(network, weights, n_rows, kernel))

    estimator.linear_share_, estimator._linear = header["linear_share"], None
    weights = _of_member(arrays, "linear")
    _require(not weights or kind._linear_class is not None, "a linear map")
    _require(bool(weights) or not estimator.linear_share_, "the linear map is missing")
    if weights:
        shape = np.shape(weights.get("points", 0))
        _require(len(shape) == 2 and shape[1] > 0, "the linear map's points")
        with torch.device("meta"):
            network = linear_network(sizes, shape[1])
        estimator._linear = _member(network, weights, n_rows, Kernel(plain=False))
    return estimator


def _encoder(header: dict[str, Any], arrays: dict[str, Any]) -> ColumnEncoder:
    """Return the encoder of the columns."""
    n, categorical, categories = (
        header[name] for name in ("n_features", "categorical", "categories")
    )
    _require(_are(categorical, int), "the columns")
    _require(sorted(set(categorical)) == categorical, "the columns")
    _require(all(0 <= c < n for c in categorical), "the columns")
    n_numbers = n - len(categorical)
    middle, unit = (
        _array(arrays, name, (n_numbers,), np.float64) for name in ("middle", "unit")
    )
    _require(bool((unit > 0).all()), "the scales")
    good = len(categories) == len(categorical)
    good = good and all(_are(one, (str, float, int)) for one in categories)
    _require(good, "the categories")
    flagged = header["flagged"]
    good = _are(flagged, int) and all(0 <= c < n_numbers for c in flagged)
    _require(good, "the flags")
    return ColumnEncoder(*(middle, unit), *(header[name] for name in _OF_ENCODER))


def _set_known(estimator: Any, classes: Any, arrays: dict[str, Any]) -> None:
    """Set the training rows and the attributes of the target."""
    sizes = estimator._encoder.sizes
    n = len(arrays.get("target", ()))
    _require(n > 0, "the target is missing")
    numbers = _array(arrays, "numbers", (n, sum(sizes[:2])), np.float32)
    codes = _array(arrays, "codes", (n, len(sizes.n_categories)), np.int64)
    most = np.array(sizes.n_categories, dtype=np.int64)
    _require(bool(((codes >= 0) & (codes <= most)).all()), "the codes")
    n_classes = 0
    if isinstance(estimator, NeuralNCARegressor):
        _require(classes is None, "the classes")
        target = _array(arrays, "target", (n,), np.float32)
        middle, unit = _array(arrays, "target_unit", (2,), np.float64).tolist()
        _require(unit > 0, "the target's unit")
        estimator._middle, estimator._unit = middle, unit
    else:
        same = classes is not None and len({type(one) for one in classes}) == 1
        _require(same and isinstance(classes[0], (str, int, float)), "the classes")
        n_classes = len(classes)
        _require(n_classes > 1 and sorted(set(classes)) == classes, "the classes")
        target = _array(arrays, "target", (n,), np.int64)
        _require(bool(((target >= 0) & (target < n_classes)).all()), "the target")
        estimator.classes_ = np.array(classes)
    weights = None
    if "weights" in arrays:
        given = _array(arrays, "weights", (n,), np.float64)
        _require(bool((given >= 0).all() and given.any()), "the rows' weights")
        weights = torch.from_numpy(given)
    rows = Rows(torch.from_numpy(numbers), torch.from_numpy(codes))
    estimator._known = replace(
        rows, target=torch.from_numpy(target), weights=weights, n_classes=n_classes
    )


def _of_member(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays of one member, without their prefix."""
    parts = ((*name.partition("/"), array) for name, array in arrays.items())
    return {name: array for start, _, name, array in parts if start == prefix and name}


def _member(
    network: TableNetwork, weights: dict[str, Any], n_rows: int, kernel: Kernel
) -> Member:
    """Return a member with the weights of the file, if their shapes match."""
    shape = (n_rows, network.settings["n_components"])
    points = _array(weights, "points", shape, np.float32)
    expected, state = network.state_dict(), {}
    _require({*expected, "points"} == set(weights), "the names of the weights")
    for name, tensor in expected.items():
        dtype = np.int64 if "num_batches_tracked" in name else np.float32
        found = _array(weights, name, tuple(tensor.shape), dtype)
        state[name] = torch.from_numpy(found)
    network.load_state_dict(state, assign=True)
    return Member(network.eval(), torch.from_numpy(points), kernel)


def _array(
    arrays: dict[str, Any], name: str, shape: tuple[int, ...], dtype: type
) -> NDArray[Any]:
    """Return a finite array of the given shape and type."""
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != dtype:
        raise ValueError(f"the shape or type of {name}")
    _require(bool(np.isfinite(found).all()), f"{name} is not finite")
    return np.asarray(found)


def _are(values: list[Any], kind: Any) -> bool:
    """Return whether all values are of the given type, without booleans."""
    return isinstance(values, list) and all(
        isinstance(one, kind) and not isinstance(one, bool) for one in values
    )


def _require(holds: bool, what: str) -> None:
    """Raise a ValueError that names the wrong part of the file."""
    if not holds:
        raise ValueError(what)
