import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.app.report.text import readable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (25580.0, "25,580"),
        (388060.4, "388,060"),
        (1500.0, "1,500"),
        (12.3456, "12.35"),
        (0.9999999, "1"),
        (-0.00001234, "-1.234e-05"),
        (999_999_999_999.0, "999,999,999,999"),
        (1e12, "1e+12"),
        (0.0001, "0.0001"),
        (float("nan"), "missing"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_as_people_read_them(value: float, text: str) -> None:
    assert readable(value) == text


@given(st.floats(-1e300, 1e300))
def test_four_digits_are_kept(value: float) -> None:
    read = float(readable(value).replace(",", ""))
    assert math.isclose(read, value, rel_tol=6e-4, abs_tol=1e-300)
