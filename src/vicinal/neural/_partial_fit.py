"""Learning from pieces: one epoch over each, all rows so far as neighbours."""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from vicinal.base.metric import unchanged_on_error
from vicinal.neural._base import NeuralEstimator
from vicinal.neural._columns import EncodedRows
from vicinal.neural._inputs import checked_device
from vicinal.neural._members import Member, n_threads, torch_state
from vicinal.neural._monitor import EpochMonitor
from vicinal.neural._target_rows import TargetRows
from vicinal.neural._training import train


class PartialFitMixin(NeuralEstimator):
    """`partial_fit` for the estimators that predict."""

    def _learn_piece(
        self, X: Any, y: ArrayLike, settled: dict[str, Any] | None
    ) -> Self:
        """Train all networks for an epoch, and add the rows to the neighbours.

        `settled` is what is known of y before: classes, or middle and unit.
        """
        first = not hasattr(self, "_members")
        with unchanged_on_error(self):
            device = checked_device(self.device)
            columns, labels = self._validated(X, y, reset=first)
            targets = self._read_targets(labels, settled)
            encoder = self._fit_encoder(columns) if first else self._encoder
            rows = encoder.transform(columns)
            known = TargetRows(rows, targets.target, targets.n_classes)
            if not first:
                known = _joined(self._known, known)
            linear = None if self._linear is None else self._linear.of(known)
            seeds = check_random_state(self.random_state).randint(
                2**31 - 1, size=self._n_first() if first else len(self._members)
            )
            how = replace(self._training(1, len(rows)), decay=False)
            none = np.zeros(0, dtype=np.intp)
            members, runs = [], []
            monitor = EpochMonitor(
                self,
                X,
                y,
                lambda now: self._as_if(now, known, encoder, targets, device),
                len(seeds),
            )
            with monitor:
                for i, seed in enumerate(seeds):
                    # Other draws for each piece, also with a random_state.
                    seed_now = (int(seed) + len(known)) % 2**31
                    with torch_state(seed_now, n_threads(self.n_jobs)):
                        before = None if first else self._members[i]
                        network = (
                            copy.deepcopy(before.network)
                            if before
                            else self._network(encoder)
                        ).to(device)
                        # Queries from the new rows, references from all.
                        learned = known[known.counted]
                        run = train(
                            network, learned, None, how, device, monitor, len(rows)
                        )
                        if run.interruption is not None:
                            raise run.interruption
                        members.append(
                            Member.of(network, known, none, how, False, device, before)
                        )
                        runs.append(run)
            self._store(members, runs, known, encoder, targets, linear)
        self._warn(runs)
        return self

    def _n_first(self) -> int:
        """Return how many networks to begin with; how many rows come is not known."""
        return 1 if isinstance(self.n_estimators, str) else self.n_estimators


def _joined(old: TargetRows, new: TargetRows) -> TargetRows:
    """Return all rows, the new ones last."""
    rows = EncodedRows(
        np.concatenate([old.rows.numbers, new.rows.numbers]),
        np.concatenate([old.rows.codes, new.rows.codes]),
    )
    weights = None
    if old.weights is not None:
        weights = torch.cat([old.weights, old.weights.new_ones(len(new))])
    target = torch.cat([old.target, new.target])
    return TargetRows(rows, target, old.n_classes, weights)
