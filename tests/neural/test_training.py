"""The training loop: draws, early stopping, divergence, callbacks."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
from tests.neural.data import waves  # noqa: E402
from tests.neural.modules import Breaks  # noqa: E402
from vicinal.base.selection import hold_out  # noqa: E402
from vicinal.neural import (  # noqa: E402
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
    _members,
)
from vicinal.neural._training import draw_others, warm_cosine  # noqa: E402

X, y = waves()
MODEL = NeuralNCAClassifier(16, n_estimators=1, random_state=0, n_jobs=1)


@pytest.mark.parametrize(("n", "start", "size", "more"), [(10, 4, 3, 5), (6, 0, 6, 9)])
def test_references_are_others(n: int, start: int, size: int, more: int) -> None:
    batch, generator = torch.arange(start, start + size), torch.Generator()
    for _ in range(30):
        others = draw_others(batch, more, n, generator).tolist()
        assert len(set(others)) == len(others) == min(more, n - size)
        assert not set(others) & set(batch.tolist())
        assert all(0 <= one < n for one in others)


def test_every_other_row_is_drawn() -> None:
    batch, generator = torch.arange(3, 5), torch.Generator().manual_seed(0)
    draws = [draw_others(batch, 2, 9, generator).tolist() for _ in range(300)]
    counts = np.bincount(np.ravel(draws), minlength=9)
    assert (counts[[3, 4]] == 0).all()
    others = np.delete(counts, [3, 4])
    assert others.min() > 0.6 * others.mean()


def test_rate_rises_and_falls() -> None:
    factors = [warm_cosine(step, 100) for step in range(100)]
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


@pytest.mark.parametrize("fraction", [0.5, 0.99])
@pytest.mark.parametrize("n", [2, 6, 20])
def test_two_rows_are_never_held_out(n: int, fraction: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        held = hold_out(rng.normal(size=n), fraction, rng)
        assert len(set(held)) == len(held) <= n - 2


def test_almost_all_rows_held_out() -> None:
    model = NeuralNCARegressor(2, validation_fraction=0.99, max_iter=2, random_state=0)
    assert np.isfinite(model.fit(X[:12], X[:12, 0]).predict(X)).all()


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


def test_a_callback_ends_the_fit_of_all_networks() -> None:
    seen = []

    def enough(training: Any, epoch: int) -> None:
        seen.append(epoch)
        if len(seen) >= 5:
            raise StopIteration

    model = clone(MODEL).set_params(n_estimators=4, max_iter=3, callback=enough)
    model.fit(X, y)
    assert seen == [1, 2, 3, 1, 2]
    assert len(model.networks_) == 2
    # Those that are there go on together.
    model.set_params(n_estimators="auto", warm_start=True).fit(X, y)
    assert seen[5:] == [1, 1]
    assert len(model.networks_) == 2


def test_scikit_learn_callbacks_see_a_fitted_copy() -> None:
    callback = pytest.importorskip("sklearn.callback")
    if not hasattr(MODEL, "set_callbacks"):
        pytest.skip("scikit-learn has no such callbacks")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = clone(MODEL).set_params(max_iter=3, n_iter_no_change=3)
    model.set_callbacks(monitor).fit(X, y)
    assert model.n_iter_ == 3


def test_scikit_learn_callbacks_of_a_training_without_an_epoch() -> None:
    callback = pytest.importorskip("sklearn.callback")
    if not hasattr(MODEL, "set_callbacks"):
        pytest.skip("scikit-learn has no such callbacks")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = clone(MODEL).set_params(module=Breaks(0)).set_callbacks(monitor)
    with pytest.warns(ConvergenceWarning, match="after 0 epochs"):
        model.fit(X, y)


def test_threads_do_not_disturb_each_other() -> None:
    models = [
        clone(MODEL).set_params(random_state=seed, max_iter=4, n_blocks=1)
        for seed in range(4)
    ]
    alone = [clone(model).fit(X, y).predict_proba(X) for model in models]
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda m: m.fit(X, y).predict_proba(X), models))
    assert torch.get_num_threads() == threads
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_loss_that_is_not_finite_ends_with_the_last_good_weights() -> None:
    seen: list[Any] = []

    def keep(training: Any, epoch: int) -> None:
        seen.append(training.network.module.linear.weight.detach().clone())

    model = clone(MODEL).set_params(
        module=Breaks(7), batch_size=128, early_stopping=False, callback=keep
    )
    with pytest.warns(ConvergenceWarning, match="not finite") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1  # of four steps each, of which the eighth breaks
    weights = model.networks_[0].module.linear.weight
    assert len(seen) == 1
    assert torch.equal(weights, seen[0])


@pytest.mark.parametrize("early_stopping", [True, False])
def test_the_last_step_is_looked_at_too(early_stopping: bool) -> None:
    model = clone(MODEL).set_params(
        learning_rate=1e30, max_iter=2, batch_size=400, early_stopping=early_stopping
    )
    with pytest.warns(ConvergenceWarning, match="not finite"):
        model.fit(X, y)
    assert model.n_iter_ == 0
    assert np.isfinite(model.predict_proba(X)).all()


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    NeuralNCA(2, n_estimators=2, max_iter=2, verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[NeuralNCA]") for line in lines)
    assert [line.split()[1:3] for line in lines] == [
        ["network", "epoch"],
        *(["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]),
    ]


def test_interrupted_it_is_as_before() -> None:
    model = clone(MODEL).set_params(max_iter=2).fit(X, y)
    before = model.predict_proba(X)

    def interrupt(training: Any, epoch: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(X[:, :2], y)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict_proba(X), before)


def interrupting(epoch_of_interrupt: int) -> Any:
    """Return a callback that is Ctrl-C after some epochs, counted over networks."""
    seen = []

    def callback(training: Any, _: int) -> None:
        seen.append(training)
        if len(seen) == epoch_of_interrupt:
            raise KeyboardInterrupt

    return callback


def test_ctrl_c_leaves_the_estimator_as_it_was() -> None:
    model = clone(MODEL).set_params(callback=interrupting(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "n_iter_")


def test_ctrl_c_with_warm_start_keeps_the_best_weights() -> None:
    model = clone(MODEL).set_params(warm_start=True, callback=interrupting(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    # Two epochs went well, and the third had ended, too.
    assert model.n_iter_ == 3
    same = clone(MODEL).fit(X, y)
    assert model.validation_scores_.tolist() == same.validation_scores_[:3].tolist()
    model.set_params(callback=None).fit(X, y)
    assert model.validation_scores_.max() > same.validation_scores_[:3].max()


@pytest.mark.parametrize(("epoch", "kept"), [(3, False), (12, True)])
def test_ctrl_c_keeps_all_networks_or_none(epoch: int, kept: bool) -> None:
    model = clone(MODEL).set_params(warm_start=True, n_estimators=2, max_iter=10)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupting(epoch)).fit(X, y)
    assert hasattr(model, "classes_") == kept
    assert hasattr(model, "n_features_in_") == kept
    if kept:
        assert len(model.networks_) == 2


def test_ctrl_c_before_an_epoch_has_ended_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vicinal.neural._training.NCALoss.forward", interrupt)
    model = clone(MODEL).set_params(warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_a_part_of_many_rows_finds_the_temperature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = clone(MODEL).fit(X, y)
    asked: list[int] = []

    def counting(queries: Any, *others: Any) -> Any:
        asked.append(len(queries))
        return votes(queries, *others)

    votes = _members.votes
    monkeypatch.setattr(_members, "votes", counting)
    monkeypatch.setattr(_members, "MIN_CALIBRATION_QUERIES", 30)
    monkeypatch.setattr(_members, "MAX_CALIBRATION_PAIRS", 1)
    part = clone(MODEL).fit(X, y)
    assert set(asked) == {30}
    assert part.temperatures_[0] == pytest.approx(whole.temperatures_[0], rel=0.7)
