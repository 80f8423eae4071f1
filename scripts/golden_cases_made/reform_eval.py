"""Cases of ReForm-Eval's loader and preprocessors that hold its prose, anew under instructions of ours.

The loader's classes are run with the product's own instructions and one-shot rounds in the place of the framework's:
both have as many, so that every draw falls on the same place. The preprocessors are given sentences of ours. What the
framework's own words give in ../shared/golden is compared first, so that this way of running it is known to be right.
"""

import ast
import inspect
import json
import os
import random
import re
import sys
import tempfile
from base64 import b64encode
from copy import deepcopy
from io import BytesIO
from pathlib import Path

import datasets
import yaml
from checkout import open_checkout
from golden_cases import POOL_WORDS, build_pool_rule, count_words, is_code, iterate_strings, split_sentences
from PIL import Image

from mmconvert.kits.reform_eval.pools import Pool, load_pools, read_pools

POOLED = ("instruction_list", "in_context_history")
OURS = ("Is the door open?", "Tell me which lamp is lit.", "Is this the last cup on the table?")
FIRST_QUERIES = {
    "none": None,
    "prefix_image": lambda text: f"<image> {text}",
    "llava": lambda text: f"<image>\n{text}",
    "pandagpt": lambda text: f"<Img></Img> {text}",
    "minigpt4": lambda text: f"<Img><ImageHere></Img> {text}",
}
UNSET = "__unset__"
PLACE = re.compile(r"offline_huggingface_\w+")
PLACES: set[str] = set()
"""Keys of a configuration under which the framework looks for files."""


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    holds_prose = build_pool_rule(shared / "data" / "reform_eval_pools.json")
    open_checkout(checkout, ["build", "utils"])
    # The library for data sets builds a cache of each file, and gives the same rows.
    datasets.load_dataset = _load_json
    PLACES.update(place for file in checkout.glob("build/*/*.py") for place in PLACE.findall(file.read_text("utf-8")))
    loader = _read_cases(shared, "reform_loader", holds_prose)
    prompts = _read_cases(shared, "reform_prompt", holds_prose)
    _check([*loader, *prompts])
    _put_pools_in_place(checkout)
    sentences = _list_sentences(shared)
    made, anew = (
        [_make_case({**_reword(case["input"], sentences), **own}, case) for case in cases]
        for cases, own in ((loader, {"pools": "own"}), (prompts, {}))
    )
    for case in (*made, *anew):
        if holds_prose(case):
            raise SystemExit(f"a case made again still holds prose of the framework: {case}")
    return {"reform_loader": made, "reform_prompt": anew}


def _read_cases(shared: Path, family: str, holds_prose) -> list[dict]:
    lines = (shared / "golden" / f"{family}.visible.jsonl").read_text("utf-8").splitlines()
    return [case for case in map(json.loads, lines) if holds_prose(case)]


def _list_sentences(shared: Path) -> list[re.Pattern]:
    """List the framework's sentences as patterns, long ones first."""
    texts = iterate_strings(json.loads((shared / "data" / "reform_eval_pools.json").read_text("utf-8")))
    parts = {part for text in texts if not is_code(text) for one in text.split("{}") for part in split_sentences(one)}
    found = sorted((part for part in parts if count_words(part) >= POOL_WORDS), key=len, reverse=True)
    return [re.compile(re.escape(part.rstrip(".?")) + r"[.?]?", re.IGNORECASE) for part in found]


def _reword(given: dict, sentences: list[re.Pattern]) -> dict:
    text = json.dumps(given)
    for number, sentence in enumerate(sentences):
        text = sentence.sub(OURS[number % len(OURS)], text)
    return json.loads(text)


def _check(cases: list[dict]) -> None:
    for case in cases:
        found = _run(case["rule"], case["input"], case["expected"])
        if found != case["expected"] and "error" not in case["expected"]:
            raise SystemExit(f"the framework gives {found}, ../shared/golden has {case['expected']}")


def _make_case(given: dict, case: dict) -> dict:
    return {"rule": case["rule"], "input": given, "expected": _run(case["rule"], given, case["expected"])}


def _run(rule: str, given: dict, before: dict) -> dict:
    """Run a rule of the framework; `before` holds what a model said in a dialog."""
    runs = {
        "dialogue": _run_dialogue,
        "process_qa": _run_question,
        "load_reform_dataset": _run_loader,
        "question_with_options": _run_options,
    }
    try:
        return _json(_run_dialog_data(given, before) if rule == "visdial_walk" else runs[rule](given))
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:200]}


def _json(value):
    return json.loads(json.dumps(value))


# Preprocessors


def _build_processor(given: dict):
    import utils.preprocessors

    settings = given["processor"]
    named = getattr(utils.preprocessors, settings["class"])
    known = inspect.signature(named.__init__).parameters
    arguments = {name: deepcopy(value) for name, value in settings.items() if name in known}
    if "first_query_fn" in arguments:
        arguments["first_query_fn"] = FIRST_QUERIES[arguments["first_query_fn"]]
    processor = named(**arguments)
    if given["set_mark"] != UNSET:
        processor.set_mark(given["set_mark"])
    random.seed(given["seed"])
    return processor


