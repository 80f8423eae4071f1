"""`load_reform_dataset`: ReForm-Eval's samples, images decoded, as its own loader gives them.

Configurations, files of the Hub or of a folder, and images with their boxes are read here. Source:
FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py, build/configs, build/*/*.py (paths, boxes).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import msgspec
import PIL.Image
import PIL.ImageColor
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.record import Image
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.yaml import read_mapping_file
from mmconvert.images.boxes import read_boxes
from mmconvert.images.canvas import decode_rgb, encode_png
from mmconvert.images.loader import ImageLoader
from mmconvert.kits.reform_eval import tdiuc
from mmconvert.kits.reform_eval.conversation_text import Processor
from mmconvert.kits.reform_eval.conversations import Conversations
from mmconvert.kits.reform_eval.loader import CHOICE, GENERATION, load
from mmconvert.kits.reform_eval.pools import read_pools
from mmconvert.kits.reform_eval.setup import Setup
from mmconvert.transforms.draw_boxes import COLORS, draw_outline
from mmconvert.transforms.draw_distractors import read_choices
from mmscore.compat.reform_eval.preprocessors import settings_of

HUB = "Aweminus/ReForm-Eval-Data"
HUB_QUESTIONS = "Aweminus/ReForm-Eval"
"""Where the framework looks for TDIUC's questions, which stand apart from the rest."""

_HUB, _LOCAL = "hub", "local"
_KEYS: Mapping[str, Mapping[str, Sequence[str]]] = {
    _HUB: {
        "data": ("huggingface_data", "hf_anns_path", "hf_{kind}_anns_path"),
        "questions": ("hf_question_path",),
        "annotations": ("hf_anns_path",),
        "choices": ("hf_choice_path",),
    },
    _LOCAL: {
        "data": ("offline_huggingface_data", "offline_huggingface_anns", "offline_huggingface_{kind}_anns"),
        "questions": ("offline_huggingface_question",),
        "annotations": ("offline_huggingface_anns",),
        "choices": ("offline_huggingface_choice",),
    },
}
"""Keys of `data_config` for what a loader reads; VizWiz has one file for each `task_kind`."""

_KINDS = {"SingleChoice": "singleChoice", "YesOrNo": "yesNo"}
"""`task_kind` of a configuration -> how its keys spell it."""

__all__ = ["CHOICE", "GENERATION", "ReformDataset", "load_reform_dataset", "open_dataset"]


