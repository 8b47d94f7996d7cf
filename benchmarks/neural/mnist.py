"""MNIST, 60,000 images to 30 numbers by a plain network; 3-NN on the test part."""

import time

import numpy as np
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

from benchmarks.speed.timing import table as markdown
from vicinal.datasets import load
from vicinal.neural import NeuralNCA


def run(n_seeds: int, max_iter: int) -> None:
    """Print the accuracy of 3-NN on the points, and the time of the fit.

    The training has one thread, so that its processor time, which others on the machine
    do not change, is what a fit takes on a core of its own.
    """
    data = load("mnist")
    assert data.is_test is not None  # noqa: S101 -- the file has an official part
    X, y = data.X.astype(np.float32), data.y
    rows = []
    for seed in range(n_seeds):
        began, used = time.perf_counter(), time.process_time()
        model = NeuralNCA(
            30,
            embedding="none",
            scale="common",
            module=_network(seed),
            max_iter=max_iter,
            distance="squared",
            batch_size=1024,
            n_references=0,  # each other's neighbours: no row passes for nothing
            learning_rate=2e-3,
            validation_fraction=0.05,
            weight_decay=1e-2,
            verbose=1,
            random_state=seed,
        ).fit(X[~data.is_test], y[~data.is_test])
        minutes = [
            (now - then) / 60
            for now, then in (
                (time.process_time(), used),
                (time.perf_counter(), began),
            )
        ]
        knn = KNeighborsClassifier(3).fit(
            model.transform(X[~data.is_test]), y[~data.is_test]
        )
        score = knn.score(model.transform(X[data.is_test]), y[data.is_test])
        rows.append([str(seed), f"{100 * score:.2f}", *(f"{m:.1f}" for m in minutes)])
        print(rows[-1], flush=True)
    print(markdown(["seed", "3-NN, %", "processor minutes", "minutes"], rows))


def _network(seed: int) -> nn.Module:
    """Return three layers, with dropout against the pixels' noise."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(784, 1024),
        nn.BatchNorm1d(1024),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(1024, 512),
        nn.BatchNorm1d(512),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(512, 30),
    )
