"""ReForm-Eval's data loader: the samples that a visit of its dataset gives, draw for draw.

`load` is what the framework's `load_reform_dataset` does with a file available. Reading a sample shuffles and
draws, and some shuffles stay for the next visit, so samples depend on the order of visits; that is the
framework's way, for parity only. The transforms of this project draw from a seed and the row instead.
Source: FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py, build/*/*.py, utils/data_utils.py.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.kits.reform_eval.conversation_text import build_labeled_question
from mmconvert.kits.reform_eval.conversations import Conversations
from mmconvert.kits.reform_eval.families import CLAIM_ANSWERS, DESCRIPTION_QUESTION, FAMILIES, FamilyItem
from mmconvert.kits.reform_eval.setup import Setup
from mmconvert.kits.reform_eval.tdiuc import TYPE

CHOICE, GENERATION = "SingleChoice", "Generation"
METHODS = ("generation", "likelihood")
YES_NO, DRAWN = ("yes", "no"), 3
"""Source: FudanDISC/ReForm-Eval@df1cfa7 build/TDIUC/tdiuc_dataset.py:make_choices."""


class DatasetRules(msgspec.Struct, frozen=True):
    """What a benchmark's loader does beside reading its family.

    Attributes:
        family: Key of `FAMILIES`.
        visit: How one sample is made.
        formulations: Those it accepts.
        name_in_file: `dataset_name` that the file must state.
        prefix_in_example: Whether the one-shot answer begins as the processor's responses do.
        even_copies: Whether the copies must be a multiple of the instructions.
        boxed: Task whose samples keep `bbox`; the others drop it, whatever the file has.
        shows_options: Whether samples have `question_with_option`.
        empty_text: Whether samples have an empty `text` where nothing writes one.
    """

    family: str
    visit: str
    formulations: tuple[str, ...] = (CHOICE,)
    name_in_file: str | None = None
    prefix_in_example: bool = True
    even_copies: bool = True
    boxed: tuple[str, ...] = ()
    shows_options: bool = True
    empty_text: bool = False


_OPEN = ("OCROpenEnded",)
_KIE = ("OCROpenEnded", "KIEOpenEnded")

DATASETS: dict[tuple[str, str | None], DatasetRules] = {
    **{
        (name, None): DatasetRules(name, "by_text", (CHOICE, GENERATION))
        for name in ("VQA", "KVQA", "VQRA", "VQAR", "MCV", "CaptionSelection")
    },
    **{("MSCOCO", task): DatasetRules("Core", "by_index", boxed=("goi", "mos")) for task in ("mci", "goi", "mos")},
    ("MSCOCO", "itm"): DatasetRules("ITM", "by_gt", name_in_file="MSCOCO"),
    ("MSCOCO", "its"): DatasetRules("ITS", "by_gt", name_in_file="MSCOCO"),
    ("MSCOCO", "oc"): DatasetRules("ObjectCounting", "drawn", shows_options=False),
    ("MSCOCO", "caption"): DatasetRules("Caption", "caption", (GENERATION,), "mscoco"),
    **{(name, None): DatasetRules(name, "by_index") for name in ("CLEVR", "VSR", "MP3D")},
    ("WikiHow", None): DatasetRules("WikiHow", "by_gt", name_in_file="WikiHow"),
    ("SNLI-VE", None): DatasetRules("SNLI-VE", "by_gt"),
    ("MEDIC", None): DatasetRules("MEDIC", "by_gt", name_in_file="MEDIC"),
    ("RefCOCO", None): DatasetRules("RefCOCO", "by_gt", name_in_file="RefCOCO", boxed=("res",)),
    **{
        (name, None): DatasetRules("Classification", "by_stored_answer")
        for name in ("CIFAR10", "Flowers102", "ImageNet-1K")
    },
    ("VizWiz", None): DatasetRules("Classification", "by_stored_answer", empty_text=True),
    ("Pets37", None): DatasetRules("Classification", "by_stored_answer", prefix_in_example=False),
    ("TDIUC", None): DatasetRules("TDIUC", "drawn", prefix_in_example=False),
    **{(name, None): DatasetRules("OCR", "open", _OPEN, boxed=("gocr",)) for name in ("IC15", "COCO_text")},
    ("TextOCR", None): DatasetRules("OCR", "open", _OPEN, boxed=("gocr", "ocr")),
    **{(name, None): DatasetRules("OCR", "open", _OPEN) for name in ("CUTE80", "IIIT5K", "WordArt")},
    **{(name, None): DatasetRules("KIE", "open", _KIE) for name in ("FUNSD", "POIE")},
    ("SROIE", None): DatasetRules("KIE", "open", _KIE, even_copies=False),
    ("OCR", None): DatasetRules("TextVQA", "open", _OPEN),
    ("NoCaps", None): DatasetRules("Caption", "caption", (GENERATION,), "nocaps"),
    ("Flickr30K", None): DatasetRules("Caption", "caption", (GENERATION,), "flickr30k"),
    ("TextCaps", None): DatasetRules("TextCaps", "caption", (GENERATION,), "textcaps"),
    ("VisDial", None): DatasetRules("VisDial", "dialog"),
}
"""Loaders by dataset name and, where one name holds several, by task."""


def load(
    data: Any, setup: Setup, rng: Random, has_image: Callable[[str], bool] = lambda name: True
) -> "Samples | Conversations":
    """Load a dataset as the framework does.

    Args:
        data: What the file holds: an object with `data`, or a list of items.
        setup: The arguments.
        rng: Stands for the framework's global random state; seed it as the framework's user would.
        has_image: Whether the image file of a conversation exists under the configured folder; the framework
            wants it although it reads the image from the data.

    Returns:
        A sequence of samples.

    Raises:
        UsageError: A name or a combination of arguments is none that the framework takes.
        Error: The file does not go with the configuration.
        RowError: An item has not the shape of its family.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py:load_reform_dataset.
    """
    dataset = _find_dataset(setup)
    if setup.inference_method not in METHODS:
        raise UsageError(f"inference_method is one of {', '.join(METHODS)} {show(setup.inference_method)}.")
    _check_file(data, setup, dataset)
    instructions = _list_instructions(data, setup, dataset)
    copies = setup.data_duplication
    if copies > 1 and dataset.even_copies and copies % len(instructions):
        raise UsageError(
            f"data_duplication must be a multiple of the {len(instructions)} instructions {show(copies)}. "
            "Take as many, or 1."
        )
    example = _build_example(setup, dataset)
    if dataset.visit == "dialog":
        return Conversations(data["data"], setup, instructions, example, rng, has_image)
    return Samples(data if isinstance(data, list) else data["data"], setup, dataset, instructions, example, rng)


def _find_dataset(setup: Setup) -> DatasetRules:
    task = setup.config.get("task")
    dataset = DATASETS.get((setup.dataset_name, task)) or DATASETS.get((setup.dataset_name, None))
    if dataset is None:
        known = list(dict.fromkeys(name for name, _ in DATASETS))
        hint = suggest_spelling(setup.dataset_name, known)
        raise UsageError(f"no dataset {setup.dataset_name!r} (task {task!r}).{hint} Known: {', '.join(known)}.")
    if setup.formulation not in dataset.formulations:
        known_text = ", ".join(dataset.formulations)
        raise UsageError(f"{setup.dataset_name} has no formulation {setup.formulation!r}. Known: {known_text}.")
    return dataset


def _check_file(data: Any, setup: Setup, dataset: DatasetRules) -> None:
    if isinstance(data, list):
        return
    for name in ("data", *(["instructs"] if dataset.family == "CLEVR" else [])):
        if name not in data:
            raise Error(f"the file has no member {name!r}. Check that it goes with {setup.dataset_name}.")
    for name in ("version", "split"):
        if name in data and data[name] != setup.config.get(name):
            raise Error(f"the file has {name} {data[name]!r}, the configuration {setup.config.get(name)!r}.")
    if dataset.name_in_file is not None and data.get("dataset_name") != dataset.name_in_file:
        raise Error(f"expected dataset_name {dataset.name_in_file!r} in the file {show(data.get('dataset_name'))}.")


def _list_instructions(data: Any, setup: Setup, dataset: DatasetRules) -> tuple[str, ...]:
    likely = setup.inference_method == "likelihood"
    if dataset.family == "CLEVR":
        ending = f" {CLAIM_ANSWERS}" if likely and setup.answer_space_instruct else ""
        return tuple(sentence + ending for sentence in data["instructs"][:5])
    open_ended = likely or setup.formulation == GENERATION or setup.config.get("instruct_kind") == "vqa"
    pool = setup.pools[FAMILIES[dataset.family].pool].list_instructions(open_ended)
    ending = f" {CLAIM_ANSWERS}" if dataset.family == "MCV" and likely else ""
    return tuple(sentence + ending for sentence in pool)


def _build_example(setup: Setup, dataset: DatasetRules) -> tuple[dict[str, str], ...]:
    """Give the one-shot round, the answer beginning as the processor's responses do."""
    turns = setup.pools[FAMILIES[dataset.family].pool].example
    if not setup.in_context_sample or setup.formulation != CHOICE:
        return ()
    prefix = setup.processor.prefix if setup.processor is not None and dataset.prefix_in_example else None
    said = "" if prefix is None else f"{prefix} "
    return tuple({**turn, "value": said * (turn["from"] == "assistant") + turn["value"]} for turn in turns)


