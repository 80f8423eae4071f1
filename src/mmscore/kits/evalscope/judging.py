"""How EvalScope words, reads and merges a judge's verdict."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from mmconvert.core.errors import Error
from mmconvert.core.text.placeholders import PLACEHOLDER
from mmscore.core.judge import fill_prompt
from mmscore.kits.evalscope.aggregation import NEW, Release
from mmscore.nlp.final_answer import json_objects

Kind = Literal["pattern", "numeric"]

LABELS: Mapping[str, float] = {"A": 1.0, "B": 0.0}
"""What the letters of a verdict are worth: correct and incorrect."""

UNANCHORED = r"(A|B)"
ALONE_ON_A_LINE = r"^\s*([AB])\s*$"
IN_BRACKETS = r"\[\[(\d+(?:\.\d+)?)\]\]"
"""Where a verdict stands: in 1.3, in 1.4 to 1.10, and for numbers until 1.10."""

SETTLED = 0.99
"""A rule's score above this needs no judge."""

MAIN = "Rouge-L-R"
"""Score that a verdict is merged into, where there is one of this name; else the first."""

VERDICT = "acc"
"""Name of a judge's own score."""


class Scale(msgspec.Struct, frozen=True):
    """What a verdict may be.

    Attributes:
        kind: `pattern`: one of the labels. `numeric`: a number from 0 to 1.
        labels: Label -> score, for `pattern`.
        pattern: Regular expression that finds the verdict until 1.10; None for the release's own.
    """

    kind: Kind = "pattern"
    labels: Mapping[str, float] = msgspec.field(default_factory=lambda: LABELS)
    pattern: str | None = None


class ReadVerdict(msgspec.Struct, frozen=True):
    """A verdict that was read.

    Attributes:
        score: What the framework gives for the response; None for no score.
        fault: Why the response is no proper verdict, else None: a framework that gives a score all the same
            counts a failure of its judge as one.
    """

    score: float | None
    fault: str | None = None


def fill_template(template: str, question: str, gold: str, pred: str, release: Release) -> str:
    """Put question, reference and response into a template.

    Until 1.10 one slot is filled after the other, so that a slot inside the question is filled too,
    but only where the template itself has that slot.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 judge prompt of evalscope/metrics (llm_judge).

    Example:
        >>> fill_template("{question} {pred}", "q{pred}", "g", "p", "1.10.0")
        'qp p'
        >>> fill_template("{question} {pred}", "q{pred}", "g", "p", "1.14.1")
        'q{pred} p'
    """
    values = {"question": question, "pred": pred, "gold": gold}
    if release == NEW:
        return fill_prompt(template, values)
    text = template
    for name, value in values.items():
        slot = f"{{{name}}}"
        if slot in template:
            text = text.replace(slot, value)
    return text


def read_verdict(response: str, scale: Scale, release: Release) -> ReadVerdict:
    """Read a judge's response.

    Until 1.10 a response without a verdict scores 0 (numbers in 1.3: nothing), and numbers are cut to
    0..1 in 1.10 alone. Since 1.14 the response must hold exactly one JSON object.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 verdict parsing of evalscope/metrics (llm_judge).

    Example:
        >>> read_verdict("Answer: B", Scale(), "1.3.0").score
        1.0
        >>> read_verdict("Answer: B", Scale(), "1.10.0")
        ReadVerdict(score=0.0, fault='no verdict')
        >>> read_verdict('{"verdict": "A"}', Scale(), "1.14.1").score
        1.0
    """
    if release == NEW:
        return _read_object(response, scale)
    return _read_number(response, scale, release) if scale.kind == "numeric" else _read_label(response, scale, release)


def _read_label(response: str, scale: Scale, release: Release) -> ReadVerdict:
    if release == "1.3.0":
        found = re.search(scale.pattern or UNANCHORED, response)
        label = found.group(0) if found else None
    else:
        found = re.search(scale.pattern or ALONE_ON_A_LINE, response, re.MULTILINE)
        label = None if found is None else found.group(1) if found.re.groups else found.group(0).strip()
    if label is None or label not in scale.labels:
        return ReadVerdict(0.0, "no verdict")
    return ReadVerdict(scale.labels[label])


