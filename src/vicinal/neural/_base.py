"""What the neural estimators share: the training of all networks, and their map."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import CallbackSupportMixin, unchanged_on_error, warn_caller
from vicinal.neural._columns import ColumnEncoder, Columns, EncodedRows
from vicinal.neural._explain import Explanation, effective_neighbors, explained
from vicinal.neural._inputs import TableInput, checked_device, checked_weights
from vicinal.neural._linear_vote import (
    LinearVote,
    check_linear_map,
    learned_vote,
    worth_a_linear_map,
)
from vicinal.neural._members import Member, hold_out, n_threads, torch_state
from vicinal.neural._monitor import EpochMonitor
from vicinal.neural._network import TableNetwork, check_same_build
from vicinal.neural._settings import NeuralSettings
from vicinal.neural._target_rows import TargetRows
from vicinal.neural._training import Trained, train


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
    NeuralSettings,
):
    """Base of the estimators whose map is a neural network."""

    # Whose linear map may vote as well, and whether it does unless told otherwise.
    _linear_kind: ClassVar[Any] = None
    _linear_by_default: ClassVar[bool] = False
    _linear: LinearVote | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Learn the networks.

        After Ctrl-C the estimator is as it was; with `warm_start`, and once all
        networks have an epoch behind them, it is fitted with the best weights so far.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Numbers may be missing (NaN), categories too.
        y : array-like of shape (n_samples,)
            What is to be predicted of them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How many equal rows each stands for: what it counts as one to be predicted,
            and as a neighbour of others. Scales of columns do not look at it, but
            leave out rows of weight 0, as all else does.
        X_val, y_val : array-likes or None, default=None
            Rows that judge the epochs, and find T, instead of rows held out. They do
            not become neighbours.

        Returns
        -------
        self
        """
        kept = False
        with unchanged_on_error(self, unless=lambda: kept):
            device = checked_device(self.device)
            columns, labels = self._validated(X, y)
            weights = checked_weights(sample_weight, labels)
            targets = self._read_targets(labels, weights=weights)
            warm = self._warm_members(columns)
            encoder = self._encoder if warm else self._fit_encoder(columns, weights)
            known = TargetRows(
                encoder.transform(columns),
                targets.target,
                targets.n_classes,
                None if weights is None else torch.from_numpy(weights),
            )
            if self.linear_vote is True and self._linear_kind is not None:
                check_linear_map(encoder)
            validation = self._validation(X_val, y_val, encoder, targets)
            n_networks = len(warm) or self._n_networks(len(known.counted))
            seeds = check_random_state(self.random_state).randint(
                2**31 - 1, size=n_networks
            )
            monitor = EpochMonitor(
                self,
                X,
                y,
                lambda now: self._as_if(now, known, encoder, targets, device),
                n_networks * self.max_iter,
            )
            members, runs = [], []
            with monitor:
                for i, seed in enumerate(seeds):
                    with torch_state(int(seed), n_threads(self.n_jobs)):
                        before = warm[i] if warm else None
                        network = (
                            copy.deepcopy(before.network)
                            if before
                            else self._network(encoder)
                        ).to(device)
                        judges: TargetRows | IntArray = (
                            self._held_out(known, int(seed), before)
                            if validation is None
                            else validation
                        )
                        last = i + 1 == n_networks
                        member, run = self._train(
                            network, known, judges, device, monitor, before, last
                        )
                        members.append(member)
                        runs.append(run)
                    if run.interruption is not None:
                        self._store(members, runs, known, encoder, targets)
                        kept = True
                        raise run.interruption
                    if monitor.stopped and not warm:
                        break
            try:
                with torch_state(int(seeds[0]), n_threads(self.n_jobs)):
                    linear = self._linear_vote(
                        known, encoder, members, validation, device
                    )
            except KeyboardInterrupt:
                if self.warm_start:
                    self._store(members, runs, known, encoder, targets)
                    kept = True
                raise
            self._store(members, runs, known, encoder, targets, linear)
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
        ndarray of shape (n_samples, n_networks * n_components)
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
        rows = self._encoded(X)
        return explained(self._members, self._linear, self._known, rows, n_neighbors)

    @property
    def networks_(self) -> list[nn.Module]:
        """The networks, with the weights of their best epochs."""
        check_is_fitted(self)
        return [member.network for member in self._members]

    @property
    def linear_share_(self) -> float:
        """The share of the votes that is the linear map's; 0 where there is none."""
        check_is_fitted(self)
        return 0.0 if self._linear is None else self._linear.share

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
        self,
        y: NDArray[Any],
        settled: dict[str, Any] | None = None,
        weights: FloatArray | None = None,
    ) -> Targets:
        """Return what a network learns from; `settled` classes or units stay."""

    def _fit_encoder(
        self, columns: Columns, weights: FloatArray | None = None
    ) -> ColumnEncoder:
        if weights is not None and not weights.all():
            columns = columns[np.flatnonzero(weights)]
        return ColumnEncoder.fit(columns, scale=self.scale)

    def _validation(
        self, X: Any, y: ArrayLike | None, encoder: ColumnEncoder, targets: Targets
    ) -> TargetRows | None:
        """Return the rows that were given to judge the epochs."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("X_val and y_val need each other: give both or none.")
        if not self.early_stopping:
            raise ValueError(
                "X_val is for early stopping, and early_stopping=False: leave one out."
            )
        columns, labels = self._validated(X, y, False, encoder.categorical)
        found = self._read_targets(labels, targets.attributes)
        return TargetRows(encoder.transform(columns), found.target, found.n_classes)

    def _warm_members(self, columns: Columns) -> list[Member]:
        """Return the networks to go on from; none without warm_start."""
        if not (self.warm_start and hasattr(self, "_members")):
            return []
        known = self._encoder
        if (columns.numeric, columns.categorical) != (known.numeric, known.categorical):
            raise ValueError(
                "X has other columns than the fit to go on from (warm_start=True)."
            )
        if self.n_estimators not in ("auto", len(self._members)):
            raise ValueError(
                f"n_estimators={self.n_estimators}, but the fit to go on from "
                f"(warm_start=True) has {len(self._members)} networks."
            )
        own = self.module
        wanted = self._architecture(known) if own is None else own
        for member in self._members:
            check_same_build(member.network, wanted)
        return self._members

    def _train(
        self,
        network: nn.Module,
        known: TargetRows,
        judges: TargetRows | IntArray,
        device: Any,
        monitor: Callable[[Trained], bool],
        before: Member | None,
        last: bool,
    ) -> tuple[Member, Trained]:
        """Train one network, and return it with the points of all rows.

        `judges` are rows, or positions of rows that are then held out. After Ctrl-C
        nothing more is done, unless `last` and warm_start say that all is kept.
        """
        how = self._training(self.max_iter, len(known.counted))
        held, validation = np.zeros(0, dtype=np.intp), None
        if isinstance(judges, TargetRows):
            validation = judges
        else:
            held = judges
        inside = np.setdiff1d(known.counted, held)
        given = known[held] if len(held) else validation
        run = train(network, known[inside], given, how, device, monitor)
        if run.interruption is not None and not (self.warm_start and last):
            raise run.interruption
        before = before if self.calibrate else None
        calibrate = self.calibrate
        member = Member.of(
            network, known, held, how, calibrate, device, before, validation
        )
        return member, run

    def _linear_vote(
        self,
        known: TargetRows,
        encoder: ColumnEncoder,
        members: list[Member],
        validation: TargetRows | None,
        device: Any,
    ) -> LinearVote | None:
        """Return the linear map that votes beside the networks, if one is wanted.

        Where a fit goes on and no rows can tell its share, it is the one that was.
        """
        wanted, network = self.linear_vote, members[0].network
        if wanted == "auto":
            wanted = (
                self._linear_by_default
                and isinstance(network, TableNetwork)
                and network.architecture.embedding == "periodic"
                and worth_a_linear_map(known, encoder)
            )
        varies = bool((known.target != known.target[0]).any())
        if not wanted or self._linear_kind is None or not varies:
            return None
        judged = validation is not None or any(len(one.held_out) for one in members)
        before = self._linear if self.warm_start else None
        if not judged and before is not None:
            return before.of(known)
        if not judged and self.linear_vote == "auto":
            return None
        learner = self._linear_kind(random_state=0, n_jobs=self.n_jobs)
        return learned_vote(learner, known, encoder, members, validation, device)

    def _votes(self, rows: EncodedRows) -> Tensor:
        """Return what the neighbours of new rows vote for, by all maps."""
        votes = [member.votes(rows, self._known) for member in self._members]
        mean = torch.stack(votes).mean(dim=0)
        if self._linear is None:
            return mean
        others = self._linear.member.votes(rows, self._known)
        return torch.lerp(mean, others, self._linear.share)

    def _held_out(
        self, known: TargetRows, seed: int, before: Member | None
    ) -> IntArray:
        """Return the rows that one network does not learn from.

        One that goes on must not be judged by rows that it has learned from: on the
        same rows it has those held out before, on others none.
        """
        if not self.early_stopping:
            return np.zeros(0, dtype=np.intp)
        if before is not None:
            same = known.equals(self._known)
            return before.held_out if same else np.zeros(0, dtype=np.intp)
        rng = np.random.default_rng(seed)
        rows = known.counted
        keys = known.target.numpy()[rows]
        return rows[hold_out(keys, self.validation_fraction, rng)]

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
        how = self._training(self.max_iter, len(known.counted))
        network = copy.deepcopy(now.network).eval()
        member = Member.of(network, known, none, how, False, device)
        return {
            **targets.attributes,
            "_members": [member],
            "_known": known,
            "_encoder": encoder,
            "_linear": None,
        }

    def _store(
        self,
        members: list[Member],
        runs: list[Trained],
        known: TargetRows,
        encoder: ColumnEncoder,
        targets: Targets,
        linear: LinearVote | None = None,
    ) -> None:
        """Make the estimator fitted, all at once."""
        perplexities = effective_neighbors(members[0], known)
        self.__dict__.update(targets.attributes)
        self._members, self._known, self._encoder = members, known, encoder
        self._linear = linear
        self.n_iter_ = max(len(run.losses) for run in runs)
        self.objective_curve_ = -np.array(runs[0].losses)
        self.validation_scores_ = np.array(runs[0].scores)
        self.effective_neighbors_ = perplexities

    def _warn(self, runs: list[Trained]) -> None:
        """Warn of a training that ended early."""
        broken = [run for run in runs if run.diverged]
        if broken:
            warn_caller(
                f"{type(self).__name__} stopped after {len(broken[0].losses)} epochs: "
                "the loss was not finite. The weights are the last good ones. Lower "
                "learning_rate, or look for huge values in X or y.",
                ConvergenceWarning,
            )
