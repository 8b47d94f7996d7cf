"""Fitted neural estimators as plain data and arrays, and back; nothing is pickled."""

from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import validate_parameter_constraints

from vicinal.neural._base import NeuralEstimator
from vicinal.neural._classifier import NeuralNCAClassifier
from vicinal.neural._columns import ColumnEncoder, EncodedRows
from vicinal.neural._linear_vote import LinearVote, linear_architecture
from vicinal.neural._members import Member
from vicinal.neural._network import Architecture, TableNetwork
from vicinal.neural._regressor import NeuralNCARegressor
from vicinal.neural._soft_neighbors import Kernel
from vicinal.neural._target_rows import TargetRows
from vicinal.neural._transformer import NeuralNCA

_KINDS: dict[str, type[NeuralEstimator]] = {
    kind.__name__: kind for kind in (NeuralNCA, NeuralNCAClassifier, NeuralNCARegressor)
}
_KEYS = {
    *("kind", "parameters", "architecture", "temperatures", "plain", "n_iter"),
    *("classes", "feature_names", "n_features", "numeric", "flagged"),
    *("categorical", "categories", "squash"),
}
# Files of version 0.1 and before have no linear map, and no setting for it.
_LATER = {"linear"}
_LATER_PARAMETERS = {"linear_vote": False}
_ARRAYS = {
    *("middle", "unit", "numbers", "codes", "target", "effective_neighbors"),
    *("objective_curve", "validation_scores", "target_unit"),
}
# What is not data, or means nothing to the one who reads the file.
_LEFT_OUT = ("module", "callback", "categorical_features", "random_state")


