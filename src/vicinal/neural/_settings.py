"""The settings that all neural estimators have, and what follows from them."""

import copy
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from torch import nn

from vicinal.neural._columns import ColumnEncoder
from vicinal.neural._network import Architecture, OwnNetwork
from vicinal.neural._training import Training

_POSITIVE = Interval(Real, 0, None, closed="neither")
_AT_LEAST_0 = Interval(Real, 0, None, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")
# With n_estimators="auto" networks learn from no more rows than these together.
_ROWS_OF_ALL = 8000


class NeuralSettings(BaseEstimator):
    """Parameters, their ranges and defaults; `NeuralNCAClassifier` documents them."""

    _objective: ClassVar[str]
    # With n_estimators="auto", where rows are few.
    _most_networks: ClassVar[int] = 4
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [_COUNT],
        "embedding": [StrOptions({"periodic", "none"})],
        "n_frequencies": [_COUNT],
        "embedding_size": [Interval(Integral, 2, None, closed="left")],
        "frequency_scale": [_POSITIVE],
        "categorical_features": [StrOptions({"auto"}), "array-like", None],
        "categories": [StrOptions({"learned", "one-hot"})],
        "scale": [StrOptions({"column", "common", "none"})],
        "n_blocks": [Interval(Integral, 0, None, closed="left")],
        "hidden_size": [_COUNT],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "module": [nn.Module, None],
        "distance": [StrOptions({"plain", "squared"})],
        "batch_size": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "n_references": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [_POSITIVE],
        "weight_decay": [_AT_LEAST_0],
        "max_iter": [_COUNT],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [_COUNT],
        "n_estimators": [_COUNT, StrOptions({"auto"})],
        "linear_vote": ["boolean", StrOptions({"auto"})],
        "calibrate": ["boolean"],
        "warm_start": ["boolean"],
        "device": [str],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        embedding: str = "periodic",
        n_frequencies: int = 16,
        embedding_size: int = 4,
        frequency_scale: float = 0.3,
        categorical_features: str | Sequence[Any] | None = "auto",
        categories: str = "learned",
        scale: str = "column",
        n_blocks: int = 0,
        hidden_size: int = 256,
        dropout: float = 0.1,
        module: nn.Module | None = None,
        distance: str = "plain",
        batch_size: int | str = "auto",
        n_references: int = 1024,
        learning_rate: float = 0.003,
        weight_decay: float = 1e-4,
        max_iter: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.15,
        n_iter_no_change: int = 20,
        n_estimators: int | str = "auto",
        linear_vote: bool | str = "auto",
        calibrate: bool = True,
        warm_start: bool = False,
        device: str = "cpu",
        callback: Callable[[Any, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.embedding = embedding
        self.n_frequencies = n_frequencies
        self.embedding_size = embedding_size
        self.frequency_scale = frequency_scale
        self.categorical_features = categorical_features
        self.categories = categories
        self.scale = scale
        self.n_blocks = n_blocks
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.module = module
        self.distance = distance
        self.batch_size = batch_size
        self.n_references = n_references
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_estimators = n_estimators
        self.linear_vote = linear_vote
        self.calibrate = calibrate
        self.warm_start = warm_start
        self.device = device
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _network(self, encoder: ColumnEncoder) -> nn.Module:
        """Return a network as it is before the training."""
        if self.module is not None:
            counts = tuple(len(values) for values in encoder.categories)
            return OwnNetwork(copy.deepcopy(self.module), counts)
        return self._architecture(encoder).build()

    def _architecture(self, encoder: ColumnEncoder) -> Architecture:
        """Return what the settings say of a network."""
        return Architecture(
            n_numbers=len(encoder.numeric),
            n_flags=len(encoder.flagged),
            n_categories=tuple(len(values) for values in encoder.categories),
            n_components=self.n_components,
            embedding=self.embedding,
            n_frequencies=self.n_frequencies,
            embedding_size=self.embedding_size,
            frequency_scale=float(self.frequency_scale),
            one_hot=self.categories == "one-hot",
            n_blocks=self.n_blocks,
            hidden_size=self.hidden_size,
            dropout=float(self.dropout),
        )

    def _n_networks(self, n: int) -> int:
        """Return how many networks learn from so many rows."""
        if not isinstance(self.n_estimators, str):
            return self.n_estimators
        if self.module is not None:
            return 1
        return min(max(_ROWS_OF_ALL // n, 1), self._most_networks)

    def _training(self, max_iter: int, n: int) -> Training:
        """Return what the settings say of the training on so many rows."""
        # So that an epoch has about 32 steps.
        auto = min(max(n // 32, 64), 1024)
        return Training(
            objective=self._objective,
            distance=self.distance,
            batch_size=auto if isinstance(self.batch_size, str) else self.batch_size,
            n_references=self.n_references,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            max_iter=max_iter,
            patience=self.n_iter_no_change,
        )