def _run_dialogue(given: dict) -> dict:
    return {"text": _build_processor(given)(deepcopy(given["sample"]))}


def _run_question(given: dict) -> dict:
    asked, said = _build_processor(given).process_qa(given["question"], given["options"], given["answer"])
    return {"full_question": asked, "full_answer": said}


# Loader


def _run_options(given: dict) -> dict:
    from utils.data_utils import question_with_options

    random.seed(given["seed"])
    return {"question_with_option": question_with_options(deepcopy(given["sample"]), given["option_mark"])}


def _run_loader(given: dict) -> dict:
    dataset = _open_dataset(given)
    return {"len": len(dataset), "samples": [_see(dataset[index]) for index in given["indices"]]}


def _run_dialog_data(given: dict, before: dict) -> dict:
    dataset = _open_dataset(given)
    trace = []
    for index, fed in enumerate(before.get("trace", ())):
        step = {"index": index}
        try:
            sample = dataset[index]
            step |= {"sample": _see(sample), "fed_prediction": fed["fed_prediction"]}
            if given["args"]["online_multi_round"]:
                dataset.update_history([[[sample["sample_id"], fed["fed_prediction"]]]])
        except Exception as error:
            step |= {"error": type(error).__name__}
        trace.append(step)
    return {"len": len(dataset), "trace": trace}


def _open_dataset(given: dict):
    import build

    folder = Path(tempfile.mkdtemp())
    file = folder / "data.json"
    image = BytesIO()
    Image.new("RGB", (4, 3), "red").save(image, "PNG")
    file.write_text(json.dumps(given["data"]).replace("<IMG>", b64encode(image.getvalue()).decode()), "utf-8")
    config = {**given["config"]}
    config["data_config"] = {
        **config.get("data_config", {}),
        **dict.fromkeys(PLACES, str(file)),
        **{name: str(folder) for name in ("image_path", "image_dir")},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    if given.get("image_files_exist"):
        for item in given["data"]["data"]["dialogs"]:
            for name in ("", "VisualDialog_"):
                (folder / f"{name}{config['split']}_{item['image_id']:012d}.jpg").touch()
    random.seed(given["seed"])
    return build.load_reform_dataset(
        given["dataset_name"],
        given["formulation"],
        str(folder / "config.yaml"),
        load_from_hf=False,
        offline_from_hf=True,
        preprocessor=_build_preprocessor(given),
        **given["args"],
    )


def _load_json(kind: str, data_files: dict, split: str) -> list:
    data = json.loads(Path(data_files[split]).read_text("utf-8"))
    return data if isinstance(data, list) else [data]


def _build_preprocessor(given: dict):
    from utils.preprocessors import ConvSingleChoiceProcessor

    settings = given["processor"]
    if settings is None:
        return None
    names = ("sep", "sep2", "roles", "sep_style", "response_prefix")
    processor = ConvSingleChoiceProcessor(
        **{name: settings[name] for name in names if name in settings},
        infer_method=given["args"].get("inference_method", "generation"),
    )
    processor.set_mark(settings["set_mark"])
    return processor


def _see(sample: dict) -> dict:
    return deepcopy({name: value for name, value in sample.items() if name != "image"})


# Instructions of ours in the framework's classes


class _Pooled(ast.NodeTransformer):
    """Writes texts of one pool in the place of another's wherever a class assigns them."""

    def __init__(self, theirs: Pool, ours: Pool) -> None:
        self.lists = {theirs.answer: ours.answer, theirs.choose: ours.choose}
        self.example = ours.example

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and target.attr in POOLED and isinstance(value, ast.List):
            texts = ast.literal_eval(value)
            if target.attr == "in_context_history":
                node.value = ast.copy_location(
                    ast.parse(repr([dict(turn) for turn in self.example])).body[0].value, value
                )
            elif tuple(texts) in self.lists:
                node.value = ast.copy_location(ast.parse(repr(list(self.lists[tuple(texts)]))).body[0].value, value)
        return ast.fix_missing_locations(node)


def _put_pools_in_place(checkout: Path) -> None:
    """Run the modules of the framework's data sets again, with texts of ours."""
    theirs, ours = read_pools(checkout), load_pools()
    modules = {module.__file__: module for name, module in sys.modules.items() if name.startswith("build.")}
    made: dict[type, type] = {}
    for file, module in modules.items():
        place = os.path.relpath(file, checkout)
        tree = ast.parse(Path(file).read_text("utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and f"{place}:{node.name}" in theirs]
        for node in classes:
            key = f"{place}:{node.name}"
            _Pooled(theirs[key], ours[key]).visit(node)
        before = {node.name: vars(module)[node.name] for node in classes}
        if classes:
            exec(compile(tree, file, "exec"), vars(module))
        made |= {old: vars(module)[name] for name, old in before.items()}
    for module in modules.values():
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value in made:
                setattr(module, name, made[value])
