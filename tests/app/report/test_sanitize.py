import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.app.report.text import as_json, packed, short

# Letters of all widths, markup, control characters, turns of direction, surrogates.
ANY_TEXT = st.text(st.sampled_from("aé漢🙂<>&\"'\n\t\x00\x1b\u2028\u202e\u2066\ud800"))


@given(ANY_TEXT, st.integers(8, 60))
def test_short_texts_can_be_written(text: str, limit: int) -> None:
    made = short(text, limit)
    assert len(made) <= limit
    assert made.encode().decode() == made
    assert not {"\x00", "\x1b", "\n", "\u202e", "\u2066"}.intersection(made)


def test_what_is_short_and_harmless_stays() -> None:
    for text in ("Größe <in> cm", "می\u200cخواهم", "👩\u200d🔬"):
        assert short(text) == text


def test_a_cell_of_ten_million_letters_is_cut_at_once() -> None:
    assert short("a" * 5_000_000 + "z" * 5_000_000, 9) == "aaaa…zzzz"


@given(st.recursive(ANY_TEXT | st.integers() | st.none(), st.lists))
def test_json_comes_back_and_holds_no_markup(value: object) -> None:
    text = as_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&").intersection(text)


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        as_json([float("nan")])


def test_packed_numbers_are_little_endian() -> None:
    assert packed(np.array([1, 256]), "u2") == "AQAAAQ=="
