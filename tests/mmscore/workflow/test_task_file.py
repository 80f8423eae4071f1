"""A task that cannot be carried out is refused before anything is done, and the place of the fault is named."""

from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmscore.workflow.task_file import build_plan

MODELS = [{"model": "A", "backend": "echo"}]
LONG = "/".join(["y" * 200] * 30)


@pytest.mark.parametrize("options", [{}, {"verify": "decode"}])
@pytest.mark.parametrize("path", ["x" * 300, "x" * 300 + "/rows.jsonl", LONG, "a\0b"])
def test_an_input_that_no_file_can_be_is_named_by_its_place(
    path: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^t\.yaml datasets\[0\]: "):
        build_plan({"datasets": [{"input": path, **options}], "models": MODELS}, tmp_path, "t.yaml")


def test_a_folder_for_the_results_has_no_nul(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "1", "question": "?", "options": ["a", "b"], "answer": "A"}\n')
    task = {"datasets": [{"input": str(tmp_path / "rows.jsonl")}], "models": MODELS, "work-dir": "a\0b"}
    with pytest.raises(UsageError, match=r"^t\.yaml work-dir: no path has a NUL \(got 'a\\x00b'\)\. Name another"):
        build_plan(task, None, "t.yaml")
