"""The wheel holds all of both packages, and what the pages say is so with it alone, in an empty folder."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from support import how_tos
from support.documents import follow, terminal
from support.wheels import ROOT, build_wheel, install_wheel

pytestmark = pytest.mark.release

PAGES = ("README.md", "docs/tutorial.md", "docs/python.md", "docs/bad-input.md", "docs/faq.md", "docs/install.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a terminal that has the installed wheel, and nothing of the checkout."""
    return install_wheel(wheel, tmp_path_factory.mktemp("environment") / "venv")


def test_the_wheel_holds_the_files_of_both_packages_and_no_others(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "src", "schemas"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no checkout of Git")
    tracked = {
        line.removeprefix("src/").replace("schemas/", "mmconvert/schemas/") for line in listed.stdout.splitlines()
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == tracked


def test_the_programs_are_those_of_the_wheel(installed: dict[str, str], tmp_path: Path) -> None:
    code = "import mmconvert, mmscore, sys; print(mmconvert.__file__, mmscore.__file__, *sys.path, sep='\\n')"
    environment = terminal(tmp_path) | installed
    shown = subprocess.run(["python", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    places = shown.stdout.splitlines()
    assert all(place.startswith(f"{installed['VIRTUAL_ENV']}/lib/") for place in places[:2]), places
    assert str(ROOT / "src") not in places
    for program in ("mmconvert", "mmscore"):
        found = subprocess.run(["which", program], env=environment, capture_output=True, text=True).stdout
        assert found.strip() == f"{installed['VIRTUAL_ENV']}/bin/{program}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed_with_the_wheel(page: str, installed: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert follow(ROOT / page, folder, installed)


@pytest.mark.parametrize("page", how_tos.PAGES)
def test_a_how_to_can_be_followed_with_the_wheel(page: str, hub, installed: dict[str, str], tmp_path: Path) -> None:
    how_tos.follow_how_to(page, hub, tmp_path, installed)
