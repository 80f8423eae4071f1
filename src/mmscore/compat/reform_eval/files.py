"""Where ReForm-Eval's data stands: configurations, files of the Hub or of a folder, pictures with their boxes.

Source: FudanDISC/ReForm-Eval@df1cfa7 build/configs, build/*/*.py (paths, boxes).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import PIL.Image
import PIL.ImageColor

from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.option_fields import read_mapping_file
from mmconvert.core.record import Image
from mmconvert.core.text.json import parse_json
from mmconvert.images.boxes import read_boxes
from mmconvert.images.canvas import decode_rgb, encode_png
from mmconvert.images.loader import Pictures
from mmconvert.kits.reform_eval import tdiuc
from mmconvert.transforms.draw_boxes import COLORS, draw_outline
from mmconvert.transforms.draw_distractors import read_choices

HUB = "Aweminus/ReForm-Eval-Data"
HUB_QUESTIONS = "Aweminus/ReForm-Eval"
"""Where the kit looks for TDIUC's questions, which stand apart from the rest."""

_HUB, _LOCAL = "hub", "local"
_KEYS: Mapping[str, Mapping[str, Sequence[str]]] = {
    _HUB: {
        "data": ("huggingface_data", "hf_anns_path"),
        "questions": ("hf_question_path",),
        "annotations": ("hf_anns_path",),
        "choices": ("hf_choice_path",),
    },
    _LOCAL: {
        # The second is how the kit's own file for RefCOCO spells it.
        "data": ("offline_huggingface_data", "offline_huggingfac_data", "offline_huggingface_anns"),
        "questions": ("offline_huggingface_question",),
        "annotations": ("offline_huggingface_anns",),
        "choices": ("offline_huggingface_choice",),
    },
}
"""Keys of `data_config` for what a loader reads."""


def read_config(config: str | Path | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Read a dataset's configuration.

    Args:
        config: A YAML file, or what such a file holds.

    Raises:
        UsageError: There is none, or it has no `data_config`.
    """
    if config is None:
        raise UsageError(
            "dataset_config is missing: the kit's defaults are paths that do not exist. Give its YAML file."
        )
    values = config if isinstance(config, Mapping) else read_mapping_file(str(config))
    if not isinstance(values.get("data_config"), Mapping):
        raise UsageError(
            f"dataset_config: has no data_config {show(values.get('data_config'))}. Take the kit's YAML file."
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
        # Taken pairwise in the order of their ids, as the kit does.
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
            Error: It is no list.
        """
        return read_choices(self._path("choices", HUB, f"{kind}.json" if kind else ""))

    def _named(self, what: str) -> str | None:
        places = self.config["data_config"]
        keys = _KEYS[_HUB if self.from_hub else _LOCAL][what]
        return next((str(places[key]) for key in keys if places.get(key)), None)

    def _path(self, what: str, repo: str, inside: str = "") -> Path:
        name = self._named(what)
        if name is None:
            key = _KEYS[_HUB if self.from_hub else _LOCAL][what][0]
            raise UsageError(f"dataset_config: data_config has no {key}. Take the kit's YAML file.")
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
        raise Error(f"{path}: is no JSON file ({take_first_line(error)}). Fetch it again.") from None


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


def picture_of(sample: Mapping[str, Any], dataset: str, task: str | None) -> Image:
    """Give a sample's picture as its model sees it.

    Args:
        sample: `image` as base64, `bbox` where there is one.
        dataset: The kit's name of the dataset.
        task: Task of its configuration.

    Returns:
        The original bytes; a PNG where boxes are drawn on it, or it is cut to one.

    Raises:
        RowError: It is no picture, or the box is none.
    """
    images = Pictures(())
    image = images.of_base64(sample["image"], 1)
    drawing = _DRAWINGS.get((dataset, task or ""))
    if drawing is None or sample.get("bbox") is None:
        return image
    return images.of_bytes(encode_png(drawing(decode_rgb(image), sample["bbox"])), 1)
