"""The bridge: its maps beside naive ones, its certificate beside fresh texts."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import vicinal
from vicinal._typing import FloatArray
from vicinal.adapters import EmbeddingBridge
from vicinal.neighbors import ExactIndex


def models(
    n: int = 200,
    widths: tuple[int, int] = (9, 6),
    rank: int = 6,
    noise: float = 0.05,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return new and old vectors of texts with topics of the given rank."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(n, rank))
    mixing = np.random.default_rng(1)  # the models are the same for all seeds
    new, old = (
        topics @ mixing.normal(size=(rank, width)) + noise * rng.normal(size=(n, width))
        for width in widths
    )
    return new, old + 1.0


def rotated(n: int = 150) -> tuple[FloatArray, FloatArray]:
    """Return new vectors, and old ones that are rotated, scaled and noisy."""
    rng = np.random.default_rng(0)
    new = rng.normal(size=(n, 7))
    turn = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    return new, 3 * new @ turn + 0.6 * rng.normal(size=(n, 7))


def unit(vectors: FloatArray) -> FloatArray:
    scaled: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def naive_rotation(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the scaled rotation R that minimizes ‖X R − Y‖² in each part."""
    U, _, V = np.linalg.svd(X.T @ Y, full_matrices=False)
    R: FloatArray = U @ V
    return R * (np.vdot(X @ R, Y) / np.vdot(X @ R, X @ R))


def naive_ridge(new: FloatArray, old: FloatArray, alpha: float) -> FloatArray:
    """Return the fitted values of rows with penalties beside the centered pairs."""
    X, Y = new - new.mean(axis=0), old - old.mean(axis=0)
    R, d = naive_rotation(X, Y), X.shape[1]
    root = np.sqrt(alpha * np.square(X).sum() / d)
    rows = np.vstack([X, root * np.eye(d)])
    W = np.linalg.lstsq(rows, np.vstack([Y, root * R]), rcond=None)[0]
    fitted: FloatArray = X @ W
    return fitted


def shared(mapped: FloatArray, own: FloatArray, index: FloatArray) -> float:
    """Return recall@10 of mapped vectors against the texts' own."""
    search = ExactIndex().build(index)
    found, truth = search.query(mapped)[0], search.query(own)[0]
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len({*one} & {*other}) / 10 for one, other in pairs]))


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_rotation_is_a_procrustes_map(offset: float) -> None:
    new, old = rotated()
    old = old + offset
    bridge = EmbeddingBridge(random_state=0).fit(new, old)
    assert bridge.certificate_.method == "procrustes"
    x, y = (new.mean(axis=0), old.mean(axis=0)) if offset else (0.0, 0.0)
    expected = (new - x) @ naive_rotation(new - x, old - y) + y
    np.testing.assert_allclose(bridge.transform(new), expected, atol=1e-9)


@pytest.mark.parametrize("inverse", [False, True])
def test_other_maps_are_ridge_regressions_towards_the_rotation(inverse: bool) -> None:
    new, old = models()
    bridge = EmbeddingBridge(random_state=0)
    if inverse:
        bridge.fit(old, new)
        mapped, certificate = bridge.inverse_transform, bridge.inverse_certificate_
    else:
        mapped, certificate = bridge.fit(new, old).transform, bridge.certificate_
    assert certificate.method == "ridge"
    expected = naive_ridge(new, old, certificate.alpha)
    np.testing.assert_allclose(mapped(new), expected + old.mean(axis=0), atol=1e-9)


def test_low_ranks_are_projections_of_the_ridge_regression() -> None:
    new, old = models(widths=(12, 8), rank=2)
    bridge = EmbeddingBridge(random_state=0).fit(new, old)
    certificate = bridge.certificate_
    assert (certificate.method, certificate.rank) == ("low rank", 2)
    fitted = naive_ridge(new, old, certificate.alpha)
    V = np.linalg.svd(fitted)[2][:2]
    expected = fitted @ V.T @ V + old.mean(axis=0)
    np.testing.assert_allclose(bridge.transform(new), expected, atol=1e-8)


@pytest.mark.parametrize("widths", [(9, 6), (6, 9), (6, 6), (40, 3)])
def test_both_directions_find_the_neighbors_of_fresh_texts(
    widths: tuple[int, int],
) -> None:
    new, old = models(400, widths, rank=3)
    bridge = EmbeddingBridge(random_state=0).fit(new[:200], old[:200])
    mapped, back = bridge.transform(new[200:]), bridge.inverse_transform(old[200:])
    assert (mapped.shape, back.shape) == (old[200:].shape, new[200:].shape)
    assert shared(mapped, old[200:], old[:200]) > 0.8
    assert shared(back, new[200:], new[:200]) > 0.8


def test_unit_vectors_are_mapped_to_unit_vectors() -> None:
    new, old = (unit(one).astype(np.float32) for one in models())
    bridge = EmbeddingBridge(random_state=0).fit(new, old)
    assert bridge.metric_ == "cosine"
    mapped = bridge.transform(5 * new)
    assert mapped.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(mapped, bridge.transform(new), atol=1e-6)


@pytest.mark.slow
def test_intervals_have_the_recall_of_fresh_texts() -> None:
    covered = []
    for seed in range(40):
        new, old = models(2200, noise=0.6, seed=seed)
        bridge = EmbeddingBridge(random_state=seed).fit(new[:200], old[:200])
        truth = shared(bridge.transform(new[200:]), old[200:], old[:200])
        covered.append(bridge.certificate_.recall.low <= truth)
        covered[-1] &= truth <= bridge.certificate_.recall.high
    # Of 40 true 95 % intervals, fewer than 34 cover once in a hundred runs.
    assert sum(covered) >= 34


