"""Plug-ins: found by file, by entry point, by the user's own file; imported only when they are named."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.plugins.format import Format
from mmconvert.plugins.registry import GROUPS, find_plugins, load, load_all


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another distribution, whose module registers two formats."""
    (tmp_path / "their_formats.py").write_text(
        '"""Theirs."""\nfrom mmconvert.formats.predictions import FORMAT as _F\nFORMAT = _F\n'
    )
    info = tmp_path / "their_kit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-kit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[mmconvert.formats]\ntheirs = their_formats:FORMAT\nvmcq = their_formats:FORMAT\n"
        "named = their_formats:_F\nbroken = their_formats:GONE\nabsent = no_such_module.formats:FORMAT\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    find_plugins.cache_clear()
    yield
    find_plugins.cache_clear()
    sys.modules.pop("their_formats", None)


def test_every_kind_has_its_folder_and_its_constant() -> None:
    for group in GROUPS:
        assert find_plugins(group) is not None


def test_every_plug_in_says_what_it_is_without_being_imported() -> None:
    code = (
        "import sys; from mmconvert.plugins.registry import find_plugins\n"
        "plugins = find_plugins('mmconvert.formats')\n"
        "assert all(plugin.read_summary() for plugin in plugins.values())\n"
        "assert not [name for name in sys.modules if name.startswith('mmconvert.formats.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_plug_in_is_the_constant_of_its_module() -> None:
    assert isinstance(load("mmconvert.formats", "vmcq"), Format)


def test_entry_points_of_other_distributions_count_and_ours_win(installed: None) -> None:
    found = find_plugins("mmconvert.formats")
    assert (found["theirs"].origin, found["vmcq"].origin) == ("their-kit", "built-in")
    assert found["theirs"].read_summary() == "Theirs."
    assert load("mmconvert.formats", "theirs") is load("mmconvert.formats", "predictions")


def test_an_entry_point_names_its_object_and_a_broken_one_stops_nobody_else(installed: None) -> None:
    assert isinstance(load("mmconvert.formats", "named"), Format)
    with pytest.raises(UsageError, match=r"broken: their_formats:GONE of their-kit cannot be loaded"):
        load("mmconvert.formats", "broken")
    assert "cannot be loaded" in find_plugins("mmconvert.formats")["absent"].read_summary()
    with pytest.warns(UserWarning, match=r"(broken|absent): .* of their-kit cannot be loaded"):
        known = dict(load_all("mmconvert.formats"))
    assert {"broken", "absent"}.isdisjoint(known)
    assert {"named", "vmcq"} <= {*known}


def test_a_file_that_was_edited_runs_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    found = []
    for word in ("red", "tan", "dun"):
        file.write_text(f"mine = {word!r}\n")
        found.append(load("mmconvert.formats", f"{file}@mine"))
    assert found == ["red", "tan", "dun"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_an_unknown_name_is_met_with_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"unknown format 'vmqc'. Did you mean vmcq\? List all: mmconvert list formats$"
    ):
        load("mmconvert.formats", "vmqc")


@pytest.mark.parametrize("folder", ["plain", "with@sign", "with blank"])
def test_an_object_of_a_users_file_is_named_by_its_path(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    file = tmp_path / folder / "mine.py"
    file.write_text("mine = object()\nother = 2\n")
    assert type(load("mmconvert.formats", f"{file}@mine")) is object
    assert load("mmconvert.formats", f"{file}@other") == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.py", r"mine.py: the object in the file is missing. Write mine.py@NAME."),
        ("mien.py@mine", r"mien.py: no such file or folder. Did you mean mine.py\?"),
        ("mine.py@mien", r"mine.py: has no 'mien'. Did you mean mine\?"),
        ("mine.py@", r"mine.py: has no ''."),
    ],
)
def test_a_mistake_in_the_path_is_named(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("mine = object()\n")
    with pytest.raises(UsageError, match=message):
        load("mmconvert.formats", name)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 0\n1 / x\n", r"mine.py: cannot be loaded: ZeroDivisionError: division by zero \(mine.py:2\). Fix it."),
        ("import nowhere.at.all\n", r"No module named 'nowhere' \(mine.py:1\). Install nowhere, or fix the import."),
        ("import beside\n", r"not searched for modules: export PYTHONPATH=/.*"),
        ("def f(:\n", r"cannot be loaded: SyntaxError: .*line 1"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named_with_the_line(code: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "beside.py").write_text("")
    with pytest.raises(UsageError, match=message) as refused:
        load("mmconvert.formats", f"{tmp_path}/mine.py@mine")
    assert refused.value.__cause__ is not None
    assert "_plugin_mine" not in sys.modules
