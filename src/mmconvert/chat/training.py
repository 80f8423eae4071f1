"""What training data share: the assistant's turn, pairs of `{user, assistant}`, what is left out, and why."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import MEDIA, MESSAGES_EXTRA, ROLES, as_list, count_image_parts
from mmconvert.chat.losses import METADATA, NO_FIELD, list_prompt_losses
from mmconvert.core.error_hints import add_hint
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Part, Record, Turn, list_turns
from mmconvert.core.text.image_markers import Markers, check_count, escape, join_with_markers, unescape
from mmconvert.dataset.views import ANSWER_TURN, asks_for_letters, gains_answer_turn, list_sft_turns, remove_response
from mmconvert.io.columns import HEADERS, add_extra, build_own_id
from mmconvert.plugins.format import Loss

UNHELD = (*METADATA, "prediction", "attachments")
"""Columns that no training format has a field for."""


def build_training_rows(
    records: Iterable[Record],
    losses: list[Loss],
    row: Callable[[Record], Mapping[str, Any]],
    *,
    addresses: bool = False,
    held: Collection[str] = (),
    pair: Callable[[Record], Mapping[str, Any]] | None = None,
    first_row: int = 0,
) -> Iterator[Mapping[str, Any]]:
    """Write each record that can be trained on as a row; the others are losses.

    Args:
        records: Any records; the answer of an evaluation record becomes the assistant's turn.
        losses: Collects what the format cannot hold.
        row: Record with its assistant's turn -> the format's row; raises RowError to leave it out.
        addresses: The format takes addresses of images.
        held: Columns of `UNHELD` that the format does hold.
        pair: Preference pair -> the format's row; raises RowError to leave it out; None for a format without pairs.
        first_row: Number of the first row that is written; see `Target`.

    Yields:
        Rows in order.
    """
    written = first_row
    for record in records:
        try:
            _check(record, addresses)
            source = replace(record.source, row=written)  # what rows without an id are numbered by
            if record.preference is not None and pair is not None:
                made = pair(replace(record, source=source))
            else:
                made = row(replace(record, messages=list_sft_turns(record), source=source))
        except RowError as error:
            message = f"the row is left out: {add_hint(error.code, error.field, error.message)}"
            losses.append(Loss(record.id, error.field or "messages", message, left_out=True))
            continue
        losses += _list_losses(record, (*held, "attachments") if _sees_others(record) else held)
        written += 1
        yield made


def _check(record: Record, addresses: bool) -> None:
    # A dataset may come from anywhere: a trainer would stop at, or misplace, what does not fit together.
    check_count(count_image_parts(list_turns(record)), len(record.images), "images")
    if not addresses and any(image.bytes is None for image in record.images):
        raise RowError("image.remote", "images", "an image is only a URL and has no bytes.")
    role = next((turn.role for turn in list_turns(record) if turn.role not in ROLES), None)
    if role is not None:
        raise RowError("target.role", "messages", f"training formats are written without {role} turns.")


def _sees_others(record: Record) -> bool:
    """Tell whether attachments are what the rejected side sees; the format's own function says what becomes of them."""
    return record.preference is not None and len(record.preference.rejected_images) == len(record.attachments) > 0


def _list_losses(record: Record, held: Collection[str]) -> Iterator[Loss]:
    yield from list_prompt_losses(record)
    for name in UNHELD:
        if name not in held and getattr(record, name) not in (None, ()):
            yield Loss(record.id, name, NO_FIELD, remark=name in METADATA)
    if record.preference is not None:
        if record.answers:
            message = "the row holds two responses, and the reference is none of them"
            yield Loss(record.id, "answer", message, remark=True)
        return
    if not gains_answer_turn(record) and remove_response(record) is record:
        if record.answers:
            yield Loss(record.id, "answer", "the row ends with the assistant's turn, which stays as it is")
        return
    yield Loss(record.id, "answer", ANSWER_TURN, remark=True)
    if len(record.answers) > 1 and not asks_for_letters(record):
        message = f"only the first of {len(record.answers)} references is there to learn"
        yield Loss(record.id, "answers", message, remark=True)


def build_source_id(record: Record) -> dict[str, str]:
    """Give the field `id`: the record's own, or the source's where rows are numbered; {} where there is none."""
    if build_own_id(record):
        return {"id": record.id}
    return {"id": record.sample} if record.sample != record.id else {}


def build_message_rows(
    record: Record,
    keys: tuple[str, str],
    names: Mapping[str, str],
    markers: Markers,
    shown_by: Collection[str] = ("system", "user", "assistant"),
) -> list[dict[str, Any]]:
    """Write turns as messages of one text each.

    Args:
        record: The record.
        keys: The message's keys for role and content.
        names: Role -> the format's word.
        markers: What stands for an image.
        shown_by: Roles whose markers count; in other turns the text is written as it is.

    Raises:
        RowError: `target.role`: the format has no word for a role.
    """
    rows = []
    for turn, more in zip(record.messages, read_messages_extra(record), strict=True):
        if turn.role not in names:
            raise RowError("target.role", "messages", f"the format has no {turn.role} turns.")
        kept = {name: value for name, value in more.items() if name not in keys}
        marked = turn.role in shown_by
        text = join_with_markers(turn.content, markers) if marked else "".join(part.text for part in turn.content)
        rows.append({keys[0]: names[turn.role], keys[1]: text, **kept})
    return rows


