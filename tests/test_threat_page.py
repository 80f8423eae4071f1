"""The page on threats claims nothing that no test follows: each clause of it names its tests, and these exist."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from support.policy_files import CHOICE, RED, lines
from support.threat_proofs import FILES, NETWORK, NO_PROMISES, REPLIES

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
PROVEN = {"What a file may try": FILES, "What a response may try": REPLIES, "Network and keys": NETWORK}
LINKED = re.compile(r"\s*\((?:\[[^]]*\]\(\.\./tests/[^)]*\)(?:, )?)+\)|:?\s*\[[^]]*\]\((?:\.\./tests/|judges)[^)]*\)")


def list_clauses(title: str) -> list[str]:
    """Give the clauses of a section: of its table what happens, of its texts all but the links to tests."""
    said = SECTIONS[title]
    rows = [line.split(" | ")[1] for line in said.splitlines() if line.startswith("| **")]
    parts = rows or [" ".join(part.split()) for part in re.split(r"\n\n|^- ", said, flags=re.MULTILINE)]
    texts = [LINKED.sub("", part) for part in parts if part.strip()]
    return [clause for text in texts for clause in re.split(r"; |(?<=[.?]) (?=[A-Z`])", text)]


def is_covered(clause: str, proven: Mapping[str, object]) -> bool:
    words = clause.rstrip(". ")
    return any(quote in words or words in quote for quote in proven) or any(said in words for said in NO_PROMISES)


@pytest.mark.parametrize("title", PROVEN)
def test_every_clause_of_the_page_is_followed_by_a_test(title: str) -> None:
    clauses = list_clauses(title)
    assert len(clauses) > 5
    assert [clause for clause in clauses if not is_covered(clause, PROVEN[title])] == []


@pytest.mark.parametrize("title", PROVEN)
def test_the_page_says_word_for_word_what_is_followed(title: str) -> None:
    said = LINKED.sub("", " ".join(SECTIONS[title].split()))
    assert [quote for quote in PROVEN[title] if quote not in said] == []


@pytest.mark.parametrize("title", PROVEN)
def test_the_tests_that_follow_are_there(title: str) -> None:
    for claim, tests in PROVEN[title].items():
        assert tests, claim
        for test in tests:
            file, _, name = test.partition("::")
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in names, f"{claim}: {test}"


def test_no_option_takes_a_key() -> None:
    for program in ("mmconvert", "mmscore"):
        group = importlib.import_module(f"{program}.cli").program
        for name in group.commands_in:
            command = group.get_command(click.Context(group), name)
            options = {option for param in command.params for option in param.opts}
            keys = {option for option in options if re.search("(key|token|secret|password)(-|$)", option)}
            assert keys <= {"--api-key-env", "--judge-api-key-env"}, f"{program} {name}: {keys}"


WATCHED = """
import importlib, os, sys
program, *arguments = sys.argv[1:]
def watch(event, about):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, f"NETWORK {event} {about}".encode())
        os._exit(99)
sys.addaudithook(watch)
sys.argv = [program, *arguments]
importlib.import_module(f"{program}.cli").main()
"""


@pytest.mark.slow
def test_files_are_checked_exported_and_scored_without_a_connection(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(RED)
    away = {**CHOICE, "id": "2", "image_1": "http://example.org/a.png"}
    (tmp_path / "a.jsonl").write_bytes(lines({**CHOICE, "id": "1"}, away))
    (tmp_path / "p.csv").write_text("id,question,A,B,answer,prediction\n1,Which? http://example.org/,red,blue,A,A\n")
    for command, code in (
        ("mmconvert check a.jsonl", 3),
        ("mmconvert convert a.jsonl -o made --quiet", 3),
        ("mmconvert export made -o b.tsv --to lmudata --quiet", 0),
        ("mmscore score p.csv --recipe own_choice", 0),
    ):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, f"{command}: {done.stderr}"
