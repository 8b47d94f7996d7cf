from vicinal.app.tables.names import printable


def test_names_are_cut_at_forty_letters() -> None:
    assert printable("x" * 40) == "x" * 40
    assert printable("x" * 41) == "x" * 39 + "…"
    assert printable("x" * 41, limit=None) == "x" * 41
