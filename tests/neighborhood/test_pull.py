import tracemalloc
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import ClassRuns, ExpectedMatches, LogMatches, Rule, pull

MakeRule: TypeAlias = Callable[[ClassRuns], Rule]
RULES: list[MakeRule] = [ExpectedMatches, LogMatches]


def make(
    seed: int, n: int, d: int, n_classes: int, dtype: Any = np.float64
) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(dtype), np.sort(
        rng.integers(n_classes, size=n)
    )


class Given:
    """A rule with weights known beforehand, to see the engine alone."""

    def __init__(self, V: FloatArray) -> None:
        self.V = V

    def weigh(
        self, block: FloatArray, norms: FloatArray, rows: slice, values: FloatArray
    ) -> None:
        values[:] = norms[rows]
        block[:] = self.V[rows]


@pytest.mark.parametrize("n", [2, 5, 300, 1100])
def test_the_product_is_that_of_the_laplacian(n: int) -> None:
    rng = np.random.default_rng(n)
    Z, V = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    W = V + V.T
    laplacian = np.diag(W.sum(axis=1)) - W
    values, product = pull(Z, Given(V), n_threads=2)
    np.testing.assert_allclose(product, laplacian @ Z, rtol=1e-9, atol=1e-9)
    centred = Z - Z.mean(axis=0)
    np.testing.assert_allclose(values, (centred**2).sum(axis=1))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(rule: MakeRule, dtype: Any) -> None:
    Z, y = make(0, 1500, 4, 5, dtype)
    one = pull(Z, rule(ClassRuns.from_sorted(y)), n_threads=1)
    for n_threads in (2, 3, 8):
        many = pull(Z, rule(ClassRuns.from_sorted(y)), n_threads)
        np.testing.assert_array_equal(one.values, many.values)
        np.testing.assert_array_equal(one.laplacian_product, many.laplacian_product)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    n_classes=st.integers(1, 8),
    rule=st.sampled_from(RULES),
    scale=st.floats(1e-3, 1e3),
)
def test_what_the_pull_does_not_depend_on(
    seed: int, n: int, d: int, n_classes: int, rule: MakeRule, scale: float
) -> None:
    Z, y = make(seed, n, d, n_classes)
    Z *= scale
    rng = np.random.default_rng(seed)
    runs = ClassRuns.from_sorted(y)
    values, product = pull(Z, rule(runs))
    assert np.isfinite(values).all()
    assert np.isfinite(product).all()
    tolerance = 1e-7 * max(1, np.abs(product).max())

    shift = rng.normal(size=d) * 10 * scale
    moved = pull(Z + shift, rule(runs))
    np.testing.assert_allclose(moved.values, values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        moved.laplacian_product, product, rtol=1e-6, atol=tolerance
    )

    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turned = pull(Z @ Q, rule(runs))
    np.testing.assert_allclose(turned.values, values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        turned.laplacian_product, product @ Q, rtol=1e-6, atol=tolerance
    )

    # Any order inside a class.
    order = np.lexsort([rng.random(n), y])
    shuffled = pull(Z[order], rule(runs))
    np.testing.assert_allclose(shuffled.values, values[order], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        shuffled.laplacian_product, product[order], rtol=1e-6, atol=tolerance
    )


@pytest.mark.parametrize("rule", RULES)
def test_the_block_size_does_not_matter(
    rule: MakeRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    Z, y = make(1, 400, 3, 4)
    runs = ClassRuns.from_sorted(y)
    whole = pull(Z, rule(runs))
    monkeypatch.setattr("vicinal.neighborhood.blocks.MIN_ROWS", 1)
    for size in (1, 7, 150):
        monkeypatch.setattr(
            "vicinal.neighborhood.blocks.CACHE_BYTES", size * Z.itemsize * len(Z)
        )
        parts = pull(Z, rule(runs), n_threads=2)
        np.testing.assert_allclose(parts.values, whole.values, rtol=1e-12)
        np.testing.assert_allclose(
            parts.laplacian_product, whole.laplacian_product, rtol=1e-9, atol=1e-12
        )


def test_memory_is_a_few_blocks_however_many_points() -> None:
    n = 6000  # n×n in float32 would be 144 MB
    Z, y = make(2, n, 2, 3, np.float32)
    rule = ExpectedMatches(ClassRuns.from_sorted(y))
    pull(Z[:10], ExpectedMatches(ClassRuns.from_sorted(y[:10])))  # compiles
    with sklearn.config_context(working_memory=64):
        tracemalloc.start()
        pull(Z, rule, n_threads=2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_that_overflow_are_an_error_not_nan(dtype: Any) -> None:
    Z = np.array([[0.0], [1.0], [1e19 if dtype == np.float32 else 1e155]], dtype=dtype)
    with pytest.raises(ValueError, match="Scale the data"):
        pull(Z, ExpectedMatches(ClassRuns.from_sorted(np.array([0, 0, 1]))))
