"""Running `mmscore predict` in the process of the test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mmconvert.console.app import run
from mmscore.cli import program


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.parquet"


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process; gives exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run(program, ["predict", *map(str, arguments)], program="mmscore")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call
