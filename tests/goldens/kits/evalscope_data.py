"""Golden rules of what EvalScope makes of its custom data: files, messages, multiple choice, shuffling."""

import base64
import tempfile
from pathlib import Path

from goldens.rules import per_version
from mmconvert.kits.evalscope.files import load_subset
from mmconvert.kits.evalscope.messages import sample_of
from mmconvert.kits.evalscope.shuffle import Choices, shuffle_choices
from mmconvert.kits.evalscope.wire import build_data_url_resolver, build_wire_messages
from mmconvert.prompts.evalscope import DEFAULT, read_choice_sample
from support.releases import RELEASES

BYTES = "b64:"
QUESTION = "q"


def _built(given, release):
    sample = read_choice_sample(
        given["record"], release, given.get("prompt_template") or DEFAULT, given.get("system_prompt")
    )
    return {"messages": sample.messages, "choices": sample.choices, "target": sample.target}


def _shuffled(given, release):
    sample = Choices(QUESTION, tuple(given["choices"]), given["target"])
    (shuffled,) = shuffle_choices([sample], given["seed"], release)
    return {"choices": list(shuffled.options), "target": shuffled.target}


def _sample(given, release):
    messages, target = sample_of(given["record"], release, given.get("system_prompt"))
    return {"messages": messages, "target": target}


def _wire(given, release):
    messages, _ = sample_of(given["record"], release)
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), {name: f"{BYTES}{text}" for name, text in given["files"].items()})
        return {"wire": build_wire_messages(messages, build_data_url_resolver(Path(folder)))}


def _loaded(given, release):
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), given["files"])
        loaded = load_subset(
            Path(folder, given.get("path") or ""),
            given["subset"],
            given.get("split", "test"),
            limit=given.get("limit"),
            repeats=given.get("repeats", 1),
            release=release,
        )
    rows = [{"__restkey__" if name is None else name: value for name, value in row.items()} for row in loaded.rows]
    return {"records": rows, "ids": [list(pair) for pair in loaded.ids]}


def _write(folder, files):
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(text.removeprefix(BYTES)) if text.startswith(BYTES) else text.encode())


def _each(run):
    return lambda given: per_version(lambda release: run(given, release), RELEASES)


READ = "mmconvert convert --read-as evalscope"
SHUFFLE = "mmconvert convert --transform shuffle_options:order=evalscope"
RUN = "mmscore.compat.evalscope.run_task"
RULES = {
    ("evalscope_vmcq", "evalscope_vmcq:build"): (READ, _each(_built)),
    ("evalscope_vmcq", "evalscope_vmcq:build_sys"): (READ, _each(_built)),
    ("evalscope_vmcq", "evalscope_vmcq:shuffle"): (SHUFFLE, _each(_shuffled)),
    ("evalscope_vqa", "evalscope_vqa:record"): (READ, _each(_sample)),
    ("evalscope_vqa", "evalscope_vqa:wire"): (READ, _each(_wire)),
    ("evalscope_vqa", "evalscope_vqa:load"): (RUN, _each(_loaded)),
}
