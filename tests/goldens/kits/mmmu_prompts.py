"""Golden rules of the three ways to word an MMMU question."""

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS, Image, Record, Source
from mmconvert.core.text.literals import parse_list
from mmconvert.core.text.options import read_answer_letter
from mmconvert.pipeline.prompting import build_prompt_step, load_prompt

MULTIPLE_CHOICE, CHOICE = "multiple-choice", "multiple_choice"
SLOTS = range(1, 8)


def _read_record(given):
    """Hold a row as a record whose images no turn shows yet."""
    row = given["record"]
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
        attachments=tuple(Image(None, slot) for slot in SLOTS if row.get(_name(slot))),
    )


def _name(slot):
    return f"image_{slot}"


def _mmmu(given):
    record = _read_record(given)
    wording = load_prompt("mmmu")(record)
    text = wording.parts[-1].text
    image = next(map(_name, wording.slots), None)
    sample = {"prompt": text, "empty_prompt": text, "gt_content": record.label, "image": image}
    if record.task != CHOICE:
        return sample
    # The record holds texts, the original whatever Python reads.
    options, letter = parse_list(given["record"]["options"]), read_answer_letter(record.label, record.options)
    return sample | {
        "gt_content": options[LETTERS.index(letter)],
        "all_choices": list(wording.names),
        "index2ans": dict(zip(wording.names, options, strict=True)),
        "correct_choice": record.label,
    }


def _mmmu_pro(given):
    wording = load_prompt(f"mmmu_pro:mode={given['mode']},script={given['script']}")(_read_record(given))
    images = [_column(given["record"], slot) for slot in wording.slots]
    return {"text": wording.parts[0].text, "image_order": list(wording.slots), "images": images}


def _column(row, slot):
    """Name the column of an image, None for an empty one, which the original hands on; the product refuses both."""
    if _name(slot) not in row:
        raise RowError("image.missing", _name(slot), "the text names an image that the row does not have.")
    return _name(slot) if row[_name(slot)] else None


def _lmms_mmmu(given):
    worded = build_prompt_step(f"lmms_mmmu:interleaved={str(given['interleaved']).lower()}")(_read_record(given))
    (turn,) = worded.messages
    shown = iter([_name(image.slot) for image in worded.images])
    if not given["interleaved"]:
        return {"text": turn.content[-1].text, "images": list(shown)}
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
