"""A service that repeats the key in whatever it sends: the key stands in nothing that a run leaves or prints."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.asking import written
from support.chat_server import Said, chat_server, completion, refused
from support.questions import make_image, record
from support.terminal import Shown, mmscore

KEY = "sk-loopback/0123456789+abcdef=="
ESCAPED = "".join(f"\\u{ord(c):04x}" for c in KEY)
PADDED = "x" * 190 + KEY


def escaped(text: str) -> Said:
    """Say a text that stands in the body in escapes, as JSON lets it."""
    body = completion({"content": "CELL"}, "stop", 1, 1).body.replace(b"CELL", text.encode())
    return Said(body)


SAID = [
    completion({"content": f"A {KEY}", "reasoning_content": f"I was given {KEY}"}, f"stop {KEY}", 7, 2),
    escaped(f"A {ESCAPED}"),
    escaped("A " + KEY.replace("/", "\\/")),
    completion({"content": [{"type": "text", "text": KEY[:9]}, {"type": "text", "text": KEY[9:]}]}, "stop", 7, 2),
    completion({"content": {KEY: KEY}}, "stop", 7, 2),
    completion({"content": None}, PADDED, 7, 2),
    refused(400, f"no such thing {KEY}"),
    refused(400, PADDED),
    Said(b'{"error": {"message": "' + ESCAPED.encode() + b'"}}', 400),
    Said(f"<html>{' ' * 50}{PADDED}</html>".encode(), 400),
    Said(json.dumps({"error": {"message": KEY}}).encode("utf-16"), 400),
    refused(307, Location=f"http://other.example/{KEY}?k={KEY}"),
    refused(307, Location="http://other.example/" + "".join(f"%{ord(c):02x}" for c in KEY)),
    Said(b"", 400, {"X-Echo": KEY}),
]


def say(request: dict[str, Any]) -> Said:
    content = request["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    word = text.split()[-1]
    return SAID[int(word)] if word.isdigit() and int(word) < len(SAID) else SAID[0]


def read_all(file: Path) -> str:
    """Give the text of a file, whatever it is packed in."""
    if file.suffix == ".parquet":
        table = pq.read_table(file)
        return json.dumps(table.to_pylist(), default=str, ensure_ascii=False) + str(table.schema.metadata)
    if file.suffix == ".sqlite":
        with sqlite3.connect(file) as db:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            cells = [row for name in names for row in db.execute(f"SELECT * FROM {name}")]
        db.close()
        # Cells are JSON with escapes of its own.
        return "".join(str(json.loads(cell) if str(cell).startswith("{") else cell) for row in cells for cell in row)
    return file.read_bytes().decode(errors="replace")


def run(*words: object) -> Shown:
    done = mmscore(*words)
    assert done.code in (0, 3), done.err
    assert "Traceback" not in done.err
    return done


def check(folder: Path, shown: list[Shown]) -> None:
    texts = {str(file): read_all(file) for file in folder.rglob("*") if file.is_file()}
    assert texts
    texts |= {f"terminal {number}": done.out + done.err for number, done in enumerate(shown)}
    # A piece of it is as good as the whole, where a text was cut.
    for name, text in texts.items():
        assert KEY[:14] not in text, name
        assert KEY.replace("/", "\\/")[:14] not in text, name


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("mmscore.llm.client._SAME_CAUSE", 1_000)
    rows = [record(i, make_image("red"), f"question {i}", answer="A") for i in range(len(SAID))]
    return written(tmp_path / "d", rows)


def test_the_key_is_in_no_file_and_on_no_screen(asked: Path, tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    output = run_folder / "p.parquet"
    with chat_server(say) as server:
        shown = [run("predict", asked, "-o", output, "--model", "m", "--base-url", server.url, "--concurrency", 1)]
        judge = ("--judge", "own", "--judge-model", "m", "--judge-base-url", server.url, "--recipe", "own_short_answer")
        files = ("-o", run_folder / "r.json", "--html", run_folder / "r.html", "--rows", run_folder / "rows.parquet")
        csv = ("--csv", run_folder / "r.csv", "--allow-rejects")
        shown.append(run("score", output, *judge, *files, *csv))
        shown.append(run("score", output, "--recipe", "own_short_answer", *files, *csv))
        shown.append(run("bundle", output, "--recipe", "own_short_answer", "-o", run_folder / "b", "--allow-rejects"))
    assert (run_folder / "p.parquet.judge.sqlite").exists()
    statuses = pq.read_table(output)["prediction_status"].to_pylist()
    assert statuses.count("ok") >= 4
    assert "***" in read_all(output)
    check(run_folder, shown)


@pytest.mark.parametrize(
    "answer",
    [
        refused(401, f"wrong key {KEY}"),
        refused(403, PADDED),
        refused(404, KEY),
        refused(307, Location=f"http://other.example/{KEY}"),
        refused(307, Location="http://other.example/" + "".join(f"%{ord(c):02x}" for c in KEY)),
        refused(429, KEY, **{"Retry-After": "1000000"}),
    ],
)
def test_the_last_words_of_a_run_have_no_key(asked: Path, tmp_path: Path, answer: Said) -> None:
    with chat_server(lambda request: answer) as server:
        words = ("--model", "m", "--base-url", server.url)
        done = mmscore("predict", asked, "-o", tmp_path / "run.parquet", *words)
    assert done.code == 1
    assert "***" in done.err
    check(tmp_path, [done])
