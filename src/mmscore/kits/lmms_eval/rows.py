"""What lmms-eval's recipes share: which files are theirs, and what a logged row says about its question."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, parse_whole_response, read_label

KIT = "lmms-eval"
VERSIONS: Mapping[str, str] = {"0.7": "EvolvingLMMs-Lab/lmms-eval@75571cf (0.7.2)"}
FORMATS = frozenset(("lmms_eval_samples",))
REWRITTEN = "rewritten response"
"""How an answer was read that is compared in a form of its own."""

RESPONSES = "filtered_resps"
"""Field of a logged row that lists its responses."""

COLUMNS = ("answer", "answers", "label", "extra", "variant")
Metric = Callable[[Item, Parsed, str], Mapping[str, float]]


def is_task(facts: Facts, *names: str) -> bool:
    """Tell whether a file is a log of some of the framework's tasks; a task with a longer name may have another rule.

    Example:
        >>> logged = Facts(frozenset(["mme_cot_reason"]), formats=FORMATS)
        >>> is_task(logged, "mme", "mme_cot_reason"), is_task(logged, "mme")
        (True, False)
    """
    return bool(facts.formats) and facts.formats <= FORMATS and bool(facts.list_known_names(names.__contains__))


def offer_for(benchmark: str, *names: str) -> Callable[[Facts], str | None]:
    """Let a recipe offer itself for logs of the framework's tasks of some names."""
    return lambda facts: f"lmms-eval's log of {benchmark}" if is_task(facts, *names) else None


def gather_details(extra: str | None) -> Mapping[str, Any]:
    """Gather what `extra` says, at the top or one level down, where a log repeats the question's fields.

    Example:
        >>> gather_details('{"ocrbench_accuracy": {"dataset": "HME100k"}, "doc_hash": "x"}')["dataset"]
        'HME100k'
    """
    try:
        fields = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    found: dict[str, Any] = {}
    for value in fields.values():
        if isinstance(value, dict):
            found = {**value, **found}
    return {**found, **fields}


def is_repeat(variant: int | None, extra: str | None) -> bool:
    """Tell whether a row is a later response of a logged row that holds several; the framework's tasks score the first.

    Rotations and other copies have variants too, but no list of responses.

    Example:
        >>> [is_repeat(variant, '{"filtered_resps": ["A", "B"]}') for variant in (0, 1)], is_repeat(1, "{}")
        ([False, True], False)
    """
    return bool(variant) and RESPONSES in gather_details(extra)


def score_first_response(metrics: Metric) -> Metric:
    """Leave later responses of a logged row out, as the framework does; needs the columns `variant` and `extra`."""

    def scored(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
        return {} if is_repeat(item.variant, item.extra) else metrics(item, parsed, version)

    return scored


def build_text_recipe(
    summary: str,
    metrics: Metric,
    default_for: Callable[[Facts], str | None],
    parse: Callable[[Item, str], Parsed] = parse_whole_response,
) -> Recipe:
    """Make a recipe that compares responses with the references, plain means of what the rows score."""
    return Recipe(summary, KIT, VERSIONS, COLUMNS, parse, score_first_response(metrics), default_for)


def list_references(item: Item) -> Sequence[Any]:
    """Give the references: the list that the source wrote, else those that were read from it.

    Returns:
        Texts, or objects where the source lists objects; none when unlabelled.

    Example:
        >>> list_references(Item(label='[{"answer": "cat"}]')), list_references(Item(label='"cat"', answers=["cat"]))
        ([{'answer': 'cat'}], ['cat'])
    """
    label = read_label(item)
    if isinstance(label, list):
        return label
    return item.answers or ([] if item.answer is None else [item.answer])


def list_annotations(item: Item) -> Sequence[Any]:
    """Give the references of all annotators, which are compared with each other.

    Raises:
        RowError: There is a single one, as in the framework's log, which repeats one of them only.
    """
    listed = list_references(item)
    if len(listed) == 1 and not isinstance(read_label(item), list):
        raise RowError("answers.single", "answers", f"one annotator of several {show(listed[0])}. Give --answers.")
    return listed


def read_reference(item: Item) -> str:
    """Give the reference as one text, empty when unlabelled."""
    label = read_label(item)
    return label if isinstance(label, str) else item.answer or "".join(item.answers[:1])
