"""The families of ReForm-Eval's dataset files: what one item asks, and how its loader words it.

Some sixty benchmarks stand in files of about twenty shapes. A family says how an item of one shape
becomes a question; nothing is drawn or shuffled here. Source: FudanDISC/ReForm-Eval@df1cfa7 build.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, show
from mmconvert.io.columns import restore_integer

# Interface literals. Source: FudanDISC/ReForm-Eval@df1cfa7 build/MOCHEG/mcv_dataset.py,
# build/Winoground/caption_selection_dataset.py
CLAIM_QUESTION = "What is the truthfulness of this claim? Claim: {} Text Evidence: {}"
CLAIM_ANSWERS = "Please answer supported, refuted or not enough information."
SELECTION_QUESTION = "Which description matches this image?"
DESCRIPTION_QUESTION = "Please generate a sentence to describe this image."

COCO_NAME = "COCO_val2014_{:0>12}.jpg"
"""TDIUC's images, where the file has their number alone. Source: build/TDIUC/tdiuc_dataset.py"""

MATCH_OPTIONS = ("no", "yes")
ENTAILMENT_OPTIONS = ("yes", "not sure", "no")


class FamilyItem(msgspec.Struct, frozen=True):
    """One question as its file holds it.

    Attributes:
        key: The source's id; None where rows go by their number.
        image: The image, as the file writes it.
        questions: Wordings of the question, the first one is the usual; () where a template asks.
        options: Options in the file's order, texts or numbers; None for an open question.
        answer: Index of the right option, a text or number, a list of texts; None for captions.
        references: Captions.
        topic: What fills the template that asks.
        kept: Fields that the loader hands on under these names.
        used: Fields of the file that stand in the ones above without any change.
    """

    key: str | int | None
    image: Any
    questions: tuple[str, ...] = ()
    options: tuple[Any, ...] | None = None
    answer: Any = None
    references: tuple[str, ...] = ()
    topic: str | None = None
    kept: Mapping[str, Any] = msgspec.field(default_factory=dict)
    used: tuple[str, ...] = ()


class Family(msgspec.Struct, frozen=True):
    """How the items of one shape are read.

    Attributes:
        item: Fields of an item -> the question.
        pool: The framework's class whose instructions and one-shot example belong to it.
        task: Task of its records.
        templated: The instruction is the question itself, with `{}` for the topic.
        answer_is_text: The file names the right option by its text, not by its index.
    """

    item: Callable[[Mapping[str, Any]], FamilyItem]
    pool: str
    task: str = "multiple_choice"
    templated: bool = False
    answer_is_text: bool = False


def _need(fields: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> Any:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, kind):
        raise RowError(f"{name}.type", name, f"expected {what} {show(value)}.")
    return value


def _need_place(fields: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> Any:
    """Give a field that may count something; JSON's 1.0 is 1 there, but in no id."""
    return _need({name: restore_integer(fields.get(name))}, name, kind, what)


def _read_text(fields: Mapping[str, Any], name: str) -> str:
    return str(_need(fields, name, str, "a text"))


def _read_key(fields: Mapping[str, Any], name: str) -> str | int:
    value: str | int = _need(fields, name, (str, int), "a text or an integer")
    if isinstance(value, str) and not value.strip():
        raise RowError(f"{name}.missing", name, "the item has no id.")
    return value


def _read_texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _need(fields, name, list, "a list of texts")
    if not values:
        raise RowError(f"{name}.type", name, f"expected a list of texts {show(values)}.")
    for number, value in enumerate(values):
        if not isinstance(value, str):
            raise RowError(f"{name}.type", f"{name}[{number}]", f"expected a text {show(value)}.")
    return tuple(values)


def _read_prompts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return (value,) if isinstance(value, str) else _read_texts(fields, name)


def _read_image(fields: Mapping[str, Any], *names: str) -> str:
    name = next((name for name in names if fields.get(name) is not None), names[0])
    return _read_text(fields, name)


def _read_options(fields: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    values = _need(fields, name, list, "a list of options")
    if not values:
        raise RowError("options.type", name, f"expected a list of texts or numbers {show(values)}.")
    for number, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise RowError("options.type", f"{name}[{number}]", f"an option must be a text or a number {show(value)}.")
    return tuple(values)


_VQA_FIELDS = ("question_id", "image_id", "answer", "answer_options")


def _read_vqa(fields: Mapping[str, Any]) -> FamilyItem:
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, "image_id"),
        (_read_text(fields, "question"),),
        _read_options(fields, "answer_options"),
        _read_text(fields, "answer"),
        used=(*_VQA_FIELDS, "question"),
    )


