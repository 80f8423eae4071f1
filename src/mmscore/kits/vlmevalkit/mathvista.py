"""MathVista as VLMEvalKit grades and reports it."""

import ast
from collections import Counter
from collections.abc import Iterable

import msgspec

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.text.literals import parse_list
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.rows import read_answer_cell, read_other_cells, require_cell
from mmscore.parsers.vlmevalkit_option import vlmevalkit_option

# Values of the framework's columns `question_type` and `answer_type`
MULTI_CHOICE = "multi_choice"
INTEGER = "integer"
FLOAT = "float"

OVERALL = "Overall"
_LONGEST_SKILLS = 1_000


class MathvistaQuestion(msgspec.Struct, frozen=True):
    """What the framework's table says about a question; cells as it spells them.

    Attributes:
        question_type: `multi_choice` or `free_form`.
        answer_type: `text`, `integer`, `float` or `list`.
        choices: The option texts as a list literal; not read for other questions.
        answer: The reference of a free-form question.
        answer_option: The right letter of a multiple-choice question.
    """

    question_type: str
    answer_type: str
    choices: str
    answer: str
    answer_option: str


def read_question(item: Item) -> MathvistaQuestion:
    """Read what the framework's table says about the question of a row.

    Raises:
        RowError: A column of the table is missing, or `extra` is no JSON object.
    """
    cells = read_other_cells(item)
    return MathvistaQuestion(
        question_type=require_cell(cells, "question_type"),
        answer_type=require_cell(cells, "answer_type"),
        choices=cells.get("choices", ""),
        answer=read_answer_cell(item),
        answer_option=cells.get("answer_option", ""),
    )


def read_directly(question: MathvistaQuestion, prediction: str) -> str | int | float | None:
    """Read an answer from a response without a judge.

    Args:
        question: The question.
        prediction: The model's response.

    Returns:
        The letter of an option, right or wrong; for other questions a number, and only the right
        one; None when there is none.

    Raises:
        RowError: The choices are no list.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mathvista.py:post_check with
    `prefetch=True`.

    Example:
        >>> whole = MathvistaQuestion("free_form", "integer", "", "7", "")
        >>> read_directly(whole, "7"), read_directly(whole, "8"), read_directly(whole, "about 7")
        (7, None, None)
    """
    if question.question_type == MULTI_CHOICE:
        return _find_letter(question, prediction)
    value, reference = _prepare_comparison(question, prediction)
    return value if value == reference else None


def is_right(question: MathvistaQuestion, extracted: str) -> bool:
    """Tell whether an extracted answer is the reference.

    Free-form answers that are neither whole numbers nor floats are always wrong: the framework compares
    the word `None` in their place.

    Args:
        question: The question.
        extracted: What the judge took out of the response, or what was read directly, as text.

    Raises:
        RowError: The choices are no list.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mathvista.py:post_check.

    Example:
        >>> is_right(MathvistaQuestion("free_form", "float", "", "1.5", ""), " 1.50")
        True
        >>> is_right(MathvistaQuestion("free_form", "text", "", "red", ""), "red")
        False
    """
    if question.question_type == MULTI_CHOICE:
        return _find_letter(question, extracted) == question.answer_option
    value, reference = _prepare_comparison(question, extracted)
    return value == reference


def _find_letter(question: MathvistaQuestion, text: str) -> str | None:
    options = {chr(ord("A") + number): str(option) for number, option in enumerate(parse_list(question.choices))}
    return vlmevalkit_option(text, options).value


def _prepare_comparison(question: MathvistaQuestion, text: str) -> tuple[str | int | float | None, str | int | float]:
    """Give the value and the reference that the framework compares; a value of None is never met."""
    read = {INTEGER: int, FLOAT: float}.get(question.answer_type)
    if read is None:
        return "None", question.answer
    try:
        return read(text), read(question.answer)
    except ValueError:
        return None, question.answer


class GradedQuestion(msgspec.Struct, frozen=True):
    """A graded question: its place in the report, whether it was read directly, and whether it is right."""

    task: str
    skills: str
    direct: bool
    right: bool


def build_mathvista_table(results: Iterable[GradedQuestion]) -> list[dict[str, str | int | float]]:
    """Count questions over all, by skill and by task.

    Args:
        results: Graded questions.

    Returns:
        A line for each, in order of first appearance: `tot`, `prefetch` (read without the judge)
        and `hit` are counts, `prefetch_rate` and `acc` percents.

    Raises:
        Error: A cell of skills is a Python expression that is not a list, which the framework would run.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mathvista.py:MathVista_acc.

    Example:
        >>> build_mathvista_table([GradedQuestion("figure QA", "['algebra']", True, True)])[1]
        {'Task&Skill': 'algebra', 'tot': 1, 'prefetch': 1, 'hit': 1, 'prefetch_rate': 100.0, 'acc': 100.0}
    """
    total: Counter[str] = Counter()
    direct: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for result in results:
        names = (OVERALL, *read_skills(result.skills), result.task)
        total.update(names)
        direct.update(names if result.direct else ())
        right.update(names if result.right else ())
    return [
        {
            "Task&Skill": name,
            "tot": count,
            "prefetch": direct[name],
            "hit": right[name],
            "prefetch_rate": direct[name] / count * 100,
            "acc": right[name] / count * 100,
        }
        for name, count in total.items()
    ]


def read_skills(cell: str) -> list[str]:
    """Read the skills that a question needs: a list literal, else one name as it stands.

    Raises:
        Error: The cell reads as a Python expression that is not a list (`s1`, `5`), which the framework
            would run.

    Example:
        >>> read_skills("['algebra', 'arithmetic']"), read_skills("numeric commonsense")
        (['algebra', 'arithmetic'], ['numeric commonsense'])
    """
    try:
        return [str(skill) for skill in parse_list(cell)]
    except RowError:
        if _is_expression(cell):
            message = f"skills: expected a list, or a name that Python cannot read {show(cell)}."
            raise Error(f"{message} Write {[cell]!r}.") from None
        return [cell]


def _is_expression(text: str) -> bool:
    """Tell whether Python could run a text; it is looked at and never run."""
    if len(text) > _LONGEST_SKILLS:
        return False
    try:
        ast.parse(text.lstrip(" \t"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
