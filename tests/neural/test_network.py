"""Layers and networks."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from vicinal.base.columns import ColumnSizes  # noqa: E402
from vicinal.neural._network import (  # noqa: E402
    CategoryEmbedding,
    PeriodicEmbedding,
    TableNetwork,
)

SETTINGS: dict[str, Any] = {
    "n_components": 5,
    "embedding": "periodic",
    "n_frequencies": 4,
    "embedding_size": 3,
    "frequency_scale": 0.2,
    "categories": "learned",
    "n_blocks": 2,
    "hidden_size": 7,
    "dropout": 0.1,
}


def test_cosines_as_written() -> None:
    torch.manual_seed(0)
    layer = PeriodicEmbedding(2, 3, 4, 0.5).double()
    rows = torch.randn(6, 2, dtype=torch.float64)
    found = layer(rows).reshape(6, 2, 4)
    for i in range(6):
        for c in range(2):
            x = rows[i, c]
            turns = layer.frequencies[c] * x + layer.phases[c]
            waves = torch.cos(2 * torch.pi * turns)
            mixed = torch.relu(waves @ layer.weights[c] + layer.bias[c])
            torch.testing.assert_close(found[i, c, 0], x)
            torch.testing.assert_close(found[i, c, 1:], mixed)


def test_mixtures_of_cosines_start_small() -> None:
    torch.manual_seed(0)
    layer = PeriodicEmbedding(20, 16, 8, 0.5)
    for values in (layer.weights.detach(), layer.bias.detach()):
        # Uniform between −1/√16 and 1/√16.
        assert 0.23 < float(values.max()) <= 0.25
        assert -0.25 <= float(values.min()) < -0.23


@pytest.mark.parametrize("one_hot", [False, True])
def test_unknown_categories_are_zeros_and_stay_so(one_hot: bool) -> None:
    layer = CategoryEmbedding(3, one_hot)
    out = layer(torch.tensor([0, 1, 3]), torch.float32)
    assert (out[0] == 0).all()
    assert (out[1] != 0).any()
    if one_hot:
        assert out[1:].tolist() == [[1, 0, 0], [0, 0, 1]]
    else:
        out.sum().backward()
        assert layer.table is not None
        assert (layer.table.weight.grad[0] == 0).all()


@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        ((3, 1), {}),
        ((3, 1), {"embedding": "none", "n_blocks": 0}),
        ((3, 0), {"categories": "one-hot"}),
        ((0, 0), {}),
    ],
)
def test_equal_settings_and_weights_give_equal_points(
    sizes: tuple[int, int], changes: dict[str, Any]
) -> None:
    network, other = (
        TableNetwork(ColumnSizes(*sizes, (2, 30)), **{**SETTINGS, **changes}).eval()
        for _ in range(2)
    )
    other.load_state_dict(network.state_dict())
    numbers = torch.randn(4, sum(sizes))
    codes = torch.tensor([[0, 5], [1, 30], [2, 0], [1, 1]])
    points = network(numbers, codes)
    assert points.shape == (4, 5)
    assert torch.equal(points, other(numbers, codes))