def read_config(config: str | Path | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Read a dataset's configuration.

    Args:
        config: A YAML file, or what such a file holds.

    Raises:
        UsageError: There is none, or it has no `data_config`.
    """
    if config is None:
        raise UsageError(
            "dataset_config is missing: the framework's defaults are paths that do not exist. Give its YAML file."
        )
    values = config if isinstance(config, Mapping) else read_mapping_file(str(config))
    if not isinstance(values.get("data_config"), Mapping):
        raise UsageError(
            f"dataset_config: has no data_config {show(values.get('data_config'))}. Take the framework's YAML file."
        )
    return values


class Files(msgspec.Struct, frozen=True):
    """The files of one dataset: from the Hub, or from a folder.

    Attributes:
        config: The dataset's configuration.
        from_hub: Take them from the Hub.
    """

    config: Mapping[str, Any]
    from_hub: bool

    def data(self) -> Any:
        """Read the items: an object with `data`, or a list.

        Raises:
            UsageError: The configuration does not name the file, or it is not there.
            Error: The file is no JSON, or the Hub cannot be reached.
        """
        if self._named("questions") is None:
            return _json(self._path("data", HUB))
        # Taken pairwise in the order of their ids, as the framework does.
        questions = _listed(_json(self._path("questions", HUB_QUESTIONS)), "questions")
        annotations = _listed(_json(self._path("annotations", HUB_QUESTIONS)), "annotations")
        pairs = zip(_by_id(questions), _by_id(annotations), strict=False)
        joined = [{**annotation, **question} for question, annotation in pairs]
        return [fields for fields in joined if fields.get(tdiuc.TYPE) == self.config.get("task")]

    def choices(self, kind: str) -> Sequence[str]:
        """Read the answers from which wrong options are drawn.

        Args:
            kind: Type of the question where there is a list for each.

        Raises:
            UsageError: The configuration does not name the list, or it is not there.
            Error: It is not a list.
        """
        return read_choices(self._path("choices", HUB, f"{kind}.json" if kind else ""))

    def _keys(self, what: str) -> Sequence[str]:
        kind = _KINDS.get(str(self.config.get("task_kind")), "")
        return [key.format(kind=kind) for key in _KEYS[_HUB if self.from_hub else _LOCAL][what]]

    def _named(self, what: str) -> str | None:
        places = self.config["data_config"]
        return next((str(places[key]) for key in self._keys(what) if places.get(key)), None)

    def _path(self, what: str, repo: str, inside: str = "") -> Path:
        name = self._named(what)
        if name is None:
            kind = f" for task_kind {self.config['task_kind']}" if "task_kind" in self.config else ""
            raise UsageError(
                f"dataset_config: data_config has no {self._keys(what)[0]}{kind}. Take the framework's YAML file."
            )
        name = f"{name.rstrip('/')}/{inside}" if inside else name
        if self.from_hub:
            return _downloaded(repo, name.removeprefix("./"))
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"{path}: no such file. The paths of a dataset_config go from the folder you are in.")
        return path


def _downloaded(repo: str, name: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repo, name, repo_type="dataset"))
    except Exception as error:  # the client's errors are of many families, of its HTTP library too
        raise Error(
            f"{repo} {name}: the Hub does not give it ({take_first_line(error)}). "
            "Check HF_HUB_OFFLINE and the network, "
            "or load a copy: offline_from_hf=True, load_from_hf=False (--offline_hf)."
        ) from None


def _json(path: Path) -> Any:
    try:
        return parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode())
    except (RowError, UnicodeDecodeError) as error:
        raise Error(f"{path}: is not JSON file ({take_first_line(error)}). Fetch it again.") from None


def _listed(value: Any, name: str) -> Sequence[Mapping[str, Any]]:
    items = value.get(name) if isinstance(value, Mapping) else value
    if not isinstance(items, list) or not all(isinstance(item, Mapping) and tdiuc.KEY in item for item in items):
        raise Error(f"{name}: expected a list of objects with {tdiuc.KEY} {show(items)}. Check dataset_config.")
    return items


def _by_id(items: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return sorted(items, key=lambda item: (isinstance(item[tdiuc.KEY], str), item[tdiuc.KEY]))


def _outlined(image: PIL.Image.Image, box: Any, *, layout: str, width: int) -> PIL.Image.Image:
    names = COLORS.split(",")
    boxes = read_boxes({"bbox": box}, "bbox", layout, image.size)
    if len(boxes) > len(names):
        raise RowError("box.count", "bbox", f"{len(boxes)} boxes, but {len(names)} colours. Leave the row out.")
    for one, color in zip(boxes, names, strict=False):
        draw_outline(image, one, width, PIL.ImageColor.getrgb(color)[:3])
    return image


def _cut(image: PIL.Image.Image, box: Any) -> PIL.Image.Image:
    one = read_boxes({"bbox": box}, "bbox", "xywh", image.size)[0]
    return image.crop((one.left, one.top, one.right, one.bottom))


_DRAWINGS: Mapping[tuple[str, str], Callable[[PIL.Image.Image, Any], PIL.Image.Image]] = {
    ("MSCOCO", "goi"): partial(_outlined, layout="xywh", width=3),
    ("MSCOCO", "mos"): partial(_outlined, layout="xywh", width=3),
    ("RefCOCO", "res"): partial(_outlined, layout="xyxy", width=2),
    ("COCO_text", "gocr"): partial(_outlined, layout="xywh", width=5),
    ("IC15", "gocr"): partial(_outlined, layout="xyxy", width=2),
    ("TextOCR", "gocr"): partial(_outlined, layout="xywh", width=2),
    ("TextOCR", "ocr"): _cut,
}
"""What is done with the box of an item, by dataset and task."""


def image_of(sample: Mapping[str, Any], dataset: str, task: str | None) -> Image:
    """Give a sample's image as its model sees it.

    Args:
        sample: `image` as base64, `bbox` where there is one.
        dataset: The framework's name of the dataset.
        task: Task of its configuration.

    Returns:
        The original bytes; a PNG where boxes are drawn on it, or it is cut to one.

    Raises:
        RowError: It is no image, or the box is none.
    """
    images = ImageLoader(())
    image = images.of_base64(sample["image"], 1)
    drawing = _DRAWINGS.get((dataset, task or ""))
    if drawing is None or sample.get("bbox") is None:
        return image
    return images.of_bytes(encode_png(drawing(decode_rgb(image), sample["bbox"])), 1)


class ReformDataset(Sequence[dict[str, Any]]):
    """Samples by number; item i is copy i % d of question i // d, and each visit draws again as in the framework."""

    def __init__(self, samples: Sequence[dict[str, Any]], setup: Setup) -> None:
        """Take what the loader gave, and the arguments it was given."""
        self.samples = samples
        self.setup = setup

    def __len__(self) -> int:
        """Count questions times copies."""
        return len(self.samples)

    def __getitem__(self, index: Any) -> Any:
        """Visit a sample; `image` is a PIL image in RGB. A slice gives a list.

        Raises:
            IndexError: There is none.
            RowError: Its image cannot be decoded, or its answer is none of its options.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        sample, image = self.visit(index)
        return {**sample, "image": decode_rgb(image)}

    def visit(self, index: int) -> tuple[dict[str, Any], Image]:
        """Visit a sample, its image undecoded beside it."""
        sample = self.samples[range(len(self))[index]]  # -1 is the last, as in the framework
        return sample, image_of(sample, self.setup.dataset_name, self.setup.config.get("task"))

    @property
    def dialogs(self) -> Conversations | None:
        """The rounds of conversations, where these are some."""
        return self.samples if isinstance(self.samples, Conversations) else None

    def update_history(self, answers: Iterable[Iterable[tuple[str, str]]]) -> None:
        """Take in what a model answered to rounds of conversations; see `Conversations.update_history`.

        Raises:
            UsageError: The samples are no conversations.
        """
        if self.dialogs is None:
            raise UsageError("only conversations have a history (dataset_name VisDial). Leave update_history out.")
        self.dialogs.update_history(answers)


def load_reform_dataset(
    dataset_name: str,
    formulation: str,
    dataset_config: str | Path | Mapping[str, Any] | None = None,
    inference_method: str = "generation",
    in_context_sample: bool = True,
    random_instruct: bool = True,
    data_duplication: int = 5,
    shuffle_options: bool = True,
    load_from_hf: bool = True,
    offline_from_hf: bool = False,
    option_mark: str | None = "random",
    online_multi_round: bool = True,
    preprocessor: Any = None,
    *,
    pools: str | Path | None = None,
    seed: int = 0,
    answer_space_instruct: bool = False,
) -> ReformDataset:
    """Load a dataset of ReForm-Eval.

    Args:
        dataset_name: The framework's name, as VQA or MSCOCO.
        formulation: SingleChoice, Generation, OCROpenEnded or KIEOpenEnded.
        dataset_config: The dataset's YAML file, or what it holds.
        inference_method: generation or likelihood.
        in_context_sample: Put a finished round before the question.
        random_instruct: Another instruction for each copy of a sample.
        data_duplication: Copies of each sample.
        shuffle_options: Draw the options' order.
        load_from_hf: Read the Hub; wins over `offline_from_hf`.
        offline_from_hf: Read the files that the configuration names on this machine.
        option_mark: Marks in `question_with_option`: upper, lower, number; random or None draws them.
        online_multi_round: A conversation's history is what `update_history` is told, not the right answers.
        preprocessor: Makes `text` of each sample.
        pools: ReForm-Eval's checkout, whose instructions and one-shot rounds are read, or a file of others; None is
            our prompt template.
        seed: Seed of all draws; the framework sets none.
        answer_space_instruct: As the flag of `run_eval`, for CLEVR by likelihood. The framework's function fails
            there, since it has no such argument.

    Returns:
        Samples: dicts with sample_id, image (PIL, RGB), question, answer, answer_options, instruct, ..., where
        the dataset has them.

    Raises:
        UsageError: A name or a combination of arguments is none that the framework takes, or a file is not there.
        Error: A file cannot be read, or does not go with the configuration.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py:load_reform_dataset.
    """
    config = read_config(dataset_config)
    if data_duplication < 1:
        raise UsageError(f"data_duplication: expected a number from 1 {show(data_duplication)}.")
    # The framework takes a mark that it does not know for random.
    Processor("\n", mark=option_mark).choose_labels(Random(0))
    setup = Setup(
        dataset_name,
        formulation,
        config,
        inference_method,
        in_context_sample=in_context_sample,
        random_instruct=random_instruct,
        data_duplication=data_duplication,
        shuffle_options=shuffle_options,
        option_mark=option_mark,
        online_multi_round=online_multi_round,
        pools=read_pools(None if pools is None else Path(pools)),
        answer_space_instruct=answer_space_instruct,
    )
    setup = with_preprocessor(setup, preprocessor)
    return open_dataset(setup, load_from_hf=load_from_hf, offline_from_hf=offline_from_hf, seed=seed)


def with_preprocessor(setup: Setup, preprocessor: Any) -> Setup:
    """Let a preprocessor write the texts; None leaves them as they are.

    Like the framework's loader, drops how it begins responses where these are generated freely.
    """
    if preprocessor is None:
        return setup
    settings, write, finish = settings_of(preprocessor, setup.inference_method)
    if setup.formulation == GENERATION and hasattr(preprocessor, "response_prefix"):
        preprocessor.response_prefix = None
    return replace(setup, processor=settings, write=write, finish=finish)


def open_dataset(
    setup: Setup, *, load_from_hf: bool, offline_from_hf: bool, seed: int, dialogs: int | None = None
) -> ReformDataset:
    """Read the files of a dataset and load it.

    Args:
        setup: The loader's arguments.
        load_from_hf: Read the Hub.
        offline_from_hf: Read the files on this machine.
        seed: Seed of all draws.
        dialogs: Only the first conversations, of a dataset that has some.

    Raises:
        UsageError: Neither place is named, or the loader refuses the arguments.
        Error: A file cannot be read, or does not go with the configuration.
    """
    if not (load_from_hf or offline_from_hf):
        raise UsageError(
            "the benchmarks' raw files, each in its own shape, are not read here. Give --hf (load_from_hf=True), or "
            "--offline_hf (offline_from_hf=True) for a copy of the Hub's files."
        )
    files = Files(setup.config, from_hub=load_from_hf)
    setup = replace(setup, choices=files.choices)
    data = files.data()
    if dialogs is not None and isinstance(data, Mapping) and isinstance(data.get("data"), Mapping):
        data = {**data, "data": {**data["data"], "dialogs": data["data"]["dialogs"][:dialogs]}}
    return ReformDataset(cast(Sequence[dict[str, Any]], load(data, setup, Random(seed))), setup)
