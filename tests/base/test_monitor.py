"""scikit-learn's callback protocol, which began in 1.9, and life without it."""

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.base.metric import CallbackSupportMixin, Monitor, _NoContext

X, y = load_iris(return_X_y=True)
has_callbacks = parse_version(sklearn.__version__) >= parse_version("1.9")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def training_accuracy(nca: NCA, X: Any, y: Any) -> float:
    Z = nca.transform(X)
    return float(KNeighborsClassifier(1).fit(Z[::2], y[::2]).score(Z[1::2], y[1::2]))


class Recorder:
    """A callback that notes which hooks are called, and stops when told to."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.hooks: list[str] = []
        self.heights: list[float] = []
        self.stop_after = stop_after

    def setup(self, estimator: Any, context: Any) -> None:
        self.hooks.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.hooks.append(f"begin {context.task_name}")

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any, y: Any, fitted_estimator: Any
    ) -> bool:
        self.hooks.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.heights.append(float(np.abs(fitted_estimator.transform(X)).sum()))
        return len(self.heights) == self.stop_after


if has_callbacks:
    from sklearn.callback import ProgressBar, ScoringMonitor

    def test_each_iteration_is_a_task_with_a_usable_estimator() -> None:
        recorder = Recorder()
        nca = NCA(2, init="pca", max_iter=3).set_callbacks(recorder).fit(X, y)
        iterations = ["begin iteration", "end iteration"] * 3
        assert recorder.hooks == [
            "setup", "begin fit", *iterations, "end fit", "teardown"
        ]  # fmt: skip
        assert len(set(recorder.heights)) == 3
        assert recorder.heights[-1] == pytest.approx(np.abs(nca.transform(X)).sum())

    def test_an_iteration_that_never_ran_is_closed() -> None:
        recorder = Recorder()
        nca = NCA(2, init="pca", max_iter=500).set_callbacks(recorder).fit(X, y)
        assert recorder.hooks.count("begin iteration") == nca.n_iter_ + 1
        assert recorder.hooks.count("end iteration") == nca.n_iter_ + 1

    def test_a_hook_can_stop_the_fit() -> None:
        nca = NCA(2, init="pca").set_callbacks(Recorder(stop_after=2)).fit(X, y)
        assert nca.n_iter_ == 2

    def test_the_teardown_comes_even_after_an_error() -> None:
        recorder = Recorder()

        def fail(*_: Any) -> None:
            raise ZeroDivisionError

        nca = NCA(2, init="pca", callback=fail).set_callbacks(recorder)
        with pytest.raises(ZeroDivisionError):
            nca.fit(X, y)
        assert recorder.hooks[-1] == "teardown"

    def test_scoring_monitor() -> None:
        monitor = ScoringMonitor(scoring={"accuracy": training_accuracy})
        nca = NCA(2, init="pca", max_iter=4).set_callbacks(monitor).fit(X, y)
        log = monitor.get_logs().data
        scores = [row["accuracy"] for row in log if row["task_name"] == "iteration"]
        assert len(scores) == 4
        assert scores[-1] == training_accuracy(nca, X, y)

    def test_scoring_monitor_scores_what_can_predict() -> None:
        for model, scoring, target in (
            (NCAClassifier(2, init="pca", max_iter=4), "accuracy", y),
            (NCARegressor(2, max_iter=4, alpha=1e-3), "r2", X[:, 0]),
        ):
            monitor = ScoringMonitor(scoring=scoring)
            model.set_callbacks(monitor).fit(X, target)
            scores = [row[scoring] for row in monitor.get_logs().data]
            assert scores[-1] == pytest.approx(model.score(X, target))

    def test_callbacks_see_the_frame_that_fit_was_given() -> None:
        frame = pd.DataFrame(X, columns=list("abcd"))
        monitor = ScoringMonitor(scoring={"accuracy": training_accuracy})
        NCA(2, init="pca", max_iter=4).set_callbacks(monitor).fit(frame, y)
        assert len(monitor.get_logs().data) == 5  # and no warning about names

    def test_progress_bar_alone_and_in_a_pipeline() -> None:
        for estimator in (
            NCA(2, init="pca", max_iter=4),
            make_pipeline(StandardScaler(), NCA(2, init="pca", max_iter=4)),
        ):
            out = io.StringIO()
            with redirect_stdout(out):
                estimator.set_callbacks(ProgressBar()).fit(X, y)
            assert "NCA" in out.getvalue()
            assert "100%" in out.getvalue()

else:

    def test_older_versions_fit_without_the_protocol() -> None:
        assert not hasattr(NCA(), "set_callbacks")
        assert NCA(2, init="pca", max_iter=3).fit(X, y).n_iter_ == 3
        assert isinstance(CallbackSupportMixin()._init_callback_context(), _NoContext)


@pytest.mark.parametrize("noisy", [False, True])
def test_the_best_map_is_kept_or_the_latest_of_a_noisy_curve(noisy: bool) -> None:
    maps = [np.full((1, 2), float(k)) for k in range(3)]
    monitor = Monitor(NCA(), None, None, maps[0], lambda _: {}, noisy=noisy)
    with monitor.running():
        monitor(maps[1], [0.0, 2.0])
        monitor(maps[2], [0.0, 2.0, 1.0])
    assert monitor.components is maps[2 if noisy else 1]
