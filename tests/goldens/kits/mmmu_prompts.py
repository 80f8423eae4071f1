"""Golden rules of the three ways to word an MMMU question.

The cases call functions of the frameworks with rows that `--format mmmu` refuses: of one option, of placeholders whose
image is empty. So the rows become records here.
"""

from mmconvert.core.record import Image, Record, Source
from mmconvert.core.text.literals import parse_list
from mmconvert.core.text.options import list_letters, read_answer_letter
from mmconvert.pipeline.prompting import build_prompt_step

MULTIPLE_CHOICE, CHOICE = "multiple-choice", "multiple_choice"
SLOTS = range(1, 8)


def _read_record(row, slots):
    """Hold a row as a record whose images, named by their columns, no turn shows yet."""
    choice = row["question_type"] == MULTIPLE_CHOICE
    return Record(
        row["id"],
        row["id"],
        messages=(),
        task=CHOICE if choice else "vqa",
        source=Source("mmmu", "mmmu.parquet", 0),
        question=row["question"],
        options=tuple(map(str, parse_list(row["options"]))) if choice else (),
        label=row["answer"],
        attachments=tuple(Image(None, slot, _name(slot) if row[_name(slot)] else None) for slot in slots),
    )


def _name(slot):
    return f"image_{slot}"


def _list_filled(row):
    return [slot for slot in SLOTS if row.get(_name(slot))]


def _word(row, slots, prompt):
    """Word a row; give the record and the names of the images that it shows."""
    worded = build_prompt_step(prompt)(_read_record(row, slots))
    return worded, [image.name for image in worded.images]


def _mmmu(given):
    row = given["record"]
    record, images = _word(row, _list_filled(row), "mmmu")
    text, (image,) = record.messages[0].content[-1].text, images or (None,)
    sample = {"prompt": text, "empty_prompt": text, "gt_content": record.label, "image": image}
    if record.task != CHOICE:
        return sample
    # The record holds texts, the original whatever Python reads.
    options = dict(zip(list_letters(record.options), parse_list(row["options"]), strict=True))
    return sample | {
        "gt_content": options[read_answer_letter(record.label, record.options)],
        "all_choices": list(options),
        "index2ans": options,
        "correct_choice": record.label,
    }


def _mmmu_pro(given):
    row = given["record"]
    # The original hands an empty image on, and the model's code stops at it.
    slots = [slot for slot in SLOTS if _name(slot) in row]
    record, images = _word(row, slots, f"mmmu_pro:mode={given['mode']},script={given['script']}")
    order = [image.slot for image in record.images]
    return {"text": record.messages[0].content[0].text, "image_order": order, "images": images}


def _lmms_mmmu(given):
    row = given["record"]
    record, images = _word(row, _list_filled(row), f"lmms_mmmu:interleaved={str(given['interleaved']).lower()}")
    (turn,) = record.messages
    if not given["interleaved"]:
        return {"text": turn.content[-1].text, "images": images}
    shown = iter(images)
    content = [
        {"type": "text", "text": part.text} if part.type == "text" else {"type": "image", "image": next(shown)}
        for part in turn.content
    ]
    return {"messages": [{"role": turn.role, "content": content}]}


PROMPT = "mmconvert convert --format mmmu --prompt"
RULES = {
    ("mmmu_prompt", "mmmu_prompt"): (f"{PROMPT} mmmu", _mmmu),
    ("mmmu_prompt", "mmmu_pro_prompt"): (f"{PROMPT} mmmu_pro", _mmmu_pro),
    ("mmmu_prompt", "lmms_mmmu_prompt"): (f"{PROMPT} lmms_mmmu", _lmms_mmmu),
}