def test_the_learning_curve_rises_to_the_recall_and_foretells_more_pairs() -> None:
    new, old = models(1000, (40, 30), rank=30, noise=0.5)
    bridge = EmbeddingBridge(random_state=0).fit(new[:200], old[:200])
    sizes, recalls = zip(*bridge.learning_curve_, strict=True)
    assert sizes == (22, 45, 90, 180)
    assert recalls[0] < recalls[1] < recalls[2] < recalls[3]
    certificate = bridge.certificate_
    assert recalls[3] == pytest.approx(certificate.recall.value)
    assert recalls[3] < certificate.recall_at_twice < recalls[3] + 0.15


def test_other_texts_are_detected() -> None:
    new, old = models()
    shuffled = np.random.default_rng(0).permutation(old)
    bridge = EmbeddingBridge(random_state=0)
    with pytest.warns(UserWarning, match="different texts, or in different orders"):
        bridge.fit(new, shuffled)
    assert not bridge.certificate_.matched
    assert "NOT MATCHED" in str(bridge.certificate_)
    certificate = bridge.fit(new, old).certificate_
    assert certificate.matched
    assert certificate.recall.low > 0.5 > 4 * certificate.chance


def test_repeated_texts_count_once() -> None:
    new, old = models(60)
    once = EmbeddingBridge(random_state=0).fit(new, old)
    twice = EmbeddingBridge(random_state=0).fit(
        np.vstack([new, new]), np.vstack([old, old])
    )
    assert twice.certificate_.n_pairs == 60
    np.testing.assert_allclose(twice.transform(new), once.transform(new))


def test_fewer_pairs_than_dimensions() -> None:
    new, old = models(40, (80, 60), rank=3)
    bridge = EmbeddingBridge(random_state=0).fit(new, old)
    assert bridge.certificate_.recall.value > 0.7


@pytest.mark.parametrize("text", [3, 120])
def test_zero_vectors(text: int) -> None:
    new, old = (unit(one) for one in models())
    new[text] = 0  # is not of unit length, so that the metric is Euclidean
    assert EmbeddingBridge(random_state=0).fit(new, old).metric_ == "euclidean"
    with pytest.raises(ValueError, match=f"text {text} is all zeros"):
        EmbeddingBridge(metric="cosine").fit(new, old)


def test_bad_input() -> None:
    new, old = models()
    bridge = EmbeddingBridge(random_state=0)
    with pytest.raises(ValueError, match="X has 200 vectors and y 150"):
        bridge.fit(new, old[:150])
    with pytest.raises(ValueError, match="20 pairs of different texts are too few"):
        bridge.fit(new[:20], old[:20])
    with pytest.raises(ValueError, match="1 pairs of different texts are too few"):
        bridge.fit(new, np.ones_like(old))
    with pytest.raises(ValueError, match="y must be vectors of numbers"):
        bridge.fit(new, np.where(np.arange(200)[:, None] == 7, np.nan, old))
    with pytest.raises(ValueError, match="X must be vectors of numbers"):
        bridge.fit([["a", "b"]] * 200, old)
    bridge.fit(new, old)
    with pytest.raises(ValueError, match="X has 6 features, but the map takes 9"):
        bridge.transform(old)


def test_bridges_are_estimators_and_come_back_from_files(tmp_path: Path) -> None:
    new, old = models()
    bridge = EmbeddingBridge(metric="euclidean", random_state=3).fit(new, old)
    params = {"metric": "euclidean", "random_state": 3, "n_jobs": None}
    assert clone(bridge).get_params() == params
    vicinal.save(tmp_path / "bridge.safetensors", bridge)
    for again in (
        pickle.loads(pickle.dumps(bridge)),
        vicinal.load(tmp_path / "bridge.safetensors"),
        clone(bridge).fit(new, old),
        clone(bridge).set_params(n_jobs=2).fit(new, old),
    ):
        np.testing.assert_array_equal(again.transform(new), bridge.transform(new))
        np.testing.assert_array_equal(
            again.inverse_transform(old), bridge.inverse_transform(old)
        )
        assert again.certificate_ == bridge.certificate_
        assert str(again.certificate_) == str(bridge.certificate_)


def test_edited_maps_are_refused(tmp_path: Path) -> None:
    bridge = EmbeddingBridge(random_state=0).fit(*models())
    certificate = bridge.certificate_
    for name, value, problem in (
        ("inverse_intercept_", np.zeros(3), "the shapes of the maps"),
        ("coef_", bridge.coef_ * np.nan, "the maps are not finite"),
        ("metric_", "\x1b[2J", "the metric is unknown"),
        ("certificate_", replace(certificate, method="\x1b[2J"), "the method"),
        ("certificate_", replace(certificate, rank="\x1b[2J"), "numbers of pairs"),
        ("certificate_", replace(certificate, chance=np.inf), "scores are not finite"),
    ):
        kept = getattr(bridge, name)
        setattr(bridge, name, value)
        with pytest.raises(ValueError, match=problem):
            vicinal.save(tmp_path / "bridge.safetensors", bridge)
        setattr(bridge, name, kept)
    assert list(tmp_path.iterdir()) == []
