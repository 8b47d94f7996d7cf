"""The adapter: that it learns where it can, keeps still where not, and says so."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tests.adapters.data import distorted, noisy, turned, unrelated
from vicinal._typing import FloatArray, IntArray
from vicinal.adapters import (
    RetrievalAdapter,
    load_adapter,
    ranking_scores,
    save_adapter,
)


def fitted(**parameters: Any) -> RetrievalAdapter:
    adapter = RetrievalAdapter(random_state=0, n_folds=3, **parameters)
    return adapter.fit(*turned())


@pytest.mark.parametrize(
    ("side", "metric", "make"),
    [
        ("query", "cosine", turned),
        ("query", "euclidean", turned),
        ("both", "cosine", noisy),
        ("both", "euclidean", noisy),
        ("two", "cosine", noisy),
        ("two", "euclidean", turned),
    ],
)
def test_it_raises_scores_of_new_queries(side: str, metric: str, make: Any) -> None:
    queries, documents, pairs = make(n_queries=240)
    adapter = RetrievalAdapter(side=side, metric=metric, random_state=0, n_folds=3)
    adapter.fit(queries[:120], documents, pairs[:120])
    assert adapter.is_adapted_
    assert adapter.evaluation_["map"].low > 0
    assert adapter.evaluation_["map"].n_queries == 120
    new = np.column_stack([np.arange(120), pairs[120:, 1]])
    found = adapter.evaluate(queries[120:], documents, new)
    assert found["mrr"].low > 0


@pytest.mark.parametrize("side", ["query", "both"])
@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_the_unit_of_vectors_does_not_matter(side: str, unit: float) -> None:
    queries, documents, pairs = noisy()
    plain, scaled = (
        RetrievalAdapter(
            side=side, metric="euclidean", random_state=0, n_folds=3, alpha=0.01
        ).fit(size * queries, size * documents, pairs)
        for size in (1.0, unit)
    )
    assert scaled.temperature_ == pytest.approx(plain.temperature_ * unit**2, rel=0.05)
    np.testing.assert_allclose(
        scaled.query_components_, plain.query_components_, atol=0.05
    )


def test_it_keeps_still_where_there_is_nothing_to_learn() -> None:
    with pytest.warns(UserWarning, match="Nothing was learned that helps"):
        adapter = RetrievalAdapter(random_state=0, n_folds=3).fit(*unrelated())
    assert not adapter.is_adapted_
    np.testing.assert_array_equal(adapter.query_components_, np.eye(6))
    queries, documents, pairs = unrelated(seed=1)
    assert adapter.evaluate(queries, documents, pairs)["mrr"].gain == 0


def test_where_nothing_is_left_to_gain_no_pairs_are_asked_for() -> None:
    documents = np.random.default_rng(0).normal(size=(50, 6))
    pairs = np.repeat(np.arange(50)[:, None], 2, axis=1)
    with pytest.warns(UserWarning, match="They are already ranked perfectly"):
        RetrievalAdapter(random_state=0, n_folds=3).fit(documents, documents, pairs)
    with pytest.warns(UserWarning, match="More pairs may help, or side='two'"):
        RetrievalAdapter(random_state=0, n_folds=3).fit(*unrelated())


def test_a_loss_by_few_components_is_said() -> None:
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(200, 8))
    noise = rng.normal(size=(120, 8))
    pairs = np.repeat(np.arange(120)[:, None], 2, axis=1)
    few = RetrievalAdapter(side="both", n_components=3, random_state=0, n_folds=3)
    # All dimensions tell, four of them more: these can be learned.
    with pytest.warns(
        UserWarning, match="n_components=3 lowers the scores .* Increase n_components"
    ):
        few.fit(documents[:120] + noise * np.repeat([0.2, 0.6], 4), documents, pairs)
    assert few.is_adapted_
    assert few.evaluation_["map"].high < 0
    # All tell as much: no two are much better than the main axes.
    rng = np.random.default_rng(1)
    documents, noise = rng.normal(size=(200, 8)), rng.normal(size=(120, 8))
    few.set_params(n_components=2)
    with pytest.warns(
        UserWarning, match="axes of the documents are kept .* Increase n_components"
    ):
        few.fit(documents[:120] + noise * 0.3, documents, pairs)
    assert not few.is_adapted_


def test_documents_stay_with_side_query() -> None:
    adapter = fitted(metric="euclidean")
    documents = turned()[1]
    np.testing.assert_array_equal(adapter.transform_documents(documents), documents)
    np.testing.assert_array_equal(adapter.document_components_, np.eye(8))


def test_rank_gives_the_nearest_of_the_mapped() -> None:
    queries, documents, _ = turned()
    adapter = fitted(side="two", metric="cosine")
    positions, scores = adapter.rank(queries[:5], documents, k=3)
    cosines = (
        adapter.transform_queries(queries[:5])
        @ adapter.transform_documents(documents).T
    )
    np.testing.assert_array_equal(positions, np.argsort(-cosines, axis=1)[:, :3])
    np.testing.assert_allclose(scores, -np.sort(-cosines, axis=1)[:, :3])
    np.testing.assert_allclose(
        np.linalg.norm(adapter.transform_queries(queries), axis=1), 1
    )


def test_fewer_dimensions() -> None:
    adapter = fitted(side="two", n_components=5, metric="euclidean")
    assert adapter.query_components_.shape == (5, 8)
    assert adapter.transform_documents(turned()[1]).shape == (200, 5)


def test_unit_lengths_are_recognized() -> None:
    queries, documents, pairs = turned()
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    parameters: dict[str, Any] = {"alpha": 0.1, "temperature": 0.1}
    adapter = RetrievalAdapter(**parameters)
    assert adapter.fit(queries, documents, pairs).metric_ == "cosine"
    halves = adapter.fit(
        queries.astype(np.float16), documents.astype(np.float16), pairs
    )
    assert halves.metric_ == "cosine"
    assert halves.query_components_.dtype == np.float32
    assert adapter.fit(2 * queries, documents, pairs).metric_ == "euclidean"


def test_a_strong_penalty_keeps_the_identity() -> None:
    adapter = fitted(alpha=1e6, temperature=0.1)
    np.testing.assert_allclose(adapter.query_components_, np.eye(8), atol=1e-4)
    assert not hasattr(adapter, "evaluation_")


def test_grades_pull_in_proportion() -> None:
    queries = np.tile([[1.0, 0.0]], (12, 1))
    documents = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0]])
    grades = np.column_stack([np.repeat(np.arange(12), 2), np.tile([0, 1], 12)])
    settings: dict[str, Any] = {"alpha": 0.01, "temperature": 0.5, "metric": "cosine"}
    first = RetrievalAdapter(**settings).fit(
        queries, documents, np.column_stack([grades, np.tile([3, 1], 12)])
    )
    assert first.rank(queries[:1], documents, 3)[0].tolist() == [[0, 1, 2]]
    second = RetrievalAdapter(**settings).fit(
        queries, documents, np.column_stack([grades, np.tile([1, 3], 12)])
    )
    assert second.rank(queries[:1], documents, 3)[0].tolist() == [[1, 0, 2]]


def test_mini_batches_come_close_to_all_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = fitted(alpha=0.03, temperature=0.5, metric="euclidean")
    monkeypatch.setattr("vicinal.adapters._retrieval_adapter.MAX_PRODUCTS", 0)
    sampled = fitted(
        alpha=0.03, temperature=0.5, metric="euclidean", batch_size=40, n_candidates=100
    )
    data = turned()
    assert sampled.evaluate(*data)["mrr"].after == pytest.approx(
        exact.evaluate(*data)["mrr"].after, abs=0.03
    )


def test_the_same_seed_gives_the_same_maps() -> None:
    first, second = fitted(), fitted()
    np.testing.assert_array_equal(first.query_components_, second.query_components_)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.query_components_, first.query_components_)
    assert clone(first).get_params() == first.get_params()


def test_verbose_says_what_was_decided(capsys: pytest.CaptureFixture[str]) -> None:
    fitted(verbose=1)
    assert "mean average precision of 120 held-out queries" in capsys.readouterr().out


def test_more_iterations_are_asked_for_only_where_they_help() -> None:
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        fitted(alpha=0.001, temperature=0.1, max_iter=2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 4}, "n_components=4 cannot be combined with side='query'"),
        ({"n_components": 9, "side": "both"}, "above the 8 features"),
        ({"side": "documents"}, "side"),
        ({"alpha": -1.0}, "alpha"),
        ({"temperature": 0.0}, "temperature"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fitted(**parameters)


def test_bad_data_are_refused() -> None:
    queries, documents, pairs = turned()
    adapter = RetrievalAdapter(alpha=0.1)
    with pytest.raises(ValueError, match=r"same space.*side='query' or 'two' maps"):
        RetrievalAdapter(side="both").fit(queries[:, :3], documents, pairs)
    with pytest.raises(ValueError, match="too few to tell"):
        RetrievalAdapter().fit(queries[:5], documents, pairs[:5])
    same = np.repeat(queries[:1], 20, axis=0)
    with pytest.raises(ValueError, match="counted from 0, not by name"):
        adapter.fit(queries, documents, [("q1", "d5")])
    with pytest.raises(ValueError, match="All queries are equal"):
        RetrievalAdapter().fit(same, documents, [(row, row) for row in range(20)])
    zeros = documents.copy()
    zeros[7] = 0
    with pytest.raises(ValueError, match="document 7 is all zeros"):
        RetrievalAdapter(metric="cosine").fit(queries, zeros, pairs)
    with pytest.raises(NotFittedError):
        adapter.transform_queries(queries)
    adapter.fit(queries, documents, pairs)
    with pytest.raises(ValueError, match="vectors of 8 numbers, got 3"):
        adapter.transform_queries(queries[:, :3])
    with pytest.raises(ValueError, match="between 1 and 200"):
        adapter.rank(queries, documents, k=201)
    with pytest.warns(UserWarning, match="119 of 120 queries have no relevant"):
        adapter.fit(queries, documents, csr_array(([1.0], ([0], [0])), (120, 200)))


@pytest.mark.parametrize(("dtype", "huge"), [("float32", 1e15), ("float64", -1e160)])
def test_vectors_too_large_for_sums_of_squares_are_refused(
    dtype: str, huge: float
) -> None:
    queries, documents, pairs = turned()
    documents = documents.astype(dtype)
    documents[3, 1] = huge
    with pytest.raises(ValueError, match=f"documents has numbers beyond .* {dtype}"):
        RetrievalAdapter().fit(queries.astype(dtype), documents, pairs)


def test_texts_are_no_vectors() -> None:
    with pytest.raises(ValueError, match="queries must be vectors of numbers"):
        RetrievalAdapter().fit([["red car"], ["car"]], np.ones((3, 2)), [(0, 1)])


def halves(
    data: tuple[FloatArray, FloatArray, IntArray],
) -> tuple[tuple[FloatArray, FloatArray, IntArray], ...]:
    """Return the first and the second half of the queries, each with its pairs."""
    queries, documents, pairs = data
    n = len(queries) // 2
    numbers = np.arange(n)
    return tuple(
        (queries[rows], documents, np.column_stack([numbers, pairs[rows, 1]]))
        for rows in (slice(n), slice(n, None))
    )


def mean_reciprocal_rank(
    queries: FloatArray, documents: FloatArray, pairs: IntArray
) -> float:
    scores = ranking_scores(queries, documents, pairs, metric="euclidean")
    return float(scores["mrr"].mean())


@pytest.mark.parametrize("widths", [(16, 16), (12, 16), (20, 16)])
@pytest.mark.parametrize("side", ["query", "two"])
def test_a_hidden_distortion_is_undone_as_by_a_tuned_ridge_regression(
    widths: tuple[int, int], side: str, tmp_path: Path
) -> None:
    (queries, documents, pairs), new = halves(distorted(widths=widths))
    adapter = RetrievalAdapter(side=side, random_state=0, n_folds=3)
    adapter.fit(queries, documents, pairs)
    assert adapter.is_adapted_
    assert adapter.query_components_.shape == (16, widths[0])
    # Of the penalties, the best for the new queries: an advantage over ours.
    best = max(
        mean_reciprocal_rank(
            new[0]
            @ np.linalg.solve(
                queries.T @ queries + alpha * np.eye(widths[0]),
                queries.T @ documents[pairs[:, 1]],
            ),
            documents,
            new[2],
        )
        for alpha in 10.0 ** np.arange(-2, 4)
    )
    mapped = adapter.transform_queries(new[0])
    own = adapter.transform_documents(documents)
    assert mean_reciprocal_rank(mapped, own, new[2]) > best - 0.01
    save_adapter(tmp_path / "a.safetensors", adapter)
    again = load_adapter(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(again.transform_queries(new[0]), mapped)


def test_narrow_maps_of_vectors_of_two_widths() -> None:
    (queries, documents, pairs), new = halves(distorted(widths=(12, 16)))
    adapter = RetrievalAdapter(side="two", n_components=8, random_state=0, n_folds=3)
    adapter.fit(queries, documents, pairs)
    assert adapter.query_components_.shape == (8, 12)
    assert adapter.document_components_.shape == (8, 16)
    found = ranking_scores(
        adapter.transform_queries(new[0]),
        adapter.transform_documents(documents),
        new[2],
        metric="euclidean",
    )
    # Held-out queries estimate it; before is the rotation between the two widths.
    gain = adapter.evaluation_["mrr"]
    assert found["mrr"].mean() == pytest.approx(gain.after, abs=0.1)
    with pytest.raises(ValueError, match="use ranking_scores on the mapped vectors"):
        adapter.evaluate(*new)
    with pytest.raises(ValueError, match="query vectors of 12 numbers, got 16"):
        adapter.transform_queries(documents)


def test_unrelated_vectors_of_another_width_keep_the_rotation() -> None:
    queries, documents, pairs = unrelated()
    with pytest.warns(UserWarning, match="the rotation is kept"):
        adapter = RetrievalAdapter(random_state=0, n_folds=3).fit(
            queries[:, :4], documents, pairs
        )
    A = adapter.query_components_
    np.testing.assert_allclose(A.T @ A, A[:, 0] @ A[:, 0] * np.eye(4), atol=1e-12)


def test_large_collections_of_two_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    data, new = halves(distorted(widths=(12, 16)))
    exact, sampled = (
        RetrievalAdapter(metric="cosine", alpha=0.03, random_state=0) for _ in range(2)
    )
    exact.fit(*data)
    monkeypatch.setattr("vicinal.adapters._retrieval_adapter.MAX_PRODUCTS", 0)
    sampled.fit(*data)
    scores = [
        ranking_scores(one.transform_queries(new[0]), *new[1:])["mrr"].mean()
        for one in (exact, sampled)
    ]
    assert scores[1] > scores[0] - 0.05


def test_queries_of_weight_zero_do_not_count() -> None:
    queries, documents, pairs = turned()
    weights = np.repeat([1.0, 0.0], [100, 20])
    kept = RetrievalAdapter(random_state=0, n_folds=3)
    kept.fit(queries[:100], documents, pairs[:100])
    weighted = RetrievalAdapter(random_state=0, n_folds=3)
    weighted.fit(queries, documents, pairs, sample_weight=weights)
    np.testing.assert_array_equal(weighted.query_components_, kept.query_components_)
    assert weighted.evaluation_["map"].after == kept.evaluation_["map"].after
    with pytest.raises(ValueError, match="sample_weight"):
        weighted.fit(queries, documents, pairs, sample_weight=-weights)


def test_weights_decide_between_groups_of_queries(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(200, 6))
    wanted = rng.integers(200, size=160)
    signs = np.repeat([1.0, -1.0], 80)  # half of the queries are turned around
    queries = signs[:, None] * documents[wanted] + 0.3 * rng.normal(size=(160, 6))
    pairs = np.column_stack([np.arange(160), wanted])
    adapter = RetrievalAdapter(random_state=0, n_folds=4)
    with pytest.warns(UserWarning, match="Nothing was learned"):
        adapter.fit(queries, documents, pairs)
    adapter.fit(queries, documents, pairs, sample_weight=np.where(signs < 0, 1, 0.01))
    assert np.trace(adapter.query_components_) < -3
    gain = adapter.evaluation_["mrr"]
    before, after = adapter.evaluation_.before["mrr"], adapter.evaluation_.after["mrr"]
    weights = np.where(signs < 0, 1, 0.01)[adapter.evaluation_.queries]
    assert gain.gain == pytest.approx(np.average(after - before, weights=weights))
    save_adapter(tmp_path / "a.safetensors", adapter)
    again = load_adapter(tmp_path / "a.safetensors")
    assert again.evaluation_["mrr"] == gain


def test_feedback_that_arrives_improves_the_maps() -> None:
    queries, documents, pairs = turned(n_queries=360)
    parts = [
        (
            queries[rows],
            documents,
            np.column_stack([np.arange(len(queries[rows])), pairs[rows, 1]]),
        )
        for rows in (slice(40), slice(40, 240), slice(240, None))
    ]
    adapter = RetrievalAdapter(random_state=0, n_folds=3).partial_fit(*parts[0])
    first = adapter.evaluate(*parts[2])["map"].after
    adapter.partial_fit(*parts[1])
    assert adapter.evaluation_["map"].n_queries == 200
    assert adapter.evaluate(*parts[2])["map"].after > first + 0.02
    learned = adapter.query_components_
    shuffled = np.column_stack([np.arange(120), pairs[::-1, 1][:120]])
    with pytest.warns(UserWarning, match="the earlier maps are kept"):
        adapter.partial_fit(queries[:120], documents, shuffled)
    np.testing.assert_array_equal(adapter.query_components_, learned)
    assert adapter.is_adapted_
    with pytest.raises(ValueError, match="queries of 8 and documents of 8 numbers"):
        adapter.partial_fit(queries[:, :3], documents, pairs)


def test_maps_that_are_kept_are_not_turned() -> None:
    queries, documents, pairs = turned(n_queries=240)
    adapter = RetrievalAdapter(side="two", nested=True, n_folds=3, random_state=0)
    adapter.fit(queries, documents, pairs)
    before = adapter.query_components_, adapter.document_components_
    shuffled = np.column_stack([np.arange(120), pairs[::-1, 1][:120]])
    with pytest.warns(UserWarning, match="the earlier maps are kept"):
        adapter.partial_fit(queries[:120], documents, shuffled)
    np.testing.assert_array_equal(adapter.query_components_, before[0])
    np.testing.assert_array_equal(adapter.document_components_, before[1])


def relevant_axes(seed: int = 0) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries that share four of 12 axes with documents, not the widest ones."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(300, 12)) * np.repeat([1.0, 1.2], [4, 8])
    wanted = rng.integers(300, size=240)
    queries = 0.1 * rng.normal(size=(240, 12))
    queries[:, :4] += documents[wanted, :4]
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    pairs = np.column_stack([np.arange(240), wanted])
    return queries @ turn, documents @ turn, pairs


@pytest.mark.parametrize("side", ["both", "two"])
def test_the_first_nested_components_are_good_by_themselves(
    side: str, tmp_path: Path
) -> None:
    data, new = halves(relevant_axes())
    settings: dict[str, Any] = {"side": side, "metric": "cosine", "random_state": 0}
    plain = RetrievalAdapter(n_folds=3, **settings).fit(*data)
    nested = RetrievalAdapter(nested=True, n_folds=3, **settings).fit(*data)
    U, V = nested.transform_queries(new[0]), nested.transform_documents(new[1])
    expected = plain.transform_queries(new[0]) @ plain.transform_documents(new[1]).T
    np.testing.assert_allclose(U @ V.T, expected, atol=1e-6)
    few = nested.transform_documents(new[1], n_components=4)
    scaled = V[:, :4] / np.linalg.norm(V[:, :4], axis=1, keepdims=True)
    np.testing.assert_allclose(few, scaled, atol=1e-6)
    whole = nested.evaluate(*new)["mrr"].after
    axes = np.linalg.eigh(data[1].T @ data[1])[1][:, ::-1][:, :4]
    main = ranking_scores(new[0] @ axes, new[1] @ axes, new[2])["mrr"].mean()
    found = nested.evaluate(*new, n_components=4)["mrr"].after
    assert found > main + 0.3
    assert found > 0.8 * whole
    save_adapter(tmp_path / "a.safetensors", nested)
    again = load_adapter(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(again.transform_documents(new[1], 4), few)


def test_nested_components_are_checked() -> None:
    with pytest.raises(ValueError, match="nested=True cannot be combined with side"):
        fitted(nested=True)
    with pytest.raises(ValueError, match="needs an adapter with nested=True"):
        fitted(side="both", alpha=0.1).transform_queries(turned()[0], 3)
    adapter = fitted(side="both", alpha=0.1, nested=True)
    with pytest.raises(ValueError, match="between 1 and 8, got 9"):
        adapter.transform_queries(turned()[0], 9)
