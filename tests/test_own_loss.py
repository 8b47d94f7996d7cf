"""Losses and solvers of one's own, as the guide shows them."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, attr-defined"

from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.objectives import NCAObjective
from vicinal.testing import check_loss

X, y = load_wine(return_X_y=True)
X = scale(X)


class StudentT:
    """log p_i with p_ij ∝ 1 / (1 + d²_ij)."""

    def prepare(self, y, sample_weight):
        return y, sample_weight

    def weigh(self, distances, rows, data):
        y, weight = data
        q = weight / (1 + distances)
        q[np.arange(len(rows)), rows] -= 1  # not its own neighbor
        same = y[rows][:, None] == y
        total = q.sum(axis=1, keepdims=True)
        matched = (q * same).sum(axis=1, keepdims=True)
        distances[:] = q / (1 + distances) * (1 / total - same / matched)
        return np.log(matched / total)[:, 0]


class Softmax(StudentT):
    """NCA's own g, to compare with the compiled kernel."""

    def weigh(self, distances, rows, data):
        y, weight = data
        e = weight * np.exp(-distances)
        e[np.arange(len(rows)), rows] -= 1
        same = y[rows][:, None] == y
        total = e.sum(axis=1, keepdims=True)
        matched = (e * same).sum(axis=1, keepdims=True)
        distances[:] = e * (1 / total - same / matched)
        return np.log(matched / total)[:, 0]


def test_the_checks_pass_for_a_right_loss() -> None:
    check_loss(StudentT())
    check_loss(Softmax(), X[:, :5], y)


def test_a_loss_agrees_with_the_naive_sum() -> None:
    A = 0.3 * np.random.default_rng(0).normal(size=(2, 13))
    Z = X @ A.T
    q = 1 / (1 + ((Z[:, None] - Z) ** 2).sum(axis=2))
    np.fill_diagonal(q, 0)
    p = (q * (y[:, None] == y)).sum(axis=1) / q.sum(axis=1)
    value = NCAObjective(X, y, StudentT()).value_and_gradient(A)[0]
    assert value == pytest.approx(np.log(p).sum(), rel=1e-10)


@pytest.mark.filterwarnings("ignore:NCA did not converge")
def test_a_softmax_of_ones_own_is_ncas() -> None:
    ours = NCA(2, objective="log", random_state=0, max_iter=10).fit(X, y)
    own = NCA(2, objective=Softmax(), random_state=0, max_iter=10).fit(X, y)
    np.testing.assert_allclose(own.objective_curve_, ours.objective_curve_, rtol=1e-6)


class _Wrong(StudentT):
    def weigh(self, distances, rows, data):
        before = distances.copy()
        values = super().weigh(distances, rows, data)
        self.spoil(distances, before, values, rows, data)
        return values


class WrongGradient(_Wrong):
    def spoil(self, weights, distances, values, rows, data):
        weights *= 1.01


class KnowsTheBlock(_Wrong):
    def spoil(self, weights, distances, values, rows, data):
        values += np.sin(rows) * values  # depends on the order of the rows
        weights += np.sin(rows)[:, None] * weights


class IgnoresWeights(StudentT):
    def prepare(self, y, sample_weight):
        return y, np.ones_like(sample_weight)


