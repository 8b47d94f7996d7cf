"""The thesis' tables B.1 and B.2: conjugate gradients, bold driver, and ours."""

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, classes_of, split_of, votes
from benchmarks.speed.timing import table
from vicinal import NCAClassifier

# By data set and d: 1-NN and NCA's rule after conjugate gradients, and after the bold
# driver, in percent.
PUBLISHED = {
    "balance_scale": {
        2: (92.7, 92.3, 92.1, 92.5),
        3: (94.8, 94.9, 92.8, 92.9),
        4: (95.2, 95.3, 94.2, 94.4),
    },
    "ionosphere": {
        2: (86.2, 86.2, 82.8, 82.8),
        3: (87.7, 87.6, 86.0, 86.1),
        4: (87.6, 87.6, 86.5, 86.5),
        5: (89.4, 89.4, 87.9, 87.9),
        33: (88.0, 88.0, 88.4, 88.4),
    },
    "iris": {
        2: (94.4, 94.1, 93.7, 93.8),
        3: (95.4, 95.0, 95.2, 95.3),
        4: (96.6, 96.4, 95.4, 95.6),
    },
    "wine": {
        2: (96.7, 96.6, 96.3, 96.3),
        3: (96.4, 96.4, 96.6, 96.6),
        4: (96.2, 96.5, 97.1, 97.1),
        5: (96.6, 96.6, 96.8, 96.8),
        13: (96.2, 96.2, 97.2, 97.2),
    },
    "yeast": {
        2: (42.4, 43.2, 44.7, 46.7),
        3: (48.1, 48.3, 47.1, 48.0),
        4: (49.1, 49.1, 49.5, 49.8),
        5: (50.1, 50.1, 50.2, 50.4),
        8: (50.7, 50.7, 50.2, 50.3),
    },
}
SOLVERS = ("cg", "bold-driver", "delta-bar-delta", "lbfgs")
VOTES = ("1-NN", "rule")


def cases(scope: Scope) -> list[Case]:
    """Return data, dimension, solver and seed of each run."""
    return [
        (name, d, solver, seed)
        for name in (QUICK if scope.quick else PUBLISHED)
        for d in ([2] if scope.quick else PUBLISHED[name])
        for solver in SOLVERS
        for seed in scope.repeats(20)
    ]


def run(name: str, d: int, solver: str, seed: int) -> Outcome:
    """Return f on the training rows, and both votes on the test rows."""
    split = split_of(*classes_of(name), seed)
    model = NCAClassifier(
        min(d, split[0].shape[1]), objective="expected", alpha=0.0, init="rca",
        solver=solver, max_iter=300, random_state=seed,
    )  # fmt: skip
    outcome: Outcome = {**votes(model, split)}
    outcome["f"] = float(max(model.objective_curve_)) / len(split[0])
    outcome["iterations"] = int(model.n_iter_)
    return outcome


def show(results: Results) -> Page:
    """Return f, the votes beside the thesis', and the paired differences."""
    heads = list(results.heads(2))

    def rows(key: str, *, published: bool) -> list[list[str]]:
        found = []
        for name, d in heads:
            row = [f"{name} → {d}"]
            for solver in SOLVERS:
                cell = mean_and_error(results.values(key, name, d, solver), factor=100)
                if published and solver in SOLVERS[:2]:
                    column = 2 * SOLVERS.index(solver) + VOTES.index(key)
                    cell += f" ({PUBLISHED[str(name)][int(d)][column]})"
                row.append(cell)
            found.append(row)
        return found

    head = ["data → d", *SOLVERS]
    text = ["f / n on the training rows (%):", table(head, rows("f", published=False))]
    for key, words in zip(VOTES, ("1-NN", "NCA's rule"), strict=True):
        text.append(f"{words} on the test rows (%); the thesis' figures in brackets:")
        text.append(table(head, rows(key, published=True)))
    gains = ", ".join(
        f"{solver} {mean_and_error(_gains(results, heads, solver), factor=100)}"
        for solver in SOLVERS[1:]
    )
    text.append(
        "Points of 1-NN that are gained over conjugate gradients, mean over the rows "
        f"of the table ± its standard error: {gains}."
    )
    return Page("\n\n".join(text))


def _gains(results: Results, heads: list[Case], solver: str) -> list[float]:
    """Return the mean gain of a solver over conjugate gradients, of each table row."""
    return [
        float(
            results.values("1-NN", *head, solver).mean()
            - results.values("1-NN", *head, "cg").mean()
        )
        for head in heads
    ]


EXPERIMENT = Experiment(
    name="thesis-optimizers",
    title="Thesis, section 3.3.1: optimisers",
    about="""
The thesis says that on small and medium-sized data the bold driver's scores are like
those of conjugate gradients. Its tables B.1 and B.2 are in its author's public
repository (`Writing/Thesis/appendix/results.tex` of `danoneata/Diss`); they do not say
which starts they have. Here both, delta-bar-delta, and L-BFGS, which is vicinal's
default, from RCA's start, at most 300 iterations, twenty splits of 70/30, ± a standard
error. Ionosphere has a constant column, so that 33 dimensions are full rank; glass, of
table B.1, is not at hand.
""",
    cases=cases,
    run=run,
    show=show,
    needs=tuple(PUBLISHED),
)
