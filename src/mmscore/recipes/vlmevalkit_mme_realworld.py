"""MME-RealWorld as VLMEvalKit reports it: the first capital A to E; accuracy by task, subtask and category.

`category` holds `Task/Subtask`, `l2-category` what the table calls a category, in lower case; whatever names an
attribute counts as one category `.../attribute`. `Avg` is over rows.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:MMERealWorld.evaluate,
vlmeval/dataset/utils/multiple_choice.py:extract_characters_regex, get_dimension_rating. Kept on purpose: a response of
which nothing is left is an A; a subtask without rows has the average 0. Not kept: a blank response, at which the
framework stops, is wrong, and a category that it does not know costs the table alone; a failed inference is no answer
here and counts apart.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.parsers.vlmevalkit_first_capital import vlmevalkit_first_capital

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py:get_dimension_rating
TASKS = ("Reasoning", "Perception")
SUBTASKS = ("Monitoring", "Autonomous_Driving", "OCR with Complex Context", "Diagram and Table", "Remote Sensing")

NAMES = frozenset(("MME-RealWorld", "MME-RealWorld-CN", "MME-RealWorld-Lite"))
AVERAGE, ATTRIBUTE = "Avg", "attribute"


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_first_capital(item.prediction)


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(parsed.value == read_answer_cell(item))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's rating.

    Raises:
        Error: A row has no category, or one that the benchmark does not have.
    """
    scored = scored.with_status(SCORED)
    places = [_read_place(*names) for names in zip(*map(scored.column, ("category", "l2_category")), strict=True)]
    scored = scored.with_column("#task", [task for task, _, _ in places])
    scored = scored.with_column("#subtask", [f"{task}/{subtask}" for task, subtask, _ in places])
    scored = scored.with_column("#category", [category for _, _, category in places])
    tasks, subtasks = dict(scored.split("#task")), dict(scored.split("#subtask"))
    lines = [_build_line(scored, "Overall")]
    for task in TASKS:
        for subtask in SUBTASKS:
            rows = subtasks.get(f"{task}/{subtask}")
            categories = rows.split("#category") if rows else ()
            lines += [_build_line(part, task, subtask, category) for category, part in categories]
            lines.append(_build_line(rows, task, subtask, AVERAGE))
        lines.append(_build_line(tasks.get(task), task, AVERAGE))
    return lines


def _read_place(category: str | None, detail: str | None) -> tuple[str, str, str]:
    task, subtask, *_ = [*(category or "").split("/"), "", ""]
    if task not in TASKS or subtask not in SUBTASKS:
        raise Error(f"category: expected Task/Subtask of MME-RealWorld {show(category)}. Keep the framework's column.")
    if detail is None:
        raise Error("l2-category: a row has none. Keep the framework's column.")
    name = detail.lower()
    return task, subtask, f"{name.split('/')[0]}/{ATTRIBUTE}" if ATTRIBUTE in name else name


def _build_line(scored: Scored | None, task: str, subtask: str = "", category: str = "") -> Row:
    value = scored.mean("accuracy").value if scored else 0.0
    return {"task": task, "subtask": subtask, "category": category, "accuracy": value}


RECIPE = Recipe(
    "MME-RealWorld as VLMEvalKit scores it: accuracy by task, subtask and category",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names("MME-RealWorld", NAMES),
    table=_build_table,
    keep=("category", "l2_category"),
    groups=("category", "l2_category"),
    results=RESULTS,
)
