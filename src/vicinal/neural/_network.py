"""Networks that map the encoded columns of a table to points."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from vicinal.base.columns import ColumnSizes

# One-hot columns, at most: a block of 4096 rows then takes 64 MB.
MAX_ONE_HOT = 4096


class PeriodicEmbedding(nn.Module):
    """Each number x becomes x and a few learned mixtures of its cosines.

    The cosines of column c are cos(2π (f_k x + φ_k)), with learned frequencies and
    phases. A linear map of them can resolve some parts of a column more finely.
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
        # Batched over columns; the factor 2π is applied to the few parameters.
        columns = numbers.t().contiguous()[:, :, None]
        frequencies = self.frequencies * (2 * math.pi)
        phases = self.phases * (2 * math.pi)
        waves = torch.addcmul(phases[:, None], columns, frequencies[:, None]).cos()
        mixed = torch.relu(torch.baddbmm(self.bias[:, None], waves, self.weights))
        return torch.cat([columns, mixed], dim=2).transpose(0, 1).flatten(1)


class CategoryEmbedding(nn.Module):
    """Codes from 1 become learned or one-hot vectors; 0 (unknown) becomes zeros."""

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


def check_one_hot(n_categories: tuple[int, ...]) -> None:
    """Raise a ValueError if there are too many categories for one-hot encoding."""
    if sum(n_categories) > MAX_ONE_HOT:
        raise ValueError(
            f"The categorical columns have {sum(n_categories):,} categories; one-hot "
            f"encoding supports at most {MAX_ONE_HOT:,}. Use categories='learned' "
            "without module and without linear_vote=True, merge rare categories, or "
            "drop columns that identify rows."
        )


def _category_embeddings(n_categories: tuple[int, ...], one_hot: bool) -> nn.ModuleList:
    """Return one embedding per categorical column."""
    if one_hot:
        check_one_hot(n_categories)
    return nn.ModuleList(CategoryEmbedding(n, one_hot) for n in n_categories)


class ResidualBlock(nn.Module):
    """z + W₂ dropout(relu(W₁ batch_norm(z)))."""

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
    """Embeddings of the columns, a linear map, and residual blocks behind it.

    Parameters
    ----------
    sizes : ColumnSizes
        Widths of the input.
    **settings : dict
        `n_components`, `embedding`, `n_frequencies`, `embedding_size`,
        `frequency_scale`, `categories`, `n_blocks`, `hidden_size` and `dropout` as for
        `NeuralNCAClassifier`. Without embedding and blocks it is a linear map.
    """

    def __init__(self, sizes: ColumnSizes, **settings: Any) -> None:
        super().__init__()
        self.settings = settings
        n_components, width = settings["n_components"], sizes.n_numbers + sizes.n_flags
        self.n_numbers = sizes.n_numbers
        self.numbers: nn.Module | None = None
        if settings["embedding"] == "periodic" and sizes.n_numbers:
            size = settings["embedding_size"]
            self.numbers = PeriodicEmbedding(
                sizes.n_numbers,
                settings["n_frequencies"],
                size,
                settings["frequency_scale"],
            )
            width = sizes.n_numbers * size + sizes.n_flags
        self.categories = _category_embeddings(
            sizes.n_categories, settings["categories"] == "one-hot"
        )
        width += sum(one.size for one in self.categories)
        self.linear = nn.Linear(width, n_components)
        blocks = (
            ResidualBlock(n_components, settings["hidden_size"], settings["dropout"])
            for _ in range(settings["n_blocks"])
        )
        self.blocks = nn.Sequential(*blocks)

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return points.

        Parameters
        ----------
        numbers : Tensor of shape (n_rows, n_numbers + n_flags)
            Numeric columns, then flags.
        codes : Tensor of int of shape (n_rows, n_category_columns)
            Categories from 1; 0 is unknown.
        """
        return self.blocks(self.linear(self.features(numbers, codes)))

    def features(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return the input of the linear map."""
        parts = [numbers]
        if self.numbers is not None:
            n = self.n_numbers
            parts = [self.numbers(numbers[:, :n]), numbers[:, n:]]
        parts += [
            one(codes[:, c], numbers.dtype) for c, one in enumerate(self.categories)
        ]
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]


def linear_network(sizes: ColumnSizes, n_components: int) -> TableNetwork:
    """Return a linear map of scaled numbers, flags and one-hot categories."""
    return TableNetwork(
        sizes,
        n_components=n_components,
        embedding="none",
        categories="one-hot",
        n_blocks=0,
    )


class ModuleNetwork(nn.Module):
    """A user's module, applied to numbers, flags and one-hot categories."""

    def __init__(self, module: nn.Module, n_categories: tuple[int, ...]) -> None:
        super().__init__()
        self.categories = _category_embeddings(n_categories, one_hot=True)
        self.module = module
        self.settings = module_settings(module)

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return the module's output for all columns side by side."""
        parts = [
            one(codes[:, c], numbers.dtype) for c, one in enumerate(self.categories)
        ]
        return self.module(torch.cat([numbers, *parts], dim=1))


def module_settings(module: nn.Module) -> dict[str, Any]:
    """Return the shapes of a module's weights, as a setting of its network."""
    return {"module": {name: one.shape for name, one in module.state_dict().items()}}
