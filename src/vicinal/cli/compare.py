"""`vicinal compare`: several metrics on one data set, in a table and a sentence."""

from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.mistakes import mistakes_told

if TYPE_CHECKING:
    from vicinal.comparison import Comparison, MethodResult

__all__ = ["register", "verdict"]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(compare)


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
    with mistakes_told():
        result = _run(data, names, splits, neighbors, components, seed, jobs)
    _print_table(data, result)
    typer.echo(verdict(result))


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
