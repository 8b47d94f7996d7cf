"""`vicinal transform`, `neighbors` and `predict`: uses of a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vicinal.app.cli import options
from vicinal.app.cli.display import (
    print_neighbors,
    print_shares,
    print_table,
    report_errors,
    score_line,
    waiting,
    warnings_printed,
)
from vicinal.app.tables.names import TABLES, counted, listed, printable

if TYPE_CHECKING:
    from vicinal.adapters import EmbeddingBridge, RetrievalAdapter
    from vicinal.app.models import Recall, SavedModel


def neighbors(  # noqa: C901
    model: options.AnyModel,
    data: options.Data,
    query: Annotated[
        list[str] | None,
        typer.Option(
            help="A row, counted from 0, or with --id what that column says of it; may "
            "be repeated. By default all rows, which need --output.",
            show_default=False,
        ),
    ] = None,
    k: options.Neighbors = 10,
    among: Annotated[
        str | None,
        typer.Option(help="Look among the rows of this table; by default, of DATA."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--id", help="The column with the names of rows."),
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
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Of one row: the share of each column in the distances."
        ),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="No index, however many rows there are."),
    ] = False,
    drop: options.VectorDrop = None,
) -> None:
    """Find the nearest rows of some rows, or of all, under a learned metric.

    Of one row, without other options, they are printed beside those under the
    Euclidean metric. 1,000 rows or more are looked up among more than 50,000 by an
    index (extra ann), and its recall is printed.

    By an adapter, the rows of DATA are queries, and those of --among documents.
    """
    recalls: list[Recall] = []
    with report_errors():
        with waiting("looking for neighbours") as say, warnings_printed():
            from vicinal.app import models

            learned: Any = _load(model)
            documents = None
            if hasattr(learned, "inverse_transform"):
                raise ValueError(
                    f"{model.name} is a bridge: map new vectors by `vicinal "
                    "transform`, and look them up in the index of the old ones."
                )
            if not isinstance(learned, models.SavedModel):
                if among is None:
                    raise ValueError(
                        f"{model.name} is an adapter: the rows of DATA are queries; "
                        "name the table of documents with --among TABLE."
                    )
                left_out = [*(drop or []), *([name] if name else [])]
                documents = models.VectorMap(learned.transform_documents, left_out)
                learned = models.VectorMap(learned.transform_queries, left_out)
            elif drop:
                raise ValueError(
                    f"--drop is for adapters, and {model.name} is a model of a table, "
                    "which knows its columns."
                )
            if output is not None:
                read = {"model": model, "--among table": among, "data": data}
                options.check_output_path(output, read, *TABLES)
            rows = _asked_rows(data, query, name)
            alone = rows is not None and len(rows) == 1
            if why and (not alone or among or show or output):
                raise ValueError(
                    "--why explains the neighbours of one row of DATA: use it with one "
                    "--query, and without --among, --show and --output."
                )
            if alone and not (among or show or output):
                found = models.nearest_rows(learned, data, rows[0], k)
                if why:
                    explained = models.column_shares(
                        learned, data, rows[0], found.learned.rows
                    )
                near = {*found.euclidean.rows.tolist(), *found.learned.rows.tolist()}
                called = (
                    models.names_of_rows(data, name, {*near, *rows}) if name else {}
                )
                table = None
            else:
                if output is None and rows is None:
                    raise ValueError(
                        "All rows are asked about: write them to a file with --output, "
                        "or name some with --query."
                    )
                table = models.neighbor_table(
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
                models.write_frame(table, output)
        if table is None:
            print_neighbors(found, learned, called)
            if why:
                near_rows = [
                    printable(called.get(row) or row, None)
                    for row in found.learned.rows.tolist()
                ]
                print_shares(near_rows, *explained)
            typer.echo(f"neighbours that vote in a prediction: {learned.vote or 3}")
            if (n := len(found.learned.rows)) < k:
                others = counted(n, "other row")
                typer.echo(f"note: there are no more than {others}", err=True)
        elif output is None:
            print_table(table)
        else:
            n = table.get_column("query").n_unique()
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
    model: options.Model,
    data: options.Data,
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
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--neighbors",
            min=1,
            help="Number of neighbours, with equal weights; by default as `vicinal "
            "fit` chose.",
            show_default=False,
        ),
    ] = None,
    keep: options.Keep = None,
    keep_all: options.KeepAll = False,
) -> None:
    """Predict the target of a table's rows by their nearest rows with a known one.

    A model holds a metric and no rows: those with a known target are in --among. The
    new columns are predicted, and for classes share, the probability of the predicted
    class, and p_… for each class. A row that is also in --among, with the same target,
    does not vote for itself.
    """
    with report_errors():
        with waiting("reading the rows with a target") as say, warnings_printed():
            from vicinal.app.models import load, predict_file

            learned = load(model)
            if among is None:
                target = f" {printable(learned.target)!r}" if learned.target else ""
                raise ValueError(
                    "A model has a metric and no rows: name a table of rows whose "
                    f"target{target} is known, like the one that it was learned from, "
                    "with --among TABLE."
                )
            read = {"model": model, "--among table": among}
            options.check_output_path(output, read)
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
        if found.n_missing:
            cells = counted(found.n_missing, "missing cell")
            typer.echo(f"note: {cells} in the columns of the model filled")
        if found.unknown:
            cells = counted(sum(found.unknown.values()), "cell")
            typer.echo(
                f"note: {cells} in {listed(found.unknown)} hold categories that the "
                "model does not know; they are no category"
            )
        if found.truth:
            typer.echo(score_line(found, learned.task))
        typer.echo(f"neighbours that vote: {found.vote}")
        if found.n_own:
            typer.echo(
                f"note: {counted(found.n_own, 'row')} of DATA also in --among: each is "
                "left out of its own neighbours, but the metric may have seen it",
                err=True,
            )


def _load(model: Path) -> "SavedModel | RetrievalAdapter | EmbeddingBridge":
    from vicinal.app.models import AdapterFileError, load

    try:
        return load(model)
    except AdapterFileError:
        from vicinal import persistence

        return persistence.load(model)


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
            f"--query {' '.join(query)!r} is not the number of a row; to ask by name, "
            "give the column of names with --id COLUMN."
        ) from error


def transform(
    model: options.AnyModel,
    data: options.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .csv, .tsv, .parquet, .arrow, .npy or .npz.",
        ),
    ],
    keep: options.Keep = None,
    keep_all: options.KeepAll = False,
    role: Annotated[
        Literal["queries", "documents"] | None,
        typer.Option("--as", help="For an adapter: map rows as queries or documents."),
    ] = None,
    drop: options.VectorDrop = None,
) -> None:
    """Map the rows of a table by a saved model, or vectors by a saved adapter.

    The Euclidean distance of mapped rows is their learned distance. The table may be
    larger than memory.
    """
    with report_errors(), waiting("mapping rows") as say, warnings_printed():
        from vicinal.app.models import SavedModel, VectorMap, transform_file

        options.check_output_path(output, {"model": model})
        learned: Any = _load(model)
        if isinstance(learned, SavedModel):
            if role is not None or drop:
                raise ValueError(
                    f"--as and --drop are for adapters, and {model.name} is a model of "
                    "a table, which knows its columns."
                )
            stem, d = learned.stem, len(learned.components)
        elif hasattr(learned, "inverse_transform"):
            if role is not None:
                raise ValueError(
                    f"--as is for adapters, and {model.name} is a bridge, which maps "
                    "vectors of the new model."
                )
            stem, d = "old", len(learned.coef_)
            learned = VectorMap(learned.transform, drop or [], stem)
        elif role is None:
            raise ValueError(
                f"{model.name} is an adapter: say whether to map --as queries or --as "
                "documents."
            )
        else:
            stem = "query" if role == "queries" else "document"
            d = len(learned.query_components_)
            function = getattr(learned, f"transform_{role}")
            learned = VectorMap(function, drop or [], stem)
        n_rows = transform_file(
            learned,
            data,
            output,
            keep=keep or [],
            keep_all=keep_all,
            on_rows=lambda done: say(f"mapped {done:,} rows"),
        )
    names = f"{stem}0 to {stem}{d - 1}"
    typer.echo(f"{counted(n_rows, 'row')}, {names}: {printable(output, None)}")
