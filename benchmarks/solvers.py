"""How high each solver gets with how much work: ``python -m benchmarks.solvers``."""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table
from vicinal._typing import FloatArray
from vicinal.datasets import load
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import NCAObjective
from vicinal.optimize import SOLVERS, Objective

DATASETS = ["iris", "wine", "breast_cancer", "balance_scale", "ionosphere"]
EVALUATIONS = [10, 30, 100, 300]
N_STARTS = 8


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


def heights(name: str, objective: Objective, start: FloatArray) -> FloatArray:
    """Return the best value found within each number of evaluations."""
    metered = Metered(objective, max(EVALUATIONS))
    solver = SOLVERS[name](max_iter=max(EVALUATIONS), tol=0)
    with suppress(UsedUp), single_threaded_blas():
        solver.maximize(metered, start, lambda *_: False)
    best = np.maximum.accumulate(metered.values)
    # One that stopped earlier, at a summit, has that height from then on.
    return np.array([best[:evaluations][-1] for evaluations in EVALUATIONS])


def main() -> None:
    """Print f as a percentage of n, which is the expected accuracy, at d = 2."""
    from_pca, from_random = [], []
    for dataset in map(load, DATASETS):
        X = StandardScaler().fit_transform(dataset.X.astype(np.float64))
        n, D = X.shape
        objective = NCAObjective(X, dataset.y)
        pca = PCA(2).fit(X).components_
        # Of the size of PCA's, so that as many points are near to begin with.
        randoms = np.random.RandomState(0).normal(size=(N_STARTS, 2, D)) / np.sqrt(D)
        size = f"{n} × {D}"
        ends = []
        for name in SOLVERS:
            reached = 100 / n * heights(name, objective, pca)
            percents = [f"{height:.1f}" for height in reached]
            from_pca.append([dataset.name, size, f"`{name}`", *percents])
            last = [100 / n * heights(name, objective, A)[-1] for A in randoms]
            ends.append(f"{np.mean(last):.1f} ({np.min(last):.1f})")
        from_random.append([dataset.name, size, *ends])
    print("From the principal components, after so many evaluations\n")
    print(table(["data", "n × D", "solver", *map(str, EVALUATIONS)], from_pca))
    print(
        f"\nFrom {N_STARTS} random maps, after {max(EVALUATIONS)} evaluations: "
        "the mean, and the worst\n"
    )
    print(table(["data", "n × D", *(f"`{name}`" for name in SOLVERS)], from_random))


if __name__ == "__main__":
    main()