def _read_worded(fields: Mapping[str, Any], ending: str, kept: Sequence[str], **changes: Any) -> FamilyItem:
    parts: dict[str, Any] = {
        "options": changes.get("options") or _read_options(fields, "answer_options"),
        "answer": changes.get("answer") or _read_text(fields, "answer"),
    }
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, "image_id"),
        (_read_text(fields, "question") + ending,),
        **parts,
        kept={name: fields[name] for name in kept},
        used=changes.get("used", _VQA_FIELDS),
    )


def _read_kvqa(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_worded(fields, f" Context: {_read_text(fields, 'context').strip()}", ["context"])


def _read_vqra(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_worded(fields, f" Rationale: {_read_text(fields, 'rationale')}", ["rationale"])


def _read_vqar(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_worded(
        fields,
        f" Answer: {_read_text(fields, 'answer')}",
        ["rationale", "rationale_options"],
        options=_read_options(fields, "rationale_options"),
        answer=_read_text(fields, "rationale"),
        used=("question_id", "image_id"),
    )


def _claim(fields: Mapping[str, Any]) -> FamilyItem:
    claim, evidence = _read_text(fields, "claim").strip(), _read_text(fields, "text_evidence").strip()
    return FamilyItem(
        _read_key(fields, "instance_id"),
        _read_image(fields, "image_id"),
        (CLAIM_QUESTION.format(claim, evidence),),
        _read_options(fields, "answer_options"),
        _read_text(fields, "answer"),
        used=("instance_id", *_VQA_FIELDS[1:]),
    )


def _read_selection(fields: Mapping[str, Any]) -> FamilyItem:
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, "image_id"),
        (SELECTION_QUESTION,),
        _read_options(fields, "answer_options"),
        _read_text(fields, "answer"),
        used=_VQA_FIELDS,
    )


def _read_indexed(fields: Mapping[str, Any], questions: str, options: tuple[Any, ...] | None = None) -> FamilyItem:
    image = next((name for name in ("image", "img") if fields.get(name) is not None), "image")
    prompts = _read_prompts(fields, questions)
    shown = options or _read_options(fields, "answer_options")
    used = ["question_id", image, "answer"]
    used += [questions] if len(prompts) == 1 else []
    used += [] if options else ["answer_options"]
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, image),
        prompts,
        shown,
        _need_place(fields, "answer", int, "the index of an option"),
        kept={"bbox": fields["bbox"]} if fields.get("bbox") is not None else {},
        used=tuple(used),
    )


