import numpy as np
from sklearn.datasets import load_iris

from vicinal.nca._optimizer import ExactOptimizer
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)


def test_a_short_climb_says_that_it_was_planned() -> None:
    planned, cut_off = (
        ExactOptimizer("lbfgs", max_iter=2, tol=1e-9, alpha=0.0, short=short).maximize(
            NCAObjective(X, y), np.eye(4), lambda *_: False
        )
        for short in (True, False)
    )
    assert (planned.reason, cut_off.reason) == ("converged", "max_iter")
    assert "judged on the rows held out" in planned.message
    assert "judged on the rows held out" not in cut_off.message
