"""Constructors that are derived from those of other estimators."""

import inspect

import pytest
from sklearn.base import clone

from vicinal import NCARegressor
from vicinal.classic import ITML, MLKR, TransferITML


@pytest.mark.parametrize(
    ("kind", "like", "without"),
    [
        (MLKR, NCARegressor, {"objective", "width"}),
        (TransferITML, ITML, {"bounds", "preprocessor"}),
    ],
)
def test_parameters_are_those_of_the_other_class(
    kind: type, like: type, without: set[str]
) -> None:
    ours, theirs = (inspect.signature(one).parameters for one in (kind, like))
    assert list(ours) == [name for name in theirs if name not in without]
    changed = {name for name in ours if ours[name].default != theirs[name].default}
    assert changed == ({"gamma"} if kind is TransferITML else set())


def test_arguments_are_stored_and_cloned() -> None:
    model = MLKR(3, max_iter=7)
    assert clone(model).get_params() == model.get_params()
    assert (model.n_components, model.max_iter, model.tol) == (3, 7, 1e-5)
    assert model.objective == "squared-error"
    assert TransferITML().gamma == 1.0


def test_dropped_and_unknown_arguments_are_errors() -> None:
    with pytest.raises(TypeError, match="objective"):
        MLKR(objective="soft-match")
    with pytest.raises(TypeError, match=r"TransferITML\(\) too many positional"):
        TransferITML(1.0, "identity")