class NotFinite(_Wrong):
    def spoil(self, weights, distances, values, rows, data):
        values[:] = np.nan


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (WrongGradient(), "is not the derivative"),
        (KnowsTheBlock(), "the order of the rows"),
        (IgnoresWeights(), "occurs twice"),
        (NotFinite(), "not finite"),
    ],
)
def test_the_checks_find_a_wrong_loss(loss: object, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


@pytest.mark.parametrize("solver", ["auto", "stochastic", "cg"])
@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_a_loss_goes_with_every_solver(solver: str, form: str) -> None:
    model = NCA(objective=StudentT(), solver=solver, form=form, max_iter=8)
    model.set_params(random_state=0)
    fitted = model.fit(X, y) if solver == "stochastic" else _quiet(model)
    assert fitted.objective_curve_[-1] > fitted.objective_curve_[0]


def _quiet(model: NCA) -> NCA:
    with pytest.warns(match="did not converge"):
        return model.fit(X, y)


def test_the_classifier_chooses_its_penalty_with_a_loss_of_ones_own() -> None:
    iris, labels = load_iris(return_X_y=True)
    model = NCAClassifier(objective=StudentT(), random_state=0).fit(iris, labels)
    assert model.score(iris, labels) > 0.95
    assert model.alpha_ >= 0


class Spread:
    """−Σ_j d²_ij exp(−(t_i − t_j)²): near targets should be near."""

    def prepare(self, y, sample_weight):
        return y, sample_weight

    def weigh(self, distances, rows, data):
        t, weight = data
        near = -weight * np.exp(-((t[rows][:, None] - t) ** 2))
        values = (near * distances).sum(axis=1)
        distances[:] = near
        return values


def test_a_loss_of_targets() -> None:
    model = NCARegressor(2, objective=Spread(), alpha=0.0, max_iter=3, init="pca")
    with pytest.warns(match="did not converge|before it converged"):
        model.fit(X, y.astype(float))
    assert model.objective_curve_[-1] > model.objective_curve_[0]


class Newton:
    """A solver of one's own: SciPy's BFGS."""

    def maximize(self, objective, start, callback):
        curve = [objective.value_and_gradient(start)[0]]

        def negated(flat):
            value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
            return -value, -gradient.ravel()

        result = minimize(negated, start.ravel(), jac=True, method="BFGS")
        curve.append(-result.fun)
        x = result.x.reshape(start.shape)
        callback(x, curve)
        return OptimizeResult(x=x, nit=1, curve=curve, success=True, message="done")


def test_a_solver_of_ones_own() -> None:
    usual = NCA(2, max_iter=200, random_state=0).fit(X, y)
    own = NCA(2, solver=Newton(), random_state=0).fit(X, y)
    assert own.objective_curve_[-1] == pytest.approx(usual.objective_curve_[-1], 1e-3)


class Stuck:
    """A solver that stops early, after a gain of the given relative size."""

    def __init__(self, gain):
        self.gain = gain

    def maximize(self, objective, start, callback):
        curve = [1.0, 1.0 + self.gain]
        reason = {"success": False, "reason": "line_search", "message": "no step"}
        return OptimizeResult(x=start, nit=1, curve=curve, **reason)


@pytest.mark.parametrize(
    ("gain", "said"),
    [(1e-3, "before it converged"), (1e-7, "before it conv"), (1e-11, "nothing")],
)
def test_a_small_gain_is_something_learned(gain: float, said: str) -> None:
    with pytest.warns(match=said):
        NCA(2, solver=Stuck(gain), random_state=0).fit(X, y)


@pytest.mark.parametrize("wrong", [{"objective": object()}, {"solver": object()}])
def test_objects_without_the_methods_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        NCA(2, **wrong).fit(X, y)


def test_a_point_has_no_distance_to_itself_in_float32() -> None:
    rng = np.random.default_rng(0)
    Z, c = rng.normal(size=(300, 4)), np.arange(300) % 2
    A = 30 * np.eye(4)
    exact = NCAObjective(Z.astype(np.float32).astype(float), c, StudentT())
    found = NCAObjective(Z.astype(np.float32), c, StudentT())
    value, gradient = exact.value_and_gradient(A)
    assert found.value_and_gradient(A)[0] == pytest.approx(value, rel=1e-3)
    np.testing.assert_allclose(
        found.value_and_gradient(A)[1], gradient, atol=0.01 * np.abs(gradient).max()
    )


class Lowered(StudentT):
    def weigh(self, distances, rows, data):
        return super().weigh(distances, rows, data) - 50


def test_a_constant_in_a_loss_changes_nothing() -> None:
    one = NCAClassifier(2, objective=StudentT(), random_state=0).fit(X, y)
    other = NCAClassifier(2, objective=Lowered(), random_state=0).fit(X, y)
    assert one.init_ == other.init_
    # tol is relative to the objective, so that the last iterations may differ.
    sizes = [np.linalg.norm(model.components_) for model in (one, other)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.2)


class Plain(Newton):
    """Returns SciPy's result as it is."""

    def maximize(self, objective, start, callback):
        result = super().maximize(objective, start, callback)
        return OptimizeResult(x=result.x, success=True)


def test_a_plain_result_of_scipy_is_enough() -> None:
    model = NCA(2, solver=Plain(), random_state=0).fit(X, y)
    assert model.objective_curve_[-1] > model.objective_curve_[0]
    with pytest.raises(ValueError, match="n_neighbors='all'"):
        NCA(2, solver=Plain(), n_neighbors=20).fit(X, y)


class TooShort(StudentT):
    def weigh(self, distances, rows, data):
        return super().weigh(distances, rows, data)[:-1]


def test_mistakes_are_named() -> None:
    with pytest.raises(TypeError, match="instances, not classes"):
        NCA(objective=StudentT).fit(X, y)
    with pytest.raises(ValueError, match="one value for each"):
        NCA(objective=TooShort()).fit(X, y)


@pytest.mark.parametrize("wrong", [object(), int])
def test_check_loss_asks_for_an_instance_with_both_methods(wrong: Any) -> None:
    with pytest.raises(TypeError, match="prepare and weigh"):
        check_loss(wrong)
