"""What a long run says of a decision, in tables of Markdown."""

from math import sqrt
from types import SimpleNamespace
from typing import Any

from benchmarks.speed.timing import table as markdown
from vicinal.app.comparison.verdict import recommend
from vicinal.app.methods.scores import SCORES


def report(found: dict[str, dict[str, Any]]) -> str:
    """Return what was found of each table, and how often decisions were right.

    Parameters
    ----------
    found : dict
        By the tables' names: ``asked`` and ``long``, as `Comparison.to_dict` gives.
    """
    done = {name: one for name, one in found.items() if "long" in one}
    cells = [row(name, one) for name, one in done.items()]
    heads = ["table", "rows", "recommended", "best, long run", "behind", "s"]
    heads += ["significantly better", "of them right"]
    right = [behind(one) <= _point(one) for one in done.values()]
    not_worse = [
        behind(one) <= _point(one) + 2 * error_of(one) for one in done.values()
    ]
    claims = [claim for one in done.values() for claim in judged_claims(one)]
    clear = [gain for gain, error in claims if abs(gain) > error]
    noisy = [ok for ok, one in zip(right, done.values(), strict=True) if one["noisy"]]
    real = [ok for ok, one in zip(right, done.values(), strict=True) if one["real"]]
    matched = [one for one in map(matched_reference, done.values()) if one is not None]
    counts = [
        ["recommended within a point of the best", *_share(right)],
        ["… of real tables", *_share(real)],
        ["… of noisy tables", *_share(noisy)],
        ["… or by no more than two standard errors", *_share(not_worse)],
        ["“significantly better” is right", *_share([gain > 0 for gain, _ in claims])],
        ["… if the long run is sure", *_share([gain > 0 for gain in clear])],
        ["table-nca “as good as” a reference is within a point", *_share(matched)],
    ]
    return "\n".join(
        [
            "\n" + markdown(heads, cells),
            "\n" + markdown(["", "of", "right", "share (%)"], counts),
        ]
    )


def row(name: str, one: dict[str, Any]) -> list[str]:
    """Return the cells of a table."""
    claims = judged_claims(one)
    long = one["long"]
    factor, unit = (1, " nats") if long["task"] == "none" else (100, "")
    return [
        name,
        f"{one['asked']['rows']:,}",
        recommended(one["asked"]),
        long["best"],
        f"{factor * behind(one):.1f} ± {factor * error_of(one):.1f}{unit}",
        f"{one['asked']['seconds']:.0f}",
        str(len(claims)),
        str(sum(gain > 0 for gain, _ in claims)),
    ]


def behind(one: dict[str, Any]) -> float:
    """Return by how much the recommended method is behind the long run's best.

    If nothing is recommended, it is the constant of the comparison that is behind.
    """
    name = recommended(one["asked"])
    if name == "nothing":
        constant = one["asked"]["references"][0]["mean"]
        best = max(method["mean"] for method in one["long"]["methods"])
        return float(best - constant)
    return _gain(one["long"], name)


def recommended(asked: dict[str, Any]) -> str:
    """Return what the rule makes of stored scores, also if it has changed since.

    "nothing" if no method was better than a constant.
    """
    score = SCORES[asked["score"]]
    means = {
        one["name"]: one["mean"] for one in (*asked["methods"], *asked["references"])
    }
    gain = means[asked["best"]] - means.get("majority class", 0.0)
    if asked["recommended"] is None and gain <= score.point:
        return "nothing"
    results: Any = [SimpleNamespace(**one) for one in asked["methods"]]
    best = next(one for one in results if one.name == asked["best"])
    nan = float("nan")
    differences: Any = [
        SimpleNamespace(
            **{**one, "error": nan if one["error"] is None else one["error"]}
        )
        for one in asked["differences"]
    ]
    return recommend(results, best, differences, score.negligible, score.point)


def error_of(one: dict[str, Any]) -> float:
    """Return the standard error of `behind`; 0 where it is the best."""
    name = recommended(one["asked"])
    found = [d["error"] for d in one["long"]["differences"] if d["other"] == name]
    return float(found[0] or 0.0) if found else 0.0


def judged_claims(one: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the long run's difference and its error for each “significantly better”.

    The error is the corrected one of Nadeau and Bengio, over the long run's splits.
    """
    asked, long = one["asked"], one["long"]
    scores = {method["name"]: method["scores"] for method in long["methods"]}
    best = asked["best"]
    others = [d["other"] for d in asked["differences"] if d["significant"]]
    return [
        _paired(scores[best], scores[other], long["test_size"])
        for other in others
        if best in scores and other in scores
    ]


def matched_reference(one: dict[str, Any]) -> bool | None:
    """Return whether table-nca is within a point of the reference it is said to match.

    In the long run, on the splits of the references; None if nothing is said.
    """
    said = one["asked"]["verdict"].startswith("Use table-nca: ")
    if not said or recommended(one["asked"]) != "table-nca":
        return None
    rival = max(one["long"]["references"], key=lambda model: model["mean"])
    methods = {method["name"]: method["scores"] for method in one["long"]["methods"]}
    own = methods["table-nca"][: len(rival["scores"])]
    return bool(sum(own) / len(own) >= rival["mean"] - _point(one))


def _paired(a: list[float], b: list[float], test_size: float) -> tuple[float, float]:
    gains = [x - y for x, y in zip(a, b, strict=True)]
    n, mean = len(gains), sum(gains) / len(gains)
    variance = sum((gain - mean) ** 2 for gain in gains) / max(n - 1, 1)
    return mean, sqrt((1 / n + test_size / (1 - test_size)) * variance)


def _gain(long: dict[str, Any], name: str) -> float:
    means = {method["name"]: method["mean"] for method in long["methods"]}
    return float(max(means.values()) - means[name])


def _point(one: dict[str, Any]) -> float:
    """Return a hundredth of accuracy or R², a tenth of a nat."""
    return SCORES[one["long"]["score"]].point


def _share(right: list[bool]) -> list[str]:
    n = len(right)
    if not n:
        return ["0", "0", "-"]
    share = sum(right) / n
    # Of n counts that are all right, the error is not nothing: as if one were wrong.
    error = sqrt(max(share * (1 - share), (1 / n) * (1 - 1 / n)) / n)
    return [str(n), str(sum(right)), f"{100 * share:.0f} ± {100 * error:.0f}"]
