"""Score yes/no questions as VLMEvalKit does: reports for MME, POPE, HallusionBench, AMBER, VSR and all others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mmconvert.errors import RowError, got

YES = "Yes"

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py, MME_rating
PERCEPTION = (
    "OCR",
    "artwork",
    "celebrity",
    "color",
    "count",
    "existence",
    "landmark",
    "position",
    "posters",
    "scene",
)
REASONING = ("code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation")

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py, AMBER_rating
AMBER_GROUPS = {
    "discriminative-attribute-state": "Attribute",
    "discriminative-attribute-number": "Attribute",
    "discriminative-attribute-action": "Attribute",
    "discriminative-hallucination": "Existence",
    "discriminative-relation": "Relation",
    "relation": "Relation",
}

Report = dict[str, float]


@dataclass(frozen=True, slots=True)
class Reply:
    """One question with what was read from its reply.

    Attributes:
        answer: The reference, as the table spells it.
        extracted: `Yes`, `No` or `Unknown`.
        category: Leaf category, None for none.
        l2_category: Its parent.
        image: What tells the pictures apart.
        index: The row's index.
    """

    answer: str
    extracted: str
    category: str | None = None
    l2_category: str | None = None
    image: str = ""
    index: str = ""


def vlmevalkit_yes_no(reply: Reply, *, any_case: bool = False) -> bool:
    """Tell whether a reply is right; `Unknown` never is.

    Args:
        reply: The question.
        any_case: Whether the reference may be spelled in any case, as for AMBER.

    Returns:
        Whether reference and extracted word are the same.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_yorn.py:ImageYORNDataset.evaluate.

    Example:
        >>> vlmevalkit_yes_no(Reply("Yes", "Yes")), vlmevalkit_yes_no(Reply("yes", "Yes"))
        (True, False)
    """
    return reply.answer.lower() == reply.extracted.lower() if any_case else reply.answer == reply.extracted


def mme(replies: Sequence[Reply], *, partial: bool = False) -> Report:
    """Add up MME: per category the accuracy, plus the share of pictures with both questions right.

    Args:
        replies: Questions in row order; the first two of each picture count for the second part.
        partial: Whether a missing category is passed over (ms-vlmeval 0.0.20) or refused.

    Returns:
        Points: `perception`, `reasoning`, then each category (0-200) by first appearance.

    Raises:
        RowError: A picture has a single question, or a category is missing.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:MME_rating.

    Example:
        >>> rows = [Reply("Yes", "Yes", "OCR", image="a"), Reply("No", "Yes", "OCR", image="a")]
        >>> mme(rows, partial=True)["OCR"]
        50.0
    """
    points = {name or "": _mme_points(members) for name, members in _grouped(replies, "category")}
    sums = {}
    for total, names in (("perception", PERCEPTION), ("reasoning", REASONING)):
        missing = [name for name in names if name not in points]
        if missing and not partial:
            raise RowError("category.missing", "category", f"no question of {', '.join(missing)}. Score the full set.")
        sums[total] = sum(points[name] for name in names if name in points)
    return sums | points


def _mme_points(replies: Sequence[Reply]) -> float:
    hits = [vlmevalkit_yes_no(reply) for reply in replies]
    by_image: dict[str, list[bool]] = {}
    for reply, hit in zip(replies, hits, strict=True):
        by_image.setdefault(reply.image, []).append(hit)
    for image, pair in by_image.items():
        if len(pair) == 1:
            raise RowError("pair.missing", "image_path", f"a picture has a single question {got(image)}. MME asks two.")
    both = [pair[0] and pair[1] for pair in by_image.values()]
    return _percent(hits) + _percent(both)


def pope(replies: Sequence[Reply]) -> dict[str, Report]:
    """Report POPE: F1, accuracy, precision and recall of `Yes`, overall and by tag.

    Args:
        replies: Questions; a category may hold several tags with commas, which are not stripped.

    Returns:
        `Overall` (the F1), `acc`, `precision`, `recall` in percent, by `Overall` and tag, sorted. A
        question counts once a tag, in the overall values too.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:POPE_rating.

    Example:
        >>> pope([Reply("Yes", "Yes", "random,popular"), Reply("No", "Unknown", "random")])["random"]["acc"]
        50.0
    """
    single = [
        replace(reply, category=tag)
        for reply in replies
        for tag in ([None] if reply.category is None else reply.category.split(","))
    ]
    tags = sorted({reply.category for reply in single if reply.category is not None})
    groups = {"Overall": single} | {tag: [reply for reply in single if reply.category == tag] for tag in tags}
    return {name: _pope_report(members) for name, members in groups.items()}


def _pope_report(replies: Sequence[Reply]) -> Report:
    f1, precision, recall = f1_of_yes(replies)
    accuracy = _percent([vlmevalkit_yes_no(reply) for reply in replies])
    return {"Overall": f1 * 100, "acc": accuracy, "precision": precision * 100, "recall": recall * 100}


def f1_of_yes(replies: Iterable[Reply]) -> tuple[float, float, float]:
    """Compute F1, precision and recall with `Yes` as positive and everything else as negative.

    Returns:
        Fractions 0-1; 0 where a denominator is zero.

    Example:
        >>> f1_of_yes([Reply("Yes", "Yes"), Reply("Yes", "Unknown")])
        (0.6666666666666666, 1.0, 0.5)
    """
    pairs = [(reply.answer == YES, reply.extracted == YES) for reply in replies]
    both = sum(answer and given for answer, given in pairs)
    given, wanted = sum(given for _, given in pairs), sum(answer for answer, _ in pairs)
    precision, recall = both / given if given else 0.0, both / wanted if wanted else 0.0
    return (2 * precision * recall / (precision + recall) if both else 0.0), precision, recall


def hallusion_bench(replies: Sequence[Reply]) -> dict[str, Report]:
    """Report HallusionBench: share of right questions, of figures and of questions right throughout.

    Args:
        replies: Questions whose index reads `..._..._..._<set>_<figure>_<question>`.

    Returns:
        `aAcc`, `fAcc`, `qAcc` in percent by `Overall`, category and parent category, each level sorted.

    Raises:
        RowError: An index does not read so.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:Hallusion_rating.

    Example:
        >>> rows = [("Yes", "VD_x_y_0_0_0"), ("No", "VD_x_y_0_0_1")]
        >>> hallusion_bench([Reply(answer, "Yes", "VD", "x", index=index) for answer, index in rows])["Overall"]
        {'aAcc': 50.0, 'fAcc': 0.0, 'qAcc': 50.0}
    """
    report = {"Overall": _hallusion_report(replies)}
    for level in ("category", "l2_category"):
        groups = ((name, members) for name, members in _grouped(replies, level) if name is not None)
        report |= {name: _hallusion_report(members) for name, members in sorted(groups)}
    return report


def _hallusion_report(replies: Sequence[Reply]) -> Report:
    figures: dict[tuple[str | None, str, str], bool] = {}
    questions: dict[tuple[str | None, str, str], bool] = {}
    hits = []
    for reply in replies:
        parts = reply.index.split("_")
        if len(parts) < 6:
            raise RowError(
                "index.parts", "index", f"expected set, figure and question {got(reply.index)}. Keep the index."
            )
        hit = vlmevalkit_yes_no(reply)
        hits.append(hit)
        for seen, last in ((figures, parts[4]), (questions, parts[5])):
            key = (reply.l2_category, parts[3], last)
            seen[key] = seen.get(key, True) and hit
    return {"aAcc": _percent(hits), "fAcc": _percent([*figures.values()]), "qAcc": _percent([*questions.values()])}


def amber(replies: Sequence[Reply]) -> Report:
    """Report AMBER: accuracy of each group of categories, and the mean of the groups.

    Args:
        replies: Questions; references may be spelled in any case.

    Returns:
        Percent by group (a category without a group is its own), then `Avg ACC`.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:AMBER_rating.

    Example:
        >>> amber([Reply("yes", "Yes", "relation"), Reply("no", "Yes", "other")])
        {'Relation': 100.0, 'other': 0.0, 'Avg ACC': 50.0}
    """
    named = [replace(x, category=AMBER_GROUPS.get(x.category, x.category)) for x in replies if x.category is not None]
    report = {
        name: _percent([vlmevalkit_yes_no(reply, any_case=True) for reply in members])
        for name, members in _grouped(named, "category")
        if name is not None
    }
    return report | {"Avg ACC": sum(report.values()) / len(report) if report else 0.0}


def vsr(replies: Sequence[Reply]) -> Report:
    """Report VSR: precision, recall and accuracy in percent, and F1 as a fraction, as the kit does.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:VSR_rating.

    Example:
        >>> vsr([Reply("Yes", "Yes"), Reply("No", "No")])
        {'precision': 100.0, 'recall': 100.0, 'acc': 100.0, 'f1_score': 1.0}
    """
    f1, precision, recall = f1_of_yes(replies)
    accuracy = _percent([vlmevalkit_yes_no(reply) for reply in replies])
    return {"precision": precision * 100, "recall": recall * 100, "acc": accuracy, "f1_score": f1}


def by_category(replies: Sequence[Reply]) -> Report:
    """Report any other benchmark: accuracy overall, by category and by parent category.

    Returns:
        Percent by `Overall`, then the categories and then their parents, each sorted; a parent of
        the same name takes the place of a category.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:default_rating.

    Example:
        >>> by_category([Reply("Yes", "Yes", "b"), Reply("No", "Yes", "a")])
        {'Overall': 50.0, 'a': 0.0, 'b': 100.0}
    """
    report = {"Overall": _percent([vlmevalkit_yes_no(reply) for reply in replies])}
    for level in ("category", "l2_category"):
        groups: Mapping[str, list[Reply]] = {name: m for name, m in _grouped(replies, level) if name is not None}
        report |= {name: _percent([vlmevalkit_yes_no(reply) for reply in groups[name]]) for name in sorted(groups)}
    return report


def _grouped(replies: Iterable[Reply], level: str) -> Iterator[tuple[str | None, list[Reply]]]:
    groups: dict[str | None, list[Reply]] = {}
    for reply in replies:
        groups.setdefault(getattr(reply, level), []).append(reply)
    yield from groups.items()


def _percent(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) * 100 if hits else 0.0


METRIC = vlmevalkit_yes_no
