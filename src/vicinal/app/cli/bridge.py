"""`vicinal bridge`: maps between the vectors of two embedding models."""

import shlex
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vicinal._files import atomic_write
from vicinal.app.cli import options
from vicinal.app.cli.display import report_errors, waiting, warnings_printed
from vicinal.app.tables.names import TableError, counted, printable

if TYPE_CHECKING:
    from vicinal.app.tables.embeddings import Embeddings


def bridge(
    new: Annotated[
        str,
        typer.Option(
            help="Table of vectors of the new model: a column of vectors or a column "
            "for each number, and perhaps id and text.",
            show_default=False,
        ),
    ],
    old: Annotated[
        str,
        typer.Option(
            help="Table of the old model's vectors of the same texts. Rows are "
            "matched by id if both tables have one, and otherwise by order.",
            show_default=False,
        ),
    ],
    output: options.ModelOutput,
    report: Annotated[
        Path | None, typer.Option(help="Page to write: report.html.")
    ] = None,
    metric: Annotated[
        Literal["auto", "cosine", "euclidean"],
        typer.Option(
            help="The metric of the index; auto goes by the vectors' lengths."
        ),
    ] = "auto",
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A column of either table to leave out; may be repeated."),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Bridge two embedding models: map new vectors into an index of old ones.

    Prints on texts held out how far the neighbours agree with re-embedding.
    `vicinal transform` maps tables of new vectors with the file.
    """
    with report_errors():
        options.check_distinct(output=output, report=report)
        written = [path for path in (output, report) if path is not None]
        for path, source in product(written, (new, old)):
            endings = (".html", ".htm") if path is report else ()
            options.check_output_path(path, {"data": source}, *endings)
        options.check_model_path(output)
        threads = options.threads_of(jobs)
        with waiting("reading vectors"):
            from vicinal.app.tables.embeddings import read_embeddings

            tables = [read_embeddings(one, drop=drop or []) for one in (new, old)]
        rows = _matched_rows(*tables)
        for one in tables:
            line = f"{one.name}: {counted(len(one.ids), 'vector')}; {one.columns}"
            typer.echo(printable(line, None))
        with waiting("learning") as say, warnings_printed():
            from vicinal import save
            from vicinal.adapters import EmbeddingBridge

            learned = EmbeddingBridge(metric=metric, random_state=seed, n_jobs=threads)
            learned.fit(
                *(one.vectors[places] for one, places in zip(tables, rows, strict=True))
            )
            say("writing")
            save(output, learned)
            if report is not None:
                from vicinal.app.report.adapter_page import bridge_page

                text = bridge_page(
                    learned,
                    title=f"Bridge from {tables[0].name} to {tables[1].name}",
                    command=shlex.join(["vicinal", *sys.argv[1:]]),
                )
                with atomic_write(report) as temporary:
                    temporary.write_text(text, encoding="utf-8")
        for title, certificate in (
            ("new queries in the old index", learned.certificate_),
            ("old queries in a new index", learned.inverse_certificate_),
        ):
            typer.echo(f"\n{title}: {certificate}")
        typer.echo(f"\nmodel: {printable(output, None)}")
        if report is not None:
            typer.echo(f"report: {printable(report, None)}")


def _matched_rows(new: "Embeddings", old: "Embeddings") -> list[list[int]]:
    """Return the rows of the same texts in both tables."""
    n_new, n_old = len(new.ids), len(old.ids)
    if new.has_ids and old.has_ids:
        places = {one: row for row, one in enumerate(old.ids)}
        common = [row for row, one in enumerate(new.ids) if one in places]
        if not common:
            raise TableError(f"{new.name} and {old.name} have no id in common.")
        return [common, [places[new.ids[row]] for row in common]]
    if n_new != n_old:
        raise TableError(
            f"{new.name} has {n_new:,} vectors and {old.name} {n_old:,}: without ids "
            "in both tables, rows are matched by their order."
        )
    return [[*range(n_new)]] * 2