class Samples(Sequence[dict[str, Any]]):
    """The samples of one dataset; item i is copy i % d of question i // d, made again at each visit."""

    def __init__(
        self,
        items: Sequence[Mapping[str, Any]],
        setup: Setup,
        dataset: DatasetRules,
        instructions: Sequence[str],
        example: Sequence[Mapping[str, str]],
        rng: Random,
    ) -> None:
        """Read the items; see `load`."""
        if dataset.visit == "caption":
            if setup.processor is None:
                raise UsageError("a caption dataset needs a processor.")
            setup = replace(setup, processor=replace(setup.processor, response_prefix=None))
        self._items: list[FamilyItem] = [FAMILIES[dataset.family].item(fields) for fields in items]
        if setup.config.get("task") not in dataset.boxed:
            self._items = [
                replace(item, kept={name: value for name, value in item.kept.items() if name != "bbox"})
                for item in self._items
            ]
        self._options: list[list[Any]] = [list(item.options or ()) for item in self._items]
        self._answers: list[Any] = [item.answer for item in self._items]
        self._kinds = [str(fields.get(TYPE, "")) for fields in items]
        self._setup, self._dataset = setup, dataset
        self._instructions, self._example, self._rng = instructions, example, rng
        self._visits: dict[str, Callable[[int, int], dict[str, Any]]] = {
            "by_text": self._shuffle_by_text,
            "by_index": self._shuffle_by_index,
            "by_gt": self._shuffle_by_gt,
            "by_stored_answer": self._shuffle_by_stored_answer,
            "drawn": self._draw_options,
            "open": self._open,
            "caption": self._build_caption,
        }

    def __len__(self) -> int:
        """Count questions times copies."""
        return len(self._items) * self._setup.data_duplication

    def __getitem__(self, index: Any) -> Any:
        """Visit a sample."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._visits[self._dataset.visit](*divmod(index, self._setup.data_duplication))

    def _number_turn(self, number: int, copy: int) -> int:
        return copy if self._setup.random_instruct else number

    def _choose_instruction(self, number: int, copy: int) -> str:
        return self._instructions[self._number_turn(number, copy) % len(self._instructions)]

    def _add_history(self, sample: dict[str, Any]) -> dict[str, Any]:
        return {**sample, "history": [dict(turn) for turn in self._example]} if self._example else sample

    def _add_options(self, sample: dict[str, Any]) -> dict[str, Any]:
        if not self._dataset.shows_options:
            return sample
        return {**sample, "question_with_option": build_labeled_question(sample, self._setup.option_mark, self._rng)}

    def _add_text(self, sample: dict[str, Any]) -> dict[str, Any]:
        processor, write = self._setup.processor, self._setup.write
        if processor is not None and write is not None:
            return {**sample, "text": write(sample, processor, self._rng)}
        return {**sample, "text": ""} if self._dataset.empty_text else sample

    def _shuffle_by_text(self, number: int, copy: int) -> dict[str, Any]:
        item, setup = self._items[number], self._setup
        options = list(self._options[number])
        if setup.shuffle_options:
            options = [option for option in options if option != item.answer]
            self._rng.shuffle(options)
            options.append(item.answer)
            self._rng.shuffle(options)
        if item.answer not in options:
            raise RowError("answer.not_an_option", "answer", f"it is none of the options {show(item.answer)}.")
        sample: dict[str, Any] = {
            "sample_id": item.key,
            "image": item.image,
            "question": item.questions[0],
            "answer": str(options.index(item.answer)),
            "answer_options": options,
            **item.kept,
            "instruct": self._choose_instruction(number, copy),
        }
        if self._dataset.family == "CaptionSelection" and (
            setup.inference_method == "likelihood" or setup.formulation == GENERATION
        ):
            sample["question"] = DESCRIPTION_QUESTION
        if setup.formulation == GENERATION and self._dataset.family in ("VQA", "KVQA", "VQRA", "MCV"):
            del sample["answer_options"]
        return self._add_text(self._add_options(self._add_history(sample)))

    def _shuffle_by_index(self, number: int, copy: int) -> dict[str, Any]:
        item = self._items[number]
        options, answer = list(self._options[number]), item.answer
        if self._setup.shuffle_options:
            right = _pick_option(options, answer)
            options = [option for option in options if option != right]
            self._rng.shuffle(options)
            answer = self._rng.randint(0, len(options))
            options.insert(answer, right)
        sample = {
            "sample_id": item.key,
            "image": item.image,
            "question": item.questions[self._number_turn(number, copy) % len(item.questions)],
            "answer": str(answer),
            "answer_options": options,
            **item.kept,
            "instruct": self._choose_instruction(number, copy),
        }
        return self._add_options(self._add_text(self._add_history(sample)))

    def _shuffle_by_gt(self, number: int, copy: int) -> dict[str, Any]:
        """Shuffle the stored options but look the answer up at its first place: the framework's own fault."""
        item, options = self._items[number], self._options[number]
        answer: Any = str(item.answer)
        if self._setup.shuffle_options:
            right = _pick_option(options, item.answer)
            self._rng.shuffle(options)
            answer = options.index(right)
        question = self._choose_instruction(number, copy)
        # Only the matching task forgets the caption where the instruction goes by sample.
        if item.topic is not None and (self._setup.random_instruct or self._dataset.family != "ITM"):
            question = question.replace("{}", item.topic)
        sample = {
            "sample_id": number if item.key is None else item.key,
            "image": item.image,
            **item.kept,
            "answer": answer,
            "answer_options": list(options),
            "question": question,
        }
        return self._add_options(self._add_text(self._add_history(sample)))

    def _shuffle_by_stored_answer(self, number: int, copy: int) -> dict[str, Any]:
        item, options = self._items[number], self._options[number]
        if self._setup.shuffle_options:
            right = _pick_option(options, self._answers[number])
            self._rng.shuffle(options)
            self._answers[number] = options.index(right)
        sample = {
            "sample_id": item.key,
            "image": item.image,
            "question": item.questions[0],
            "answer": self._answers[number],
            "answer_options": list(options),
            "instruct": self._choose_instruction(number, copy),
        }
        return self._add_options(self._add_text(self._add_history(sample)))

    def _draw_options(self, number: int, copy: int) -> dict[str, Any]:
        """Set the answer beside three others of its kind, drawn again at each visit."""
        item, answer = self._items[number], str(self._items[number].answer)
        if answer in YES_NO:
            options = list(YES_NO)
        else:
            others = [choice for choice in self._setup.choices(self._kinds[number]) if choice != answer]
            if len(others) < DRAWN:
                raise RowError("options.count", "answer", f"three others are to be drawn from a list of {len(others)}.")
            options = [*self._rng.sample(others, DRAWN), answer]
        if self._setup.shuffle_options:
            self._rng.shuffle(options)
        sample = {
            "sample_id": str(number + 1 if item.key is None else item.key),
            "image": item.image,
            "question": item.questions[0],
            "answer": options.index(answer),
            "answer_options": options,
            "instruct": self._choose_instruction(number, copy),
        }
        return self._add_options(self._add_text(self._add_history(sample)))

    def _open(self, number: int, copy: int) -> dict[str, Any]:
        item = self._items[number]
        sample = {
            "sample_id": item.key,
            "image": item.image,
            "question": item.questions[self._number_turn(number, copy) % len(item.questions)],
            "answer": item.answer,
            **item.kept,
            "instruct": self._choose_instruction(number, copy),
        }
        return self._add_text(sample)

    def _build_caption(self, number: int, copy: int) -> dict[str, Any]:
        item, pool = self._items[number], list(self._instructions)
        question = pool[copy % len(pool)] if self._setup.data_duplication > 1 else self._rng.choice(pool)
        sample = {"sample_id": number, "image": item.image, "references": list(item.references), "question": question}
        return self._add_text(sample)


def _pick_option(options: Sequence[Any], index: int) -> Any:
    if not -len(options) <= index < len(options):
        raise RowError("answer.range", "answer", f"there are {len(options)} options, counted from 0 {show(index)}.")
    return options[index]
