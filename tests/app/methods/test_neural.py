"""The neural method: named, and refused with its extra's name where it is missing."""

import pytest

from vicinal.app.methods import registry


def test_without_torch_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(registry.METHODS, "neural-nca", raising=False)
    with pytest.raises(ValueError, match=r"vicinal\[torch\]"):
        registry.resolve_methods("nca,neural-nca", "classification")


def test_it_is_optional() -> None:
    usual = registry.resolve_methods(None, "classification")
    assert "neural-nca" not in [method.name for method in usual]
