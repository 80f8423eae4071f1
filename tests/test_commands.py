"""What every command of both programs owes: help with an example, completion, the nearest to a wrong word."""

import importlib
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from mmconvert.plugins.registry import find_plugins
from support.terminal import one_message, shown

PROGRAMS = ("mmconvert", "mmscore")


def group(program: str) -> click.Group:
    return importlib.import_module(f"{program}.cli").program


COMMANDS = [(program, name) for program in PROGRAMS for name in group(program).commands_in]


def examples(program: str, name: str) -> list[str]:
    _, _, told = shown(program, name, "--help").out.partition("Example:\n")
    return [line.strip() for line in told.splitlines() if line]


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_help_ends_with_an_example_that_can_be_typed(program: str, name: str) -> None:
    lines = examples(program, name)
    assert lines, f"{program} {name} --help shows no example"
    for line in lines:
        first, *words = shlex.split(line.partition(" >")[0])
        assert first == program
        root = group(program)
        context = click.Context(root, info_name=program, **root.context_settings)
        _, command, rest = root.resolve_command(context, words)
        assert command.name in (name, f"{name}-plugins", name.replace("_", "-")), line
        given, _, _ = command.make_parser(click.Context(command, context)).parse_args(list(rest))
        for param in command.params:
            assert not param.required or given.get(param.name) not in (None, click.core.UNSET, ()), (
                f"{line}: lacks {param.name}"
            )


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_names_every_option_in_words(program: str) -> None:
    for name in group(program).commands_in:
        command = group(program).get_command(click.Context(group(program)), name)
        assert command.help, f"{program} {name} says nothing of itself"


# Completion


LINES = {
    "mmconvert co": {"convert", "completion"},
    "mmconvert list form": {"formats"},
    "mmconvert convert a.tsv --form": {"--format"},
    "mmconvert convert a.tsv --format lmu": {"lmudata"},
    "mmconvert convert a.tsv --view ": {"eval", "sft", "prompt-completion"},
    "mmscore p.parquet --recipe mmmu_": {"mmmu_val", "mmmu_pro"},
    "mmscore judge p.parquet --judge evalscope_": {"evalscope_numeric"},
    "mmscore predict d --backend tr": {"transformers"},
    "mmconvert convert ": {"FILES"},
    "mmscore score p.parquet -o ": {"FILES"},
    "mmscore ./p": {"FILES"},
    "mmconvert convrt a": set(),
    "mmconvert convert a.tsv --dataset ": set(),
}


def installed(folder: Path) -> dict[str, str]:
    """Put both programs on the path of a shell."""
    for program in PROGRAMS:
        (folder / program).write_text(f'#!/bin/sh\nexec {sys.executable} -m {program} "$@"\n')
        (folder / program).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ "}


