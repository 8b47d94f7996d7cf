"""NCA's figure 3: a network that sees only pairs finds rotation and scale of faces."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.papers.drawing import panels
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.turned_faces import Faces, pairs_of, posed, poses, upright
from benchmarks.speed.timing import table
from vicinal import PairNCA
from vicinal._typing import FloatArray

Map = Callable[[Any], FloatArray]
N_HIDDEN = 100
PAIRS_A_STEP = 500
STEPS = 200
PAIRS_OF_CONTROL = 5_000
TESTED = 2_000
# The rows of a picture; more would hide each other.
SHOWN = 400
_CUTS = 72


def by_network(faces: Faces, rng: np.random.Generator, quick: bool) -> Map:
    """Train a hidden layer of logistic units by eq. 8, with new pairs in each step."""
    import torch

    from vicinal.neural import NCALoss

    n_steps = 20 if quick else STEPS
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        network = torch.nn.Sequential(
            torch.nn.Linear(posed(faces.pictures[:1], poses(1, rng)).size, N_HIDDEN),
            torch.nn.Sigmoid(),
            torch.nn.Linear(N_HIDDEN, 2),
        )
    loss_of = NCALoss("pairs")
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    pairs = torch.arange(2 * PAIRS_A_STEP).reshape(2, -1).T
    for _ in range(n_steps):
        X, _, weights = pairs_of(faces, PAIRS_A_STEP, rng)
        points = network(torch.from_numpy(X))
        loss = loss_of(points, pairs, reference_target=torch.from_numpy(weights))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()

    def transform(X: Any) -> FloatArray:
        with torch.no_grad():
            found: FloatArray = network(torch.from_numpy(X)).double().numpy()
        return found

    return transform


def by_pair_nca(faces: Faces, rng: np.random.Generator, quick: bool) -> Map:
    """Fit a linear map by the same objective."""
    n = 100 if quick else PAIRS_OF_CONTROL
    X, _, weights = pairs_of(faces, n, rng)
    pairs = np.arange(2 * n).reshape(2, -1).T
    model = PairNCA(2, max_iter=10 if quick else 200, tol=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # enough iterations or not
        model.fit(X, pairs, weights)
    return _transform_of(model)


def by_pca(faces: Faces, rng: np.random.Generator, quick: bool) -> Map:
    """Fit PCA to as many faces."""
    X, _, _ = pairs_of(faces, 100 if quick else PAIRS_OF_CONTROL, rng)
    return _transform_of(PCA(2, random_state=0).fit(X))


METHODS = {"network": by_network, "PairNCA (linear)": by_pair_nca, "PCA": by_pca}


def _transform_of(model: Any) -> Map:
    return lambda X: model.transform(X).astype(np.float64)


class Linear:
    """A read-out that is linear in the output's two numbers."""

    def fit(self, Z: FloatArray, pose: FloatArray) -> "Linear":
        """Learn from outputs and their poses."""
        self._model = LinearRegression().fit(self._coordinates(Z), pose)
        return self

    def predict(self, Z: FloatArray) -> FloatArray:
        """Return the poses of outputs."""
        found: FloatArray = self._model.predict(self._coordinates(Z))
        return found

    def _coordinates(self, Z: FloatArray) -> FloatArray:
        return Z


class Polar(Linear):
    """A read-out that is linear in the output's polar coordinates.

    They are about the middle of the circle that fits the outputs best; where angles
    begin is the one of some directions that fits best.
    """

    def fit(self, Z: FloatArray, pose: FloatArray) -> "Polar":
        """Learn from outputs and their poses."""
        ones = np.ones((len(Z), 1))
        # ‖z − c‖² = r² is linear in c and r² − ‖c‖².
        solved = np.linalg.lstsq(
            np.hstack([2 * Z, ones]), (Z**2).sum(axis=1), rcond=None
        )[0]
        self._middle = solved[:2]
        fits = {}
        for self._start in np.linspace(0, 2 * np.pi, _CUTS, endpoint=False):
            super().fit(Z, pose)
            fits[self._start] = r2_score(pose, self.predict(Z))
        self._start = max(fits, key=lambda start: fits[start])
        super().fit(Z, pose)
        return self

    def _coordinates(self, Z: FloatArray) -> FloatArray:
        x, y = (Z - self._middle).T
        angle = (np.arctan2(y, x) - self._start) % (2 * np.pi)
        return np.column_stack([angle, np.hypot(x, y)])


READ_OUTS: dict[str, Callable[[], Any]] = {
    "linear": Linear,
    "polar": Polar,
    "15-NN": lambda: KNeighborsRegressor(15),
}


@lru_cache(maxsize=2)
def _faces(name: str) -> Faces:
    return upright(name)


def cases(scope: Scope) -> list[Case]:
    """Return data, method and seed of each run; settings were chosen on seed 0."""
    name = "digits" if scope.quick else "olivetti"
    seeds = [seed + 1 for seed in scope.repeats(5)]
    return [(name, method, seed) for method in METHODS for seed in seeds]


