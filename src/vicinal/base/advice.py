"""What to do about a mistake that scikit-learn's validation has found."""

from typing import Any

from sklearn.base import is_regressor

__all__ = ["advised"]

_NOT_NUMBERS = (
    "could not convert string to float",
    "could not be promoted",
    "float() argument must be a string or a real number",
)


def advised(estimator: Any, error: Exception) -> Exception | None:
    """Return an error that also says what to do, where more can be said.

    Parameters
    ----------
    estimator : object
        Whose fit this is.
    error : ValueError or TypeError
        What scikit-learn says of X and y; it stays the beginning of the message.

    Returns
    -------
    Exception or None
        Of the same kind; None where the error says it all.
    """
    text = str(error).strip()
    if text.startswith("Unknown label type: continuous"):
        advice = (
            f"{type(estimator).__name__} learns from classes; for numbers to predict, "
            "use vicinal.NCARegressor, or round them to classes."
        )
    elif any(part in text for part in _NOT_NUMBERS):
        advice = (
            "X must hold numbers: encode text and dates first, for example with "
            "sklearn.preprocessing.OneHotEncoder, or give the whole table to "
            "vicinal.compare or vicinal.app.tables.prepared.prepare, which do it."
        )
        if is_regressor(estimator):
            advice += " So must y; classes are for vicinal.NCA and NCAClassifier."
    else:
        return None
    first = text.partition("The full list of DTypes")[0].strip()
    kind = ValueError if isinstance(error, ValueError) else TypeError
    return kind(f"{first.rstrip('.')}. {advice}")