def _read_core(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_indexed(fields, "question")


def _read_many_questions(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_indexed(fields, "questions")


def _read_statements(fields: Mapping[str, Any]) -> FamilyItem:
    options = tuple(text if text.endswith(".") else f"{text}." for text in _read_texts(fields, "answer_options"))
    return _read_indexed(fields, "question", options)


def _match(fields: Mapping[str, Any]) -> FamilyItem:
    anno = _read_text(fields, "anno")
    return _read_gt(fields, MATCH_OPTIONS, topic=anno, kept={"anno": anno})


def _read_gt(fields: Mapping[str, Any], options: tuple[Any, ...], **more: Any) -> FamilyItem:
    used = ("img", "gt", *more.pop("used", ()))
    answer = _need_place(fields, "gt", int, "the index of an option")
    return FamilyItem(more.pop("key", None), _read_image(fields, "img"), (), options, answer, used=used, **more)


def _read_its(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_gt(fields, _read_options(fields, "anno"), used=("anno",))


def _read_step(fields: Mapping[str, Any]) -> FamilyItem:
    kept = {"task": fields.get("method"), "title": fields.get("title")}
    return _read_gt(
        fields, _read_options(fields, "options"), topic=_read_text(fields, "method"), kept=kept, used=("options",)
    )


def _read_entailment(fields: Mapping[str, Any]) -> FamilyItem:
    anno = _read_text(fields, "anno")
    return _read_gt(fields, ENTAILMENT_OPTIONS, topic=anno, kept={"text": anno})


def _read_disaster(fields: Mapping[str, Any]) -> FamilyItem:
    return _read_gt(fields, _read_options(fields, "options"), used=("options",))


def _read_region(fields: Mapping[str, Any]) -> FamilyItem:
    kept = {"bbox": fields.get("region")}
    return _read_gt(
        fields, _read_options(fields, "options"), key=_read_key(fields, "id"), kept=kept, used=("options", "id")
    )


def _read_classification(fields: Mapping[str, Any]) -> FamilyItem:
    return FamilyItem(
        _read_key(fields, "id"),
        _read_image(fields, "image"),
        (_read_text(fields, "question"),),
        _read_options(fields, "options"),
        _need_place(fields, "answer", int, "the index of an option"),
        used=("id", "image", "question", "options", "answer"),
    )


def _read_reading(fields: Mapping[str, Any]) -> FamilyItem:
    prompts = _read_prompts(fields, "question")
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, "image"),
        prompts,
        None,
        _read_text(fields, "answer_txt"),
        kept={"bbox": fields["bbox"]} if fields.get("bbox") is not None else {},
        used=("question_id", "image", "answer_txt", *(("question",) if len(prompts) == 1 else ())),
    )


def _read_text_question(fields: Mapping[str, Any]) -> FamilyItem:
    answer = fields.get("answer")
    return FamilyItem(
        _read_key(fields, "question_id"),
        _read_image(fields, "image_id"),
        (_read_text(fields, "question"),),
        None,
        answer if isinstance(answer, str) else list(_read_texts(fields, "answer")),
        used=("question_id", "image_id", "question", "answer"),
    )


def _read_caption(fields: Mapping[str, Any]) -> FamilyItem:
    return FamilyItem(None, _read_image(fields, "img"), references=_read_texts(fields, "annos"), used=("img", "annos"))


def _read_counting(fields: Mapping[str, Any]) -> FamilyItem:
    answer = _need_place(fields, "Answer", (str, int), "a number")
    return FamilyItem(
        None,
        _read_image(fields, "Image_ID"),
        (_read_text(fields, "Question"),),
        None,
        answer,
        used=("Image_ID", "Question", "Answer"),
    )


def _read_typed_question(fields: Mapping[str, Any]) -> FamilyItem:
    answers = _need(fields, "answers", list, "a list of answers")
    answer = answers[0].get("answer") if answers and isinstance(answers[0], dict) else None
    if not isinstance(answer, str):
        raise RowError(
            "answers.type", "answers", f"expected a list that begins with {{'answer': TEXT}} {show(answers)}."
        )
    image = _need_place(fields, "image_id", (str, int), "base64 text or COCO's number")
    return FamilyItem(
        _read_key(fields, "question_id"),
        COCO_NAME.format(image) if isinstance(image, int) or image.isdigit() else image,
        (_read_text(fields, "question"),),
        None,
        answer,
        used=("question_id", "image_id", "question", *(("answers",) if answers == [{"answer": answer}] else ())),
    )


def _read_round(fields: Mapping[str, Any]) -> FamilyItem:
    return FamilyItem(
        f"{fields['image_id']}_{fields['round_id']}",
        _read_image(fields, "image_base64"),
        (_read_text(fields, "question"),),
        _read_options(fields, "answer_options"),
        _need_place(fields, "answer", int, "the index of an option"),
        used=("image_id", "image_base64", "round_id", "question", "answer_options", "answer"),
    )


_VQA_POOL = "build/VQA/vqa_dataset.py:VQA_SingleChoice"
_CORE_POOL = "build/MSCOCO/multiclass_identification_dataset.py:MultiClassIden_SingleChoice"
_OCR_POOL = "build/IC15/ocr_dataset.py:OCR_OpenEnded"
_CLASS_POOL = "build/CIFAR10/cifar10_dataset.py:CIFAR10_Dataset"

FAMILIES: dict[str, Family] = {
    "VQA": Family(_read_vqa, _VQA_POOL, answer_is_text=True),
    "KVQA": Family(_read_kvqa, "build/VQA/kvqa_dataset.py:KVQA_SingleChoice", answer_is_text=True),
    "VQRA": Family(_read_vqra, "build/AOKVQA/qra_dataset.py:VQRA_SingleChoice", answer_is_text=True),
    "VQAR": Family(_read_vqar, "build/AOKVQA/qar_dataset.py:VQAR_SingleChoice", answer_is_text=True),
    "MCV": Family(_claim, "build/MOCHEG/mcv_dataset.py:MCV_SingleChoice", answer_is_text=True),
    "CaptionSelection": Family(
        _read_selection,
        "build/Winoground/caption_selection_dataset.py:CaptionSelection_SingleChoice",
        answer_is_text=True,
    ),
    "Core": Family(_read_core, _CORE_POOL),
    "CLEVR": Family(_read_core, "build/CLEVR/spatial_dataset.py:Spatial_SingleChoice"),
    "VSR": Family(_read_statements, _CORE_POOL),
    "MP3D": Family(_read_many_questions, _CORE_POOL),
    "ITM": Family(_match, "build/MSCOCO/image_text_matching_dataset.py:ImageTextMatching", templated=True),
    "ITS": Family(_read_its, "build/MSCOCO/image_text_selection_dataset.py:ImageTextSelection", templated=True),
    "WikiHow": Family(
        _read_step, "build/WikiHow/temporal_ordering_dataset.py:WikiHowImageTextSelection", templated=True
    ),
    "SNLI-VE": Family(
        _read_entailment, "build/SNLI_VE/visual_entailment_dataset.py:VisualEntailmentMatching", templated=True
    ),
    "MEDIC": Family(_read_disaster, "build/MEDIC/disaster_type_dataset.py:DisasterTypeSelection", templated=True),
    "RefCOCO": Family(
        _read_region, "build/RefCOCO/referring_expression_selection.py:ReferringExpressionSelection", templated=True
    ),
    "Classification": Family(_read_classification, _CLASS_POOL),
    "ObjectCounting": Family(_read_counting, _CLASS_POOL, "vqa"),
    "TDIUC": Family(_read_typed_question, "build/TDIUC/tdiuc_dataset.py:TDIUC_Dataset", "vqa"),
    "OCR": Family(_read_reading, _OCR_POOL, "ocr"),
    "KIE": Family(_read_reading, _OCR_POOL, "kie"),
    "TextVQA": Family(_read_text_question, "build/OCR/ocr_dataset.py:OCR_OpenEnded", "ocr"),
    "Caption": Family(_read_caption, "build/MSCOCO/caption_dataset.py:Caption", "caption", templated=True),
    "TextCaps": Family(_read_caption, "build/TextCaps/caption_dataset.py:Caption", "caption", templated=True),
    "VisDial": Family(_read_round, "build/VisDial/visual_dialog_dataset.py:VisualDialog_SingleChoice"),
}
"""Families by the name that stands in `category`."""
