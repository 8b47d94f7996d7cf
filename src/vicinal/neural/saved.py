"""Fitted neural estimators as plain values and arrays, and back.

`vicinal.persistence` and pickle store `packed` states. `check_loaded` tests an
estimator that may come from an untrusted file.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from vicinal.base.columns import ColumnSizes
from vicinal.neural._loss import Kernel
from vicinal.neural._members import Member
from vicinal.neural._network import TableNetwork
from vicinal.neural._rows import Rows


def packed(state: dict[str, Any]) -> dict[str, Any]:
    """Return a fitted state with arrays instead of tensors and networks."""

    def describe(member: Member) -> dict[str, Any]:
        weights = member.network.state_dict()
        return {
            "settings": member.network.settings,
            "weights": {name: one.cpu().numpy() for name, one in weights.items()},
            "points": member.points.cpu().numpy(),
            "plain": member.kernel.plain,
            "temperature": member.kernel.temperature,
            "held_out": member.held_out,
        }

    known = {
        name: value.numpy() if isinstance(value, Tensor) else value
        for name, value in vars(state["_known"]).items()
    }
    members, linear = state["_members"], state["_linear"]
    return state | {
        "_known": known,
        "_members": [describe(one) for one in members],
        "_linear": None if linear is None else describe(linear),
    }


def unpacked(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state whose arrays are tensors and networks again."""
    known = {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in state["_known"].items()
    }
    sizes, linear = state["_encoder"].sizes, state["_linear"]
    return state | {
        "_known": Rows(**known),
        "_members": [_member(sizes, **one) for one in state["_members"]],
        "_linear": None if linear is None else _member(sizes, **linear),
    }


def _member(
    sizes: ColumnSizes,
    settings: dict[str, Any],
    weights: dict[str, Any],
    points: Any,
    plain: bool,
    temperature: float,
    held_out: Any,
) -> Member:
    # Each block has weights of its own, so their number bounds the blocks.
    _require(settings["n_blocks"] <= len(weights), "the number of blocks")
    tensors = {name: torch.from_numpy(one) for name, one in weights.items()}
    try:
        with torch.device("meta"):  # shapes only: a hostile file costs no memory
            network = TableNetwork(sizes, **settings)
        for name, expected in network.state_dict().items():
            _require(tensors[name].dtype == expected.dtype, f"the type of {name}")
        network.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        raise ValueError("the shapes of a network's weights") from error
    points = torch.from_numpy(points)
    return Member(network.eval(), points, Kernel(plain, temperature), held_out)


def check_loaded(est: Any) -> None:
    """Raise ValueError if attributes from an untrusted file do not fit together."""
    est._validate_params()
    encoder, known, n = est._encoder, est._known, len(est._known)
    n_numbers, n_flags, n_categories = encoder.sizes
    encoder.check_loaded(est.n_features_in_)
    names = getattr(est, "feature_names_in_", None)
    _require(names is None or names.shape == (est.n_features_in_,), "the names")

    floats = [known.numbers, known.target]
    shapes = known.numbers.shape, known.codes.shape, known.target.shape
    expected = (n, n_numbers + n_flags), (n, len(n_categories)), (n,)
    _require(n > 0 and shapes == expected, "the shapes of the rows")
    _require(known.codes.dtype == torch.int64, "the codes")
    in_range = (known.codes >= 0) & (known.codes <= torch.tensor(n_categories))
    _require(bool(in_range.all()), "the codes")
    if hasattr(est, "_middle"):
        finite = np.isfinite(est._middle) and 0 < est._unit < np.inf
        _require(finite and known.n_classes == 0, "the target's unit")
    else:
        floats.pop()
        sizes = len(est.classes_), known.n_classes, len(np.unique(est.classes_))
        _require(sizes[0] > 1 and len({*sizes}) == 1, "the classes")
        _require(np.array_equal(np.unique(est.classes_), est.classes_), "the classes")
        in_range = (known.target >= 0) & (known.target < known.n_classes)
        _require(known.target.dtype == torch.int64, "the target")
        _require(bool(in_range.all()), "the target")
    if known.weights is not None:
        weights = known.weights.numpy()
        good = weights.shape == (n,) and weights.dtype == np.float64
        good = good and np.isfinite(weights).all() and (weights >= 0).all()
        _require(good and weights.any(), "the rows' weights")

    share, has_linear = est.linear_share_, est._linear is not None
    _require(type(share) is float and 0 <= share <= 1, "linear_share_")
    _require(has_linear or not share, "the linear map is missing")
    _require(not has_linear or est._linear_class is not None, "a linear map")
    _require(len(est._members) > 0, "the networks")
    for member in est._voters:
        temperature, held_out = member.kernel.temperature, member.held_out
        shape = (n, member.network.settings["n_components"])
        _require(member.points.shape == shape, "the shape of the points")
        _require(0 < temperature < np.inf, "the temperatures")
        _require(held_out.dtype == np.intp and held_out.ndim == 1, "the held-out rows")
        _require(((held_out >= 0) & (held_out < n)).all(), "the held-out rows")
        floats += [member.points]
        for one in member.network.state_dict().values():
            _require(bool(one.isfinite().all()), "a weight is not finite")
    for one in floats:
        good = one.dtype == torch.float32 and bool(one.isfinite().all())
        _require(good, "numbers are not finite floats")
    _require(type(est.n_iter_) is int and est.n_iter_ >= 0, "n_iter_")


def _require(holds: Any, part: str) -> None:
    """Raise a ValueError that names the wrong part of a file."""
    if not holds:
        raise ValueError(part)
