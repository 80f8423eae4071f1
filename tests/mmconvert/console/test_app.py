"""What both programs owe at the terminal: exit codes, option files, plain errors, bugs with a traceback."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mmconvert.console.app import OPTIONS_FILE, LazyGroup, looks_like_path, run
from mmconvert.core.errors import Error, UsageError

RAISED = {
    "fine": None,
    "refused": Error("a.tsv:3 answer: no letter (got 'E'). Correct it."),
    "usage": UsageError("x: no such file."),
    "disk": OSError(28, "No space left on device"),
    "permission": PermissionError(13, "Permission denied", "/some/file"),
    "long": OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300),
    "interrupt": KeyboardInterrupt(),
    "bug": ZeroDivisionError("division by zero"),
    "odd": OSError("no number"),
    "end": EOFError("end of input"),
}


@click.command()
@click.argument("what", default="fine")
@click.option("--limit", type=int)
@click.option("--image-root", "roots", multiple=True)
@click.option("--split")
@click.option("--overwrite", is_flag=True)
@OPTIONS_FILE
def work(what: str, limit: int | None, roots: tuple[str, ...], split: str | None, overwrite: bool) -> int:
    """Do what is asked."""
    if RAISED[what] is not None:
        raise RAISED[what]
    click.echo(f"{limit} {roots} {split} {overwrite}")
    return 3 if overwrite else 0


COMMANDS = {"work": (f"{__name__}:work", "Work."), "wait": (f"{__name__}:work", "Wait.")}
sys.modules.setdefault(__name__, sys.modules[work.callback.__module__])
program = LazyGroup("program", commands_in=COMMANDS, default="work")


def outcome(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        run(work, list(argv), program="prog")
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("fine", 0, ""),
        ("refused", 1, "prog: a.tsv:3 answer: no letter (got 'E'). Correct it.\n"),
        ("usage", 2, "prog: x: no such file.\n"),
        ("disk", 1, "prog: No space left on device.\n"),
        ("permission", 1, "prog: /some/file: Permission denied.\n"),
        ("long", 2, f"prog: '{'x' * 79}...: no file can have so long a name. Give the path of a file.\n"),
        ("interrupt", 130, "\nprog: interrupted. Run the same command again to continue.\n"),
    ],
)
def test_every_end_has_its_exit_code_and_one_message(what: str, code: int, message: str, capsys) -> None:
    got, _, err = outcome(capsys, what)
    assert (got, err) == (code, message)


@pytest.mark.parametrize(("what", "kind"), [("bug", ZeroDivisionError), ("odd", OSError), ("end", click.Abort)])
def test_a_bug_keeps_its_traceback(what: str, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        run(work, [what], program="prog")


def test_a_command_decides_its_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, "--overwrite")[0] == 3


def test_an_unknown_option_is_met_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = outcome(capsys, "--limti", "3")
    assert code == 2
    assert "--limit" in err


def test_an_argument_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = outcome(capsys, "bad\udcffname")
    assert (code, err) == (2, "prog: an argument is not UTF-8 text (got 'bad\\udcffname'). Rename the file.\n")


def with_options(tmp_path: Path, text: str) -> str:
    (tmp_path / "run.yaml").write_text(text)
    return str(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("", "None () None False\n"),
        ("limit: 5", "5 () None False\n"),
        ("image-root: [a, b]", "None ('a', 'b') None False\n"),
        ("image_root: photos", "None ('photos',) None False\n"),
        ("split: dev\nlimit:", "None () dev False\n"),
    ],
)
def test_options_come_from_a_file(text: str, out: str, tmp_path: Path, capsys) -> None:
    assert outcome(capsys, "--options", with_options(tmp_path, text))[:2] == (0, out)


def test_flags_win_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = with_options(tmp_path, "limit: 5\nsplit: dev\noverwrite: true\nimage-root: a")
    code, out, _ = outcome(capsys, "--limit", "7", "--options", file, "--image-root", "b")
    assert (code, out) == (3, "7 ('b',) dev True\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limt: 5", "run.yaml: work has no option 'limt'. Did you mean limit?"),
        ("[1, 2]", "run.yaml: expected option names and values."),
        ("a: [", "run.yaml: cannot be read as YAML"),
        ("split: [a, b]", "run.yaml split: expected one plain value (got ['a', 'b'])"),
        ("image-root: {a: b}", "run.yaml image-root: expected a list of plain values"),
        ("split: no", "run.yaml split: YAML reads this as true or false (got False). Put it in quotes."),
        ("limit: five", "'five' is not a valid integer"),
    ],
)
def test_a_file_with_a_mistake_names_it(text: str, message: str, tmp_path: Path, capsys) -> None:
    code, out, err = outcome(capsys, "--options", with_options(tmp_path, text))
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_missing_options_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = outcome(capsys, "--options", str(tmp_path / "none.yaml"))
    assert code == 2
    assert "none.yaml" in err


def test_a_mistyped_command_is_met_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(program, ["wrok"], program="prog")
    assert ended.value.code == 2
    assert "No such command 'wrok'. Did you mean work?" in capsys.readouterr().err


def test_what_looks_like_a_file_is_given_to_the_default_command() -> None:
    assert all(map(looks_like_path, ["-", "a.parquet", "./predict", "runs/a", os.fspath(Path(__file__))]))
    assert not looks_like_path("scroe")


CHILD = """
import sys, time, click
from mmconvert.console.app import run
@click.command()
def work():
    click.echo("\\u00e9", nl=False)
    sys.stdout.flush()
    time.sleep(20)
run(work, [], program="prog")
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_process_ends_with_130_and_no_traceback(sent: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(1)
        child.send_signal(sent)
        _, err = child.communicate(timeout=20)
    assert (child.returncode, err.strip()) == (130, b"prog: interrupted. Run the same command again to continue.")


@pytest.mark.parametrize(
    ("redirect", "code", "message"),
    [("> /dev/full", 1, "No space left on device"), (">&-", 0, ""), ("| head -c 1", 0, "")],
)
@pytest.mark.slow
def test_a_broken_output_is_no_bug(redirect: str, code: int, message: str) -> None:
    command = f"'{sys.executable}' -m mmconvert list {redirect}"
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert message in ended.stderr


def test_a_terminal_without_the_letter_gets_its_escape() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    code = CHILD.replace("time.sleep(20)", "").replace("\\u00e9", "\\u4e2d\\u00e9")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, b"\\u4e2d\xe9")