@pytest.mark.release
def test_bash_completes_commands_options_names_and_files(tmp_path: Path) -> None:
    script = [
        'eval "$(mmconvert completion bash)" "$(mmscore completion bash)"',
        "compopt() { COMPREPLY+=(FILES); }",  # which bash has only where it is typed at
    ]
    for line in LINES:
        program, *_ = words = line.split(" ")
        script += [
            f"COMPREPLY=() COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}",
            f"_{program}_completion {program}",
            'echo "${COMPREPLY[*]}"',
        ]
    ended = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script)],
        env=installed(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.stderr == ""
    for (line, words), found in zip(LINES.items(), ended.stdout.splitlines(), strict=True):
        assert words <= set(found.split()) if words else not found, f"{line}: {found}"


@pytest.mark.slow
def test_a_real_bash_completes_on_the_tab_key(tmp_path: Path) -> None:
    environment = installed(tmp_path)
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    try:
        os.write(terminal, b'eval "$(mmscore completion bash)"; echo re""ady\n')
        assert "ready" in seen_until(terminal, "\nready")
        os.write(terminal, b"mmscore p.parquet --recipe mmmu_v\t")
        assert "mmmu_val " in seen_until(terminal, "mmmu_val ")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def seen_until(terminal: int, word: str) -> str:
    seen, end = "", time.monotonic() + 30
    while word not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            seen += os.read(terminal, 4096).decode()
    return seen


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_shell_gets_its_script(program: str, shell: str) -> None:
    ended = shown(program, "completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"_{program.upper()}_COMPLETE={shell}_complete" in ended.out


# Did you mean


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions, answers, and a dataset with two splits and two configs."""
    folder = tmp_path_factory.mktemp("scene")
    (folder / "rows.jsonl").write_text('{"id": "1", "question": "q", "options": ["a", "b"], "answer": "A"}\n')
    (folder / "answers.tsv").write_text("id\tprediction\tanswer\tcategory\n1\ta\ta\tx\n")
    for more in (["--split", "train"], ["--append"], ["--append", "--config-name", "hard"]):
        assert shown("mmconvert", "convert", folder / "rows.jsonl", "-o", folder / "data", *more).code == 0
    return folder


@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        ("mmconvert convret rows.jsonl", "convert"),
        ("mmscore scroe answers.tsv", "score"),
        ("mmconvert convert rows.jsonl -o x --fromat vmcq", "--format"),
        ("mmscore answers.tsv --recpie own_choice", "--recipe"),
        ("mmconvert convert rows.jsonl -o x --format vmqc", "vmcq"),
        ("mmconvert export data -o x.tsv --config-name hard --to lmudat", "lmudata"),
        ("mmconvert convert rows.jsonl -o x --prompt vlmevalkt", "vlmevalkit"),
        ("mmconvert convert rows.jsonl -o x --prompt evalscope:tempalte=a", "template"),
        ("mmconvert convert rows.jsonl -o x --transform circluar", "circular"),
        ("mmconvert convert rows.jsonl -o x --transform duplicate:tmes=3", "times"),
        ("mmconvert convert rows.jsonl -o x --read-as vlmevalkt", "vlmevalkit"),
        ("mmconvert convert rows.jsonl -o x --engine lcoal", "local"),
        ("mmconvert convert rows.jsonl -o x --view evla", "eval"),
        ("mmconvert convert rows.jsonl -o x --task multiple_chioce", "multiple_choice"),
        ("mmconvert convert rows.jsonl -o x --image-root dta", "data"),
        ("mmconvert convert row.jsonl -o x", "rows.jsonl"),
        ("mmconvert check row.jsonl", "rows.jsonl"),
        ("mmconvert verify dat", "data"),
        ("mmconvert push dat USER/REPO", "data"),
        ("mmconvert export dat -o x.tsv --to lmudata", "data"),
        ("mmconvert export data -o x.tsv --to lmudata --config-name hrad", "hard"),
        ("mmconvert list fromats", "formats"),
        ("mmconvert list formats lmduata", "lmudata"),
        ("mmconvert check-plugin fromat x", "format"),
        ("mmconvert completion bsh", "bash"),
        ("mmscore answer.tsv", "answers.tsv"),
        ("mmscore answers.tsv --recipe own_chioce", "own_choice"),
        ("mmscore answers.tsv --format predictoins", "predictions"),
        ("mmscore answers.tsv --recipe own_short_answer --by categroy", "category"),
        ("mmscore answers.tsv --average macor", "macro"),
        ("mmscore answers.tsv --recipe own_short_answer --judge onw", "own"),
        ("mmscore predict data/hard -o p.parquet --model answer --backend ehco", "echo"),
        ("mmscore predict data/hard -o p.parquet --model anwser --backend echo", "answer"),
        ("mmscore predict data/hard -o p.parquet --model answer --backend echo --method liklihood", "likelihood"),
        ("mmscore predict data/hard -o p.parquet --model answer --backend echo --protocol reform_evl", "reform_eval"),
        ("mmscore compare answers.tsv answer.tsv", "answers.tsv"),
        ("mmscore explain answer.tsv --recipe own_choice", "answers.tsv"),
        ("mmscore submit answers.tsv --to mmbnch -o x.xlsx", "mmbench"),
        ("mmscore run answer.tsv", "answers.tsv"),
        ("mmscore verify dta", "data"),
        ("mmscore bundle answer.tsv -o b", "answers.tsv"),
        ("mmscore rank answer.tsv", "answers.tsv"),
        ("mmconvert preview row.jsonl -o x.html", "rows.jsonl"),
        ("mmconvert inspect row.jsonl", "rows.jsonl"),
    ],
)
def test_a_wrong_word_meets_the_nearest(
    command: str, nearest: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    program, *arguments = command.split()
    ended = shown(program, *arguments)
    assert ended.code == 2
    message = one_message(ended, program)
    assert re.search(rf"Did you mean (one of: (.*, )?)?'?{re.escape(nearest)}", message), message


# The list


def test_a_list_is_aligned_and_found_by_words() -> None:
    lines = shown("mmscore", "list", "recipes").out.splitlines()
    assert lines[0] == f"recipes ({len(find_plugins('mmscore.recipes'))})  for --recipe"
    assert len({re.match(r"  \S+ +", line).end() for line in lines[1:]}) == 1
    found = shown("mmscore", "list", "recipes", "mmmu", "LMMS").out.splitlines()
    assert [line.split()[0] for line in found] == ["recipes", "lmms_mmmu"]
    everywhere = shown("mmscore", "list", "mmmu").out
    assert [line.split()[0] for line in everywhere.splitlines() if line[:1].strip()] == [
        "parsers",
        "metrics",
        "recipes",
    ]
