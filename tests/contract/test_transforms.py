"""What every transform owes: a row in the docs, the same result everywhere, as many images as places for them."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.record import Record
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.plugins.transform import Transform, load_steps
from mmconvert.testing import run_check
from mmconvert.testing.elsewhere import collect_digests, digest
from mmconvert.testing.transforms import CHECKS, find_faults, load_subject
from support.records import image_bytes, records

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TRANSFORMS = list(find_plugins("mmconvert.transforms"))
OWN = """
import PIL.Image

def drawn(sample):
    return PIL.Image.new("RGB", (3, 2), (sample.seed % 256, len(sample.text) % 256, 7))
"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What parameters of transforms name: a list of choices, a folder of images, a function."""
    folder = tmp_path_factory.mktemp("transforms")
    (folder / "choices.json").write_text(json.dumps([str(number) for number in range(30)]))
    (folder / "own.py").write_text(OWN)
    (folder / "pictures").mkdir()
    for colour in range(4):
        (folder / "pictures" / f"{colour}.png").write_bytes(image_bytes("PNG", colour))
    return folder


PARAMETERS: dict[str, Callable[[Path], str]] = {
    "draw_distractors": lambda files: f"choices={files}/choices.json",
    "color_image": lambda _: "size=3x2",
    "noise_image": lambda _: "size=3x2",
    "folder_image": lambda files: f"source={files}/pictures",
    "text_image": lambda _: "font_size=8,max_width=60",
    "own_image": lambda files: f"function={files}/own.py@drawn",
}
"""Parameters for transforms that need some."""


def spec(name: str, files: Path) -> str:
    return f"{name}:{PARAMETERS[name](files)}" if name in PARAMETERS else name


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_transform_and_each_of_its_parameters_are_documented(name: str) -> None:
    transform: Transform = load("mmconvert.transforms", name)
    assert transform.summary
    rows = [
        line
        for line in (ROOT / "docs/transforms.md").read_text(encoding="utf-8").splitlines()
        if re.match(rf"\| `{name}` \|", line)
    ]
    assert len(rows) == 1, f"docs/transforms.md needs one row for {name}"
    assert not [parameter for parameter in transform.parameters if f"`{parameter}`" not in rows[0]]


BOXES = st.one_of(
    st.lists(st.one_of(st.integers(-3, 5), st.floats()), min_size=4, max_size=4),
    st.lists(st.lists(st.integers(-1, 3), min_size=4, max_size=4), max_size=6),
    st.text(max_size=5),
)


@pytest.mark.parametrize("name", TRANSFORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records(pairs=True), box=BOXES, seed=st.integers(0, 3))
def test_any_record_survives_or_is_refused(name: str, files: Path, record: Record, box: object, seed: int) -> None:
    record = replace(record, extra={**record.extra, "bbox": box})
    assert not list(find_faults(record, load_steps([spec(name, files)], seed)))


@pytest.mark.parametrize("promise", list(CHECKS)[:-1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_it_keeps_the_promise(name: str, promise: str, files: Path, questions: list[Path]) -> None:
    assert not list(run_check(CHECKS, promise, load_subject(spec(name, files), questions)))


@pytest.fixture(scope="session")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files with questions of several kinds, images and boxes."""
    folder = tmp_path_factory.mktemp("questions")
    (folder / "cat.png").write_bytes(image_bytes("PNG", 1, (20, 15)))
    open_, chosen = folder / "open.jsonl", folder / "chosen.jsonl"
    ask = {"type": "text", "text": "How many?"}
    show = {"type": "image_url", "image_url": {"url": "cat.png"}}
    rows = [
        {"messages": [{"role": "user", "content": [show, ask]}], "answer": str(n), "bbox": [n, 1, 5, 6]}
        for n in range(8)
    ]
    open_.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["one", "two", "three", "four"]
    rows = [
        {
            "question": "<image 1> How many?",
            "options": options,
            "answer": "ABCD"[n % 4],
            "image_1": "cat.png",
            "bbox": [n, 1, 5, 6],
        }
        for n in range(8)
    ]
    chosen.write_text("".join(json.dumps({"index": n, **row}) + "\n" for n, row in enumerate(rows)))
    return [open_, chosen]


def test_results_of_transforms_and_prompts_are_the_same_in_every_process(files: Path, questions: list[Path]) -> None:
    plugins = [("transforms", spec(name, files)) for name in TRANSFORMS]
    plugins += [("prompts", name) for name in find_plugins("mmconvert.prompts")]
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    assert collect_digests(plugins, questions, 3, [other]) == {digest(plugins, questions, 3)}


def test_workers_do_not_change_a_byte(questions: list[Path], tmp_path: Path) -> None:
    shards = []
    for workers in (1, 2):
        output = tmp_path / str(workers)
        inputs = [Input(path, id_prefix=f"{path.stem}-") for path in questions]
        how = ReadOptions(transforms=("draw_boxes", f"noise_image:size=9x9,folder={output}-kept"), seed=1)
        summary = convert(inputs, output, how, WriteOptions(workers=workers))
        assert (summary.rows_read, summary.rows_rejected) == (16, 0)
        shards.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(output.glob("data/*.parquet"))])
    assert shards[0] == shards[1]
    manifest = json.loads((tmp_path / "1/.mmconvert/manifest.json").read_text())
    assert "noise_image" in json.dumps(manifest)


def test_the_example_of_the_docs_runs(questions: list[Path], tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/transforms.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "my.py").write_text(code)
    made = list(read(questions[1], transforms=(f"{tmp_path}/my.py@STEP:count=3",)))
    assert [record.id[-3:] for record in made[:4]] == ["0#0", "0#1", "0#2", "1#0"]
    assert all(re.fullmatch(r"try \d", record.hint or "") for record in made)
