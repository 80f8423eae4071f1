"""How many files of ours a row crosses: each is one more that a reader opens to follow it."""

import base64
import io
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PIL import Image

import mmconvert
import mmscore.api
from mmscore.api import JudgeRequest
from support.chat_server import chat_server, said
from support.predictions import write_predictions

pytestmark = pytest.mark.slow

FEW, MANY = 10, 30
PACKAGES = tuple(str(Path(package.__file__).parent) for package in (mmconvert, mmscore))


def crossed(work: Callable[[int], object]) -> list[str]:
    """Run the work over few rows and over many; name the files whose functions are called more often for many."""
    for rows in (FEW, MANY):
        work(rows)  # what the first run alone does, imports and caches, is not a row's
    few, many = _calls(work, FEW), _calls(work, MANY)
    return sorted(name for name in many if many[name] > few[name])


def _calls(work: Callable[[int], object], rows: int) -> Counter[str]:
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            calls[str(Path(frame.f_code.co_filename).relative_to(Path(PACKAGES[0]).parent))] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work(rows)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def _table(path: Path, rows: int) -> Path:
    lines = ["index\tquestion\tA\tB\tanswer\tcategory\timage"]
    for number in range(rows):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8), (number, 0, 0)).save(buffer, "PNG")
        image = base64.b64encode(buffer.getvalue()).decode()
        lines.append(f"{number}\tWhich colour has image {number}?\tred\tblue\tA\tcolour\t{image}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_row_on_its_way_to_parquet(tmp_path: Path) -> None:
    def convert(rows: int) -> None:
        source = _table(tmp_path / f"{rows}.tsv", rows)
        mmconvert.convert(source, tmp_path / str(rows), workers=1, overwrite=True)

    files = crossed(convert)
    assert len(files) <= 15, "\n".join(files)


@pytest.mark.parametrize("backend", ["echo", "openai"])
def test_a_row_on_its_way_to_an_answer(tmp_path: Path, backend: str) -> None:
    for rows in (FEW, MANY):
        mmconvert.convert(_table(tmp_path / f"{rows}.tsv", rows), tmp_path / str(rows), workers=1)

    with chat_server(lambda _: said("A")) as server:
        # One at a time, so that every reply comes alone; of several together some calls would be for all of them.
        served = {"model": "loopback", "base_url": server.url, "concurrency": 1}
        options = served if backend == "openai" else {"model": "prompt"}

        def predict(rows: int) -> None:
            output = tmp_path / f"{rows}.parquet"
            mmscore.api.predict(tmp_path / str(rows), output, backend=backend, restart=True, **options)

        files = crossed(predict)
    assert len(files) <= 13, "\n".join(files)


def test_a_judged_item(tmp_path: Path) -> None:
    for rows in (FEW, MANY):
        answers = [{"id": str(n), "question": "?", "prediction": f"it is {n}", "answer": "x"} for n in range(rows)]
        write_predictions(tmp_path / f"{rows}.parquet", answers, task="vqa")

    with chat_server(lambda _: said(json.dumps({"verdict": "correct"}))) as server:

        def score(rows: int) -> None:
            (tmp_path / "cache.sqlite").unlink(missing_ok=True)
            request = JudgeRequest("own", base_url=server.url, cache=str(tmp_path / "cache.sqlite"))
            mmscore.api.score(tmp_path / f"{rows}.parquet", "own_short_answer", judge=request)

        files = crossed(score)
    assert len(server.asked) == 2 * (FEW + MANY)
    assert len(files) <= 15, "\n".join(files)
