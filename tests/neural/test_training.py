"""The training loop: draws, early stopping, divergence, callbacks."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
from tests.neural.data import waves  # noqa: E402
from tests.neural.modules import Breaks  # noqa: E402
from vicinal.neural import NeuralNCA, NeuralNCAClassifier  # noqa: E402
from vicinal.neural._members import hold_out  # noqa: E402
from vicinal.neural._training import _outside, _warm_cosine  # noqa: E402

X, y = waves()
MODEL = NeuralNCAClassifier(16, random_state=0, n_jobs=1)


@pytest.mark.parametrize(("n", "start", "size", "more"), [(10, 4, 3, 5), (6, 0, 6, 9)])
def test_references_are_others(n: int, start: int, size: int, more: int) -> None:
    batch = torch.arange(start, start + size)
    for _ in range(30):
        others = _outside(batch, more, n).tolist()
        assert len(set(others)) == len(others) == min(more, n - size)
        assert not set(others) & set(batch.tolist())
        assert all(0 <= one < n for one in others)


def test_every_other_row_is_drawn() -> None:
    torch.manual_seed(0)
    draws = [_outside(torch.arange(3, 5), 2, 9).tolist() for _ in range(300)]
    counts = np.bincount(np.ravel(draws), minlength=9)
    assert (counts[[3, 4]] == 0).all()
    others = np.delete(counts, [3, 4])
    assert others.min() > 0.6 * others.mean()


def test_rate_rises_and_falls() -> None:
    factors = [_warm_cosine(100)(step) for step in range(100)]
    assert factors[0] < 0.3
    assert max(factors) == pytest.approx(1, abs=0.02)
    assert factors[-1] == pytest.approx(0, abs=1e-6)


def test_held_out_rows_are_of_all_classes_and_leave_each_one() -> None:
    rng = np.random.default_rng(0)
    codes = np.array([0] * 60 + [1] * 39 + [2])
    rng.shuffle(codes)
    for _ in range(20):
        held = hold_out(codes, 0.2, rng)
        assert abs(len(held) - 20) <= 3
        assert len(set(held)) == len(held)
        assert 10 <= (codes[held] == 0).sum() <= 13
        assert set(codes[np.setdiff1d(np.arange(100), held)]) == {0, 1, 2}
    numbers = hold_out(rng.normal(size=200), 0.1, rng)
    assert abs(len(numbers) - 20) <= 1
    assert len(hold_out(codes[:12], 0.1, rng)) == 0  # too few to judge by


def test_the_best_weights_are_kept() -> None:
    seen: list[Any] = []

    def keep(training: Any, epoch: int) -> None:
        weights = training.network.state_dict()
        seen.append({name: one.clone() for name, one in weights.items()})

    model = clone(MODEL).set_params(callback=keep, n_iter_no_change=3).fit(X, y)
    best = int(np.argmax(model.validation_scores_))
    assert len(seen) == model.n_iter_
    kept = model.networks_[0].state_dict()
    assert all(torch.equal(kept[name], seen[best][name]) for name in kept)
    assert model.n_iter_ == 100 or best == model.n_iter_ - 4


def test_without_rows_held_out_all_epochs_count() -> None:
    model = clone(MODEL).set_params(early_stopping=False, max_iter=7).fit(X, y)
    assert model.n_iter_ == 7
    assert len(model.validation_scores_) == 0
    assert model.temperatures_.tolist() == [1.0]


def test_a_callback_can_end_it() -> None:
    def enough(training: Any, epoch: int) -> None:
        if epoch == 2:
            raise StopIteration

    assert clone(MODEL).set_params(callback=enough).fit(X, y).n_iter_ == 2


def test_scikit_learn_callbacks_see_a_fitted_copy() -> None:
    callback = pytest.importorskip("sklearn.callback")
    if not hasattr(MODEL, "set_callbacks"):
        pytest.skip("scikit-learn has no such callbacks")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = clone(MODEL).set_params(max_iter=3, n_iter_no_change=3)
    model.set_callbacks(monitor).fit(X, y)
    assert model.n_iter_ == 3


def test_a_loss_that_is_not_finite_ends_with_the_last_good_weights() -> None:
    model = clone(MODEL).set_params(module=Breaks(7), batch_size=128)
    with pytest.warns(ConvergenceWarning, match="not finite") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2  # of three steps each
    weights = model.networks_[0].module.linear.weight
    assert torch.isfinite(weights).all()


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    NeuralNCA(2, max_iter=2, verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("[NeuralNCA]") for line in lines)


def test_interrupted_it_is_as_before() -> None:
    model = clone(MODEL).set_params(max_iter=2).fit(X, y)
    before = model.predict_proba(X)

    def interrupt(training: Any, epoch: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(X[:, :2], y)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict_proba(X), before)
