"""Records of results, which lie beside them."""

import pytest

from matcheval.io.records import NAME, append_record, read_records


@pytest.mark.parametrize("left", [1, 30, 60])
def test_what_is_recorded_after_a_part_of_a_line(tmp_path, left):
    """As a full disk or a kill leaves it."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    append_record(tmp_path, "a", "of a")
    whole = (tmp_path / NAME).read_text()
    append_record(tmp_path, "b", "of b")
    (tmp_path / NAME).write_text((tmp_path / NAME).read_text()[: len(whole) + left])
    recorded = append_record(tmp_path, "c", "of c")
    found = read_records(tmp_path)
    assert set(found) == {"a", "c"}
    assert found["c"] == recorded
