"""One sample of MMTrustEval as a record: what its array of samples, its logs and its annotations share."""

from collections.abc import Mapping
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.plugins.format import Context


def sample_record(
    row: Row,
    context: Context,
    *,
    text: str | None,
    image: Image | None,
    label: Any,
    extra: Mapping[str, Any],
    dataset: str | None,
    prediction: str | None = None,
) -> Record:
    """Make the record of a sample.

    Args:
        row: Where it stood; samples are known by their order.
        context: Ids, names and the task that the user gave.
        text: What is asked, behind the image; None for no turn at all.
        image: The image, None for none.
        label: The reference as the source has it.
        extra: Fields without a column; `extra` among them is the sample's own, and its `subset` the category.
        dataset: Name of the dataset, where the user gave none.
        prediction: The response, None where nobody was asked.

    Raises:
        RowError: `label.type`: the reference is neither a text nor a number nor a list of them.
    """
    key, answers = context.numbered(row), _read_answers(label)
    shown = () if image is None else (Part("image"),)
    return Record(
        id=key,
        sample=key,
        messages=() if text is None else (Turn("user", (*shown, Part("text", text))),),
        task=context.task or "vqa",
        source=context.source(row),
        images=() if image is None else (image,),
        question=text,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        category=_read_subset(extra.get("extra")),
        dataset=context.dataset or dataset,
        subset=context.subset,
        extra=extra,
        prediction=prediction,
    )


def _read_answers(label: Any) -> tuple[str, ...]:
    if label is None:
        return ()
    values = label if isinstance(label, list) else [label]
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in values):
        raise RowError("label.type", "label", f"expected a text, a number or a list of them {show(label)}.")
    return tuple(str(value) for value in values)


def _read_subset(extra: Any) -> str | None:
    subset = extra.get("subset") if isinstance(extra, Mapping) else None
    return None if subset is None else str(subset)
