"""Networks: what they compute, and that they are built again from data."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from vicinal.neural._network import (  # noqa: E402
    Architecture,
    CategoryEmbedding,
    PeriodicEmbedding,
)

WHOLE = Architecture(
    n_numbers=3,
    n_flags=1,
    n_categories=(2, 30),
    n_components=5,
    embedding="periodic",
    n_frequencies=4,
    embedding_size=3,
    frequency_scale=0.2,
    one_hot=False,
    n_blocks=2,
    hidden_size=7,
    dropout=0.1,
)


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
    "architecture",
    [
        WHOLE,
        replace(WHOLE, embedding="none", n_blocks=0),
        replace(WHOLE, one_hot=True, n_flags=0),
        replace(WHOLE, n_numbers=0, n_flags=0),
    ],
)
def test_built_again_from_data(architecture: Architecture) -> None:
    data = json.loads(json.dumps(architecture.to_dict()))
    again = Architecture.from_dict(data)
    assert again == architecture
    network, other = architecture.build().eval(), again.build().eval()
    other.load_state_dict(network.state_dict())
    numbers = torch.randn(4, architecture.n_numbers + architecture.n_flags)
    codes = torch.tensor([[0, 5], [1, 30], [2, 0], [1, 1]])
    points = network(numbers, codes)
    assert points.shape == (4, 5)
    assert torch.equal(points, other(numbers, codes))
