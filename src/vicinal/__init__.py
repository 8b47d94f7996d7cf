"""vicinal learns what "near" should mean on your data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vicinal.additive import TableNCA, TableNCAClassifier, TableNCARegressor
    from vicinal.app.comparison import compare
    from vicinal.lca import LCA, LCAGauss, ModeClustering
    from vicinal.ldg import LDG, LocalQDA, TransferLDG
    from vicinal.nca import NCA, NCAClassifier, NCARegressor, PairNCA
    from vicinal.persistence import load, save
    from vicinal.pictures import SupervisedMap

__version__ = "0.1.0"
__all__ = [
    "LCA",
    "LDG",
    "NCA",
    "LCAGauss",
    "LocalQDA",
    "ModeClustering",
    "NCAClassifier",
    "NCARegressor",
    "PairNCA",
    "SupervisedMap",
    "TableNCA",
    "TableNCAClassifier",
    "TableNCARegressor",
    "TransferLDG",
    "__version__",
    "compare",
    "load",
    "save",
]

# Loaded when first asked for: the command's help should not wait for SciPy, nor a fit
# for model selection.
_HOMES = {
    "LDG": "vicinal.ldg",
    "LocalQDA": "vicinal.ldg",
    "LCA": "vicinal.lca",
    "LCAGauss": "vicinal.lca",
    "ModeClustering": "vicinal.lca",
    "NCA": "vicinal.nca",
    "NCAClassifier": "vicinal.nca",
    "NCARegressor": "vicinal.nca",
    "PairNCA": "vicinal.nca",
    "SupervisedMap": "vicinal.pictures",
    "TableNCA": "vicinal.additive",
    "TableNCAClassifier": "vicinal.additive",
    "TableNCARegressor": "vicinal.additive",
    "TransferLDG": "vicinal.ldg",
    "compare": "vicinal.app.comparison",
    "load": "vicinal.persistence",
    "save": "vicinal.persistence",
}


_ROOMS = (
    *("adapters", "additive", "app", "classic", "datasets", "neighbors", "objectives"),
    *("optimize", "pictures", "plotting", "testing"),
)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"vicinal.{name}")
    raise AttributeError(f"module 'vicinal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