def run(name: str, method: str, seed: int) -> Outcome:
    """Return R² on persons that nothing was learned from; of one seed also the map."""
    quick = name == "digits"
    rng = np.random.default_rng(seed)
    faces = _faces(name)
    persons = rng.permutation(faces.persons.max() + 1)
    new = np.isin(faces.persons, persons[: len(persons) // 4])
    transform = METHODS[method](faces[~new], rng, quick)
    parts = []
    for part in (faces[~new], faces[new]):
        rows = rng.integers(len(part.persons), size=200 if quick else TESTED)
        pose = poses(len(rows), rng)
        parts += [transform(posed(part.pictures[rows], pose)), pose]
    Z, pose, Z_new, pose_new = parts
    outcome: Outcome = {}
    for how, make in READ_OUTS.items():
        found = make().fit(Z, pose).predict(Z_new)
        scores = r2_score(pose_new, found, multioutput="raw_values")
        outcome[f"rotation, {how}"], outcome[f"scale, {how}"] = map(float, scores)
    if seed == 1:
        points = Z_new[:SHOWN] - Z_new.mean(axis=0)
        outcome["points"] = np.round(points / np.abs(points).max(), 4).tolist()
        outcome["pose"] = np.round(pose_new[:SHOWN], 2).tolist()
    return outcome


def show(results: Results) -> Page:
    """Return the read-outs' R², and the outputs as segments and as circles."""
    ((name,),) = results.heads()
    measured = [f"{what}, {how}" for what in ("rotation", "scale") for how in READ_OUTS]
    rows = [
        [
            method,
            *(mean_and_error(results.values(key, name, method), 3) for key in measured),
        ]
        for method in METHODS
    ]
    text = (
        "R² of reading rotation and scale from the two outputs, on persons that "
        "nothing was learned from, ± a standard error over splits of the persons:\n\n"
    )
    text += table(["map", *measured], rows)

    def draw() -> Figure:
        shown = [method for method in METHODS if method != "PCA"]
        figure, axes = panels(len(shown), 2, 3.4)
        for row, method in zip(axes, shown, strict=True):
            first = results.at(name, method, 1)[0]
            points, pose = np.array(first["points"]), np.array(first["pose"])
            _draw_segments(row[0], points, pose[:, 0], f"{method}: rotation")
            _draw_circles(row[1], points, pose[:, 1], f"{method}: scale")
        return figure

    return Page(text, draw)


def _draw_segments(
    axes: Any, points: FloatArray, angle: FloatArray, title: str
) -> None:
    """Draw each output as a segment along the face's own upright."""
    turned = np.deg2rad(angle)
    half = 0.04 * np.column_stack([-np.sin(turned), np.cos(turned)])
    ends = np.stack([points - half, points + half], axis=1)
    lines = LineCollection(list(ends), lw=0.7, rasterized=True)
    lines.set(array=angle, cmap="viridis")
    axes.add_collection(lines)
    _finish(axes, title)


def _draw_circles(
    axes: Any, points: FloatArray, height: FloatArray, title: str
) -> None:
    """Draw each output as a circle, the larger the face, the larger."""
    size = 1 + 40 * ((height - height.min()) / np.ptp(height)) ** 2
    axes.scatter(*points.T, s=size, c=height, lw=0, alpha=0.7, rasterized=True)
    _finish(axes, title)


def _finish(axes: Any, title: str) -> None:
    axes.set(title=title, xticks=[], yticks=[], xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    axes.set_aspect("equal")


EXPERIMENT = Experiment(
    name="nca-figure-3",
    title="NCA, figure 3: rotation and scale from pairs alone",
    about=f"""
Section 5 of the paper trains a network by eq. 8 on weighted pairs: faces of *different*
persons that have nearly the same rotation (±45°) and height (25 to 35 pixels), set
apart by noise of 1.22° and 1.5 pixels. No rotation and no height is ever given. A
picture's 35 × 35 pixels go through {N_HIDDEN} logistic units to two numbers, and the
paper's figure shows that these are polar coordinates: rotation around, size outwards.

The paper's 5,000 faces (FERET-B) are not public. Here are Olivetti's 400 pictures of 40
persons, an oval of each; ten persons are held out. `NCALoss("pairs")` and AdamW train
the network in {STEPS} steps, each on {PAIRS_A_STEP} new pairs and among all their
points. Controls: `PairNCA`, a linear map by the same objective, from
{PAIRS_OF_CONTROL:,} pairs, and PCA. Poses are read from the outputs linearly; linearly
from their polar coordinates; and by 15-NN. Read-outs are fitted on faces of training
persons. Settings were chosen on another split of the persons. Pictures show persons
held out, of the first split.
""",
    cases=cases,
    run=run,
    show=show,
    needs=("olivetti",),
)
