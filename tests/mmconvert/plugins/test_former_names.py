"""A plug-in that was written against the former module names still loads."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mmconvert.core.deprecation import MmconvertDeprecationWarning
from mmconvert.images.loader import ImageLoader
from mmconvert.plugins.format import Context
from mmconvert.plugins.former_names import FORMER
from mmconvert.plugins.transform import Setting

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


ATTRIBUTES = {
    "mmconvert.chat.export_images": {"reference": "store_image"},
    "mmconvert.chat.losses": {"unheld": "list_losses"},
    "mmconvert.core.errors": {"got": "show"},
    "mmconvert.core.record": {"canonical_json": "encode_json"},
    "mmconvert.core.text.prompt_parts": {"pictures_first": "put_images_first"},
    "mmconvert.images.loader": {"Pictures": "ImageLoader"},
    "mmconvert.io.columns": {"rest": "keep_extra_fields"},
    "mmconvert.plugins.transform": {"copies": "make_copies"},
    "mmconvert.testing": {"breaches": "find_breaches"},
    "mmscore.kits.mmtrusteval.evaluators": {"Setting": "EvaluatorContext"},
    "mmscore.kits.mmtrusteval.rows": {"chain_recipe": "build_chain_recipe"},
    "mmscore.kits.mmtrusteval.task_file": {"evaluator_chains": "load_evaluator_chains"},
}
"""What the documentation showed to authors of plug-ins before it was renamed."""


@pytest.mark.parametrize("module", ATTRIBUTES)
def test_a_former_name_in_a_module_gives_what_it_is_called_now(module: str) -> None:
    found = vars(import_module(module))
    for former, current in ATTRIBUTES[module].items():
        assert found[former] is found[current]


def test_a_plug_in_still_finds_images_under_their_former_name() -> None:
    images = ImageLoader(())
    with pytest.warns(MmconvertDeprecationWarning, match=r"Context\.pictures .* Use Context\.images"):
        assert Context(images, "quiz").pictures is images
    with pytest.warns(MmconvertDeprecationWarning, match=r"Use Setting\.images"):
        assert Setting("turn", images=images).pictures is images


@pytest.mark.slow
def test_a_plug_in_written_against_former_names_loads(tmp_path: Path) -> None:
    (tmp_path / "quiz.py").write_text(QUIZ)
    code = (
        "from mmconvert.plugins.format import Format\n"
        "from mmconvert.plugins.registry import load\n"
        f"assert type(load('mmconvert.formats', {str(tmp_path / 'quiz.py')!r} + '@FORMAT')) is Format\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
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
