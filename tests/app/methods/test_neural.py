"""The neural method: named, and refused with its extra's name where it is missing."""

import pytest

from vicinal.app.methods import registry
from vicinal.app.models import learn
from vicinal.app.report.commands import fit_command
from vicinal.app.tables.prepared import prepare


def test_without_torch_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(registry.METHODS, "neural-nca", raising=False)
    with pytest.raises(ValueError, match=r"vicinal\[torch\]"):
        registry.resolve_methods("nca,neural-nca", "classification")


def test_a_network_is_refused_before_its_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry.METHODS, "neural-nca", raising=False)
    never = registry.register("neural-nca", "no.such.module", storable=False)
    with pytest.raises(ValueError, match="neural-nca is a network, and a model file"):
        learn(prepare("iris"), "neural-nca")
    command = ["vicinal", "compare", "iris"]
    assert fit_command(command, never.name) is None
    assert fit_command(command, "lda") is not None


def test_it_is_optional() -> None:
    usual = registry.resolve_methods(None, "classification")
    assert "neural-nca" not in [method.name for method in usual]
