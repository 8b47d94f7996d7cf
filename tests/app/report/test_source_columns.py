import numpy as np

from vicinal.app.report.rows import find_source_columns

X = np.array([[1.0, 1, 0, 0, 7], [2, 0, 1, 1, 8], [3, 0, 0, 1, 9]])


def test_features_that_exclude_each_other_are_one_column() -> None:
    names = ["age", "port=C", "port=S", "a=b", "a=c"]
    found = find_source_columns(names, X)
    # a=c is no 0 or 1, so that a=b and a=c are columns of their own.
    assert found.names == ["age", "port", "a=b", "a=c"]
    assert found.of_features.tolist() == [0, 1, 1, 2, 3]
    assert found.values == [None, "C", "S", None, None]
    assert found.summed(np.array([1.0, 2, 3, 4, 5])).tolist() == [1, 5, 4, 5]
    assert found.features(1).tolist() == [1, 2]


def test_what_is_known_of_the_columns_counts() -> None:
    names = ["p", "p=q=C", "p=q=S", "p=C", "z"]
    found = find_source_columns(names, X, split=["p", "p=q"])
    assert found.names == ["p", "p=q", "z"]
    assert found.of_features.tolist() == [0, 1, 1, 0, 2]
    given = find_source_columns(list("vwxyz"), X, given=["v", "v", "v", "y", "z"])
    assert given.names == ["v", "y", "z"]
    assert given.values == [None] * 5


def test_one_value_alone_stays_a_feature() -> None:
    names = ["age", "port=C", "sex=f", "sex=m", "z"]
    # A row with both of sex's features: they are not one column.
    both = X.copy()
    both[1] = [2, 0, 1, 1, 8]
    assert find_source_columns(names, both).names == names


def test_vectors_and_what_is_missing_belong_to_their_columns() -> None:
    names = ["port=C", "port missing", "text[0]", "text[1]", "sex=male"]
    found = find_source_columns(names, X, split=["port", "text", "sex"])
    assert found.names == ["port", "text", "sex"]
    assert found.values == ["C", "missing", None, None, "male"]
