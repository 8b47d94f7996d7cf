"""When a solver has climbed enough, where SciPy does not decide it."""


def relative_change(before: float, after: float) -> float:
    """Return how much an iteration changed the objective, relative to it.

    |f_{k+1} − f_k| / max(|f_k|, |f_{k+1}|, 1), which SciPy's L-BFGS-B stops on, too.
    """
    return abs(after - before) / max(abs(before), abs(after), 1.0)
