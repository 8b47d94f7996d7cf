"""Settings that must stand before SciPy is imported; how many processes test.

Figures are closed after each test.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Speed is never asserted, and a busy machine is no failure.
settings.register_profile(
    "any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any speed")

# What the site's build leaves there.
collect_ignore_glob = ["docs/_build/*", "docs/gallery/*", "docs/conf.py"]

# Without it, scikit-learn skips one of its checks of estimators.
os.environ["SCIPY_ARRAY_API"] = "1"
# Pictures are drawn without a screen.
os.environ["MPLBACKEND"] = "Agg"
# Where each core has a process that tests, two threads each are enough to test threads.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "2")

# The tests and examples of a room with an extra of its own run where that is installed:
# in the sessions "dask" and "neural".
EXTRAS = {"distributed": "dask", "torch": "neural"}
collect_ignore = [
    place
    for library, room in EXTRAS.items()
    if importlib.util.find_spec(library) is None
    for place in (f"src/vicinal/{room}", f"docs/{room}.md", f"tests/{room}")
]


# Examples that compile for minutes; CI runs them with the slow tests.
SLOW_EXAMPLES = {"vicinal.neighbors.PynndescentIndex"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of docstrings that are slow, which no decorator can."""
    for item in items:
        if item.name in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return 0 where tests are named: few tests end sooner than new processes start.

    None leaves it to pytest-xdist, which starts one for each core.
    """
    return None if config.args_source is config.ArgsSource.TESTPATHS else 0


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
