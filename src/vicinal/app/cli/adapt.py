"""`vicinal adapt`: a map of embeddings, learned from queries and relevant documents."""

import shlex
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vicinal._files import atomic_write
from vicinal.app.cli import options
from vicinal.app.cli.display import report_errors, waiting, warnings_printed
from vicinal.app.tables.names import near, printable

if TYPE_CHECKING:
    from vicinal.adapters import RetrievalAdapter

_VECTORS = "a column of vectors or a column for each number, and perhaps id and text"


def adapt(
    queries: Annotated[
        str, typer.Option(help=f"Table of queries: {_VECTORS}.", show_default=False)
    ],
    documents: Annotated[
        str, typer.Option(help="Table of documents, likewise.", show_default=False)
    ],
    relevance: Annotated[
        str,
        typer.Option(
            help="Table of pairs: a query's id, a document's, and perhaps a grade. "
            "Rows without ids are called by their numbers, from 0.",
            show_default=False,
        ),
    ],
    output: options.ModelOutput,
    report: Annotated[
        Path | None, typer.Option(help="Page to write: report.html.")
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option(help="The queries' map as ONNX: queries.onnx.")
    ] = None,
    side: Annotated[
        Literal["query", "both", "two"],
        typer.Option(
            help="What is mapped: query (an index of documents stays as it is), both "
            "by one map, or two maps."
        ),
    ] = "query",
    n_components: Annotated[
        int | None, typer.Option(min=1, help="Number of dimensions, for both or two.")
    ] = None,
    metric: Annotated[
        Literal["auto", "cosine", "euclidean"],
        typer.Option(help="The metric; auto goes by the vectors' lengths."),
    ] = "auto",
    query_text: Annotated[
        str | None, typer.Option(help="The column of the queries' texts.")
    ] = None,
    document_text: Annotated[
        str | None, typer.Option(help="The column of the documents' texts.")
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A column of either table to leave out; may be repeated."),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Adapt embeddings: learn from queries and their relevant documents.

    Says on queries held out whether that helps; if it does not, the vectors stay
    as they are, and so does the file say.
    """
    with report_errors():
        options.check_distinct(output=output, report=report, onnx=onnx)
        written = [path for path in (output, report, onnx) if path is not None]
        for path, source in product(written, (queries, documents, relevance)):
            endings = (".html", ".htm") if path is report else ()
            options.check_output_path(path, {"data": source}, *endings)
        options.check_model_path(output)
        threads = options.threads_of(jobs)
        if n_components is not None and side == "query":
            raise ValueError(
                "--n-components is for --side both or two: with --side query, "
                "documents keep all their dimensions."
            )
        with waiting("reading vectors"):
            from vicinal.app.tables.embeddings import read_embeddings, read_relevance

            asking = read_embeddings(queries, text=query_text, drop=drop or [])
            found = read_embeddings(documents, text=document_text, drop=drop or [])
            known = [*asking.all_columns, *found.all_columns]
            if unknown := [name for name in drop or [] if name not in known]:
                hint = near(unknown[0], known) or "."
                raise ValueError(f"There is no column {unknown[0]!r}{hint}")
            judged = read_relevance(relevance, asking, found)
            pairs = judged.pairs
        for one, n, noun in (
            (asking, len(asking.ids), "queries"),
            (found, len(found.ids), "documents"),
            (judged, len(pairs), "pairs"),
        ):
            line = f"{one.name}: {n:,} {noun}; {one.columns}"
            typer.echo(printable(line, None))
        with waiting("learning") as say, warnings_printed():
            from vicinal.adapters import RetrievalAdapter, save_adapter, to_onnx

            adapter = RetrievalAdapter(
                side=side,
                n_components=n_components,
                metric=metric,
                random_state=seed,
                n_jobs=threads,
            )
            adapter.fit(asking.vectors, found.vectors, pairs)
            say("writing")
            save_adapter(output, adapter)
            if onnx is not None:
                content = to_onnx(adapter).SerializeToString()
                with atomic_write(onnx) as temporary:
                    temporary.write_bytes(content)
            if report is not None:
                from vicinal.app.report.adapter_page import adapter_page

                text = adapter_page(
                    adapter,
                    title=f"Adapter of {asking.name} to {found.name}",
                    query_texts=asking.texts or [f"query {x}" for x in asking.ids],
                    document_texts=found.texts or [f"document {x}" for x in found.ids],
                    relevance=pairs,
                    command=shlex.join(["vicinal", *sys.argv[1:]]),
                )
                with atomic_write(report) as temporary:
                    temporary.write_text(text, encoding="utf-8")
        typer.echo(_choices_line(adapter))
        typer.echo(str(adapter.evaluation_))
        for kind, file in (("model", output), ("onnx", onnx), ("report", report)):
            if file is not None:
                typer.echo(f"{kind}: {printable(file, None)}")


def _choices_line(adapter: "RetrievalAdapter") -> str:
    """Describe the learned map and its settings."""
    maps = {
        "query": "a map of the queries",
        "both": "one map of queries and documents",
        "two": "a map of the queries and one of the documents",
    }
    said = f"learned {maps[adapter.side]} (side {adapter.side})"
    setting = "closed form"
    if not adapter.is_adapted_:
        said, setting = (
            f"nothing learned that helps (side {adapter.side})",
            "start kept",
        )
    elif adapter.alpha_ < float("inf"):
        setting = f"penalty {adapter.alpha_:g}, temperature {adapter.temperature_:.3g}"
    return f"{said}; metric {adapter.metric_}; {setting}, chosen on queries held out"
