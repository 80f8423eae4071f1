"""The wheel holds both packages, the sdist what they are built from; pages hold with the wheel in an empty folder."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from mmconvert._version import __version__
from support import how_tos
from support.documents import follow, terminal
from support.wheels import ROOT, build_sdist, build_wheel, install_wheel

pytestmark = pytest.mark.release

PAGES = ("README.md", "docs/tutorial.md", "docs/python.md", "docs/bad-input.md", "docs/faq.md", "docs/install.md")

SDIST_FOLDERS = {"src", "schemas", "tests", "scripts", "docs", "examples"}
SDIST_FILES = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "NOTICE", "conftest.py", "pyproject.toml"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a terminal that has the installed wheel, and nothing of the checkout."""
    return install_wheel(wheel, tmp_path_factory.mktemp("environment") / "venv")


def list_tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no checkout of Git")
    return {*listed.stdout.splitlines()}


def test_the_wheel_holds_the_files_of_both_packages_and_no_others(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"mmconvert", "mmscore", f"mmconvert-{__version__}.dist-info"}
    tracked = {
        name.removeprefix("src/").replace("schemas/", "mmconvert/schemas/") for name in list_tracked("src", "schemas")
    }
    assert {name for name in names if ".dist-info/" not in name} == tracked


def test_the_sdist_holds_what_a_distributor_builds_and_tests_from_and_no_others(tmp_path: Path) -> None:
    with tarfile.open(build_sdist(tmp_path)) as packed:
        names = {member.name.partition("/")[2] for member in packed if not member.isdir()}
    assert {name.partition("/")[0] for name in names} == SDIST_FOLDERS | SDIST_FILES | {"PKG-INFO", ".gitignore"}
    assert names - {"PKG-INFO"} == list_tracked(*SDIST_FOLDERS, *SDIST_FILES, ".gitignore")


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
