"""The thesis' tables of optimisers: conjugate gradients, bold driver, and ours."""

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, accuracy, classes_of, split_of
from benchmarks.speed.timing import table
from vicinal import NCA

DATA = ("balance_scale", "ionosphere", "iris", "wine")
SOLVERS = ("cg", "bold-driver", "delta-bar-delta", "lbfgs")


def cases(scope: Scope) -> list[Case]:
    """Return data, solver and seed of each run."""
    names = QUICK if scope.quick else DATA
    return [
        (name, solver, seed)
        for name in names
        for solver in SOLVERS
        for seed in scope.repeats(10)
    ]


def run(name: str, solver: str, seed: int) -> Outcome:
    """Return f on the training rows and 1-NN on the test rows, at d = 2."""
    split = split_of(*classes_of(name), seed)
    nca = NCA(2, solver=solver, init="rca", max_iter=300, random_state=seed)
    outcome: Outcome = {"test": accuracy(nca, split)}
    outcome["f"] = float(max(nca.objective_curve_)) / len(split[0])
    outcome["iterations"] = int(nca.n_iter_)
    return outcome


def show(results: Results) -> Page:
    """Return a table for f, and one for the test rows."""
    text = []
    for key, words in (
        ("f", "f / n on the training rows (%)"),
        ("test", "1-NN accuracy on the test rows (%)"),
    ):
        rows = [
            [
                str(name),
                *(
                    mean_and_error(results.values(key, name, solver), factor=100)
                    for solver in SOLVERS
                ),
            ]
            for (name,) in results.heads()
        ]
        text += [f"{words}:", table(["data", *SOLVERS], rows)]
    return Page("\n\n".join(text))


EXPERIMENT = Experiment(
    name="thesis-optimizers",
    title="Thesis, section 3.3.1: optimisers",
    about="""
The thesis says that on small and medium-sized data the bold driver's scores are like
those of conjugate gradients; its tables are not in the chapters at hand. Here both,
delta-bar-delta, and L-BFGS, which is vicinal's default: to d = 2 from RCA's start, at
most 300 iterations, ten splits of 70/30, ± a standard error.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
