"""The `vicinal` command: reads arguments and prints; the work is done elsewhere.

NumPy and scikit-learn take seconds to import, so that only the functions that
compute import them: `vicinal --help` answers at once.
"""

# No `from __future__ import annotations`: typer reads the annotations of functions
# that are local to `build_app`, and as strings it could not resolve them.
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

    from vicinal.comparison import Comparison, MethodResult

__all__ = ["build_app", "main", "verdict"]


def main() -> None:
    """Run the command with the process's arguments."""
    if any(find_spec(package) is None for package in ("typer", "rich")):
        sys.exit("The vicinal command needs an extra: pip install 'vicinal[cli]'")
    build_app()(prog_name="vicinal")


def build_app() -> "typer.Typer":
    """Declare the commands, their options and their help.

    Returns
    -------
    typer.Typer
        Call it to run the command.
    """
    import typer

    # The long traceback of a bug shows more without a frame drawn around it.
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            from vicinal import __version__

            typer.echo(f"vicinal {__version__}")
            raise typer.Exit

    @app.callback()
    def about(
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                callback=print_version,
                is_eager=True,
                help="Print the version and exit.",
            ),
        ] = False,
    ) -> None:
        """Learn what near should mean on your data."""

    @app.command()
    def compare(
        data: Annotated[
            str, typer.Argument(help="Name of a data set; see `vicinal datasets`.")
        ],
        methods: Annotated[
            str | None, typer.Option(help="Names with commas between; default: all.")
        ] = None,
        splits: Annotated[int, typer.Option(help="Random splits.")] = 10,
        neighbors: Annotated[int, typer.Option(help="The k of k-NN.")] = 3,
        components: Annotated[
            int | None, typer.Option(help="Dimensions of PCA, LDA and NCA.")
        ] = None,
        seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
        jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    ) -> None:
        """Measure k-NN accuracy under several metrics, on the same random splits."""
        names = None if methods is None else methods.replace(",", " ").split()
        try:
            result = _run(data, names, splits, neighbors, components, seed, jobs)
        except (ValueError, OSError) as error:
            typer.echo(f"vicinal: {error}", err=True)
            raise typer.Exit(2) from None
        _print_table(data, result)
        typer.echo(verdict(result))

    @app.command()
    def datasets() -> None:
        """List the data sets that need no download.

        Put .npz files with the arrays X and y into a folder, and set the
        environment variable VICINAL_DATA to it, to find them here.
        """
        from vicinal.datasets import available

        typer.echo("\n".join(available()))

    return app


def verdict(result: "Comparison") -> str:
    """Say in one sentence which method won, if any clearly did.

    Two methods are told apart by the differences of their accuracies on each
    split: a mean difference within two standard errors of zero decides nothing.

    Parameters
    ----------
    result : Comparison
        What `vicinal.comparison.compare` returned.

    Returns
    -------
    str
        Without a full stop.
    """
    best = result.best
    others = sorted(
        (other for other in result.results if other is not best),
        key=lambda other: -other.mean,
    )
    tied = [best, *(other for other in others if not _clearly_better(best, other))]
    if len(tied) > 1:
        *names, last = (one.name for one in tied)
        scores = ", ".join(f"{one.score} %" for one in tied)
        sentence = f"no clear winner between {', '.join(names)} and {last}: {scores}"
    else:
        sentence = f"{best.name}{' is best' if others else ''}: {best.score} %"
    for other in others:
        if other.name == "euclidean" and other not in tied:
            sentence += f"; k-NN on raw features: {other.score} %"
    return sentence


def _clearly_better(one: "MethodResult", other: "MethodResult") -> bool:
    from vicinal.comparison import standard_error

    gain = one.accuracies - other.accuracies
    # False where the standard error is NaN: one split alone decides nothing.
    return bool(gain.mean() > 2 * standard_error(gain))


def _run(
    data: str,
    methods: list[str] | None,
    splits: int,
    neighbors: int,
    components: int | None,
    seed: int,
    jobs: int | None,
) -> "Comparison":
    from rich.console import Console
    from rich.progress import Progress

    from vicinal.comparison import compare
    from vicinal.datasets import load

    # On standard error, so that standard output can be kept in a file.
    console = Console(stderr=True)
    with Progress(
        console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("loading the data", total=None)
        dataset = load(data)

        def show(done: int, total: int, method: str) -> None:
            progress.update(
                task, completed=done, total=total, description=f"fitted {method}"
            )

        return compare(
            dataset.X,
            dataset.y,
            methods=methods,
            n_splits=splits,
            n_neighbors=neighbors,
            n_components=components,
            random_state=seed,
            n_jobs=jobs,
            on_progress=show,
        )


def _print_table(data: str, result: "Comparison") -> None:
    from rich.console import Console
    from rich.table import Table

    from vicinal.comparison import HEADER

    table = Table(title=f"k-NN on {data}")
    for heading in HEADER:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for one in result.results:
        table.add_row(*one.row, style="bold" if one is result.best else None)
    console = Console()
    console.print(table)
    for note in result.notes:
        console.print(note, highlight=False)