def read_messages_extra(record: Record) -> Sequence[Mapping[str, Any]]:
    """Give the further fields of each message, {} for a turn that the source did not have."""
    extras = record.extra.get(MESSAGES_EXTRA)
    known = [more if isinstance(more, dict) else {} for more in extras] if isinstance(extras, list) else []
    return [*known, *({} for _ in record.messages)][: len(record.messages)]


def add_extra_fields(
    fields: dict[str, Any], record: Record, losses: list[Loss], taken: Sequence[str] = ()
) -> dict[str, Any]:
    """Add the fields that the source had beside; one whose name is taken, as in `add_extra`, is a loss."""
    extra = {name: value for name, value in record.extra.items() if name not in (MESSAGES_EXTRA, HEADERS)}
    media = (name for name in MEDIA if as_list(extra.get(name)))
    return add_extra(fields, extra, {"id", *media, *taken}, record, losses)


def report_lost_extra(record: Record, losses: list[Loss], kept: Sequence[str] = ()) -> None:
    """Name the fields and message fields of the source that a format without further fields drops."""
    for name in record.extra:
        if name not in (*kept, HEADERS):
            losses.append(Loss(record.id, name, NO_FIELD, remark=True))


def drop_system_turns(record: Record, losses: list[Loss]) -> Record:
    """Take the system turns out for a trainer that brings its own.

    Raises:
        RowError: `target.role`: an image stands in one.
    """
    keep = [number for number, turn in enumerate(record.messages) if turn.role != "system"]
    if len(keep) == len(record.messages):
        return record
    if any(part.type == "image" for turn in record.messages if turn.role == "system" for part in turn.content):
        raise RowError("target.role", "messages", "an image is in the system turn, which the format does not have.")
    losses.append(Loss(record.id, "messages", "the system turn is dropped: the trainer brings its own"))
    extra = dict(record.extra)
    if MESSAGES_EXTRA in extra:
        extra[MESSAGES_EXTRA] = [read_messages_extra(record)[number] for number in keep]
    return replace(record, messages=tuple(record.messages[number] for number in keep), extra=extra)


def require_alternation(turns: Sequence[Turn]) -> None:
    """Refuse a conversation that is not user, assistant, user, assistant, ...

    Raises:
        RowError: `target.order`.
    """
    roles = [turn.role for turn in turns]
    if not roles or roles != ["user", "assistant"] * (len(roles) // 2):
        raise RowError("target.order", "messages", f"turns must alternate user, assistant, but are {', '.join(roles)}.")


SIDES = ("user", "assistant")
"""Keys of a pair in the_cauldron and its kin, whose images all stand in front of the first question."""


def read_turns(texts: Any, images: int) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """Read pairs as turns, all images in front of the first question.

    Args:
        texts: The field `texts` as the source has it.
        images: How many images the row has.

    Returns:
        The turns, and the further fields of each pair with its user's turn.

    Raises:
        RowError: `messages.missing`, `messages.content`.
    """
    if not isinstance(texts, list) or not texts:
        raise RowError("messages.missing", "texts", f"expected a list of questions and answers {show(texts)}.")
    turns: list[Turn] = []
    extras: list[dict[str, Any]] = []
    for number, pair in enumerate(texts):
        for side in SIDES:
            text = pair.get(side) if isinstance(pair, dict) else None
            if not isinstance(text, str):
                raise RowError("messages.content", f"texts[{number}].{side}", f"expected a text {show(pair)}.")
            shown = [Part("image")] * images if not turns else []
            words = [Part("text", unescape(text))] if text or not shown else []
            turns.append(Turn(side, (*shown, *words)))
        extras += [{name: value for name, value in pair.items() if name not in SIDES and value is not None}, {}]
    return tuple(turns), extras


def build_pairs(record: Record, losses: list[Loss], kept: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Write turns as pairs; see `read_turns`.

    A literal `<image>` is escaped: processors whose token it is would read it as an image.

    Args:
        record: A record that ends with the assistant's turn.
        losses: Collects what pairs cannot hold.
        kept: Fields of a pair beside the two texts.

    Raises:
        RowError: `target.order`: the turns are no questions with answers.
    """
    record = drop_system_turns(record, losses)
    require_alternation(record.messages)
    count = len(record.images)
    in_front = all(part.type == "image" for part in record.messages[0].content[:count])
    if not in_front or count_image_parts(record.messages[:1]) != count:
        losses.append(Loss(record.id, "images", "their positions are lost: all come before the first question"))
    extras = read_messages_extra(record)
    for more in extras:
        losses += [
            Loss(record.id, name, "the format has no such field in a text", remark=True)
            for name in more
            if name not in kept
        ]
    texts = ["".join(part.text for part in turn.content) for turn in record.messages]
    held = [{name: more.get(name) for name in kept} for more in extras]
    places = range(0, len(texts), 2)
    return [{"user": escape(texts[at]), "assistant": escape(texts[at + 1]), **held[at]} for at in places]
