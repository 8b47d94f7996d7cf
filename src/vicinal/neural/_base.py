"""The base of the neural estimators: parameters, validation, training, votes."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
    is_regressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_is_fitted,
)
from torch import Tensor, nn

from vicinal._typing import FloatArray, IntArray
from vicinal.base.columns import (
    ColumnEncoder,
    RawRows,
    categorical_columns,
    check_table,
    is_missing,
    split_columns,
)
from vicinal.base.metric import (
    CallbackSupportMixin,
    encoded,
    unchanged_on_error,
    warn_caller,
)
from vicinal.base.selection import hold_out
from vicinal.neural._loss import Kernel
from vicinal.neural._members import Explanation, Member, embed, fit_linear_vote
from vicinal.neural._network import (
    ModuleNetwork,
    TableNetwork,
    check_one_hot,
    module_settings,
)
from vicinal.neural._rows import Rows, to_rows
from vicinal.neural._training import (
    EpochMonitor,
    TrainingState,
    torch_state,
    train,
)
from vicinal.neural.saved import check_loaded, packed, unpacked


def _at_least(least: int) -> Interval:
    return Interval(Integral, least, None, closed="left")


_COUNT = _at_least(1)
_POSITIVE = Interval(Real, 0, None, closed="neither")
# linear_vote="auto" fits a linear map up to this size; a larger one takes longer to fit
# than the networks.
MAX_LINEAR_ROWS = 10_000
MAX_LINEAR_COLUMNS = 500
# Parameters that define a `TableNetwork`.
NETWORK_PARAMETERS = (
    "n_components",
    "embedding",
    "n_frequencies",
    "embedding_size",
    "frequency_scale",
    "categories",
    "n_blocks",
    "hidden_size",
    "dropout",
)


@dataclass(eq=False, repr=False)
class NeuralEstimator(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base of the estimators whose map is a neural network.

    `NeuralNCAClassifier` documents the parameters.
    """

    _objective: ClassVar[str] = "log"
    # Networks of n_estimators="auto" on small tables.
    _max_networks: ClassVar[int] = 4
    # Class of the linear map that can vote, and whether linear_vote="auto" uses it.
    _linear_class: ClassVar[Any] = None
    _linear_by_default: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [_COUNT],
        "embedding": [StrOptions({"periodic", "none"})],
        "n_frequencies": [_COUNT],
        "embedding_size": [_at_least(2)],
        "frequency_scale": [_POSITIVE],
        "categorical_features": [StrOptions({"auto"}), "array-like", None],
        "categories": [StrOptions({"learned", "one-hot"})],
        "scale": [StrOptions({"column", "common", "none"})],
        "n_blocks": [_at_least(0)],
        "hidden_size": [_COUNT],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "module": [nn.Module, None],
        "distance": [StrOptions({"plain", "squared"})],
        "batch_size": [_at_least(2), StrOptions({"auto"})],
        "n_references": [_at_least(0)],
        "learning_rate": [_POSITIVE],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
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

    n_components: int = 64
    _: KW_ONLY
    embedding: str = "periodic"
    n_frequencies: int = 16
    embedding_size: int = 4
    frequency_scale: float = 0.3
    categorical_features: str | Sequence[Any] | None = "auto"
    categories: str = "learned"
    scale: str = "column"
    n_blocks: int = 0
    hidden_size: int = 256
    dropout: float = 0.1
    module: nn.Module | None = None
    distance: str = "plain"
    batch_size: int | str = "auto"
    n_references: int = 1024
    learning_rate: float = 0.003
    weight_decay: float = 1e-4
    max_iter: int = 100
    early_stopping: bool = True
    validation_fraction: float = 0.15
    n_iter_no_change: int = 20
    n_estimators: int | str = "auto"
    linear_vote: bool | str = "auto"
    calibrate: bool = True
    warm_start: bool = False
    device: str = "cpu"
    callback: Callable[[Any, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

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
        """Train the networks.

        Ctrl-C leaves the estimator unchanged. With `warm_start`, if all networks have
        finished an epoch, it keeps the best weights so far.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Numbers and categories may be missing.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Number of equal rows that each row represents, as a query and as a neighbor
            of others. Scales of columns ignore weights, except that rows of weight 0
            are left out of everything.
        X_val, y_val : array-likes or None, default=None
            Rows that score the epochs and calibrate T, instead of rows held out of X.
            They do not become neighbors.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            raw, labels = self._check_rows(X, y)
            weights = _check_weights(sample_weight, labels)
            before = self._members_to_continue(raw)
            if before:
                encoder = self._encoder
            else:
                encoder = ColumnEncoder.fit(raw, self.scale, weights)
            known, state = self._encode(raw, labels, encoder, weights=weights)
            if self.linear_vote is True and self._linear_class is not None:
                check_one_hot(encoder.sizes.n_categories)
            validation = self._check_validation(X_val, y_val, state)
            # "auto": together they see 8,000 rows.
            most = 1 if self.module is not None else self._max_networks
            n_networks = min(max(8_000 // len(known.counted), 1), most)
            if not isinstance(self.n_estimators, str):
                n_networks = self.n_estimators
            members, runs = self._train_networks(
                X, y, state, before, len(before) or n_networks, validation
            )
            linear, share = None, 0.0
            interruption = runs[-1].interruption
            if interruption is None:
                try:
                    with torch_state(0, self.n_jobs):
                        linear, share = self._fit_linear(state, members, validation)
                except KeyboardInterrupt as error:
                    if not self.warm_start:
                        raise
                    interruption = error
            self._set_fitted(state, members, runs, linear, share)
        if interruption is not None:
            raise interruption
        self._warn_if_diverged(runs)
        return self

    def _partial_fit(self, X: Any, y: ArrayLike, state: dict[str, Any] | None) -> Self:
        """Train all networks for an epoch on new rows, and add them to the neighbors.

        `state` holds the attributes that encode y, if they are known.
        """
        first = not hasattr(self, "_members")
        with unchanged_on_error(self):
            raw, labels = self._check_rows(X, y, None if first else self._encoder)
            encoder = ColumnEncoder.fit(raw, self.scale) if first else self._encoder
            new, state = self._encode(raw, labels, encoder, state)
            before: list[Member] = [] if first else self._members
            linear, share = None, 0.0
            if not first:
                state["_known"] = self._known.append(new)
                share = self.linear_share_
                linear = self._linear and self._linear.with_rows(state["_known"])
            n_first = 1 if isinstance(self.n_estimators, str) else self.n_estimators
            members, runs = self._train_networks(
                X, y, state, before, len(before) or n_first, n_new=len(new)
            )
            self._set_fitted(state, members, runs, linear, share)
        self._warn_if_diverged(runs)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Map rows to points.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_networks * n_components)
            Points of all networks side by side, divided by their temperature; float32
            if X is.
        """
        check_is_fitted(self)
        rows = self._encode_rows(X)
        parts = []
        for member in self._members:
            # The temperature of squared distances is a squared unit.
            power = 1.0 if member.kernel.plain else 0.5
            parts.append(member.project(rows) / member.kernel.temperature**power)
        return torch.cat(parts, dim=1).cpu().numpy()

    def explain(self, X: Any, n_neighbors: int = 10) -> Explanation:
        """Return the training rows with the largest weights in each prediction.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to predict. A training row is its own neighbor here.
        n_neighbors : int, default=10
            Number of training rows per prediction.

        Returns
        -------
        Explanation
            `rows` and `weights`, both of shape (n_samples, n_neighbors): positions in
            the training data, and shares of the vote (the mean over networks).
        """
        check_is_fitted(self)
        rows, known = self._encode_rows(X), self._known
        if isinstance(n_neighbors, bool) or not (
            isinstance(n_neighbors, Integral) and n_neighbors >= 1
        ):
            raise ValueError(
                f"n_neighbors must be a positive integer, got {n_neighbors!r}."
            )
        k = min(int(n_neighbors), len(known))
        step = max(1, self._members[0].kernel.block // len(known))
        best = []
        for some in gen_batches(len(rows), step):
            shares = self._mix([m.vote_shares(rows[some], known) for m in self._voters])
            best.append(shares.topk(k, dim=1))
        indices = torch.cat([one.indices for one in best]).numpy()
        weights = torch.cat([one.values for one in best]).to(rows.numbers.dtype)
        return Explanation(indices, weights.numpy())

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

    def __getstate__(self) -> Any:
        """Return plain values and arrays, unless a network is the user's own."""
        state: Any = super().__getstate__()
        networks = [one.network for one in state.get("_members", ())]
        plain = networks and all(isinstance(one, TableNetwork) for one in networks)
        return packed(state) if plain else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        is_packed = isinstance(state.get("_known"), dict)
        super().__setstate__(unpacked(state) if is_packed else state)

    _check_loaded = check_loaded

    def _check_rows(
        self, X: Any, y: ArrayLike, encoder: ColumnEncoder | None = None
    ) -> tuple[RawRows, NDArray[Any]]:
        """Return validated rows and labels; with `encoder`, the columns are known."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        table = check_table(self, X, reset=encoder is None)
        listed = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
        if listed.dtype.kind == "O" and any(map(is_missing, listed.ravel())):
            raise ValueError(
                "y contains missing values (NaN or None). Drop these rows."
            )
        labels = _check_y(y, y_numeric=is_regressor(self), estimator=self)
        check_consistent_length(table, labels)
        if encoder is not None:
            return encoder.split(table), labels
        if len(labels) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows, got n_samples = 1."
            )
        categorical = categorical_columns(table, self.categorical_features)
        return split_columns(table, categorical), labels

    def _encode_rows(self, X: Any) -> Rows:
        """Return new rows as the networks take them, in X's dtype."""
        raw = self._encoder.split(check_table(self, X, reset=False))
        return to_rows(self._encoder, raw, raw.numbers.dtype)

    def _encode(
        self,
        raw: RawRows,
        labels: NDArray[Any],
        encoder: ColumnEncoder,
        state: dict[str, Any] | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[Rows, dict[str, Any]]:
        """Return encoded rows, and the fitted attributes that follow from them.

        If `state` is given, its attributes encode the labels.
        """
        target, state = self._encode_target(labels, state, weights)
        known = replace(
            to_rows(encoder, raw),
            target=target,
            weights=None if weights is None else torch.from_numpy(weights),
            n_classes=len(state.get("classes_", ())),
        )
        return known, state | {"_known": known, "_encoder": encoder}

    def _encode_target(
        self,
        y: NDArray[Any],
        state: dict[str, Any] | None = None,
        weights: FloatArray | None = None,  # noqa: ARG002 -- for numeric targets
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return the networks' targets and the attributes that encode y.

        If `state` is given, its attributes are used.
        """
        if state is None:
            classes, codes = encoded(self, y)
        else:
            classes = state["classes_"]
            unknown = np.setdiff1d(y, classes)
            if len(unknown):
                raise ValueError(
                    f"y has the label {unknown.tolist()[0]!r}, which is none of "
                    f"classes_: {classes.tolist()}. All classes must be in y, or be "
                    "named in the first call of partial_fit."
                )
            codes = np.searchsorted(classes, y)
        return torch.from_numpy(codes.astype(np.int64)), {"classes_": classes}

    def _check_validation(
        self, X: Any, y: ArrayLike | None, state: dict[str, Any]
    ) -> Rows | None:
        """Return the validation rows given by the user, if any."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("X_val and y_val need each other: give both or none.")
        if not self.early_stopping:
            raise ValueError("X_val requires early_stopping=True.")
        encoder = state["_encoder"]
        raw, labels = self._check_rows(X, y, encoder)
        return self._encode(raw, labels, encoder, state)[0]

    def _members_to_continue(self, raw: RawRows) -> list[Member]:
        """Return the networks to continue from; none without warm_start."""
        if not (self.warm_start and hasattr(self, "_members")):
            return []
        encoder, members = self._encoder, self._members
        n_networks = len(members) if self.n_estimators == "auto" else self.n_estimators
        old = {
            "columns of X": (len(encoder.middle), encoder.categorical),
            "n_estimators": len(members),
            **members[0].network.settings,
        }
        new = {
            "columns of X": (raw.numbers.shape[1], raw.categorical),
            "n_estimators": n_networks,
            **self._network_settings(),
        }
        different = [one for one in {**old, **new} if old.get(one) != new.get(one)]
        if different:
            raise ValueError(
                f"{', '.join(different)}: not as in the fit to continue "
                "(warm_start=True). Restore the value, or set warm_start=False."
            )
        return members

    def _network_settings(self) -> dict[str, Any]:
        """Return the settings that a network to continue from must have."""
        if self.module is not None:
            return module_settings(self.module)
        return {name: getattr(self, name) for name in NETWORK_PARAMETERS}

    def _new_network(self, encoder: ColumnEncoder, old: Member | None) -> nn.Module:
        """Return a network to train: a copy of an old one, or one with new weights."""
        if old is not None:
            return copy.deepcopy(old.network)
        if self.module is not None:
            module = copy.deepcopy(self.module)
            return ModuleNetwork(module, encoder.sizes.n_categories)
        return TableNetwork(encoder.sizes, **self._network_settings())

    def _hold_out(self, known: Rows, seed: int, old: Member | None) -> IntArray:
        """Return the rows that score the epochs of one network.

        A network that continues must not be scored by rows that it was trained on: on
        the same rows it keeps those held out before, on others it has none.
        """
        if old is not None:
            return old.held_out if known.equals(self._known) else known.counted[:0]
        rows, rng = known.counted, np.random.default_rng(seed)
        keys = known.target.numpy()[rows]
        return rows[hold_out(keys, self.validation_fraction, rng)]

    def _train_networks(
        self,
        X: Any,
        y: Any,
        state: dict[str, Any],
        before: list[Member],
        n_networks: int,
        validation: Rows | None = None,
        n_new: int | None = None,
    ) -> tuple[list[Member], list[TrainingState]]:
        """Train the networks one after another.

        `before` are members to continue from. `n_new` trains for one epoch on the last
        rows only (`partial_fit`).
        """
        known, encoder = state["_known"], state["_encoder"]
        device = torch.device(self.device)
        kernel = Kernel(plain=self.distance == "plain")
        max_iter = self.max_iter if n_new is None else 1
        batch_size = self.batch_size
        if isinstance(batch_size, str):  # about 32 steps per epoch
            batch_size = min(max((n_new or len(known.counted)) // 32, 64), 1024)
        seeds = check_random_state(self.random_state).randint(
            2**31 - 1, size=n_networks
        )

        def fitted_attributes(network: nn.Module) -> dict[str, Any]:
            """Return the attributes of a copy of the estimator, for callbacks."""
            network = copy.deepcopy(network).eval()
            member = Member(network, embed(network, known, device), kernel)
            no_linear = {"_linear": None, "linear_share_": 0.0}
            return {**state, "_members": [member], **no_linear}

        members, runs = [], []
        monitor = EpochMonitor(self, X, y, fitted_attributes, n_networks * max_iter)
        for i in range(n_networks):
            # With a fixed random_state, each piece has other draws.
            seed = int(seeds[i]) if n_new is None else (int(seeds[i]) + len(known))
            old = before[i] if before else None
            with torch_state(seed % 2**31, self.n_jobs):
                network = self._new_network(encoder, old).to(device)
                held_out, judges = np.zeros(0, dtype=np.intp), validation
                if validation is None and n_new is None and self.early_stopping:
                    held_out = self._hold_out(known, seed, old)
                    judges = known[held_out] if len(held_out) else None
                learned = known[np.setdiff1d(known.counted, held_out)]
                run = train(self, network, learned, judges, batch_size, monitor, n_new)
                kept = self.warm_start and n_new is None and i + 1 == n_networks
                if run.interruption is not None and not kept:
                    raise run.interruption
                points = embed(network, known, device)
                member = Member(network, points, kernel, held_out)
                if self.calibrate and judges is not None:
                    member = member.calibrated(judges, known)
                elif old is not None and (self.calibrate or n_new is not None):
                    member = member.with_temperature_of(old)
            members.append(member)
            runs.append(run)
            if monitor.stopped and not before:
                break
        monitor.finish()
        return members, runs

    def _fit_linear(
        self,
        state: dict[str, Any],
        members: list[Member],
        validation: Rows | None,
    ) -> tuple[Member | None, float]:
        """Return the linear map that votes with the networks, and its share.

        A fit that continues without validation rows keeps map and share.
        """
        known, sizes = state["_known"], state["_encoder"].sizes
        wanted = self.linear_vote
        if wanted == "auto":
            n_columns = sizes.n_numbers + sizes.n_flags + sum(sizes.n_categories)
            wanted = (
                self._linear_by_default
                and self.module is None
                and self.embedding == "periodic"
                and len(known.counted) <= MAX_LINEAR_ROWS
                and n_columns <= MAX_LINEAR_COLUMNS
            )
        varies = bool((known.target != known.target[0]).any())
        if not wanted or self._linear_class is None or not varies:
            return None, 0.0
        if validation is None and not any(len(one.held_out) for one in members):
            before = getattr(self, "_linear", None) if self.warm_start else None
            if before is not None:
                return before.with_rows(known), self.linear_share_
            if self.linear_vote == "auto":
                return None, 0.0
        learner = self._linear_class(random_state=0, n_jobs=self.n_jobs)
        return fit_linear_vote(learner, known, sizes, members, validation)

    @property
    def _voters(self) -> list[Member]:
        """The networks, and the linear map last."""
        return [*self._members, *([] if self._linear is None else [self._linear])]

    def _mix(self, parts: list[Tensor]) -> Tensor:
        """Return the mean over networks, mixed with the linear map by its share."""
        mean = torch.stack(parts[: len(self._members)]).mean(dim=0)
        if self._linear is None:
            return mean
        return torch.lerp(mean, parts[-1], self.linear_share_)

    def _votes(self, rows: Rows) -> Tensor:
        """Return the votes of the neighbors of new rows."""
        return self._mix([voter.votes(rows, self._known) for voter in self._voters])

    def _set_fitted(
        self,
        state: dict[str, Any],
        members: list[Member],
        runs: list[TrainingState],
        linear: Member | None,
        share: float,
    ) -> None:
        """Set all fitted attributes at once."""
        perplexities = members[0].perplexities(state["_known"])
        self.__dict__.update(state)
        self._members, self._linear, self.linear_share_ = members, linear, share
        self.n_iter_ = max(len(run.losses) for run in runs)
        self.objective_curve_ = -np.array(runs[0].losses)
        self.validation_scores_ = np.array(runs[0].scores)
        self.effective_neighbors_ = perplexities

    def _warn_if_diverged(self, runs: list[TrainingState]) -> None:
        """Warn of a training that ended with a loss that was not finite."""
        diverged = [run for run in runs if run.diverged]
        if diverged:
            warn_caller(
                f"{type(self).__name__} stopped after {len(diverged[0].losses)} epochs "
                "because the loss was not finite. It keeps the last finite weights. "
                "Lower learning_rate, or look for huge values in X or y.",
                ConvergenceWarning,
            )


def _check_weights(given: ArrayLike | None, rows: NDArray[Any]) -> FloatArray | None:
    """Return weights with mean 1; None if all are equal.

    A weight that float32 cannot represent relative to the largest one becomes 0.
    """
    if given is None:
        return None
    weights: FloatArray = _check_sample_weight(
        given, rows, dtype=np.float64, ensure_non_negative=True
    )
    weights = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    weights[weights < np.finfo(np.float32).tiny] = 0
    if np.count_nonzero(weights) < 2:
        raise ValueError("Fewer than two rows have a weight above 0.")
    weights /= weights[weights > 0].mean()
    return None if (weights == weights[0]).all() else weights
