import json
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.storage import modelscope
from mmconvert.storage.modelscope import RepoFile, find_endpoint, find_folder, list_files


@pytest.mark.parametrize(
    ("named", "endpoint"),
    [
        (None, "https://modelscope.cn"),
        ("", "https://modelscope.cn"),
        (" / ", "https://modelscope.cn"),
        ("https://mirror.example/ ", "https://mirror.example"),
        ("mirror.example:8080/", "https://mirror.example:8080"),
        ("http://mirror.example//", "http://mirror.example"),
        ("http://mirror.example/X", "http://mirror.example/X"),
    ],
)
def test_the_endpoint_is_modelscope_or_the_mirror_that_is_named(named, endpoint, monkeypatch):
    monkeypatch.delenv("MODELSCOPE_ENDPOINT", raising=False)
    if named is not None:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", named)
    assert find_endpoint() == endpoint


@pytest.mark.parametrize("named", [None, "~/kept", "/kept"])
def test_files_are_kept_where_its_client_keeps_them(named, monkeypatch):
    monkeypatch.delenv("MODELSCOPE_CACHE", raising=False)
    if named is not None:
        monkeypatch.setenv("MODELSCOPE_CACHE", named)
    root = Path(named or "~/.cache/modelscope/hub").expanduser()
    assert find_folder("owner/set.v1.0") == root / "datasets/owner/set___v1___0"
    assert find_folder("owner/set") == root / "datasets/owner/set"


def test_a_page_of_the_list_may_be_as_large_as_the_limit_and_no_larger(tmp_path, monkeypatch):
    page = json.dumps({"Data": {"Files": [{"Path": "a.tsv", "Size": 3}]}})

    def download(url: str, place: Path) -> Path:
        place.write_text(page)
        return place

    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    monkeypatch.setattr(modelscope, "_LARGEST_PAGE", len(page))
    assert list_files("owner/set", download) == list_files("owner/set", None) == [RepoFile("a.tsv", 3)]
    page += " "
    with pytest.raises(Error, match="a page of it is too large"):
        list_files("owner/set", download)
