"""What EvalScope's prediction and review files share: names, messages, options inside a prompt, repeated rows.

Source: modelscope/evalscope 1.3.0 to 1.14.1 evalscope/api/evaluator/cache.py, evalscope/api/messages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, Image, Part, Turn
from mmconvert.core.rows import Rejected, Row
from mmconvert.core.text.placeholders import format_turn
from mmconvert.io import jsonl
from mmconvert.plugins.format import Context

# Source: modelscope/evalscope 1.14.1 evalscope/benchmarks, names of its adapters for images
BENCHMARKS = (
    "general_vqa", "general_vmcq", "general_mcq", "general_qa", "a_okvqa", "ai2d", "baby_vision", "blink", "cc_bench",
    "cc_ocr_v2", "chartqa", "charxiv", "cmmmu", "cmmu", "count_qa", "docvqa", "emb_spatial_bench", "erqa", "gedit",
    "gsm8k_v", "hallusion_bench", "hipho", "hle", "infovqa", "logic_vista", "maritime_ocr_bench", "math_verse",
    "math_vision", "math_vista", "measure_bench", "mia_bench", "micro_vqa", "mm_bench", "mm_star", "mmmu", "mmmu_pro",
    "ocr_bench", "ocr_bench_v2", "olmocr_bench", "olympiad_bench", "omni_doc_bench", "omni_doc_bench_v1_6",
    "perception_bench", "phyx", "phyx_mc", "phyx_oe", "pmc_vqa", "pope", "real_world_qa", "refcoco", "science_qa",
    "screenspot_pro", "seed_bench_2_plus", "simple_vqa", "slake", "tir_bench", "visulogic", "vlms_are_biased", "vqav2",
    "vstar_bench", "world_vqa", "zerobench",
)  # fmt: skip

MARKS = ("model_output", "sample_score")
"""Fields that tell such a file from other files with messages."""

ROLES = ("system", "user", "assistant", "tool")
FOLDERS = ("predictions", "reviews")
_SHOWN = 200
_LABELS = re.compile(r"is one (?:or more )?of ([A-Z](?:,[A-Z])*)\.|是 ([A-Z](?:,[A-Z])*) 中的一个")


class Prompt(msgspec.Struct, frozen=True):
    """What a model was shown.

    Attributes:
        turns: Messages with one image part for each of `images`.
        images: Images that stand in the file or are available.
        unseen: What else the messages hold: type and reference of images that are not available, sound, video.
    """

    turns: tuple[Turn, ...]
    images: tuple[Image, ...]
    unseen: tuple[str, ...] = ()

    @property
    def question(self) -> str | None:
        """The last user turn as text, `<image k>` where images stand; None without one."""
        at, found = 0, None
        for turn in self.turns:
            count = sum(part.type == "image" for part in turn.content)
            if turn.role == "user":
                found = format_turn(turn, self.images[at : at + count])
            at += count
        return found

    def drop_response(self, reply: str | None) -> tuple[Turn, ...]:
        """Give the turns, the last one left out where it is the response itself."""
        last = self.turns[-1] if self.turns else None
        ends = last is not None and last.role == "assistant" and "".join(part.text for part in last.content) == reply
        return self.turns[:-1] if ends else self.turns


def read_last_rows(path: Path) -> Iterator[Row | Rejected]:
    """Read the rows of an append-only file: of those with one index the last counts.

    A row without a model's name gets the one that the folder has, `predictions/{model}/` or `reviews/{model}/`.

    Args:
        path: The file; read twice.
    """
    last = {_build_key(item): item.where.row for item in jsonl.rows(path) if isinstance(item, Row)}
    folder = path.resolve().parent
    named = {"model": folder.name} if folder.parent.name in FOLDERS else {}
    for item in jsonl.rows(path):
        if isinstance(item, Rejected):
            yield item
        elif last[_build_key(item)] == item.where.row:
            yield replace(item, fields={**named, **item.fields}) if not item.fields.get("model") else item


def _build_key(row: Row) -> tuple[int, int]:
    """Tell rows of one index from others; a row without an index is refused later, each for itself."""
    index = row.fields.get("index")
    return (index, 0) if isinstance(index, int) else (row.where.row, 1)


def read_index(fields: dict[str, Any]) -> int:
    """Take the index out of a row.

    Raises:
        RowError: `id.missing`: there is none.
    """
    value = fields.pop("index", None)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RowError("id.missing", "index", f"expected a whole number {show(value)}.")
    return value


def read_dataset_and_subset(row: Row, context: Context) -> tuple[str | None, str | None]:
    """Read benchmark and subset out of the file's name, `{benchmark}_{subset}.jsonl`.

    Returns:
        What the user said, else what the name says; None for what neither does.
    """
    stem = row.where.stem
    bench, said = parse_file_stem(stem)
    # A folder of files gives each file's stem as subset; the name says it better.
    subset = said if context.subset is None or (said and stem.startswith(context.subset)) else context.subset
    return context.dataset or bench, subset


def parse_file_stem(stem: str) -> tuple[str | None, str | None]:
    """Read benchmark and subset out of a file's name without its ending; None for what it does not say.

    Example:
        >>> parse_file_stem("mmmu_pro_vision"), parse_file_stem("mine")
        (('mmmu_pro', 'vision'), (None, None))
    """
    bench = max((name for name in BENCHMARKS if f"{stem}_".startswith(f"{name}_")), key=len, default=None)
    return bench, None if bench is None else stem.removeprefix(bench).removeprefix("_") or None


def read_prompt(value: Any, context: Context, field: str = "messages") -> Prompt:
    """Read the messages that a model was shown; a text is one user message.

    Args:
        value: A text, or a list of messages with texts or parts as content.
        context: Where images lie; those that are not available are left out with a remark.
        field: Name of the field.

    Raises:
        RowError: `messages.type`, `messages.role`, `messages.content`.
    """
    if value is None or value == "":
        return Prompt((), ())
    messages = [{"role": "user", "content": value}] if isinstance(value, str) else value
    if not isinstance(messages, list):
        raise RowError("messages.type", field, f"expected a list of messages {show(value)}.")
    turns: list[Turn] = []
    images: list[Image] = []
    unseen: list[str] = []
    for number, message in enumerate(messages):
        where = f"{field}[{number}]"
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in ROLES:
            raise RowError("messages.role", where, f"expected a message of {', '.join(ROLES)} {show(message)}.")
        parts = []
        for part in _read_parts(message.get("content"), where):
            made = _read_part(part, len(images) + 1, context)
            if isinstance(made, Image):
                images.append(made)
                parts.append(Part("image"))
            elif isinstance(made, Part):
                parts.append(made)
            else:
                unseen += made
        turns.append(Turn(message["role"], tuple(parts)))
    return Prompt(tuple(turns), tuple(images), tuple(unseen))


def join_texts(content: Any, field: str) -> str:
    """Join the texts of a message's content; reasoning does not belong to it.

    Raises:
        RowError: `messages.content`.
    """
    return "".join(part["text"] for part in _read_parts(content, field) if part.get("type") == "text")


def _read_parts(content: Any, field: str) -> Sequence[Mapping[str, Any]]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise RowError("messages.content", f"{field}.content", f"expected a text or a list of parts {show(content)}.")
    for part in parts:
        if not isinstance(part, dict) or (part.get("type") == "text" and not isinstance(part.get("text"), str)):
            raise RowError("messages.content", f"{field}.content", f"expected a part with a type {show(part)}.")
    return parts


def _read_part(part: Mapping[str, Any], slot: int, context: Context) -> Part | Image | list[str]:
    kind = part.get("type")
    if kind == "text":
        return Part("text", part["text"])
    value = part.get(str(kind))
    reference = value if isinstance(value, str) else ""
    if kind == "image":
        detail = part.get("detail")
        try:
            return context.images.of_reference(reference, slot, detail if isinstance(detail, str) else None)
        except RowError:
            context.warn("an image that the model saw is missing; the row is kept without it")
    return [] if kind == "reasoning" else [f"{kind}: {reference[:_SHOWN]}"]


def find_options(text: str) -> tuple[str, ...]:
    r"""Find the options that one of the framework's templates wrote into a prompt, `A) text` a line.

    Args:
        text: The user's message.

    Returns:
        The options' texts; () where no template names labels, or the labels do not all stand there.

    Example:
        >>> find_options("The letter is one of A,B. Think.\n\nWhich?\n\nA) a cat\nB) two\nlines")
        ('a cat', 'two\nlines')
        >>> find_options("A) no template\nB) here")
        ()
    """
    match = _LABELS.search(text)
    labels = (match[1] or match[2]).split(",") if match else []
    if "".join(labels) != LETTERS[: len(labels)]:
        return ()
    texts: list[str] = []
    end = len(text.removesuffix("\n"))
    for label in reversed(labels):
        at = text.rfind(f"\n{label}) ", 0, end)
        if at == -1:
            return ()
        texts.append(text[at + len(label) + 3 : end])
        end = at
    return tuple(reversed(texts))
