"""The families of ReForm-Eval's dataset files: what one item asks, and how its loader words it.

Some sixty benchmarks stand in files of about twenty shapes. A family says how an item of one shape
becomes a question; nothing is drawn or shuffled here. Source: FudanDISC/ReForm-Eval@df1cfa7 build.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, got

# Interface literals. Source: FudanDISC/ReForm-Eval@df1cfa7 build/MOCHEG/mcv_dataset.py,
# build/Winoground/caption_selection_dataset.py
CLAIM_QUESTION = "What is the truthfulness of this claim? Claim: {} Text Evidence: {}"
CLAIM_ANSWERS = "Please answer supported, refuted or not enough information."
SELECTION_QUESTION = "Which description matches this image?"
DESCRIPTION_QUESTION = "Please generate a sentence to describe this image."

COCO_NAME = "COCO_val2014_{:0>12}.jpg"
"""TDIUC's pictures, where the file has their number alone. Source: build/TDIUC/tdiuc_dataset.py"""

MATCH_OPTIONS = ("no", "yes")
ENTAILMENT_OPTIONS = ("yes", "not sure", "no")


class Item(msgspec.Struct, frozen=True):
    """One question as its file holds it.

    Attributes:
        key: The source's id; None where rows go by their number.
        image: The picture, as the file writes it.
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
        pool: The kit's class whose instructions and one-shot example belong to it.
        task: Task of its records.
        templated: The instruction is the question itself, with `{}` for the topic.
        answer_is_text: The file names the right option by its text, not by its index.
    """

    item: Callable[[Mapping[str, Any]], Item]
    pool: str
    task: str = "multiple_choice"
    templated: bool = False
    answer_is_text: bool = False


def _need(fields: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> Any:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, kind):
        raise RowError(f"{name}.type", name, f"expected {what} {got(value)}.")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    return str(_need(fields, name, str, "a text"))


def _key(fields: Mapping[str, Any], name: str) -> str | int:
    value: str | int = _need(fields, name, (str, int), "a text or an integer")
    if isinstance(value, str) and not value.strip():
        raise RowError(f"{name}.missing", name, "the item has no id.")
    return value


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _need(fields, name, list, "a list of texts")
    if not values:
        raise RowError(f"{name}.type", name, f"expected a list of texts {got(values)}.")
    for number, value in enumerate(values):
        if not isinstance(value, str):
            raise RowError(f"{name}.type", f"{name}[{number}]", f"expected a text {got(value)}.")
    return tuple(values)


