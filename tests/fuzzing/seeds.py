"""What fuzzing starts from: good files of every format and every suffix it is read from."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from contract.test_formats import EXAMPLES, example
from mmconvert.core.errors import Error
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Format, Target
from mmconvert.plugins.registry import find_plugins, load
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore
from support.records import KINDS, image_bytes

IMAGE_FOLDER = "pictures"
"""The target that is no format: bytes of images."""

TASKS = "tasks"
"""Task files of `mmscore run`, in YAML."""

ANSWERS = "answers"
"""Stores of replies, in SQLite."""

_TASK = """
datasets: [{input: FILE, name: one, recipes: [own_choice]}, {input: FILE, limit: 3}]
models:
  - {model: answer, backend: echo, max-new-tokens: 7}
recipes: [own_choice, vlmevalkit_mcq]
predict: {seed: 3, temperature: 0.5}
convert: {verify: decode}
score: {by: [category], average: macro}
"""

_BADINPUT = {
    "openai_jsonl": "openai_messages",
    "vmcq": "vmcq",
    "lmu_tsv": "lmudata",
    "mmbench_xlsx": "mmbench",
    "reform_json": "reform_predictions",
    "pred_parquet": "predictions",
}
"""Folder of the hostile inputs -> format its files have."""


FURTHER = {"openai_messages": ["requests.jsonl"]}
"""Format -> files beside its example that hold other forms of it."""

ANSWER_KEYS = tuple(map(str, range(40)))


@dataclass(frozen=True)
class Seed:
    """A good file or folder, and the folder its images are looked up in.

    Attributes:
        path: The file, or the folder that is one input.
        root: Copied beside every mutant; the path lies in it.
        image_root: Where images lie, None for the root.
    """

    path: Path
    root: Path
    image_root: Path | None = None


def targets() -> list[str]:
    """Name everything that is fuzzed."""
    return [*find_plugins("mmconvert.formats"), IMAGE_FOLDER, TASKS, ANSWERS]


def seeds(target: str, scratch: Path, shared: Path | None) -> list[Seed]:
    """Gather the seeds of a target.

    Args:
        target: A format, or `IMAGE_FOLDER`.
        scratch: Folder for the seeds that are made here.
        shared: Folder with the hostile inputs, whose good files are taken; None without.
    """
    folder = scratch / "seeds" / target
    folder.mkdir(parents=True)
    if target == IMAGE_FOLDER:
        return [_make_image(folder, kind) for kind in KINDS]
    if target == TASKS:
        path = folder / "task/task.yaml"
        path.parent.mkdir()
        rows = path.with_name("rows.jsonl")
        rows.write_text('{"id": "1", "question": "?", "options": ["a", "b"], "answer": "A"}\n')
        path.write_text(_TASK.replace("FILE", str(rows)))
        return [Seed(path, path.parent)]
    if target == ANSWERS:
        return [_answers(folder)]
    if target not in EXAMPLES:
        return []
    source = example(target)
    if source.is_dir():
        shutil.copytree(source, folder / "example" / source.name)
    else:
        # A file may name others beside it.
        shutil.copytree(source.parent, folder / "example")
    own = Seed(folder / "example" / source.name, folder / "example")
    further = [Seed(folder / "example" / name, folder / "example") for name in FURTHER.get(target, ())]
    found = [own, *further, *_rewritten(target, source, folder)]
    return found + (_good_inputs(target, shared / "badinput/visible") if shared is not None else [])


def _make_image(folder: Path, kind: str) -> Seed:
    path = folder / kind / f"picture.{kind.lower()}"
    path.parent.mkdir()
    path.write_bytes(image_bytes(kind, 7, (33, 20)))
    return Seed(path, path.parent)


def _answers(folder: Path) -> Seed:
    path = folder / "store/a.answers.sqlite"
    path.parent.mkdir()
    with hold(path) as held, AnswerStore(held, fingerprint="f") as store:
        store.put((key, Answer(f"answer {key}")) for key in ANSWER_KEYS)
    return Seed(path, path.parent)


def _rewritten(target: str, source: Path, folder: Path) -> list[Seed]:
    """Write the example with the format's own writer under each of its suffixes; a folder as a dataset."""
    plugin: Format = load("mmconvert.formats", target)
    made = []
    for suffix in plugin.suffixes:
        root = folder / f"as{suffix}"
        if suffix and plugin.write is not None:
            root.mkdir()
            path = root / f"{source.stem}{suffix}"
            try:
                write(read(source, target), Target(path), target)
            except Error:
                continue
            made.append(Seed(path, root))
        elif not suffix and source.is_file():
            convert([Input(source)], root / "dataset", ReadOptions(format=target), WriteOptions())
            made.append(Seed(root / "dataset", root))
    return made


def _good_inputs(target: str, visible: Path) -> list[Seed]:
    if not visible.is_dir():
        return []
    cases = [json.loads(line) for line in (visible / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    good = [case for case in cases if case["expect"] == "ok" and _BADINPUT[case["format"]] == target]
    paths = [visible / case["file"] for case in good]
    return [Seed(path, path, visible / "root") for path in paths if path.stat().st_size < 200_000]
