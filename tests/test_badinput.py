"""Every hostile and broken input, through the command line in a process of its own, against what must happen."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mmconvert.core.error_hints import says_what_to_do
from support.deferred import defer
from support.forking import BROKE_OUT, Ended, forks

pytestmark = pytest.mark.slow

SET = Path(__file__).resolve().parents[2] / "shared/badinput/visible"
FORMATS = {
    "openai_jsonl": "openai_messages",
    "vmcq": "vmcq",
    "lmu_tsv": "lmudata",
    "mmbench_xlsx": "mmbench",
    "reform_json": "reform_predictions",
    "pred_parquet": "predictions",
}
OUTCOMES = {0: "ok", 3: "row_error", 1: "file_error"}
OF_WHOLE_ROWS = ("json.", "table.", "text.encoding")
"""Codes of refusals that are about no field."""
ADDRESS_SPACE = 6 << 30
RESIDENT = 1 << 30
SECONDS = 20
PWNED = Path("/tmp/badinput_pwned")


@functools.cache
def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SET / "manifest.jsonl").open(encoding="utf-8")] if SET.is_dir() else []


@pytest.fixture(scope="module")
def scratch(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the set with the links it needs."""
    folder = tmp_path_factory.mktemp("badinput") / "set"
    shutil.copytree(shared / "badinput/visible", folder)
    subprocess.run([shared / "badinput/make_links", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def run(scratch: Path) -> Iterator[Callable[[Sequence[object], Path], Ended]]:
    with forks(scratch / "outside", seconds=SECONDS, address_space=ADDRESS_SPACE) as run:
        yield run


def value_of(row: dict[str, Any], field: str, wanted: Any) -> Any:
    """The value of a row that a fact of the manifest speaks of."""
    if field == "id":
        return wanted if wanted in (row["id"], row["sample"]) else row["id"]
    if field == "options" and isinstance(wanted, dict):
        return {chr(65 + place): text for place, text in enumerate(row["options"]) if text is not None}
    if field == "n_images":
        return len(row["images"])
    if field in ("image_sha256", "image_format"):
        stored = [hashlib.sha256(image["bytes"]).hexdigest() for image in row["images"]]
        found = stored if field == "image_sha256" else [info["format"] for info in row["image_info"]]
        return wanted if wanted in found else found
    if field == "text_contains":
        text = json.dumps(row["messages"], ensure_ascii=False) + str(row["question"]) + str(row["prediction"])
        return wanted if wanted in text else text
    return row[field]


def check_rows(case: dict[str, Any], output: Path, scratch: Path) -> None:
    rows = [row for file in sorted(output.rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    secret = (scratch / "outside/secret.txt").read_text().strip().encode()
    canary = hashlib.sha256((scratch / "outside/canary.png").read_bytes()).hexdigest()
    assert not any(secret in file.read_bytes() for file in output.rglob("*") if file.is_file()), "the secret leaked"
    digests = {hashlib.sha256(image["bytes"]).hexdigest() for row in rows for image in row["images"]}
    assert canary not in digests, "the image outside was read"
    by_number = {row["source"]["row"]: row for row in rows}
    for fact in case.get("facts", []):
        # What a report counts is the business of scoring.
        if fact["field"] not in ("infer_failed", "maybe_truncated"):
            found = value_of(by_number[fact["row"]], fact["field"], fact["value"])
            assert found == fact["value"], f"row {fact['row']}: {case['why']}"


@pytest.mark.parametrize("case", defer(cases(), 48), ids=lambda case: case["file"].removeprefix("files/"))
def test_a_bad_input_does_what_the_policy_says(
    case: dict[str, Any], run: Callable[[Sequence[object], Path], Ended], scratch: Path, tmp_path: Path
) -> None:
    output, rejects = tmp_path / "out", tmp_path / "rejects.jsonl"
    before = sorted(os.listdir(scratch / "outside"))
    command = ["convert", scratch / case["file"], "-o", output, "--format", FORMATS[case["format"]]]
    command += ["--image-root", scratch / "root", "--verify", "decode", "--rejects", rejects, "--quiet"]
    ended = run(command, tmp_path / "stderr.txt")

    assert ended.code != BROKE_OUT, ended.message
    assert "Traceback" not in ended.message
    outcome = OUTCOMES.get(ended.code)
    assert outcome in [case["expect"], *case.get("alt", [])], f"exit {ended.code}: {case['why']}\n{ended.message}"
    assert ended.resident < RESIDENT
    assert not PWNED.exists(), "what stands in a file was run"
    assert sorted(os.listdir(scratch / "outside")) == before
    assert not list(Path("/tmp").glob("badinput_evil*"))

    refusals = [json.loads(line) for line in rejects.open(encoding="utf-8")] if rejects.exists() else []
    for refusal in refusals:
        assert refusal["field"] or refusal["code"].startswith(OF_WHOLE_ROWS), refusal
        assert says_what_to_do(refusal["message"]), refusal
    if outcome == "file_error":
        assert Path(case["file"]).name in ended.message
        assert says_what_to_do(ended.message.strip()), ended.message
        assert not output.exists()
        return
    if outcome == "row_error" and case["expect"] == "row_error":
        wanted, may_convert = set(case["bad_rows"]), set(case.get("alt_rows_ok", []))
        refused = {refusal["row"] for refusal in refusals}
        assert wanted - may_convert <= refused <= wanted, case["why"]
    check_rows(case, output, scratch)


def test_the_watch_ends_a_process_that_reads_outside(
    run: Callable[[Sequence[object], Path], Ended], scratch: Path, tmp_path: Path
) -> None:
    row = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "canary.png"}}]}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    command = ["convert", tmp_path / "a.jsonl", "-o", tmp_path / "out", "--image-root", scratch / "outside"]
    assert run([*command, "--format", "openai_messages"], tmp_path / "stderr.txt").code == BROKE_OUT


def test_there_are_cases(shared: Path) -> None:
    assert len(cases()) >= 190
    assert {case["format"] for case in cases()} == set(FORMATS)
