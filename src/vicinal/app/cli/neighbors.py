"""`vicinal neighbors` and `predict`: the nearest rows, and what they say of a row."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal._files import is_same_file
from vicinal.app.cli.errors import report_errors
from vicinal.app.cli.neighbor_summary import print_neighbors, print_table, score_line
from vicinal.app.cli.options import AnyModel, Data, Keep, KeepAll, Model, Neighbors
from vicinal.app.cli.output_paths import check_apart, check_table_path
from vicinal.app.cli.progress import waiting
from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from vicinal.app.models import Recall, SavedModel

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (neighbors, predict):
        app.command()(command)


def neighbors(
    model: AnyModel,
    data: Data,
    query: Annotated[
        list[str] | None,
        typer.Option(
            help="A row, counted from 0, or with --id what that column says of it; may "
            "be repeated. By default all rows, which need --output.",
            show_default=False,
        ),
    ] = None,
    k: Neighbors = 10,
    among: Annotated[
        str | None,
        typer.Option(help="Look among the rows of this table; by default, of DATA."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--id", help="A column that says what a row is called."),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(help="A column to show of the neighbours; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet or .arrow."
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="No index, however many rows there are."),
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="For an adapter: a column that is no part of the vectors."),
    ] = None,
) -> None:
    """Find the nearest rows of some rows, or of all, under a learned metric.

    Of one row, without other options, they are printed beside those under the
    Euclidean metric. 1,000 rows or more are looked up among more than 50,000 by an
    index (extra ann), and what it misses is measured and printed.

    By an adapter, the rows of DATA are queries, and those of --among documents.
    """
    recalls: list[Recall] = []
    with report_errors():
        with waiting("looking for neighbours") as say:
            from vicinal.app.models import names_of_rows, nearest_rows, neighbor_table

            _check_k(k)
            learned, documents = _maps(model, among, [*(drop or []), *_named(name)])
            if drop and documents is None:
                raise ValueError(
                    f"--drop is for adapters, and {model.name} is a model of a table, "
                    "which knows its columns."
                )
            if output is not None:
                check_apart(output, {"model": model, "--among table": among})
                check_table_path(output, data)
            rows = _asked_rows(data, query, name)
            alone = rows is not None and len(rows) == 1
            if alone and not (among or show or output):
                found = nearest_rows(learned, data, rows[0], k)
                near = {*found.euclidean.rows.tolist(), *found.learned.rows.tolist()}
                called = names_of_rows(data, name, {*near, *rows}) if name else {}
                table = None
            else:
                if output is None and rows is None:
                    raise ValueError(
                        "All rows are asked about: write them to a file with --output, "
                        "or name some with --query."
                    )
                table = neighbor_table(
                    learned,
                    data,
                    among=among,
                    among_model=documents,
                    rows=rows,
                    n_neighbors=k,
                    show=show or [],
                    name=name,
                    exact=exact,
                    on_rows=lambda done: say(f"looked through {done:,} rows"),
                    on_recall=recalls.append,
                )
            if table is not None and output is not None:
                from vicinal.app.models import write_frame

                write_frame(table, output)
        if table is None:
            print_neighbors(found, learned, called)
            if (n := len(found.learned.rows)) < k:
                others = counted(n, "other row")
                typer.echo(f"note: there are no more than {others}", err=True)
        elif output is None:
            print_table(table)
        else:
            n = table["query"].n_unique()
            typer.echo(
                f"{counted(table.height, 'neighbour')} of {counted(n, 'row')}: "
                f"{printable(output, None)}"
            )
        for one in recalls:
            typer.echo(
                f"found by an index: {100 * one.recall:.1f} % of the nearest rows of "
                f"{one.n_checked} that were checked (--exact finds all)"
            )


def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet or .arrow."
        ),
    ],
    among: Annotated[
        str | None,
        typer.Option(
            help="A table of rows whose target is known, like the one that the metric "
            "was learned from. It is needed.",
            show_default=False,
        ),
    ] = None,
    k: Neighbors = 3,
    keep: Keep = None,
    keep_all: KeepAll = False,
) -> None:
    """Predict the target of a table's rows by their nearest rows with a known one.

    A model holds a metric and no rows: those with a known target are in --among. The
    new columns are predicted, and for classes share, the part of the neighbours that
    is of the predicted class.
    """
    with report_errors():
        with waiting("reading the rows with a target") as say:
            from vicinal.app.models import load, predict_file

            _check_k(k)
            learned = load(model)
            among = _named_table(among, learned)
            check_apart(output, {"model": model, "--among table": among})
            found = predict_file(
                learned,
                data,
                among,
                output,
                n_neighbors=k,
                keep=keep or [],
                keep_all=keep_all,
                on_rows=lambda done: say(f"predicted {done:,} rows"),
            )
        typer.echo(
            f"{counted(found.n_rows, 'row')} predicted: {printable(output, None)}"
        )
        if found.truth:
            typer.echo(score_line(found, learned.task))
            if is_same_file(data, among):
                typer.echo(
                    "note: DATA and --among are the same rows, and each is its own "
                    "nearest one: that figure means nothing",
                    err=True,
                )


def _maps(model: Path, among: str | None, drop: list[str]) -> tuple[Any, Any]:
    """Return what maps the rows, and for an adapter what maps the documents."""
    from vicinal.app.models import AdapterFileError, VectorMap, load

    try:
        return load(model), None
    except AdapterFileError:
        pass
    from vicinal.adapters import load_adapter

    adapter = load_adapter(model)
    if among is None:
        raise ValueError(
            f"{model.name} is an adapter: the rows of DATA are queries; name the table "
            "of documents with --among TABLE."
        )
    return (
        VectorMap(adapter.transform_queries, drop),
        VectorMap(adapter.transform_documents, drop),
    )


def _named(column: str | None) -> list[str]:
    return [] if column is None else [column]


def _named_table(among: str | None, learned: "SavedModel") -> str:
    """Return the table to predict from; raise ValueError where none is named."""
    if among is not None:
        return among
    target = "" if learned.target is None else f" {printable(learned.target)!r}"
    raise ValueError(
        "A model holds a metric and no rows: name a table of rows whose target"
        f"{target} is known, like the one that it was learned from, with --among TABLE."
    )


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"-k (--neighbors) is at least 1 neighbour, not {k}.")


def _asked_rows(data: str, query: list[str] | None, name: str | None) -> Any:
    """Return the numbers of the rows that were asked about; None for all."""
    if query is None:
        return None
    if name is not None:
        from vicinal.app.models import find_rows

        return find_rows(data, name, query)
    try:
        return [int(one) for one in query]
    except ValueError as error:
        raise ValueError(
            f"--query {' '.join(query)!r} is no row's number; name the column that "
            "says what rows are called with --id COLUMN."
        ) from error
