"""How high each solver gets with how much work: ``python -m benchmarks.solvers``."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table
from vicinal._typing import FloatArray
from vicinal.datasets import load
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import NCAObjective
from vicinal.solvers import SOLVERS, Objective

DATASETS = ["iris", "wine", "breast_cancer", "balance_scale", "ionosphere"]
EVALUATIONS = [10, 30, 100, 300]


class UsedUp(Exception):  # noqa: N818
    """All evaluations are spent."""


@dataclass
class Metered:
    """An objective that may be evaluated so many times, and notes the values.

    A solver's iterations are not its work: a line search takes several evaluations.
    """

    objective: Objective
    allowance: int
    values: list[float] = field(default_factory=list)

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate once more, if that is allowed."""
        if len(self.values) == self.allowance:
            raise UsedUp
        value, gradient = self.objective.value_and_gradient(components)
        self.values.append(value)
        return value, gradient


def heights(name: str, objective: Objective, start: FloatArray) -> list[float]:
    """Return the best value found within each number of evaluations."""
    metered = Metered(objective, max(EVALUATIONS))
    solver = SOLVERS[name](max_iter=max(EVALUATIONS), tol=0)
    try:
        solver.maximize(metered, start, lambda *_: False)
    except UsedUp:
        pass
    best = np.maximum.accumulate(metered.values)
    # Who stopped earlier, at a summit, has that height from then on.
    return [float(best[:evaluations][-1]) for evaluations in EVALUATIONS]


def main() -> None:
    """Print f as a percentage of n, that is the expected accuracy, d = 2."""
    rows = []
    for dataset in map(load, DATASETS):
        X = StandardScaler().fit_transform(dataset.X.astype(np.float64))
        objective = NCAObjective(X, dataset.y)
        start = PCA(2).fit(X).components_
        label = f"{dataset.name}, {len(X)} × {X.shape[1]}"
        for name in SOLVERS:
            with single_threaded_blas():
                reached = heights(name, objective, start)
            percents = [f"{100 * value / len(X):.1f}" for value in reached]
            rows.append([label, f"`{name}`", *percents])
            label = ""
    print(table(["data", "solver", *map(str, EVALUATIONS)], rows))


if __name__ == "__main__":
    main()
