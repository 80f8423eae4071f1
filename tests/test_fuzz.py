"""A few damaged files of every format at each run, and every one that once broke a promise; scripts/fuzz runs more."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fuzzing.campaign import fuzz, replay
from fuzzing.minimise import IMAGE_FOLDER, keep, minimised
from fuzzing.oracle import Case
from fuzzing.seeds import targets

pytestmark = pytest.mark.slow

COUNT = 10
SEED = 1
BROAD = ("lmudata",)
"""What every run tries; the others wait for the release."""
REGRESSIONS = Path(__file__).parent / "data/regressions"


def told(faults: list) -> str:
    return "\n".join(f"{fault.which}: {fault.kind}\n  {fault.detail}" for fault in faults)


def _defer(names: Iterable[str]) -> list[Any]:
    """Have targets that are read as another one is wait for the release: each starts a process."""
    return [name if name in BROAD else pytest.param(name, marks=pytest.mark.release) for name in names]


@pytest.mark.parametrize("target", _defer(targets()))
def test_damaged_files_are_read_honestly(target: str) -> None:
    findings = fuzz(target, COUNT, SEED, shared=None)
    assert not findings.faults, f"{told(findings.distinct)}\nsee: scripts/fuzz {target} --keep"
    assert sum(findings.outcomes.values()) == COUNT


def stored(target: Path) -> list[Path]:
    """Each case is a folder with the input, and its images beside it where it needs them."""
    return [entry for case in sorted(target.iterdir()) for entry in case.iterdir() if entry.name != IMAGE_FOLDER]


@pytest.mark.release
@pytest.mark.parametrize("target", [path.name for path in sorted(REGRESSIONS.iterdir())])
def test_what_once_failed_is_read_honestly(target: str) -> None:
    files = stored(REGRESSIONS / target)
    findings = replay(target, files)
    assert not findings.faults, told(findings.faults)
    assert sum(findings.outcomes.values()) == len(files) > 0


@pytest.mark.release
@pytest.mark.parametrize("target", targets())
def test_many_damaged_files_are_read_honestly(target: str, request: pytest.FixtureRequest) -> None:
    shared = Path(__file__).resolve().parents[2] / "shared"
    findings = fuzz(target, 5000, SEED + 1, shared if shared.is_dir() else None)
    assert not findings.faults, told(findings.distinct)


def test_a_failing_input_is_made_small() -> None:
    assert minimised(b"a lot of text, then X, then more", lambda data: b"X" in data) == b"X"
    calls: list[bytes] = []
    minimised(bytes(1000), lambda data: calls.append(data) is not None, tries=7)
    assert len(calls) == 7


@pytest.mark.parametrize("needs_image", [False, True])
def test_what_is_kept_is_small_and_has_its_images_only_where_it_needs_them(needs_image: bool, tmp_path: Path) -> None:
    path = tmp_path / "case/input/rows.jsonl"
    (path.parent / IMAGE_FOLDER).mkdir(parents=True)
    (path.parent / IMAGE_FOLDER / "a.png").write_bytes(b"picture")
    path.write_bytes(b"before BAD behind")

    def kind_of(case: Case) -> str | None:
        show_images = (case.path.parent / IMAGE_FOLDER / "a.png").is_file()
        return "fault" if b"BAD" in case.path.read_bytes() and (show_images or not needs_image) else None

    folder = tmp_path / "kept"
    assert keep(Case(path, "vmcq", None, tmp_path / "case/work"), kind_of, folder) == "fault"
    assert (folder / "rows.jsonl").read_bytes() == b"BAD"
    assert (folder / IMAGE_FOLDER).is_dir() == needs_image


class TestTheSandbox:
    """The oracle must be able to fail: each of these inputs breaks a promise on purpose."""

    @pytest.fixture
    def broken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def run(body: str) -> str:
            plugin = tmp_path / "broken.py"
            plugin.write_text(PLUGIN.replace("BODY", body))
            file = tmp_path / "case/rows.jsonl"
            file.parent.mkdir(exist_ok=True)
            file.write_text('{"id": "1"}\n{"id": "2"}\n')
            return told(replay(f"{plugin}@FORMAT", [file]).faults)

        return run

    @pytest.mark.parametrize(
        ("body", "fault"),
        [
            ("raise KeyError('x')", "KeyError"),
            *(
                pytest.param(*case, marks=pytest.mark.release)
                for case in (
                    ("if row.fields['id'] == '2': return []", "accounted for"),
                    ("import os; os.abort()", "died with"),
                    ("import random; row.fields['id'] = str(random.random())", "a second run"),
                    ("eval(row.fields['id'])", "breach: compile"),
                    ("open('/etc/hostname')", "breach: open"),
                    ("open('/tmp/mmconvert-fuzz-breach', 'w')", "breach: open"),
                    ("import socket; socket.create_connection(('127.0.0.1', 9))", "breach: socket"),
                    ("import subprocess; subprocess.run(['true'])", "breach: subprocess"),
                    ("bytearray(4 << 30)", "memory ran out"),
                    ("raise RowError('x', 'id', '')", "a reject says nothing"),
                    ("raise UsageError('wrong')", "wrong usage"),
                )
            ),
        ],
    )
    def test_a_broken_promise_is_seen(self, broken, body: str, fault: str) -> None:
        assert fault in broken(body)

    @pytest.mark.release
    def test_an_honest_reader_passes(self, broken) -> None:
        assert broken("pass") == ""


PLUGIN = """
from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.format import Format
from mmconvert.core.record import Part, Record, Turn
from mmconvert.io import jsonl

def records(row, context):
    BODY
    key = row.fields["id"]
    return [Record(key, key, (Turn("user", (Part("text", "?"),)),), "vqa", context.source(row))]

FORMAT = Format("broken on purpose", (".jsonl",), jsonl.rows, records, lambda sample: None)
"""
