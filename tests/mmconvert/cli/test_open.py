"""`mmconvert open`: a temporary page, its path on standard output, and a browser that is asked to show it."""

import tempfile
import webbrowser
from pathlib import Path

import pytest

from mmconvert.cli import program

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that the browser is asked for; temporary files go to the test's folder."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(asked.append(url)) or True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return asked


def test_the_page_is_written_named_and_opened(shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["open", str(DEMO / "vmcq/colours.tsv"), "--quiet"], standalone_mode=False) == 0
    page = Path(capsys.readouterr().out.strip())
    assert shown == [page.as_uri()]
    assert "<title>colours.tsv</title>" in page.read_text(encoding="utf-8")


def test_no_browser_prints_the_path_alone(shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["open", str(DEMO / "vmcq/colours.tsv"), "--quiet", "--no-browser"]
    assert program.main(words, standalone_mode=False) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    assert shown == []


def test_a_machine_without_a_browser_is_told_the_address(
    shown: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert program.main(["open", str(DEMO / "vmcq/colours.tsv"), "--quiet"], standalone_mode=False) == 0
    assert "Open the page by hand: file://" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_leaves_nothing(shown: list[str], tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file"):
        program.main(["open", "none.tsv", "--quiet"], standalone_mode=False)
    assert (list(tmp_path.iterdir()), shown) == ([], [])
