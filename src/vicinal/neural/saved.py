"""Fitted neural estimators as plain data and arrays, and back; nothing is pickled."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import validate_parameter_constraints

from vicinal.neural._base import NETWORK_PARAMETERS, NeuralEstimator
from vicinal.neural._columns import ColumnEncoder, EncodedRows, TargetRows
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
_KEYS = {
    *("kind", "parameters", "network", "temperatures", "plain", "n_iter"),
    *("classes", "feature_names", "n_features", "linear_share"),
    *("flagged", "categorical", "categories", "squash"),
}
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
    members, linear = estimator._members, estimator._linear
    if not all(isinstance(member.network, TableNetwork) for member in members):
        raise ValueError(
            "A custom network (module=...) is code, which a model file cannot hold. "
            "Save `networks_[0].module.state_dict()` with torch.save instead."
        )
    encoder, known = estimator._encoder, estimator._known
    classes = getattr(estimator, "classes_", None)
    names = getattr(estimator, "feature_names_in_", None)
    parameters = estimator.get_params(deep=False)
    header = {
        "kind": type(estimator).__name__,
        "parameters": {
            name: value for name, value in parameters.items() if name not in _NOT_SAVED
        },
        "network": members[0].network.settings,
        "temperatures": [member.kernel.temperature for member in members],
        "plain": members[0].kernel.plain,
        "n_iter": estimator.n_iter_,
        "classes": None if classes is None else classes.tolist(),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": estimator.n_features_in_,
        "linear_share": float(estimator.linear_share_),
        **{
            name: getattr(encoder, name)
            for name in ("flagged", "categorical", "categories", "squash")
        },
    }
    arrays: dict[str, NDArray[Any]] = {
        "middle": encoder.middle,
        "unit": encoder.unit,
        "numbers": known.rows.numbers,
        "codes": known.rows.codes,
        "target": known.target.numpy(),
        "target_unit": np.array(
            [getattr(estimator, name, 0.0) for name in ("_middle", "_unit")]
        ),
        **{name: getattr(estimator, f"{name}_") for name in _CURVES},
    }
    if known.weights is not None:
        arrays["weights"] = known.weights.numpy()
    named = {str(i): member for i, member in enumerate(members)}
    if linear is not None:
        named["linear"] = linear
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
    _require(isinstance(header, dict) and set(header) == _KEYS, "the header's keys")
    kind = _KINDS.get(str(header["kind"]))
    if kind is None:
        raise ValueError("the kind of estimator")
    parameters = header["parameters"]
    allowed = set(kind._get_param_names()) - set(_NOT_SAVED)
    _require(isinstance(parameters, dict) and set(parameters) == allowed, "parameters")
    estimator = kind(**parameters)
    estimator._validate_params()
    _set_columns(estimator, header, arrays)
    known = _set_known(estimator, header, arrays)
    _require(_is_count(header["n_iter"]), "the number of epochs")
    estimator.n_iter_ = header["n_iter"]
    for name in _CURVES:
        _require(name in arrays, f"{name} is missing")
        setattr(estimator, f"{name}_", arrays[name])

    sizes, settings = estimator._encoder.sizes, header["network"]
    names = set(NETWORK_PARAMETERS)
    _require(
        isinstance(settings, dict) and set(settings) == names, "the network's keys"
    )
    constraints = {name: kind._parameter_constraints[name] for name in names}
    validate_parameter_constraints(constraints, settings, "The network")
    temperatures = header["temperatures"]
    good = isinstance(temperatures, list) and 0 < len(temperatures) <= len(arrays)
    _require(good and all(map(_is_positive, temperatures)), "the temperatures")
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
        kernel = Kernel(header["plain"] is True, temperature)
        estimator._members.append(_member(network, weights, len(known), kernel))

    share, weights = header["linear_share"], _of_member(arrays, "linear")
    _require(type(share) is float and 0 <= share <= 1, "the linear map's share")
    _require(not weights or kind._linear_class is not None, "a linear map")
    _require(bool(weights) or share == 0, "the linear map is missing")
    estimator.linear_share_, estimator._linear = share, None
    if weights:
        shape = np.shape(weights.get("points", 0))
        _require(len(shape) == 2 and shape[1] > 0, "the linear map's points")
        with torch.device("meta"):
            network = linear_network(sizes, shape[1])
        kernel = Kernel(plain=False)
        estimator._linear = _member(network, weights, len(known), kernel)
    return estimator


def _set_columns(
    estimator: Any, header: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Set the encoder and the attributes of the columns."""
    n, names = header["n_features"], header["feature_names"]
    categorical, categories = header["categorical"], header["categories"]
    _require(_is_count(n) and n > 0, "the number of features")
    estimator.n_features_in_ = n
    if names is not None:
        _require(_are(names, str) and len(names) == n, "the features' names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    _require(_are(categorical, int), "the columns")
    _require(sorted(set(categorical)) == categorical, "the columns")
    _require(all(0 <= c < n for c in categorical), "the columns")
    n_numbers = n - len(categorical)
    middle, unit = (
        _array(arrays, name, (n_numbers,), np.float64) for name in ("middle", "unit")
    )
    _require(bool((unit > 0).all()), "the scales")
    good = isinstance(categories, list) and len(categories) == len(categorical)
    good = good and all(_are(one, (str, float, int)) for one in categories)
    _require(good, "the categories")
    flagged, squash = header["flagged"], header["squash"] is True
    _require(_are(flagged, int), "the flags")
    _require(all(0 <= c < n_numbers for c in flagged), "the flags")
    estimator._encoder = ColumnEncoder(
        middle, unit, flagged, categorical, categories, squash
    )


def _set_known(
    estimator: Any, header: dict[str, Any], arrays: dict[str, Any]
) -> TargetRows:
    """Set and return the training rows, and set the attributes of the target."""
    sizes, classes = estimator._encoder.sizes, header["classes"]
    n = len(arrays.get("target", ()))
    _require(n > 0, "the target is missing")
    width = sizes.n_numbers + sizes.n_flags
    numbers = _array(arrays, "numbers", (n, width), np.float32)
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
        same = isinstance(classes, list) and len({type(one) for one in classes}) == 1
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
    rows = EncodedRows(numbers, codes)
    known = TargetRows(rows, torch.from_numpy(target), n_classes, weights)
    estimator._known = known
    return known


def _of_member(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays of one member, without their prefix."""
    start = f"{prefix}/"
    return {
        name.removeprefix(start): array
        for name, array in arrays.items()
        if name.startswith(start)
    }


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


def _are(values: Any, kind: Any) -> bool:
    """Return whether values is a list of the given type, without booleans."""
    return isinstance(values, list) and all(
        isinstance(one, kind) and not isinstance(one, bool) for one in values
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_positive(value: Any) -> bool:
    return type(value) is float and 0 < value < float("inf")


def _require(holds: bool, what: str) -> None:
    """Raise a ValueError that names the wrong part of the file."""
    if not holds:
        raise ValueError(what)
