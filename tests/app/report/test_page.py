from __future__ import annotations

import builtins
import json
import re
from base64 import b64decode
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from tests.app.report import comparisons
from tests.app.report.driving import read_by_a_shell
from vicinal.app.comparison import METHODS, Comparison, compare
from vicinal.app.comparison.verdict import verdict
from vicinal.app.report import page
from vicinal.app.report.fitted import before_and_after
from vicinal.app.tables.names import Note

ALL = [
    comparisons.wine,
    comparisons.digits,
    comparisons.diabetes,
    comparisons.irises,
    comparisons.hostile,
    comparisons.passengers,
]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Read(HTMLParser):
    """The elements of a page, its text, and whether each one is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"}.intersection(self.open):
            self.said.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())

    @property
    def ids(self) -> set[str | None]:
        return {attrs["id"] for _, attrs in self.tags if "id" in attrs}


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("comparison", ALL)
def test_pages_are_whole_and_fetch_nothing(comparison: Any) -> None:
    text = page(comparison(), max_points=60)
    read = Read(text)
    # The style, and what the script says to the browser: no more, no less.
    assert (read.count("style"), read.count("script"), read.count("img")) == (1, 2, 0)
    assert read.count("link") == read.count("iframe") == read.count("form") == 0
    for tag, attrs in read.tags:
        assert not {"src", "srcset", "style", "action"}.intersection(attrs), tag
        assert not any(name.startswith("on") for name in attrs), tag
        assert (attrs.get("href") or "#").startswith("#")
    urls = set(re.findall(r"https?://[^\s\"')]+", text))
    assert urls == {"http://www.w3.org/2000/svg"}
    assert {"scores", "maps", "again"} <= read.ids
    assert page(comparison(), max_points=60) == text


@pytest.mark.parametrize("comparison", ALL)
def test_figures_lie_inside(comparison: Any) -> None:
    read = Read(page(comparison(), max_points=60))
    for _, attrs in read.tags:
        for name in ("cx", "x", "x1", "x2", "width", "height"):
            value = attrs.get(name) or "0"
            assert 0 <= float(value.rstrip("%")) <= 640


def test_doubts_stand_below_the_verdict() -> None:
    comparison = comparisons.wine()
    leak = Note("column 'id' determines the target (--drop id)", kind="leak")
    text = page(comparison, notes=[leak, Note("sizes", kind="code")])
    assert f"{verdict(comparison)[1:]}. But: {leak}." in " ".join(
        Read(text).text.split()
    )
    assert "But: sizes" not in text


def test_what_the_page_says() -> None:
    comparison = comparisons.wine()
    column = SimpleNamespace(column="proline", kind="number", reason="all are numbers")
    text = page(
        comparison,
        title="Wines & more",
        decisions=[column],
        notes=["a remark", *comparison.notes],
        command="vicinal compare wine --report out.html",
    )
    read = Read(text)
    assert comparison.verdict()[1:] in read.text
    assert "effective neighbours or fewer" in read.text
    advised = str(comparison.recommended)
    score = comparison.score(advised)
    assert f"Use {advised}: held-out accuracy {score} %, against " in read.text
    for result in comparison.results:
        assert comparison.score(result.name) in read.text
        assert METHODS[result.name].summary in read.text
    for said in ("Wines & more", "proline number all are numbers", "A remark."):
        assert said in read.text
    assert "vicinal compare wine --report out.html" in read.text
    assert "random_state=0" in read.text
    for note in comparison.notes:
        assert read.text.count(note) == 1
    assert {"features", "confusion", "columns"} <= read.ids


def test_the_data_of_the_maps() -> None:
    data = data_of(page(comparisons.wine()))
    assert (data["n"], data["k"], data["kind"]) == (54, 8, "class")
    assert data["counts"] == [18, 21, 15]
    assert [method["name"] for method in data["methods"]] == comparisons.METHODS
    shown = (comparisons.METHODS[data["before"]], comparisons.METHODS[data["after"]])
    assert shown == before_and_after(comparisons.wine(), comparisons.METHODS)
    assert len(data["columns"]) == 13
    assert data_of(page(comparisons.diabetes()))["kind"] == "number"
    assert data_of(page(comparisons.irises()))["kind"] == "cluster"


def test_a_part_of_the_rows_is_said_to_be_one() -> None:
    text = page(comparisons.wine(), max_points=30)
    assert "learned from 124 training rows" in Read(text).text
    assert "54 of its 54 held-out rows" in Read(text).text
    assert "30 of them, a random part with all classes in it" in Read(text).text
    assert data_of(text)["n"] == 30
    assert data_of(text)["methods"][0]["cells"]
    whole = page(comparisons.wine())
    assert "a random part" not in Read(whole).text
    assert data_of(whole)["methods"][0]["cells"] is None
    assert "54 held-out rows, unseen in learning (held-out score" in Read(whole).text


def test_two_rows_cannot_show_three_classes() -> None:
    read = Read(page(comparisons.wine(), max_points=2))
    assert "2 of them, a random part, are points" in read.text


def test_pictures_of_pixels() -> None:
    text = page(comparisons.digits(), image_shape=(8, 8))
    data = data_of(text)
    assert data["pixels"]["height"] == 8
    assert "columns" not in data
    heats = [attrs for _, attrs in Read(text).tags if attrs.get("class") == "heat"]
    # Shares of three metrics, and two directions of the two that have any.
    assert len(heats) == 7


def test_ten_kilobytes_become_a_few_letters() -> None:
    text = page(comparisons.hostile())
    assert "x" * 300 not in text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert text.encode()


def test_nothing_to_show_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = comparisons.wine()

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("no <b>luck</b>")

    for name, method in METHODS.items():
        monkeypatch.setitem(METHODS, name, replace(method, factory=broken))
    read = Read(page(comparison))
    assert "nca is not shown: no <b>luck</b>" in read.text
    assert "features" not in read.ids


def test_one_split_one_method_no_scores() -> None:
    comparison = comparisons.wine()
    result = replace(comparison["lda"], scores=np.array([np.nan]), confusion=None)
    alone = Comparison((result,), replace(comparison.setting, n_splits=1))
    read = Read(page(alone, max_points=20))
    assert "1 random split" in read.text
    assert "confusion" not in read.ids
    # The plain rows are there as well, to see what was learned.
    assert "not compared" in read.text


def test_a_generator_makes_no_difference_between_pages() -> None:
    X, y = load_iris(return_X_y=True)
    options: Any = {"methods": "euclidean nca", "n_splits": 1, "references": False}
    result = compare(X, y, random_state=np.random.RandomState(3), **options)
    text = page(result)
    assert text == page(result)
    assert f"random_state={result.setting.random_state}," in text


def test_nothing_is_recommended_if_no_metric_helps() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), (np.arange(200) % 10 > 2).astype(int)
    result = compare(X, y, methods="euclidean lda", n_splits=6)
    text = page(result, command=["vicinal", "compare", "noise.csv"])
    assert '<p class="verdict">Do without neighbours: no metric predicts' in text
    assert "so do without neighbours" in text
    assert "recommended</span>" not in text
    assert "vicinal fit" not in text


def test_progress_is_reported() -> None:
    messages: list[Any] = []
    page(comparisons.hostile(), on_progress=lambda *one: messages.append(one))
    assert messages == [(1, 2, "euclidean"), (2, 2, "lda")]


def test_to_html_writes_the_page(tmp_path: Path) -> None:
    comparison = comparisons.hostile()
    text = comparison.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == text == page(comparison)


def test_without_jinja_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return found(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'vicinal\[cli\]'"):
        page(comparisons.wine())


def test_rows_have_the_numbers_that_they_are_given() -> None:
    numbers = 1000 + 3 * np.arange(178)
    text = page(comparisons.wine(), max_points=40, row_numbers=numbers)
    called = np.frombuffer(b64decode(data_of(text)["rows"]), "<u4")
    places = np.frombuffer(
        b64decode(data_of(page(comparisons.wine(), max_points=40))["rows"]), "<u4"
    )
    np.testing.assert_array_equal(called, numbers[places])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        page(comparisons.wine(), row_numbers=[1, 2])


def test_markup_in_every_option_is_only_text() -> None:
    harm = comparisons.HOSTILE
    text = page(
        comparisons.wine(),
        title=harm,
        decisions=[SimpleNamespace(column=harm, kind=harm, reason=harm)],
        notes=[harm],
        command=f"vicinal compare '{harm}'",
    )
    read = Read(text)
    assert (read.count("script"), read.count("img")) == (2, 0)
    # The title twice, three cells, a note, a command; without its control characters.
    assert read.text.count("<script>document.title='broken'</script>\"'&") == 7
    assert "\u202e" not in text


def test_rows_are_sorted_by_their_scores() -> None:
    comparison = comparisons.wine()
    text = Read(page(comparison, max_points=20)).text
    table = text[text.index("behind the best by") :]
    ranked = sorted(comparison.results, key=lambda one: -one.mean)
    places = [table.index(METHODS[one.name].summary) for one in ranked]
    assert places == sorted(places)


def passengers_page(**options: Any) -> str:
    frame = comparisons.passenger_table()
    return page(
        comparisons.passengers(),
        frame=frame,
        decisions=comparisons.PASSENGER_DECISIONS,
        **options,
    )


def test_values_and_names_of_a_table() -> None:
    data = data_of(passengers_page(target="survived"))
    assert data["names"] == [
        f"Passenger {i}" for i in comparisons.shown_rows(comparisons.passengers())
    ]
    names = [one["name"] for one in data["columns"]]
    # One for each column of the table, whatever features they became.
    assert sorted(names) == ["age", "port", "sex"]
    assert data["target"] == "survived"
    assert len(data_of(passengers_page(target="s" * 99))["target"]) == 60
    features = re.findall(r'<th scope="row">([^<]*)</th>', passengers_page())
    assert "port" in features
    assert "port=C" not in features


def test_commands_run_as_they_are() -> None:
    arguments = ["vicinal", "compare", "my data.csv", "--target", "it's $x\n&"]
    text = page(comparisons.wine(), max_points=20, command=arguments)
    shown = re.findall(r"<code>(.*?)</code>", text, re.DOTALL)
    fit, again, code = map(unescape, shown)
    assert read_by_a_shell(again) == arguments
    advised = comparisons.wine().recommended
    assert read_by_a_shell(fit) == [
        *["vicinal", "fit", *arguments[2:], "--method", advised],
        *["-o", f"{advised}.safetensors"],
    ]
    compile(code, "code", "exec")


def test_a_command_that_had_to_be_cut_is_not_offered_for_copying() -> None:
    long = ["vicinal", "compare", "x" * 5000]
    read = Read(page(comparisons.wine(), max_points=20, command=long))
    copies = [one for _, one in read.tags if "copy" in (one.get("class") or "").split()]
    # Only the Python code is whole.
    assert len(copies) == 1


def test_residuals_of_numbers_and_a_legend_to_be_read() -> None:
    comparison = comparisons.diabetes()
    y = np.exp(comparisons.labels(comparison) / 30)
    skewed = replace(comparison, setting=replace(comparison.setting, y=y, target=y))
    read = Read(page(skewed, target="price in $"))
    assert "residuals" in read.ids
    assert "price in $ colours by rank" in read.text
    assert "e+0" not in read.text.partition("Run it again")[0]
    assert "residuals" not in Read(page(comparisons.wine(), max_points=20)).ids


def test_columns_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match="2 columns for 13 features"):
        page(comparisons.wine(), columns=["a", "b"])


def test_a_page_of_fifty_thousand_rows_has_less_than_three_megabytes() -> None:
    rng = np.random.RandomState(0)
    n = 50_000
    X = rng.randn(n, 30)
    y = rng.randint(3, size=n)
    X[:, :3] += 2 * np.eye(3)[y]
    comparison = comparisons.wine()
    setting = replace(
        comparison.setting,
        X=X,
        y=y,
        target=y,
        rows=np.arange(n),
        n_given=n,
        tests=(),
        feature_names=[f"measurement {j}" for j in range(30)],
    )
    frame = {name: X[:, j] for j, name in enumerate(setting.feature_names)}
    frame["name"] = np.array([f"a rather long name of row {i:,}" for i in range(n)])
    called = SimpleNamespace(column="name", kind="identifier", reason="")
    large = replace(comparison, setting=setting, references=())
    text = page(large, frame=frame, decisions=[called])
    assert data_of(text)["n"] == 1500
    assert "15,000 of its 15,000 held-out rows" in Read(text).text
    assert len(text.encode()) < 3_000_000


def test_references_stand_apart_from_the_metrics() -> None:
    comparison = comparisons.wine()
    assert comparison.references
    read = Read(page(comparison, max_points=20))
    apart = read.text[read.text.index("For reference, without neighbours") :]
    for one in comparison.references:
        assert one.name in apart
        assert comparison.score(one.name) in apart


def test_a_table_that_was_compared_by_its_name(tmp_path: Path) -> None:
    table = comparisons.passenger_table()
    table["survived"] = comparisons.labels(comparisons.passengers()).tolist()
    frame = pl.DataFrame(table)
    frame.write_csv(tmp_path / "p.csv")
    result = compare(
        tmp_path / "p.csv",
        "survived",
        methods=["standardised", "lda"],
        n_splits=2,
    )
    data = data_of(result.to_html())
    assert data["names"] == [table["name"][i] for i in np.sort(result.setting.tests[0])]
    assert sorted(one["name"] for one in data["columns"]) == ["age", "port", "sex"]
    assert data["target"] == "survived"


def test_the_code_reads_the_same_file() -> None:
    ran = ["vicinal", "compare", "a.csv", "--target=y", "--drop", "x", "--decimal", ","]
    text = page(comparisons.wine(), max_points=20, command=ran)
    code = unescape(re.findall(r"<code>(.*?)</code>", text, re.DOTALL)[-1])
    compile(code, "code", "exec")
    assert "'a.csv',\n    'y',\n    overrides={'drop': ['x'], 'decimal': ','}" in code