def _read_number(response: str, scale: Scale, release: Release) -> ReadVerdict:
    matches = list(re.finditer(scale.pattern or IN_BRACKETS, response))
    found = None if not matches else matches[0] if release == "1.3.0" else matches[-1]
    text = None if found is None else found.group(1) if found.re.groups else found.group(0)
    try:
        value = float(text or "")
    except ValueError:
        return ReadVerdict(None if release == "1.3.0" else 0.0, "no verdict")
    inside = 0 <= value <= 1
    score = value if release == "1.3.0" else min(1.0, max(0.0, value))
    return ReadVerdict(score, None if inside else f"{text} is not within 0 and 1")


def _read_object(response: str, scale: Scale) -> ReadVerdict:
    if not response:
        return ReadVerdict(None, "empty")
    objects = list(json_objects(response))
    if len(objects) != 1:
        return ReadVerdict(None, "many_json" if objects else "no_json")
    try:
        verdict = json.loads(objects[0])
    except (ValueError, RecursionError):
        return ReadVerdict(None, "bad_json")
    if not isinstance(verdict.get("reasoning", ""), str):
        return ReadVerdict(None, "schema")
    if scale.kind == "numeric":
        score = _parse_number(verdict.get("score"))
    else:
        label = verdict.get("verdict")
        score = scale.labels.get(label) if isinstance(label, str) else None
    return ReadVerdict(score, "schema" if score is None else None)


def _parse_number(value: Any) -> float | None:
    """Read a number within 0 and 1 as pydantic does: numbers, true and false, texts of numbers."""
    if isinstance(value, str) and not value.isascii():
        return None
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if 0 <= number <= 1 else None


def main_score(scores: Mapping[str, float], name: str | None = MAIN) -> str:
    """Name the score that decides whether a judge is asked, and that takes its verdict.

    Raises:
        Error: The rules gave no score.

    Example:
        >>> main_score({"bleu-1": 0.2, "Rouge-L-R": 0.3}), main_score({"acc": 1.0})
        ('Rouge-L-R', 'acc')
    """
    if not scores:
        raise Error("the rules gave no score, so that none can take the judge's verdict. Use the judge alone.")
    return name if name is not None and name in scores else next(iter(scores))


def needs_judge(scores: Mapping[str, float], name: str | None = MAIN) -> bool:
    """Tell whether llm_recall asks the judge: the rules gave no full score.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/api/mixin/llm_judge_mixin.py.
    """
    return scores[main_score(scores, name)] <= SETTLED


def merge(
    scores: Mapping[str, float], verdict: float, release: Release, name: str | None = MAIN
) -> Mapping[str, float]:
    """Put a verdict into the scores of the rules, as llm_recall does; a full score stays as it is.

    Until 1.10 it replaces the main score even when it is lower; since 1.14 the higher one counts.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/api/mixin/llm_judge_mixin.py.

    Example:
        >>> merge({"bleu-1": 0.2, "Rouge-L-R": 0.8}, 0.0, "1.10.0")
        {'bleu-1': 0.2, 'Rouge-L-R': 0.0}
        >>> merge({"bleu-1": 0.2, "Rouge-L-R": 0.8}, 0.0, "1.14.1")
        {'bleu-1': 0.2, 'Rouge-L-R': 0.8}
    """
    if not needs_judge(scores, name):
        return scores
    main = main_score(scores, name)
    return {**scores, main: max(scores[main], verdict) if release == NEW else verdict}


def format_question(messages: Sequence[Mapping[str, Any]], question: str | None) -> str:
    r"""Write the whole prompt as the framework shows it to a judge.

    Args:
        messages: Turns of the row, see docs/schema.md; images are left out.
        question: Stands in where there are no turns; its `<image k>` are left out as images are.

    Returns:
        Blocks `**Role**: text`, a blank line between; text parts on lines of their own.

    Parity: modelscope/evalscope 1.3.0 to 1.14.1 evalscope/api/messages, pretty text of messages.

    Example:
        >>> format_question([{"role": "user", "content": [{"type": "text", "text": "a"}]}], None)
        '**User**: a'
        >>> format_question([], "<image 1>What?")
        '**User**: What?'
    """
    if not messages:
        texts = PLACEHOLDER.split(question or "")[::2]
        return "**User**: " + "\n".join(text for text in texts if text)
    blocks = []
    for turn in messages:
        text = "\n".join(part["text"] or "" for part in turn["content"] or () if part["type"] == "text")
        blocks.append(f"**{(turn['role'] or '').capitalize()}**: {text}")
    return "\n\n".join(blocks)