def to_parts(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what JSON can hold of a fitted estimator, and its arrays.

    Raises
    ------
    ValueError
        When its network is a module of the user's own, which is code and no data.
    """
    members = estimator._members
    networks = [member.network for member in members]
    if not all(isinstance(network, TableNetwork) for network in networks):
        raise ValueError(
            "A network of your own (module=…) is code, which a file that runs nothing "
            "cannot keep; keep `networks_[0].module.state_dict()` with torch.save."
        )
    encoder, known = estimator._encoder, estimator._known
    classes = getattr(estimator, "classes_", None)
    names = getattr(estimator, "feature_names_in_", None)
    linear = estimator._linear
    header = {
        "kind": type(estimator).__name__,
        "parameters": {
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if name not in _LEFT_OUT
        },
        "architecture": networks[0].architecture.to_dict(),
        "temperatures": [member.kernel.temperature for member in members],
        "plain": members[0].kernel.plain,
        "n_iter": estimator.n_iter_,
        "classes": None if classes is None else classes.tolist(),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": estimator.n_features_in_,
        "linear": None
        if linear is None
        else {"share": linear.share, "n_components": linear.member.points.shape[1]},
        **{
            name: getattr(encoder, name)
            for name in ("numeric", "flagged", "categorical", "categories", "squash")
        },
    }
    middle, unit = (getattr(estimator, name, 0.0) for name in ("_middle", "_unit"))
    arrays: dict[str, NDArray[Any]] = {
        "middle": encoder.middle,
        "unit": encoder.unit,
        "numbers": known.rows.numbers,
        "codes": known.rows.codes,
        "target": known.target.numpy(),
        "effective_neighbors": estimator.effective_neighbors_,
        "objective_curve": estimator.objective_curve_,
        "validation_scores": estimator.validation_scores_,
        "target_unit": np.array([middle, unit]),
    }
    if known.weights is not None:
        arrays["weights"] = known.weights.numpy()
    named = {str(i): member for i, member in enumerate(members)}
    if linear is not None:
        named["linear"] = linear.member
    for place, member in named.items():
        arrays[f"{place}/points"] = member.points.cpu().numpy()
        for name, weights in member.network.state_dict().items():
            arrays[f"{place}/{name}"] = weights.cpu().numpy()
    return header, arrays


def from_parts(header: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the estimator; parts may be anybody's.

    Raises
    ------
    ValueError
        When they do not fit each other.
    """
    _demand(
        isinstance(header, dict) and set(header) - _LATER == _KEYS, "the header's keys"
    )
    kind = _KINDS.get(str(header["kind"]))
    _demand(kind is not None, "the kind of estimator")
    _demand(set(arrays) >= _ARRAYS, "arrays are missing")
    assert kind is not None  # noqa: S101 -- for the type checker
    encoder = _encoder(header, arrays)
    architecture = _architecture(header["architecture"], encoder)
    known = _known(header, arrays, architecture, kind is NeuralNCARegressor)
    temperatures = header["temperatures"]
    n_members = len(temperatures) if isinstance(temperatures, list) else 0
    _demand(0 < n_members <= len(arrays), "the temperatures")
    members = []
    for i, temperature in enumerate(temperatures):
        _demand(_is_positive(temperature), "a temperature")
        kernel = Kernel(header["plain"] is True, float(temperature))
        members.append(_member(str(i), arrays, architecture, len(known), kernel))
    parameters = header["parameters"]
    allowed = set(kind._get_param_names()) - set(_LEFT_OUT)
    _demand(isinstance(parameters, dict), "the parameters")
    parameters = {**_LATER_PARAMETERS, **parameters}
    _demand(set(parameters) == allowed, "the parameters")
    estimator = kind(**parameters)
    # Checks types and ranges, as fit does.
    estimator._validate_params()
    linear = header.get("linear")
    _demand(linear is None or kind._linear_kind is not None, "a linear map")
    estimator._linear = _linear(linear, arrays, encoder, len(known))
    return _fitted(estimator, header, arrays, (members, known, encoder))


def _fitted(
    estimator: Any, header: dict[str, Any], arrays: dict[str, Any], parts: Any
) -> Any:
    """Set the fitted attributes."""
    estimator._members, estimator._known, estimator._encoder = parts
    n_features, names = header["n_features"], header["feature_names"]
    _demand(_is_count(n_features), "the number of features")
    if names is not None:
        _demand(_are(names, str) and len(names) == n_features, "the features' names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.n_features_in_ = n_features
    _demand(_is_count(header["n_iter"]), "the number of epochs")
    estimator.n_iter_ = header["n_iter"]
    estimator.objective_curve_ = arrays["objective_curve"]
    estimator.validation_scores_ = arrays["validation_scores"]
    estimator.effective_neighbors_ = arrays["effective_neighbors"]
    if header["classes"] is not None:
        estimator.classes_ = np.array(header["classes"])
    else:
        _demand(arrays["target_unit"].shape == (2,), "the unit of the target")
        middle, unit = arrays["target_unit"].tolist()
        _demand(np.isfinite(middle) and _is_positive(unit), "the unit of the target")
        estimator._middle, estimator._unit = middle, unit
    return estimator


def _encoder(header: dict[str, Any], arrays: dict[str, Any]) -> ColumnEncoder:
    numeric, categorical = header["numeric"], header["categorical"]
    n = header["n_features"]
    _demand(_are(numeric, int) and _are(categorical, int), "the columns")
    all_ = sorted([*numeric, *categorical])
    # The lists first: a number from a file may be huge.
    _demand(_is_count(n) and len(all_) == n, "the columns")
    _demand(all_ == list(range(n)), "the columns")
    flagged, categories = header["flagged"], header["categories"]
    _demand(_are(flagged, int) and set(flagged) <= set(range(len(numeric))), "flags")
    good = isinstance(categories, list) and len(categories) == len(categorical)
    _demand(
        good and all(_are(one, (str, float, int)) for one in categories), "categories"
    )
    middle, unit = arrays["middle"], arrays["unit"]
    for array in (middle, unit):
        _demand(array.shape == (len(numeric),), "the shape of the scales")
        _demand(bool(np.isfinite(array).all()), "the scales")
    _demand(bool((unit > 0).all()), "the scales")
    squash = header["squash"] is True
    return ColumnEncoder(
        numeric, middle, unit, flagged, categorical, categories, squash
    )


def _architecture(given: Any, encoder: ColumnEncoder) -> Architecture:
    names = {field.name for field in fields(Architecture)}
    _demand(isinstance(given, dict) and set(given) == names, "the architecture's keys")
    _demand(_are(given["n_categories"], int), "the architecture's categories")
    for name, hint in get_type_hints(Architecture).items():
        if hint in (int, float, bool, str):
            _demand(type(given[name]) is hint, f"the architecture's {name}")
        if hint is int:
            _demand(0 <= given[name] < 2**31, f"the architecture's {name}")
    # The ranges of the estimators' parameters of the same names.
    constraints = NeuralEstimator._parameter_constraints
    validate_parameter_constraints(
        {name: constraints[name] for name in set(given) & set(constraints)},
        {name: given[name] for name in set(given) & set(constraints)},
        "The network's architecture",
    )
    found = Architecture.from_dict(given)
    fits = (
        found.n_numbers == len(encoder.numeric)
        and found.n_flags == len(encoder.flagged)
        and list(found.n_categories) == [len(one) for one in encoder.categories]
    )
    _demand(fits, "the architecture is of other columns")
    return found


def _known(
    header: dict[str, Any], arrays: dict[str, Any], a: Architecture, numbers: bool
) -> TargetRows:
    rows, codes, target = (arrays[name] for name in ("numbers", "codes", "target"))
    n = len(target)
    _demand(rows.shape == (n, a.n_numbers + a.n_flags), "the shape of the rows")
    _demand(codes.shape == (n, len(a.n_categories)), "the shape of the codes")
    _demand(n > 0 and target.ndim == 1 and codes.dtype == np.int64, "the rows' types")
    _demand(bool(np.isfinite(rows).all()), "the rows")
    most = np.array(a.n_categories, dtype=np.int64)
    _demand(bool(((codes >= 0) & (codes <= most)).all()), "the codes")
    classes = header["classes"]
    if numbers:
        _demand(classes is None and target.dtype == np.float32, "the target's type")
        _demand(bool(np.isfinite(target).all()), "the target")
        n_classes = 0
    else:
        same = isinstance(classes, list) and len({type(one) for one in classes}) == 1
        _demand(same and isinstance(classes[0], (str, int, float)), "the classes")
        n_classes = len(classes)
        _demand(n_classes > 1 and len(set(classes)) == n_classes, "the classes")
        _demand(classes == sorted(classes), "the classes")
        _demand(target.dtype == np.int64, "the target's type")
        _demand(bool(((target >= 0) & (target < n_classes)).all()), "the target")
    return TargetRows(
        EncodedRows(rows, codes),
        torch.from_numpy(target),
        n_classes,
        _weights(arrays.get("weights"), n),
    )


def _weights(given: Any, n: int) -> torch.Tensor | None:
    if given is None:
        return None
    _demand(given.shape == (n,) and given.dtype == np.float64, "the rows' weights")
    _demand(bool((np.isfinite(given) & (given >= 0)).all()), "the rows' weights")
    _demand(bool(given.any()), "the rows' weights")
    return torch.from_numpy(given)


def _linear(
    given: Any, arrays: dict[str, Any], encoder: ColumnEncoder, n: int
) -> LinearVote | None:
    """Return the linear map that votes beside the networks, if the file has one."""
    if given is None:
        return None
    good = isinstance(given, dict) and set(given) == {"share", "n_components"}
    _demand(good, "the linear map")
    share, n_components = given["share"], given["n_components"]
    _demand(type(share) is float and 0 <= share <= 1, "the linear map's share")
    _demand(_is_count(n_components) and n_components > 0, "the linear map's components")
    architecture = linear_architecture(encoder, n_components)
    member = _member("linear", arrays, architecture, n, Kernel(plain=False))
    return LinearVote(member, share)


def _member(
    place: str,
    arrays: dict[str, Any],
    architecture: Architecture,
    n: int,
    kernel: Kernel,
) -> Member:
    """Return a network whose weights are those of the file, of the shapes it needs."""
    start = f"{place}/"
    mine = {
        name.removeprefix(start): one
        for name, one in arrays.items()
        if name.startswith(start)
    }
    points = mine.pop("points", None)
    shape = (n, architecture.n_components)
    _demand(points is not None and points.shape == shape, "the shape of the points")
    _demand(points.dtype == np.float32, "the points' type")
    # Each block has weights of its own: the file says more only if it is longer.
    _demand(architecture.n_blocks <= len(mine), "the number of blocks")
    with torch.device("meta"):  # shapes alone: a hostile file costs no memory
        network = architecture.build()
    expected = network.state_dict()
    _demand(set(expected) == set(mine), "the names of the weights")
    for name, weights in expected.items():
        _demand(mine[name].shape == tuple(weights.shape), f"the shape of {name}")
        counts = "num_batches_tracked" in name
        _demand(mine[name].dtype == (np.int64 if counts else np.float32), f"{name}")
        _demand(bool(np.isfinite(mine[name]).all()), f"{name} is not finite")
    _demand(bool(np.isfinite(points).all()), "the points are not finite")
    state = {name: torch.from_numpy(one) for name, one in mine.items()}
    network.load_state_dict(state, assign=True)
    return Member(network.eval(), torch.from_numpy(points), kernel)


def _are(values: Any, kind: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(one, kind) and not isinstance(one, bool) for one in values
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_positive(value: Any) -> bool:
    return type(value) is float and 0 < value < float("inf")


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
