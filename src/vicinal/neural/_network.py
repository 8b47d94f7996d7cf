"""Networks that map the columns of a table to points; how one is built from data."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

# Of all columns of categories; a block of rows then takes 64 MB.
_MOST_ONE_HOT = 4096


@dataclass(frozen=True)
class Architecture:
    """All that is needed to build a network again, as plain data.

    Attributes
    ----------
    n_numbers : int
        Columns of numbers.
    n_flags : int
        Columns that say whether a number is missing.
    n_categories : tuple of int
        How many categories each column of categories has, unknown ones not counted.
    n_components : int
        Numbers that come out.
    embedding : {"periodic", "none"}
        What becomes of a column of numbers.
    n_frequencies, embedding_size : int
        Waves for each column, and numbers that become of it.
    frequency_scale : float
        The deviation of the frequencies at the start.
    one_hot : bool
        Whether categories are coded by one column each, or learned.
    n_blocks, hidden_size : int
        Residual blocks behind the linear map, and their width.
    dropout : float
        Share of a block's hidden numbers that a step leaves out.
    """

    n_numbers: int
    n_flags: int
    n_categories: tuple[int, ...]
    n_components: int
    embedding: str
    n_frequencies: int
    embedding_size: int
    frequency_scale: float
    one_hot: bool
    n_blocks: int
    hidden_size: int
    dropout: float

    def build(self) -> "TableNetwork":
        """Return a network with random weights."""
        return TableNetwork(self)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "n_categories": list(self.n_categories)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        """Return what `to_dict` was called on."""
        return cls(**{**given, "n_categories": tuple(given["n_categories"])})


class PeriodicEmbedding(nn.Module):
    """Each number becomes itself and a few learned mixtures of its cosines.

    Of a number x of column c the cosines are cos(2π (f_k x + φ_k)), with learned
    frequencies and phases of that column. A linear map of them lets distances change
    quickly along a column here and slowly there.
    """

    def __init__(
        self, n_columns: int, n_frequencies: int, size: int, scale: float
    ) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(torch.randn(n_columns, n_frequencies) * scale)
        self.phases = nn.Parameter(torch.rand(n_columns, n_frequencies))
        bound = n_frequencies**-0.5
        shape = (n_columns, n_frequencies, size - 1)
        self.weights = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(
            torch.empty(n_columns, size - 1).uniform_(-bound, bound)
        )

    def forward(self, numbers: Tensor) -> Tensor:
        """Return an array of shape (n_rows, n_columns * size)."""
        # A column after the other, as the products need them; the factor 2π on the few
        # parameters, not on the many waves.
        columns = numbers.t().contiguous()[:, :, None]
        frequencies = self.frequencies * (2 * math.pi)
        phases = self.phases * (2 * math.pi)
        waves = torch.addcmul(phases[:, None], columns, frequencies[:, None]).cos()
        mixed = torch.relu(torch.baddbmm(self.bias[:, None], waves, self.weights))
        return torch.cat([columns, mixed], dim=2).transpose(0, 1).flatten(1)


def check_same_build(before: nn.Module, wanted: Architecture | nn.Module) -> None:
    """Raise a ValueError where a network to go on from is not as the settings say."""
    different = ["module"]
    if isinstance(before, TableNetwork) and isinstance(wanted, Architecture):
        old, new = before.architecture.to_dict(), wanted.to_dict()
        different = [name for name in old if old[name] != new[name]]
        different = ["categories" if one == "one_hot" else one for one in different]
    elif isinstance(before, OwnNetwork) and isinstance(wanted, nn.Module):
        old, new = (
            {name: one.shape for name, one in module.state_dict().items()}
            for module in (before.module, wanted)
        )
        different = [] if old == new else ["module"]
    if different:
        raise ValueError(
            f"{', '.join(different)}: not as in the fit to go on from "
            "(warm_start=True), whose networks cannot be changed. Set it back, or fit "
            "anew with warm_start=False."
        )


def check_one_hot(n_categories: tuple[int, ...]) -> None:
    """Raise a ValueError where one column for each category would be too many."""
    if sum(n_categories) > _MOST_ONE_HOT:
        raise ValueError(
            f"The columns of categories have {sum(n_categories):,} categories, more "
            f"than the {_MOST_ONE_HOT:,} that can have a column each. Use "
            "categories='learned' without a module of your own, merge the rare ones, "
            "or leave columns out that name each row."
        )


class CategoryEmbedding(nn.Module):
    """Codes from 1 become learned or one-hot vectors; 0, unknown, becomes zeros."""

    def __init__(self, n_categories: int, one_hot: bool) -> None:
        super().__init__()
        self.size = n_categories if one_hot else min(n_categories, 16)
        self.table: nn.Embedding | None = None
        if not one_hot:
            table = torch.randn(n_categories, self.size) * self.size**-0.5
            table = torch.cat([torch.zeros(1, self.size), table])
            self.table = nn.Embedding(
                n_categories + 1, self.size, padding_idx=0, _weight=table
            )

    def forward(self, codes: Tensor, dtype: torch.dtype) -> Tensor:
        """Return an array of shape (n_rows, size)."""
        if self.table is not None:
            return self.table(codes)
        return nn.functional.one_hot(codes, self.size + 1)[:, 1:].to(dtype)


class ResidualBlock(nn.Module):
    """z + W₂ dropout(relu(W₁ normalized(z)))."""

    def __init__(self, size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.inside = nn.Sequential(
            nn.BatchNorm1d(size),
            nn.Linear(size, hidden_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, size),
        )

    def forward(self, points: Tensor) -> Tensor:
        """Return points of the same shape."""
        return points + self.inside(points)


class TableNetwork(nn.Module):
    """Columns to points: embeddings, a linear map, and residual blocks behind it.

    Without blocks it is linear NCA on learned periodic features.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        a = self.architecture = architecture
        if a.one_hot:
            check_one_hot(a.n_categories)
        width = a.n_numbers + a.n_flags
        self.numbers: nn.Module | None = None
        if a.embedding == "periodic" and a.n_numbers:
            self.numbers = PeriodicEmbedding(
                a.n_numbers, a.n_frequencies, a.embedding_size, a.frequency_scale
            )
            width = a.n_numbers * a.embedding_size + a.n_flags
        self.categories = nn.ModuleList(
            CategoryEmbedding(n, a.one_hot) for n in a.n_categories
        )
        width += sum(one.size for one in self.categories)
        self.linear = nn.Linear(width, a.n_components)
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(a.n_components, a.hidden_size, a.dropout)
                for _ in range(a.n_blocks)
            )
        )

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return points.

        Parameters
        ----------
        numbers : Tensor of shape (n_rows, n_numbers + n_flags)
            Columns of numbers, then flags.
        codes : Tensor of int of shape (n_rows, n_category_columns)
            Categories from 1; 0 is unknown.
        """
        return self.blocks(self.linear(self.features(numbers, codes)))

    def features(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return what the linear map sees of rows."""
        parts = [numbers]
        if self.numbers is not None:
            n = self.architecture.n_numbers
            parts = [self.numbers(numbers[:, :n]), numbers[:, n:]]
        parts += [
            one(codes[:, c], numbers.dtype) for c, one in enumerate(self.categories)
        ]
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]


class OwnNetwork(nn.Module):
    """A user's module: it gets the numbers, the flags, and categories one-hot."""

    def __init__(self, module: nn.Module, n_categories: tuple[int, ...]) -> None:
        super().__init__()
        check_one_hot(n_categories)
        self.module = module
        self.categories = nn.ModuleList(
            CategoryEmbedding(n, one_hot=True) for n in n_categories
        )

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return what the module makes of all columns, side by side."""
        parts = [
            one(codes[:, c], numbers.dtype) for c, one in enumerate(self.categories)
        ]
        return self.module(torch.cat([numbers, *parts], dim=1))
