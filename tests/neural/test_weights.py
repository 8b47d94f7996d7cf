"""Rows that stand for several, or for none: in the loss, the training, the votes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")
import vicinal  # noqa: E402
from tests.neural.data import waves  # noqa: E402
from vicinal.neural import (  # noqa: E402
    NCALoss,
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
)

X, y = waves()
FEW: dict[str, Any] = {"n_components": 8, "max_iter": 5, "random_state": 0}
COUNTS = torch.tensor([1, 3, 2, 1, 2])


def points(n: int, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 2, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("distance", ["squared", "plain"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(
    ("objective", "target"),
    [
        ("log", torch.tensor([0, 1, 0, 1, 1])),
        ("expected", torch.tensor([0, 1, 0, 1, 1])),
        ("expected", torch.tensor([0.1, 0.9, 0.3, 0.8, 0.2])),
        ("squared-error", torch.tensor([0.1, 0.9, 0.3, 0.8, 0.2])),
    ],
)
def test_a_weight_is_so_many_equal_points(
    distance: str, reduction: str, objective: str, target: Any
) -> None:
    loss = NCALoss(objective, distance=distance, reduction=reduction)
    queries, references = (points(5, seed).requires_grad_() for seed in (0, 1))
    weights = {"weights": COUNTS, "reference_weights": COUNTS.flip(0)}
    short = loss(queries, target, references, target, **weights)
    short.backward()
    gradients = queries.grad.clone(), references.grad.clone()
    queries.grad = references.grad = None
    one, other = (torch.repeat_interleave(torch.arange(5), c) for c in weights.values())
    long = loss(queries[one], target[one], references[other], target[other])
    long.backward()
    assert short.item() == pytest.approx(long.item(), rel=1e-10)
    assert torch.allclose(gradients[0], queries.grad, atol=1e-10)
    assert torch.allclose(gradients[1], references.grad, atol=1e-10)


def test_terms_one_by_one_have_their_weights() -> None:
    labels = torch.tensor([0, 1, 0, 1, 1])
    each = NCALoss(reduction="none")(points(5, 0), labels, weights=COUNTS)
    assert each.sum().item() == pytest.approx(
        NCALoss(reduction="sum")(points(5, 0), labels, weights=COUNTS).item()
    )
    assert torch.autograd.gradcheck(
        lambda z: NCALoss(reduction="none")(z, labels, weights=COUNTS),
        points(5, 0).requires_grad_(),
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": torch.ones(4)}, "one number for each of 5"),
        ({"weights": torch.zeros(5)}, "above 0"),
        ({"weights": torch.full((5,), torch.nan)}, "above 0"),
        ({"reference_weights": torch.ones(5)}, "need references"),
    ],
)
def test_weights_that_the_loss_refuses(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NCALoss()(points(5, 0), torch.tensor([0, 1, 0, 1, 1]), **given)
    with pytest.raises(ValueError, match="those of the pairs"):
        NCALoss("pairs")(points(5, 0), torch.tensor([[0, 1]]), weights=torch.ones(5))


@pytest.mark.parametrize(
    "model", [NeuralNCAClassifier(**FEW), NeuralNCARegressor(**FEW), NeuralNCA(**FEW)]
)
def test_rows_of_weight_0_have_no_say(model: Any) -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weights[:20] = 0
    other, labels = X.copy(), y.copy()
    other[:20] *= 1e6
    labels[:20] = 1 - labels[:20]
    one, two = (
        clone(model).fit(rows, what, sample_weight=weights)
        for rows, what in ((X, y), (other, labels))
    )
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    rows, shares = two.explain(X, n_neighbors=len(X))
    assert (shares[weights[rows] == 0] == 0).all()
    if hasattr(model, "predict"):
        # Distances are computed about the mean of all points, which rounds.
        np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-6)
    assert one.effective_neighbors_.shape == (len(X),)
    assert np.isfinite(one.effective_neighbors_).all()


@pytest.mark.parametrize("kind", [NeuralNCAClassifier, NeuralNCARegressor])
def test_weight_0_is_no_row(kind: Any) -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    kept, target = weights > 0, y if kind is NeuralNCAClassifier else X[:, 0]
    one = kind(**FEW).fit(X, target, weights)
    two = kind(**FEW).fit(X[kept], target[kept], weights[kept])
    assert one.temperatures_.tolist() == two.temperatures_.tolist()
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-6)


def test_votes_count_by_weight() -> None:
    """The same network with a row twice, and with that row's weight 2."""
    model = NeuralNCAClassifier(**FEW, n_estimators=1, calibrate=False)
    weights = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    model.fit(X, y, sample_weight=weights)
    p = model.predict_proba(X[:50])
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    (member,) = model._members
    z = member.project(model._encode_rows(X[:50])).numpy()
    known = member.points.double().numpy()[copies]
    exponents = -np.linalg.norm(z[:, None] - known, axis=2)
    naive = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    naive /= naive.sum(axis=1, keepdims=True)
    expected = naive[:, y[copies] == 1].sum(axis=1)
    assert p[:, 1] == pytest.approx(expected, abs=0.5 / (len(X) + 1) + 1e-6)


def test_a_class_that_weighs_more_is_predicted_more() -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(400, 2)), rng.integers(2, size=400)
    model = NeuralNCAClassifier(**FEW)
    shares = [
        clone(model)
        .fit(noise, labels, sample_weight=np.where(labels == c, 9.0, 1.0))
        .predict_proba(rng.normal(size=(100, 2)))[:, 1]
        .mean()
        for c in (0, 1)
    ]
    assert shares[0] < 0.25
    assert shares[1] > 0.75


def test_equal_weights_change_nothing() -> None:
    model = NeuralNCARegressor(**FEW)
    plain = clone(model).fit(X, X[:, 0]).predict(X)
    weighted = clone(model).fit(X, X[:, 0], sample_weight=np.full(len(X), 3.0))
    np.testing.assert_array_equal(weighted.predict(X), plain)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_only_ratios_of_weights_matter(scale: float) -> None:
    weights = np.where(y == 1, 2.0, 1.0)
    model = NeuralNCAClassifier(**FEW)
    one = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    two = clone(model).fit(X, y, sample_weight=scale * weights).predict_proba(X)
    assert two == pytest.approx(one, abs=1e-4)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(len(X)), "Negative"),
        (np.zeros(len(X)), "non-zero|weight above 0"),
        (np.eye(len(X))[0], "weight above 0"),
        (np.ones(3), "shape"),
        (np.full(len(X), np.nan), "NaN"),
    ],
)
def test_weights_that_fit_refuses(weights: Any, message: str) -> None:
    model = NeuralNCAClassifier(**FEW)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "n_features_in_")


def test_weights_are_kept_in_a_file_and_by_pieces(tmp_path: Path) -> None:
    weights = np.where(y == 1, 2.0, 0.0)
    weights[:200] += 1
    model = NeuralNCAClassifier(**FEW).fit(X, y, sample_weight=weights)
    vicinal.save(tmp_path / "model.safetensors", model)
    again = vicinal.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X[:50], y[:50])
    # A new row counts as an old one does on average.
    average = weights[weights > 0].mean()
    expected = np.concatenate([weights / average, np.ones(50)])
    np.testing.assert_allclose(again._known.weights.numpy(), expected, rtol=1e-12)


def test_weights_too_small_for_float32_are_none() -> None:
    decay = np.exp(-np.arange(len(X)) / 2.0)
    model = NeuralNCAClassifier(**FEW).fit(X, y, sample_weight=decay)
    assert np.isfinite(model.predict_proba(X)).all()
    assert not model._known.weights.numpy()[-1]
