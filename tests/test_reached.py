"""What stands in src is reached from a command, an API verb, a compatibility layer or a documented plug-in."""

from pathlib import Path

import pytest

from support.reached import Source

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.py")]

CALLED_BY_OTHERS = {
    ("mmconvert.storage.http", "_Timed.makefile"): "http.client calls it on its socket",
    ("mmconvert.storage.http", "_Timed.sendall"): "http.client calls it on its socket",
}
"""Methods of classes that stand in for somebody else's, without inheriting from it."""

PARTS_OF_KITS = {
    ("mmconvert.kits.evalscope.wire", "build_data_url_resolver"): (
        "no command sends a framework's messages without a Record"
    ),
}
"""What golden cases ask of a kit and no command needs; a command that does takes a line away here."""

ADAPTERS = [*(ROOT / "tests/goldens/kits").glob("*.py"), ROOT / "tests/goldens/product.py"]
"""What golden rules call."""


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(ROOT / "src", PAGES, {**CALLED_BY_OTHERS, **PARTS_OF_KITS})


def test_every_name_of_src_is_reached(source: Source) -> None:
    assert source.unreached() == [], "only tests call these: let a command call them, or remove them"


def test_every_exception_is_one() -> None:
    plain = Source(ROOT / "src", PAGES)
    assert all(plain.defines(*name) for name in (*CALLED_BY_OTHERS, *PARTS_OF_KITS)), "there is no such name any more"
    kept = [name for name in (*CALLED_BY_OTHERS, *PARTS_OF_KITS) if plain.reaches(*name)]
    assert kept == [], "these are reached by themselves: take them off the list"


def test_every_name_that_a_golden_rule_calls_is_reached(source: Source) -> None:
    called = {name for path in ADAPTERS for name in source.list_imports(path.read_text(encoding="utf-8"))}
    lost = sorted(name for name in called if not source.reaches(*name))
    assert lost == [], "golden rules call these, and no command does: let both call the same"
    assert len(called) > 50


def test_a_name_that_a_golden_rule_alone_calls_is_named(tmp_path: Path) -> None:
    source = _source(tmp_path, {CORE: "def lone():\n    pass\n"})
    assert source.list_imports("from mmconvert.core import lone\nfrom mmconvert import core\nimport json\n") == [
        ("mmconvert.core", "lone")
    ]
    assert not source.reaches("mmconvert.core", "lone")


CORE, API, CLI = "mmconvert/core.py", "mmconvert/api.py", "mmconvert/cli/__init__.py"


def _source(folder: Path, files: dict[str, str]) -> Source:
    empty = {}
    for program in ("mmconvert", "mmscore"):
        empty[f"{program}/__init__.py"] = ""
        empty[f"{program}/cli/__init__.py"] = "def main():\n    pass\n"
        empty[f"{program}/api.py"] = "def verb():\n    pass\n"
    for name, text in (empty | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n__all__ = ['verb']\n" if name.endswith("/api.py") else text)
    return Source(folder)


def test_a_function_that_only_itself_and_its_docstring_call_is_named(tmp_path: Path) -> None:
    files = {
        API: "from mmconvert.core import used\n\n\ndef verb():\n    return used()\n",
        CORE: 'LIMIT = 3\n\n\ndef used():\n    return LIMIT\n\n\ndef lone():\n    """>>> lone()"""\n    lone()\n',
    }
    assert _source(tmp_path, files).unreached() == ["mmconvert.core:lone"]


def test_a_method_is_reached_by_its_name_in_reached_code_alone(tmp_path: Path) -> None:
    methods = "".join(f"    def {name}(self):\n        {body}\n\n" for name, body in _METHODS.items())
    files = {
        API: "from mmconvert.core import A\n\n\ndef verb():\n    return A().three()\n",
        CORE: f"class A:\n{methods}\ndef lone(a):\n    a.one()\n",
    }
    assert _source(tmp_path, files).unreached() == [f"mmconvert.core:{name}" for name in ("A.one", "A.two", "lone")]


_METHODS = {"one": "self.two()", "two": "pass", "three": "self.four()", "four": "pass", "__len__": "pass"}


def test_a_module_whose_file_is_run_as_a_program_is_reached(tmp_path: Path) -> None:
    files = {
        CLI: "from mmconvert.io import watch\n\n\ndef main():\n    return watch.__file__\n",
        "mmconvert/io/watch.py": "def run():\n    pass\n\n\ndef stay():\n    pass\n\n\nrun()\n",
    }
    assert _source(tmp_path, files).unreached() == ["mmconvert.io.watch:stay"]


def test_plugins_commands_and_modules_of_computed_names_are_reached(tmp_path: Path) -> None:
    files = {
        CLI: "COMMANDS = {'go': 'mmconvert.cli.run:go'}\n\n\ndef main():\n    return COMMANDS\n",
        "mmconvert/cli/run.py": "def go():\n    pass\n\n\ndef stay():\n    pass\n",
        "mmconvert/formats/one.py": "from mmconvert.core import helper\n\nFORMAT = helper\n",
        CORE: "def helper(name):\n    return load(f'mmconvert.io.{name}').rows\n\n\ndef load(name):\n    pass\n",
        "mmconvert/io/tsv.py": "def rows():\n    pass\n\n\ndef columns():\n    pass\n",
    }
    assert _source(tmp_path, files).unreached() == ["mmconvert.cli.run:stay", "mmconvert.io.tsv:columns"]
