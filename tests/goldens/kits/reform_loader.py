"""Golden rules of ReForm-Eval's data loader, run with the instructions that a case was made with."""

import json
import tempfile
from base64 import b64encode
from pathlib import Path
from random import Random

from goldens.rules import Whole, refusal_or
from mmconvert.kits.reform_eval.conversation_text import build_labeled_question
from mmconvert.kits.reform_eval.loader import load
from mmscore.compat.reform_eval import ConvSingleChoiceProcessor, load_reform_dataset
from support.questions import make_image

POOLS = Path(__file__).resolve().parents[4] / "shared/data/reform_eval_pools.json"
OWN = "own"
IMAGE = b64encode(make_image("red", (4, 3))).decode()


def _open(given):
    """Load a dataset whose file and configuration lie in a folder, as the family's description says."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "data.json")
        file.write_text(json.dumps(given["data"]).replace("<IMG>", IMAGE))
        places = {**given["config"].get("data_config", {}), "offline_huggingface_data": str(file)}
        return load_reform_dataset(
            given["dataset_name"],
            given["formulation"],
            {**given["config"], "data_config": places},
            load_from_hf=False,
            offline_from_hf=True,
            preprocessor=_build_preprocessor(given),
            pools=_find_pools(given),
            seed=given["seed"],
            **given["args"],
        )


def _find_pools(given):
    """Give the framework's instructions to the cases that show them; those made anew have the product's own."""
    return None if given.get("pools") == OWN or not POOLS.is_file() else POOLS


def _build_preprocessor(given):
    settings = given["processor"]
    if settings is None:
        return None
    names = ("sep", "sep2", "roles", "sep_style", "response_prefix")
    method = given["args"].get("inference_method", "generation")
    preprocessor = ConvSingleChoiceProcessor(
        **{name: settings[name] for name in names if name in settings}, infer_method=method
    )
    preprocessor.set_mark(settings["set_mark"])
    return preprocessor


def _seen(sample):
    return {name: value for name, value in sample.items() if name != "image"}


def _load(given):
    dataset = _open(given)
    return {"len": len(dataset), "samples": [_seen(dataset[index]) for index in given["indices"]]}


def _walk(case):
    given = case["input"]
    # The command does not look for the files of images that the data holds, the original does.
    dialogs = load(given["data"], _open(given).setup, Random(given["seed"]), lambda name: given["image_files_exist"])
    online = given["args"]["online_multi_round"]
    steps = [_step(dialogs, index, fed, online) for index, fed in enumerate(case["expected"].get("trace", ()))]
    return {"len": len(dialogs), "trace": [{"index": index, **step} for index, step in enumerate(steps)]}


def _step(dialogs, index, fed, online):
    """Visit a round, and tell the dialogs what the model said."""

    def visit():
        sample = dialogs[index]
        if online:
            dialogs.update_history([[(sample["sample_id"], fed["fed_prediction"])]])
        return {"sample": _seen(sample), "fed_prediction": fed["fed_prediction"]}

    return refusal_or(visit)


def _question_with_options(given):
    text = build_labeled_question(given["sample"], given["option_mark"], Random(given["seed"]))
    return {"question_with_option": text}


LOADER = "mmscore.compat.reform_eval.load_reform_dataset"
RULES = {
    ("reform_loader", "question_with_options"): (LOADER, _question_with_options),
    ("reform_loader", "load_reform_dataset"): (LOADER, _load),
    ("reform_loader", "visdial_walk"): (LOADER, Whole(_walk)),
}
