"""The photographs of frost: downloaded, found in their archive, and used."""

import io
import zipfile

import numpy as np
import pytest

from download import main
from image_sets import encode, sources_yaml
from matcheval.datasets.corruptions.applying import corrupt
from matcheval.datasets.corruptions.names import ARCHIVE
from matcheval.datasets.corruptions.weather import load_textures
from matcheval.downloads import sources
from matcheval.errors import InputError
from servers import serving

NAMES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg", "frost6.jpg")
FILES = {
    name: encode(np.full((200, 200 + i, 3), 40 * i, np.uint8), name[-3:].replace("jpg", "JPEG"))
    for i, name in enumerate(NAMES)
}
IMAGES = np.zeros((30, 32, 32, 3), np.uint8)


def archive(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as wheel:
        wheel.writestr("imagecorruptions/__init__.py", "raise SystemExit")
        for name, content in files.items():
            wheel.writestr(f"imagecorruptions/frost/{name}", content)
    return data.getvalue()


def test_the_archive_is_downloaded_and_its_photographs_are_used(tmp_path, monkeypatch):
    published = {ARCHIVE: archive(FILES)}
    (tmp_path / "sources.yaml").write_text(sources_yaml(published))
    known = sources.published_files(tmp_path / "sources.yaml")
    monkeypatch.setattr(sources, "published_files", lambda: known)
    path = tmp_path / ARCHIVE
    with serving() as server:
        server.files = published
        server.failures[ARCHIVE] = [("cut", 500)]
        main(["file", "--name", ARCHIVE, "--output", str(path), "--mirror", server.address])
        assert [request.path for request in server.requests] == [ARCHIVE] * 2
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    used = [corrupt(IMAGES, "frost", 1, range(30), textures=place) for place in (path, tmp_path)]
    assert np.array_equal(*used)
    # Severity 1 at 32 pixels adds a fifth of a photograph; the sixth is never drawn.
    assert set(np.unique(used[0])) == {int(0.2 * 40 * i) for i in range(5)}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (archive({name: FILES[name] for name in NAMES[:4]}), "no frost5.jpg for 'frost'. Name the"),
        (
            archive(FILES | {"frost2.png": b"text"}),
            r"a.whl.*frost2.png: not a readable image .cannot ident",
        ),
        (b"PK", "not a readable archive .File is not a zip file.. Name the folder"),
    ],
)
def test_archives_without_the_photographs_are_refused(tmp_path, content, told):
    (tmp_path / "a.whl").write_bytes(content)
    with pytest.raises(InputError, match=told):
        load_textures(tmp_path / "a.whl")
