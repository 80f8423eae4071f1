"""Golden rules of the three ways to word an MMMU question."""

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS
from mmconvert.core.text.literals import parse_list
from mmconvert.core.text.options import read_answer_letter
from mmconvert.prompts.lmms_mmmu import build_lmms_mmmu_text, interleave_images, list_named_images
from mmconvert.prompts.mmmu import build_mmmu_text
from mmconvert.prompts.mmmu_pro import build_mmmu_pro_text

MULTIPLE_CHOICE = "multiple-choice"


def _options(record):
    return parse_list(record["options"]) if record["question_type"] == MULTIPLE_CHOICE else None


def _column(record, slot, *, required=False):
    """Name the column of a picture, None for an empty one; a column that is not there is refused."""
    name = f"image_{slot}"
    if name not in record or (required and not record[name]):
        raise RowError("image.missing", name, "the text names a picture that the row does not have.")
    return name if record[name] else None


def _mmmu(given):
    record = given["record"]
    options = _options(record)
    text = build_mmmu_text(record["question"], options)
    sample = {"prompt": text, "empty_prompt": text, "gt_content": record["answer"], "image": _column(record, 1)}
    if options is None:
        return sample
    letters = [chr(ord("A") + number) for number in range(len(options))]
    return sample | {
        "gt_content": options[LETTERS.index(read_answer_letter(record["answer"], options))],
        "all_choices": letters,
        "index2ans": dict(zip(letters, options, strict=True)),
        "correct_choice": record["answer"],
    }


def _mmmu_pro(given):
    record = given["record"]
    text, order = build_mmmu_pro_text(record["question"], parse_list(record["options"]), given["mode"], given["script"])
    return {"text": text, "image_order": list(order), "images": [_column(record, slot) for slot in order]}


def _lmms_mmmu(given):
    record = given["record"]
    text = build_lmms_mmmu_text(record["question"], _options(record))
    slots = list_named_images(text)
    columns = [_column(record, slot, required=True) for slot in slots]
    if not given["interleaved"]:
        return {"text": text, "images": columns}
    shown = iter(columns)
    content = [
        {"type": "text", "text": part.text} if part.type == "text" else {"type": "image", "image": next(shown)}
        for part in interleave_images(text, slots).parts
    ]
    return {"messages": [{"role": "user", "content": content}]}


PROMPT = "mmconvert convert --format mmmu --prompt"
RULES = {
    ("mmmu_prompt", "mmmu_prompt"): (f"{PROMPT} mmmu", _mmmu),
    ("mmmu_prompt", "mmmu_pro_prompt"): (f"{PROMPT} mmmu_pro", _mmmu_pro),
    ("mmmu_prompt", "lmms_mmmu_prompt"): (f"{PROMPT} lmms_mmmu", _lmms_mmmu),
}
