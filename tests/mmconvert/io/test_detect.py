"""Which format a file has: told from its content, and every refusal says why."""

import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.io.detect import UnknownFormatError, guess, sample

FILES = Path(__file__).resolve().parents[3] / "src/mmconvert/testing/demo/files"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "format_"),
    [
        ("pope.jsonl", '{"messages": [{"role": "user", "content": "hi"}]}\n', "openai_messages"),
        ("mmbench.tsv", 'question\toptions\tanswer\timage_1\nq\t["a", "b"]\tA\t\n', "vmcq"),
        ("openai.tsv", "index\tquestion\timage\tA\tB\tanswer\n1\tq\taGk=\ta\tb\tA\n", "lmudata"),
        ("x.csv", "id,prediction\n1,a\n", "predictions"),
        ("X.JSONL", '{"id": 1, "prediction": "a"}\n', "predictions"),
    ],
)
def test_the_content_decides_and_not_the_name(name: str, text: str, format_: str, tmp_path: Path) -> None:
    found, reason = guess(written(tmp_path / name, text))
    assert found == format_
    assert reason.startswith("detected by ")


def test_broken_rows_before_the_first_good_one_do_not_hide_the_format(tmp_path: Path) -> None:
    lines = ["{broken", "[1]", '{"messages": [{"role": "user", "content": "hi"}]}']
    assert guess(written(tmp_path / "a.jsonl", "\n".join(lines)))[0] == "openai_messages"


def test_a_file_of_broken_rows_says_what_is_broken(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", "{broken\n" * 20)
    with pytest.raises(
        Error, match=r"a.jsonl: none of its first rows can be read.\na.jsonl:1: bad JSON.*\na.jsonl:2: bad"
    ):
        guess(file)


def test_every_candidate_is_named_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError) as refused:
        guess(written(tmp_path / "a.jsonl", '{"hello": 1}\n'))
    said, message = str(refused.value), refused.value.details
    assert "it has no column for the question or, with an id, the prediction. Name those that there" in said
    assert "none of the formats of .jsonl files fits" in message
    assert "--format NAME" in message
    assert "  openai_messages: no field 'messages'" in message
    assert "mmmu_outputs" not in message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.tsv", b"", "is empty"),
        ("a.jsonl", "{}".encode("utf-16"), "this is UTF-16 text"),
        ("a.tsv", b"\x1f\x8b\x08\x00", "this is a gzip archive"),
        ("a.jsonl", b"PAR1", "this is a parquet file"),
        ("a.parquet", b"PAR1xxxx", "damaged parquet"),
        ("a.parquet", b"hello", "not a parquet file"),
        ("a.tsv", b'a\tb\n"1\t2\n', "a quote opens here and never closes"),
        ("a.docx", b"x", "no format reads .docx files"),
        ("a", b"x", r"end in .jsonl, .json, .tsv, .csv, .parquet, .xlsx"),
    ],
)
def test_what_is_no_such_file_is_refused_by_name(name: str, text: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=message) as refused:
        guess(written(tmp_path / name, text))
    assert name in str(refused.value)


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.jsonl", '{"id": "1", "question": "ü?", "answer": "x"}\n', "JSON Lines"),
        ("of two.json", '[{"id": "1", "question": "ü?", "answer": "x"}]', "JSON"),
        ("a.json", '{"q1": "ja", "q2": "nein"}', "JSON"),
        ("a.txt", "a.jpg\tIs it?\tYes\n", "tab-separated text"),
    ],
)
def test_utf_16_is_named_with_the_command_that_mends_it(
    name: str, text: str, kind: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # With no mark in the text the encoder writes its own, that of little endian.
    path = written(Path(name), (mark + text).encode("utf-16-be" if mark else "utf-16"))
    with pytest.raises(Error) as refused:
        guess(path)
    said, _, command = str(refused.value).partition(" Save it as UTF-8: ")
    assert said == f"{name}: expected {kind} in UTF-8, but this is UTF-16 text."
    new = path.with_stem(f"{path.stem}-utf8")
    assert command == f"iconv -f UTF-16 -t UTF-8 {shlex.quote(name)} > {shlex.quote(str(new))}"
    subprocess.run(["sh", "-c", command], check=True)
    assert new.read_text(encoding="utf-8") == text
    guess(new)


def test_a_header_alone_tells_the_columns(tmp_path: Path) -> None:
    assert sample(written(tmp_path / "a.tsv", "id\tprediction\n")).columns == ("id", "prediction")


def test_a_folder_that_no_format_knows_says_so(tmp_path: Path) -> None:
    with pytest.raises(Error, match="none of the formats of folders fits"):
        guess(tmp_path)


def test_where_no_format_fits_the_columns_are_shown(tmp_path: Path) -> None:
    head = "\t".join(["x" * 50, *(f"c{number}" for number in range(20))])
    with pytest.raises(Error) as refused:
        guess(written(tmp_path / "a.tsv", f"{head}\n"))
    assert f"fits. Found: '{'x' * 30}...', 'c0', " in str(refused.value)
    assert "'c10', .... As a plain table it has no column for the question" in str(refused.value)


@pytest.mark.parametrize(
    "broken", ['{"messages": [{"role": "me", "content": 5}], "images": []}', '{"mesages": []}', "{}"]
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_broken_row_does_not_hide_the_format_of_the_others(broken: str, place: int, tmp_path: Path) -> None:
    lines = (FILES / "ms_swift/train.jsonl").read_text().splitlines()
    lines.insert(place, broken)
    assert guess(written(tmp_path / "a.jsonl", "\n".join(lines)))[0] == "ms_swift"


@pytest.mark.parametrize("name", ["none.jsonl", "none.parquet"])
def test_a_file_without_rows_is_not_said_to_lack_columns(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("\n", encoding="utf-8")
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"id": pa.array([], pa.string()), "prediction": pa.array([], pa.string())}), path)
    with pytest.raises(Error, match="has no rows, so its format cannot be detected"):
        guess(path)


@pytest.mark.slow
def test_guessing_loads_nothing_that_only_images_or_workbooks_need(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"messages": [{"role": "user", "content": "Why?"}], "answer": "so"}\n')
    code = (
        "import sys; from pathlib import Path; from mmconvert.io.detect import guess; guess(Path(sys.argv[1]));"
        "print(*{'PIL', 'xlsxwriter', 'pandas', 'datasets'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []
