"""A plug-in that was written against the former module names still loads."""

import subprocess
import sys
from pathlib import Path

from mmconvert.plugins.former_names import FORMER

QUIZ = """
from mmconvert.errors import RowError, got, in_field
from mmconvert.exported_images import reference
from mmconvert.format import IMAGES, Format, Loss
from mmconvert.losses import unheld
from mmconvert.record import Part, Record, Turn, canonical_json
from mmconvert.sources import jsonl
from mmconvert.table_writer import write_jsonl
from mmconvert.tables import rest

FORMAT = Format("A quiz", (".jsonl",), jsonl.rows, lambda row, context: (), lambda sample: "no")
"""


def test_a_plug_in_written_against_former_names_loads(tmp_path: Path) -> None:
    (tmp_path / "quiz.py").write_text(QUIZ)
    code = (
        "from mmconvert.plugins.format import Format\n"
        "from mmconvert.plugins.registry import load\n"
        f"assert type(load('mmconvert.formats', {str(tmp_path / 'quiz.py')!r} + '@FORMAT')) is Format\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_former_name_gives_the_module_itself() -> None:
    code = (
        "import importlib\n"
        "from mmconvert.plugins.former_names import FORMER, register_former_names\n"
        "register_former_names('mmscore')\n"
        "for former, current in FORMER.items():\n"
        "    assert importlib.import_module(former) is importlib.import_module(current), former\n"
    )
    assert FORMER
    subprocess.run([sys.executable, "-c", code], check=True)
