"""NCALoss against the papers' sums, the NumPy engine, and finite differences."""

from typing import Any

import numpy as np
import pytest

from tests.nca.oracles import nca_value_and_gradient, target_value
from tests.objectives.oracles_matches import matches_value, pairs_value
from vicinal.objectives import NCAObjective, TargetObjective

torch = pytest.importorskip("torch")
from vicinal.neural import NCALoss  # noqa: E402

rng = np.random.default_rng(0)
N, D = 23, 4
X = rng.normal(size=(N, D))
Y = rng.integers(0, 3, N)
Y[0] = 7  # a class of one
T = rng.normal(size=N)
A = rng.normal(size=(2, D))


def value_and_gradient(
    loss: Any, target: Any, *more: Any, X: Any = X, A: Any = A
) -> tuple[float, Any]:
    """Return the loss of X Aᵀ and its gradient by A."""
    rows, components = torch.tensor(X), torch.tensor(A, requires_grad=True)
    value = loss(rows @ components.T, torch.as_tensor(target), *more)
    value.backward()
    return value.item(), components.grad.numpy()


@pytest.mark.parametrize("kind", ["log", "expected"])
@pytest.mark.parametrize("max_pairs", [1, 3 * N, 2**20])
def test_classes_as_in_the_paper(kind: str, max_pairs: int) -> None:
    loss = NCALoss(kind, reduction="sum", max_pairs=max_pairs)
    value, gradient = value_and_gradient(loss, Y)
    expected, slopes = nca_value_and_gradient(X, Y, A, kind)
    assert value == pytest.approx(-expected, rel=1e-12)
    np.testing.assert_allclose(gradient, -slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["log", "expected"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes_as_the_engine(kind: str, dtype: Any) -> None:
    points, map_ = X.astype(dtype), A.astype(dtype)
    value, gradient = value_and_gradient(
        NCALoss(kind, reduction="sum"), Y, X=points, A=map_
    )
    engine = NCAObjective(points, Y, kind=kind).value_and_gradient(map_)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert gradient.dtype == dtype
    assert value == pytest.approx(-engine[0], rel=tolerance)
    np.testing.assert_allclose(gradient, -engine[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["squared-error", "soft-match"])
def test_targets_as_in_the_paper_and_as_the_engine(kind: str) -> None:
    ours = "expected" if kind == "soft-match" else kind
    loss = NCALoss(ours, reduction="sum", width=0.7)
    value, gradient = value_and_gradient(loss, T)
    assert value == pytest.approx(-target_value(X, T, A, kind, 0.7), rel=1e-12)
    engine = TargetObjective(X, T, kind, width=0.7).value_and_gradient(A)
    np.testing.assert_allclose(gradient, -engine[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["log", "expected"])
def test_soft_labels(kind: str) -> None:
    P = rng.dirichlet(np.ones(3), N)
    value, _ = value_and_gradient(NCALoss(kind, reduction="sum"), P)
    assert value == pytest.approx(
        -matches_value(X, P @ P.T, A, kind, np.ones(N)), rel=1e-10
    )


@pytest.mark.parametrize("normalization", ["pairs", "anchor"])
def test_pairs_as_in_eq_8(normalization: str) -> None:
    pairs = np.array([[0, 1], [1, 2], [5, 9], [9, 5], [3, 0]])
    weights = np.array([1.0, 0.5, 2.0, 0.25, 0.0])
    loss = NCALoss("pairs", normalization=normalization, reduction="sum", max_pairs=50)
    value, gradient = value_and_gradient(loss, pairs, None, torch.tensor(weights))
    assert value == pytest.approx(
        -pairs_value(X, pairs, weights, A, normalization), rel=1e-12
    )
    step = 1e-6
    for place in np.ndindex(A.shape):
        up, down = A.copy(), A.copy()
        up[place] += step
        down[place] -= step
        slope = pairs_value(X, pairs, weights, up, normalization)
        slope -= pairs_value(X, pairs, weights, down, normalization)
        assert gradient[place] == pytest.approx(-slope / (2 * step), rel=1e-5)
    mean = NCALoss("pairs", normalization=normalization)
    given = torch.tensor(X @ A.T), torch.tensor(pairs), None, torch.tensor(weights)
    assert mean(*given).item() == pytest.approx(value / weights.sum())


TARGETS = {
    "labels": torch.tensor(Y),
    "soft labels": torch.tensor(rng.dirichlet(np.ones(3), N)),
    "numbers": torch.tensor(T),
}
CASES = [
    (objective, kind)
    for objective in ("log", "expected", "squared-error")
    for kind in TARGETS
    if (objective, kind) != ("squared-error", "labels")
]


@pytest.mark.parametrize(("objective", "kind"), CASES)
@pytest.mark.parametrize("distance", ["squared", "plain"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradients_by_queries_and_references(
    objective: str, kind: str, distance: str, reduction: str
) -> None:
    settings: dict[str, Any] = {"distance": distance, "reduction": reduction}
    loss = NCALoss(objective, temperature=0.6, max_pairs=60, **settings)
    Z = torch.tensor(X @ A.T, requires_grad=True)
    target = TARGETS[kind]
    assert torch.autograd.gradcheck(lambda Z: loss(Z, target), Z)
    own = torch.tensor([3, -1, 0, 1, 2])
    queries = Z.detach()[[3, 20, 0, 1, 2]].clone().requires_grad_()
    theirs = target[[3, 20, 0, 1, 2]]
    assert torch.autograd.gradcheck(
        lambda q, r: loss(q, theirs, r, target[:15], own),
        (queries, Z.detach()[:15].clone().requires_grad_()),
    )


@pytest.mark.parametrize("distance", ["squared", "plain"])
def test_pairs_by_differences(distance: str) -> None:
    pairs = torch.tensor([[0, 1], [4, 2]])
    Z = torch.tensor(X @ A.T, requires_grad=True)
    for normalization in ("pairs", "anchor"):
        loss = NCALoss("pairs", distance=distance, normalization=normalization)
        assert torch.autograd.gradcheck(lambda Z, loss=loss: loss(Z, pairs), Z)


def test_references_apart_are_the_sum_over_them() -> None:
    Z = torch.tensor(X @ A.T)
    y = torch.tensor(Y)
    loss = NCALoss(reduction="none")
    whole = loss(Z, y)
    part = loss(Z[:7], y[:7], Z, y, torch.arange(7))
    torch.testing.assert_close(part, whole[:7])
    unmasked = loss(Z[:7], y[:7], Z, y)
    assert (unmasked < part)[1:].all()  # its own label speaks for each query


def test_temperature_is_a_scale_of_the_points() -> None:
    Z, y = torch.tensor(X @ A.T), torch.tensor(Y)
    for distance, power in [("squared", 0.5), ("plain", 1.0)]:
        warm = NCALoss(distance=distance, temperature=4.0)(Z, y)
        scaled = NCALoss(distance=distance)(Z / 4.0**power, y)
        torch.testing.assert_close(warm, scaled)


@pytest.mark.parametrize("distance", ["squared", "plain"])
def test_far_and_equal_points_stay_finite(distance: str) -> None:
    Z = torch.tensor([[0.0], [0.0], [0.0], [1e4], [-3e4]], requires_grad=True)
    y = torch.tensor([0, 0, 1, 1, 0])
    for objective in ("log", "expected"):
        Z.grad = None
        loss = NCALoss(objective, distance=distance)(Z, y)
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(Z.grad).all()


def test_one_point_has_nobody_to_pick() -> None:
    for objective in ("log", "expected"):
        Z = torch.zeros(1, 2, requires_grad=True)
        loss = NCALoss(objective)(Z, torch.tensor([0]))
        loss.backward()
        assert loss.item() == 0
        assert (Z.grad == 0).all()


def test_half_precision_is_computed_in_single() -> None:
    Z = torch.tensor(X @ A.T, dtype=torch.bfloat16, requires_grad=True)
    loss = NCALoss()(Z, torch.tensor(Y))
    loss.backward()
    assert loss.dtype == torch.float32
    assert Z.grad.dtype == torch.bfloat16


def test_memory_is_bounded() -> None:
    n = 20_000
    generator = torch.Generator().manual_seed(0)
    Z = torch.randn(n, 2, generator=generator, requires_grad=True)
    y = torch.randint(0, 3, (n,), generator=generator)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as seen:
        NCALoss(max_pairs=2**18)(Z[:1000], y[:1000], Z, y, torch.arange(1000))
    held = largest = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            largest = max(largest, held)
    assert 0 < largest < 16 * 2**20  # all pairs at once would be 80 MB an array


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own parts
def test_what_calls_it_can_be_compiled() -> None:
    model = torch.nn.Linear(D, 2, dtype=torch.float64)
    loss, y = NCALoss(), torch.tensor(Y)

    def step(rows: Any) -> Any:
        return loss(torch.tanh(model(rows)), y)

    rows = torch.tensor(X)
    compiled = torch.compile(step)
    plain, fast = step(rows), compiled(rows)
    torch.testing.assert_close(plain, fast)
    (gradient,) = torch.autograd.grad(plain, [model.weight])
    (other,) = torch.autograd.grad(fast, [model.weight])
    torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "softmax"}, "objective must be one of"),
        ({"distance": "cosine"}, "distance must be one of"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"width": float("nan")}, "width must be above 0"),
        ({"reduction": "median"}, "reduction must be one of"),
        ({"objective": "pairs", "reduction": "none"}, "a loss for each query"),
    ],
)
def test_wrong_settings(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NCALoss(**settings)


def test_wrong_tensors() -> None:
    Z, y = torch.tensor(X), torch.tensor(Y)
    loss = NCALoss()
    with pytest.raises(ValueError, match="each needs one"):
        loss(Z, y[:-1])
    with pytest.raises(ValueError, match="reference_target"):
        loss(Z, y, Z)
    with pytest.raises(ValueError, match="need references"):
        loss(Z, y, own=torch.arange(N))
    with pytest.raises(ValueError, match="components"):
        loss(Z, y, Z[:, :1], y)
    with pytest.raises(ValueError, match=r"reference_target \(23, 23\)"):
        loss(Z, y, Z, torch.eye(N))
    with pytest.raises(ValueError, match="one position for each"):
        loss(Z, y, Z, y, torch.arange(3))
    with pytest.raises(ValueError, match="shape"):
        loss(Z[0], y)
    with pytest.raises(ValueError, match="at least one"):
        loss(Z[:0], y[:0])
    pairs = NCALoss("pairs")
    with pytest.raises(ValueError, match="with itself"):
        pairs(Z, torch.tensor([[1, 1]]))
    with pytest.raises(ValueError, match="as many weights"):
        pairs(Z, torch.tensor([[0, 1]]), None, torch.ones(2))
    with pytest.raises(ValueError, match="positions of points"):
        pairs(Z, y)
    with pytest.raises(ValueError, match="no references"):
        pairs(Z, torch.tensor([[0, 1]]), Z)
    assert "'pairs'" in repr(pairs)


def test_labels_of_two_dimensions_are_refused() -> None:
    points = torch.randn(4, 2)
    labels = torch.eye(4, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"target\.float\(\)"):
        NCALoss()(points, labels)
    assert torch.isfinite(NCALoss()(points, labels.float()))