def _wordings(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return (value,) if isinstance(value, str) else _texts(fields, name)


def _image(fields: Mapping[str, Any], *names: str) -> str:
    name = next((name for name in names if fields.get(name) is not None), names[0])
    return _text(fields, name)


def _options(fields: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    values = _need(fields, name, list, "a list of options")
    if not values:
        raise RowError("options.type", name, f"expected a list of texts or numbers {got(values)}.")
    for number, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise RowError("options.type", f"{name}[{number}]", f"an option must be a text or a number {got(value)}.")
    return tuple(values)


_VQA_FIELDS = ("question_id", "image_id", "answer", "answer_options")


def _vqa(fields: Mapping[str, Any]) -> Item:
    return Item(
        _key(fields, "question_id"),
        _image(fields, "image_id"),
        (_text(fields, "question"),),
        _options(fields, "answer_options"),
        _text(fields, "answer"),
        used=(*_VQA_FIELDS, "question"),
    )


def _worded(fields: Mapping[str, Any], ending: str, kept: Sequence[str], **changes: Any) -> Item:
    parts: dict[str, Any] = {
        "options": changes.get("options") or _options(fields, "answer_options"),
        "answer": changes.get("answer") or _text(fields, "answer"),
    }
    return Item(
        _key(fields, "question_id"),
        _image(fields, "image_id"),
        (_text(fields, "question") + ending,),
        **parts,
        kept={name: fields[name] for name in kept},
        used=changes.get("used", _VQA_FIELDS),
    )


def _kvqa(fields: Mapping[str, Any]) -> Item:
    return _worded(fields, f" Context: {_text(fields, 'context').strip()}", ["context"])


def _vqra(fields: Mapping[str, Any]) -> Item:
    return _worded(fields, f" Rationale: {_text(fields, 'rationale')}", ["rationale"])


def _vqar(fields: Mapping[str, Any]) -> Item:
    return _worded(
        fields,
        f" Answer: {_text(fields, 'answer')}",
        ["rationale", "rationale_options"],
        options=_options(fields, "rationale_options"),
        answer=_text(fields, "rationale"),
        used=("question_id", "image_id"),
    )


def _claim(fields: Mapping[str, Any]) -> Item:
    claim, evidence = _text(fields, "claim").strip(), _text(fields, "text_evidence").strip()
    return Item(
        _key(fields, "instance_id"),
        _image(fields, "image_id"),
        (CLAIM_QUESTION.format(claim, evidence),),
        _options(fields, "answer_options"),
        _text(fields, "answer"),
        used=("instance_id", *_VQA_FIELDS[1:]),
    )


def _selection(fields: Mapping[str, Any]) -> Item:
    return Item(
        _key(fields, "question_id"),
        _image(fields, "image_id"),
        (SELECTION_QUESTION,),
        _options(fields, "answer_options"),
        _text(fields, "answer"),
        used=_VQA_FIELDS,
    )


def _indexed(fields: Mapping[str, Any], questions: str, options: tuple[Any, ...] | None = None) -> Item:
    image = next((name for name in ("image", "img") if fields.get(name) is not None), "image")
    wordings = _wordings(fields, questions)
    shown = options or _options(fields, "answer_options")
    used = ["question_id", image, "answer"]
    used += [questions] if len(wordings) == 1 else []
    used += [] if options else ["answer_options"]
    return Item(
        _key(fields, "question_id"),
        _image(fields, image),
        wordings,
        shown,
        _need(fields, "answer", int, "the index of an option"),
        kept={"bbox": fields["bbox"]} if fields.get("bbox") is not None else {},
        used=tuple(used),
    )


def _core(fields: Mapping[str, Any]) -> Item:
    return _indexed(fields, "question")


def _many_questions(fields: Mapping[str, Any]) -> Item:
    return _indexed(fields, "questions")


def _statements(fields: Mapping[str, Any]) -> Item:
    options = tuple(text if text.endswith(".") else f"{text}." for text in _texts(fields, "answer_options"))
    return _indexed(fields, "question", options)


def _match(fields: Mapping[str, Any]) -> Item:
    anno = _text(fields, "anno")
    return _gt(fields, MATCH_OPTIONS, topic=anno, kept={"anno": anno})


def _gt(fields: Mapping[str, Any], options: tuple[Any, ...], **more: Any) -> Item:
    used = ("img", "gt", *more.pop("used", ()))
    answer = _need(fields, "gt", int, "the index of an option")
    return Item(more.pop("key", None), _image(fields, "img"), (), options, answer, used=used, **more)


def _text_selection(fields: Mapping[str, Any]) -> Item:
    return _gt(fields, _options(fields, "anno"), used=("anno",))


def _step(fields: Mapping[str, Any]) -> Item:
    kept = {"task": fields.get("method"), "title": fields.get("title")}
    return _gt(fields, _options(fields, "options"), topic=_text(fields, "method"), kept=kept, used=("options",))


def _entailment(fields: Mapping[str, Any]) -> Item:
    anno = _text(fields, "anno")
    return _gt(fields, ENTAILMENT_OPTIONS, topic=anno, kept={"text": anno})


def _disaster(fields: Mapping[str, Any]) -> Item:
    return _gt(fields, _options(fields, "options"), used=("options",))


def _region(fields: Mapping[str, Any]) -> Item:
    kept = {"bbox": fields.get("region")}
    return _gt(fields, _options(fields, "options"), key=_key(fields, "id"), kept=kept, used=("options", "id"))


def _classification(fields: Mapping[str, Any]) -> Item:
    return Item(
        _key(fields, "id"),
        _image(fields, "image"),
        (_text(fields, "question"),),
        _options(fields, "options"),
        _need(fields, "answer", int, "the index of an option"),
        used=("id", "image", "question", "options", "answer"),
    )


def _reading(fields: Mapping[str, Any]) -> Item:
    wordings = _wordings(fields, "question")
    return Item(
        _key(fields, "question_id"),
        _image(fields, "image"),
        wordings,
        None,
        _text(fields, "answer_txt"),
        kept={"bbox": fields["bbox"]} if fields.get("bbox") is not None else {},
        used=("question_id", "image", "answer_txt", *(("question",) if len(wordings) == 1 else ())),
    )


def _text_question(fields: Mapping[str, Any]) -> Item:
    answer = fields.get("answer")
    return Item(
        _key(fields, "question_id"),
        _image(fields, "image_id"),
        (_text(fields, "question"),),
        None,
        answer if isinstance(answer, str) else list(_texts(fields, "answer")),
        used=("question_id", "image_id", "question", "answer"),
    )


def _caption(fields: Mapping[str, Any]) -> Item:
    return Item(None, _image(fields, "img"), references=_texts(fields, "annos"), used=("img", "annos"))


def _counting(fields: Mapping[str, Any]) -> Item:
    answer = _need(fields, "Answer", (str, int), "a number")
    return Item(
        None,
        _image(fields, "Image_ID"),
        (_text(fields, "Question"),),
        None,
        answer,
        used=("Image_ID", "Question", "Answer"),
    )


def _typed_question(fields: Mapping[str, Any]) -> Item:
    answers = _need(fields, "answers", list, "a list of answers")
    answer = answers[0].get("answer") if answers and isinstance(answers[0], dict) else None
    if not isinstance(answer, str):
        raise RowError(
            "answers.type", "answers", f"expected a list that begins with {{'answer': TEXT}} {got(answers)}."
        )
    image = _need(fields, "image_id", (str, int), "base64 text or COCO's number")
    return Item(
        _key(fields, "question_id"),
        COCO_NAME.format(image) if isinstance(image, int) or image.isdigit() else image,
        (_text(fields, "question"),),
        None,
        answer,
        used=("question_id", "image_id", "question", *(("answers",) if answers == [{"answer": answer}] else ())),
    )


def _round(fields: Mapping[str, Any]) -> Item:
    return Item(
        f"{fields['image_id']}_{fields['round_id']}",
        _image(fields, "image_base64"),
        (_text(fields, "question"),),
        _options(fields, "answer_options"),
        _need(fields, "answer", int, "the index of an option"),
        used=("image_id", "image_base64", "round_id", "question", "answer_options", "answer"),
    )


_VQA_POOL = "build/VQA/vqa_dataset.py:VQA_SingleChoice"
_CORE_POOL = "build/MSCOCO/multiclass_identification_dataset.py:MultiClassIden_SingleChoice"
_OCR_POOL = "build/IC15/ocr_dataset.py:OCR_OpenEnded"
_CLASS_POOL = "build/CIFAR10/cifar10_dataset.py:CIFAR10_Dataset"

FAMILIES: dict[str, Family] = {
    "VQA": Family(_vqa, _VQA_POOL, answer_is_text=True),
    "KVQA": Family(_kvqa, "build/VQA/kvqa_dataset.py:KVQA_SingleChoice", answer_is_text=True),
    "VQRA": Family(_vqra, "build/AOKVQA/qra_dataset.py:VQRA_SingleChoice", answer_is_text=True),
    "VQAR": Family(_vqar, "build/AOKVQA/qar_dataset.py:VQAR_SingleChoice", answer_is_text=True),
    "MCV": Family(_claim, "build/MOCHEG/mcv_dataset.py:MCV_SingleChoice", answer_is_text=True),
    "CaptionSelection": Family(
        _selection, "build/Winoground/caption_selection_dataset.py:CaptionSelection_SingleChoice", answer_is_text=True
    ),
    "Core": Family(_core, _CORE_POOL),
    "CLEVR": Family(_core, "build/CLEVR/spatial_dataset.py:Spatial_SingleChoice"),
    "VSR": Family(_statements, _CORE_POOL),
    "MP3D": Family(_many_questions, _CORE_POOL),
    "ITM": Family(_match, "build/MSCOCO/image_text_matching_dataset.py:ImageTextMatching", templated=True),
    "ITS": Family(_text_selection, "build/MSCOCO/image_text_selection_dataset.py:ImageTextSelection", templated=True),
    "WikiHow": Family(_step, "build/WikiHow/temporal_ordering_dataset.py:WikiHowImageTextSelection", templated=True),
    "SNLI-VE": Family(
        _entailment, "build/SNLI_VE/visual_entailment_dataset.py:VisualEntailmentMatching", templated=True
    ),
    "MEDIC": Family(_disaster, "build/MEDIC/disaster_type_dataset.py:DisasterTypeSelection", templated=True),
    "RefCOCO": Family(
        _region, "build/RefCOCO/referring_expression_selection.py:ReferringExpressionSelection", templated=True
    ),
    "Classification": Family(_classification, _CLASS_POOL),
    "ObjectCounting": Family(_counting, _CLASS_POOL, "vqa"),
    "TDIUC": Family(_typed_question, "build/TDIUC/tdiuc_dataset.py:TDIUC_Dataset", "vqa"),
    "OCR": Family(_reading, _OCR_POOL, "ocr"),
    "KIE": Family(_reading, _OCR_POOL, "kie"),
    "TextVQA": Family(_text_question, "build/OCR/ocr_dataset.py:OCR_OpenEnded", "ocr"),
    "Caption": Family(_caption, "build/MSCOCO/caption_dataset.py:Caption", "caption", templated=True),
    "TextCaps": Family(_caption, "build/TextCaps/caption_dataset.py:Caption", "caption", templated=True),
    "VisDial": Family(_round, "build/VisDial/visual_dialog_dataset.py:VisualDialog_SingleChoice"),
}
"""Families by the name that stands in `category`."""
