import pytest

from vicinal.app.methods.mistaken import mistaken
from vicinal.app.methods.registry import resolve_methods


def test_a_name_that_looks_like_one_is_suggested() -> None:
    with pytest.raises(ValueError, match=r"got 'ldaa': did you mean 'lda'\?$"):
        resolve_methods("nca,ldaa", "classification")
    with pytest.raises(ValueError, match=r"numeric target, or all; got 'zzz'\.$"):
        resolve_methods("zzz", "regression")


def test_a_method_of_another_task_is_named_as_such() -> None:
    with pytest.raises(
        ValueError, match=r"got 'lca', which is for data without a target\.$"
    ):
        resolve_methods("lca", "classification")
    with pytest.raises(ValueError, match="got 'LCA', which is for data without"):
        resolve_methods("LCA", "classification")
    with pytest.raises(ValueError, match=r"got 'lda', which is for classes\.$"):
        resolve_methods("lda", "regression")


def test_nothing_asked_for() -> None:
    assert mistaken([], ["lda"], "none").endswith("a target, or all; got none.")
