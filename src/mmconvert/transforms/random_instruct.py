"""Give every copy of a question another instruction: ReForm-Eval's random_instruct, which draws nothing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.kits.reform_eval.families import CLAIM_ANSWERS, FAMILIES
from mmconvert.kits.reform_eval.pools import OWN_INSTRUCTIONS, OWN_QUESTIONS, read_pools
from mmconvert.kits.reform_eval.restate import restate_question
from mmconvert.kits.reform_eval.shapes import SHAPES
from mmconvert.plugins.transform import Setting, Transform

METHODS = ("generation", "likelihood")
TURNS = ("variant", "row")
TOPICS = {"ITM": "anno", "SNLI-VE": "anno", "WikiHow": "method"}
"""Field of the source that fills `{}` in the family's instructions."""


def random_instruct(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Instruct a record by the number of its copy, or of its row.

    A family whose instruction is the question gets another question; one with several prompt templates of the
    question gets the prompt template of the same number.

    Args:
        record: The record; `category` names its family, without one it is asked like VQA, OCR or a caption.
        parameters: `by` variant or row; `method`, likelihood takes instructions that speak of no options;
            `pools`, a checkout of ReForm-Eval or a file of instructions.
        setting: Counts the records that get our words.

    Yields:
        The record.

    Raises:
        RowError: There is no question to word.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/base_dataset.py: copy i % d, or sample i // d, modulo the
        number of instructions; the words are the project's own unless `pools` gives others.
    """
    number = (record.variant or 0) if parameters["by"] == "variant" else record.source.row
    name = find_family_name(record)
    likely = parameters["method"] == "likelihood"
    pools = read_pools(Path(parameters["pools"]) if parameters["pools"] else None)
    instructions = pools[FAMILIES[name].pool].list_instructions(likely or not record.options)
    brought = () if instructions else _list_file_instructions(record)
    others = brought or pools[FAMILIES["VQA"].pool].list_instructions(not record.options)
    instruction = pick_in_turn(instructions or others, number)
    if not parameters["pools"] and not brought:
        setting.warnings[OWN_INSTRUCTIONS] += 1
    if FAMILIES[name].templated:
        setting.warnings.pop(OWN_QUESTIONS, None)
        topic = record.extra.get(TOPICS.get(name, ""), "")
        yield restate_question(replace(record, question=instruction.replace("{}", str(topic)), instruction=None))
        return
    if name == "MCV" and likely:
        instruction = f"{instruction} {CLAIM_ANSWERS}"
    prompts = record.extra.get(SHAPES[name].question) if name in SHAPES else None
    question = pick_in_turn(prompts, number) if isinstance(prompts, list) and prompts else record.question
    yield restate_question(replace(record, question=question, instruction=instruction))


def pick_in_turn(pool: Sequence[str], number: int) -> str:
    """Take from a list in turn.

    Example:
        >>> pick_in_turn(["a", "b"], 5)
        'b'
    """
    return pool[number % len(pool)]


def find_family_name(record: Record) -> str:
    """Name the family whose instructions go with a record."""
    if record.category in FAMILIES:
        return str(record.category)
    return {"caption": "Caption", "ocr": "OCR", "kie": "KIE"}.get(record.task, "VQA")


def _list_file_instructions(record: Record) -> Sequence[str]:
    """Give the instructions that the dataset's file brings along (CLEVR)."""
    brought = record.extra.get("of_file", {}).get("instructs")
    return brought[:5] if isinstance(brought, list) else ()


def _check(parameters: Mapping[str, Any]) -> None:
    for name, known in (("by", TURNS), ("method", METHODS)):
        if parameters[name] not in known:
            hint = suggest_spelling(parameters[name], known)
            message = f"random_instruct: {name} cannot be {parameters[name]!r}.{hint} Known: {', '.join(known)}."
            raise UsageError(message)
    read_pools(Path(parameters["pools"]) if parameters["pools"] else None)


TRANSFORM = Transform(
    summary="Give every copy of a question another instruction (ReForm-Eval's random_instruct)",
    apply=random_instruct,
    parameters={"by": "variant", "method": "generation", "pools": ""},
    check=_check,
)
