"""What the neural estimators share: parameters, the training of all networks."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from vicinal._typing import FloatArray
from vicinal.base.metric import unchanged_on_error
from vicinal.base.monitor import CallbackSupportMixin
from vicinal.neural._columns import ColumnEncoder, Columns
from vicinal.neural._explain import Explanation, effective_neighbors, explained
from vicinal.neural._inputs import TableInput
from vicinal.neural._members import Member, hold_out, n_threads, torch_state
from vicinal.neural._monitor import EpochMonitor
from vicinal.neural._network import Architecture, OwnNetwork
from vicinal.neural._training import TargetRows, Trained, Training, train

_POSITIVE = Interval(Real, 0, None, closed="neither")
_AT_LEAST_0 = Interval(Real, 0, None, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")


class Targets(NamedTuple):
    """What networks learn from, and the fitted attributes that come from y."""

    target: Tensor
    n_classes: int
    attributes: dict[str, Any]


class NeuralEstimator(
    TableInput,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base of the estimators whose map is a neural network."""

    _objective: ClassVar[str]
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
        "n_estimators": [_COUNT],
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
        n_estimators: int = 1,
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
        self.calibrate = calibrate
        self.warm_start = warm_start
        self.device = device
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the networks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Numbers may be missing (NaN), categories too.
        y : array-like of shape (n_samples,)
            What is to be predicted of them.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            device = checked_device(self.device)
            columns, labels = self._validated(X, y)
            targets = self._read_targets(labels)
            warm = self._warm_networks(columns)
            encoder = self._encoder if warm else self._fit_encoder(columns)
            rows = encoder.transform(columns)
            known = TargetRows(rows, targets.target, targets.n_classes)
            seeds = check_random_state(self.random_state).randint(
                2**31 - 1, size=self.n_estimators
            )
            monitor = EpochMonitor(
                self,
                X,
                y,
                lambda now: self._as_if(now, known, encoder, targets, device),
                self.n_estimators * self.max_iter,
            )
            members, runs = [], []
            with monitor:
                for i, seed in enumerate(seeds):
                    with torch_state(int(seed), n_threads(self.n_jobs)):
                        network = (
                            copy.deepcopy(warm[i]) if warm else self._network(encoder)
                        ).to(device)
                        member, run = self._train(
                            network, known, int(seed), device, monitor
                        )
                        members.append(member)
                        runs.append(run)
            self._store(members, runs, known, encoder, targets)
        self._warn(runs)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Map rows to where near means alike.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components * n_estimators)
            The networks' points side by side, in units of their temperature; float32
            if X is.
        """
        check_is_fitted(self)
        rows = self._encoded(X)
        parts = []
        for member in self._members:
            # Under the squared distance, temperature is that of squares.
            power = 1.0 if member.kernel.plain else 0.5
            parts.append(member.map(rows) / member.kernel.temperature**power)
        return torch.cat(parts, dim=1).cpu().numpy()

    def explain(self, X: Any, n_neighbors: int = 10) -> Explanation:
        """Return the training rows that a prediction comes from, with their weights.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows to be predicted. A training row counts itself among its neighbours.
        n_neighbors : int, default=10
            How many training rows to name for each.

        Returns
        -------
        Explanation
            `rows` and `weights`, both of shape (n_samples, n_neighbors): positions in
            the training data, and the shares of the vote (of several networks, the
            mean).
        """
        check_is_fitted(self)
        return explained(self._members, self._encoded(X), n_neighbors)

    @property
    def networks_(self) -> list[nn.Module]:
        """The networks, with the weights of their best epochs."""
        check_is_fitted(self)
        return [member.network for member in self._members]

    @property
    def temperatures_(self) -> FloatArray:
        """The temperature of each network's votes."""
        check_is_fitted(self)
        return np.array([member.kernel.temperature for member in self._members])

    @property
    def _n_features_out(self) -> int:
        return sum(member.points.shape[1] for member in self._members)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_members")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @abstractmethod
    def _read_targets(
        self, y: NDArray[Any], settled: dict[str, Any] | None = None
    ) -> Targets:
        """Return what a network learns from; `settled` classes or units stay."""

    def _fit_encoder(self, columns: Columns) -> ColumnEncoder:
        return ColumnEncoder.fit(columns, scale=self.scale)

    def _network(self, encoder: ColumnEncoder) -> nn.Module:
        """Return a network as it is before the training."""
        counts = tuple(len(values) for values in encoder.categories)
        if self.module is not None:
            return OwnNetwork(copy.deepcopy(self.module), counts)
        return Architecture(
            n_numbers=len(encoder.numeric),
            n_flags=len(encoder.flagged),
            n_categories=counts,
            n_components=self.n_components,
            embedding=self.embedding,
            n_frequencies=self.n_frequencies,
            embedding_size=self.embedding_size,
            frequency_scale=float(self.frequency_scale),
            one_hot=self.categories == "one-hot",
            n_blocks=self.n_blocks,
            hidden_size=self.hidden_size,
            dropout=float(self.dropout),
        ).build()

    def _warm_networks(self, columns: Columns) -> list[nn.Module]:
        """Return the networks to go on from; none without warm_start."""
        if not (self.warm_start and hasattr(self, "_members")):
            return []
        known = self._encoder
        if (columns.numeric, columns.categorical) != (known.numeric, known.categorical):
            raise ValueError(
                "X has other columns than the fit to go on from (warm_start=True)."
            )
        if len(self._members) != self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators}, but the fit to go on from "
                f"(warm_start=True) has {len(self._members)} networks."
            )
        return [member.network for member in self._members]

    def _training(self, max_iter: int, n: int) -> Training:
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

    def _train(
        self,
        network: nn.Module,
        known: TargetRows,
        seed: int,
        device: Any,
        monitor: Callable[[Trained], bool],
    ) -> tuple[Member, Trained]:
        """Train one network, and return it with the points of all rows."""
        how = self._training(self.max_iter, len(known))
        held = np.zeros(0, dtype=np.intp)
        if self.early_stopping:
            rng = np.random.default_rng(seed)
            keys = known.target.numpy()
            held = hold_out(keys, self.validation_fraction, rng)
        inside = np.setdiff1d(np.arange(len(known)), held)
        judges = known[held] if len(held) else None
        run = train(network, known[inside], judges, how, device, monitor)
        return Member.of(network, known, held, how, self.calibrate, device), run

    def _as_if(
        self,
        now: Trained,
        known: TargetRows,
        encoder: ColumnEncoder,
        targets: Targets,
        device: Any,
    ) -> dict[str, Any]:
        """Return what makes a copy usable with a network that is being trained."""
        none = np.zeros(0, dtype=np.intp)
        how = self._training(self.max_iter, len(known))
        network = copy.deepcopy(now.network).eval()
        member = Member.of(network, known, none, how, False, device)
        return {
            **targets.attributes,
            "_members": [member],
            "_known": known,
            "_encoder": encoder,
        }

    def _store(
        self,
        members: list[Member],
        runs: list[Trained],
        known: TargetRows,
        encoder: ColumnEncoder,
        targets: Targets,
    ) -> None:
        """Make the estimator fitted, all at once."""
        self.__dict__.update(targets.attributes)
        self._members, self._known, self._encoder = members, known, encoder
        self.n_iter_ = max(len(run.losses) for run in runs)
        self.objective_curve_ = -np.array(runs[0].losses)
        self.validation_scores_ = np.array(runs[0].scores)
        self.effective_neighbors_ = effective_neighbors(members[0])

    def _warn(self, runs: list[Trained]) -> None:
        """Warn of a training that ended early; called by fit itself."""
        broken = [run for run in runs if run.diverged]
        if broken:
            warnings.warn(
                f"{type(self).__name__} stopped after {len(broken[0].losses)} epochs: "
                "the loss was not finite. The weights are the last good ones. Lower "
                "learning_rate, or look for huge values in X or y.",
                ConvergenceWarning,
                stacklevel=4,  # past this, fit, and scikit-learn's wrapper of fit
            )


def checked_device(name: str) -> Any:
    """Return a device that is there, or say that it is not."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device={name!r} was asked for, but this PyTorch has no such device here "
            f"({str(error).splitlines()[0]}). Use device='cpu'."
        ) from error
    return device
