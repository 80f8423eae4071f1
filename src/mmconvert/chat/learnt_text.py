"""Which characters of a rendered conversation a model is to learn: what it has to write, up to its end token.

Of each turn of the assistant the chat template is asked twice: what the model is given before it answers (with the
generation prompt), and what stands there once it has answered. What the second has more is learnt. So nothing about a
model or its control tokens is known here, and an answer that quotes them disturbs nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal

import msgspec

Loss = Literal["assistant", "completion", "last", "all"]
"""What is learnt: every turn of the assistant, those behind the last other turn, the last one, or all but images."""

Turns = Sequence[Mapping[str, Any]]
Render = Callable[[Turns, bool], str]
"""Gives the text of turns; True adds what the template puts before an answer."""


class LearntText(msgspec.Struct, frozen=True):
    """A rendered conversation.

    Attributes:
        text: All turns, as the template renders them.
        spans: Learnt characters of it, first and behind the last, in order.
        turns: Numbers of the learnt turns, one a span.
        rewritten: Numbers of turns that later ones change, such as those whose thinking is taken out: no model
            writes them as they stand in `text`.
        unclear: Numbers of turns before which the template renders no prompt.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    turns: tuple[int, ...] = ()
    rewritten: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()


def choose_turns(turns: Turns, loss: Loss, prompt: int = 0) -> list[int]:
    """Name the turns that are learnt.

    Args:
        turns: A conversation.
        loss: Which turns of the assistant; `all` names the same ones as `assistant`.
        prompt: How many turns are a prompt of which nothing is learnt.

    Returns:
        Numbers of turns, from 0.

    Example:
        >>> talk = [{"role": role} for role in ("user", "assistant", "user", "assistant", "assistant")]
        >>> [choose_turns(talk, loss) for loss in ("assistant", "completion", "last")]
        [[1, 3, 4], [3, 4], [4]]
    """
    said = [number for number, turn in enumerate(turns) if turn["role"] == "assistant" and number >= prompt]
    if loss == "last":
        return said[-1:]
    if loss == "completion":
        others = [number for number, turn in enumerate(turns) if turn["role"] != "assistant"]
        return [number for number in said if not others or number > others[-1]]
    return said


def find_learnt_text(render: Render, turns: Turns, wanted: Sequence[int]) -> LearntText:
    """Render a conversation, and find what is learnt of it.

    Args:
        render: The chat template.
        turns: The conversation.
        wanted: Numbers of the turns that shall be learnt; see `choose_turns`.

    Returns:
        The text with the spans of the turns that stand in it as the model has to write them.
    """
    text = render(turns, False)
    spans, learnt, rewritten, unclear = [], [], [], []
    for number in wanted:
        found = _find_turn(render, turns, number)
        if found is None:
            unclear.append(number)
        elif not text.startswith(found[1]):
            rewritten.append(number)
        else:
            spans.append((found[0], len(found[1])))
            learnt.append(number)
    return LearntText(text, tuple(spans), tuple(learnt), tuple(rewritten), tuple(unclear))


def _find_turn(render: Render, turns: Turns, number: int) -> tuple[int, str] | None:
    """Give where a turn's learnt characters begin, and the text up to their end; None where they cannot be told."""
    try:
        before = render(turns[:number], False)
        prompt = render(turns[:number], True)
        answered = render(turns[: number + 1], False)
    except Exception:  # templates of many makers: each refuses in its own way what it does not know
        return None
    start = _count_shared(prompt, answered)
    # White space behind the end token is never generated.
    end = answered.rstrip()
    return None if start < len(before) else (start, end if len(end) >= start else answered[:start])


def _count_shared(first: str, second: str) -> int:
    """Count the characters that two texts begin with alike."""
    if second.startswith(first):
        return len(first)
    return next(place for place, (one, other) in enumerate(zip_longest(first, second)) if one != other)


def insert_end_tokens(found: LearntText, token: str, special: Sequence[str]) -> LearntText:
    """Put a token behind every learnt span that does not end with a special one.

    Args:
        found: What is learnt.
        token: What ends an answer.
        special: Tokens that end one.

    Example:
        >>> insert_end_tokens(LearntText("Q: 1 A: 2", ((7, 9),), (1,)), "</s>", ["</s>"]).text
        'Q: 1 A: 2</s>'
    """
    pieces, spans, at, grown = [], [], 0, 0
    for start, end in found.spans:
        added = "" if ends_with_token(found.text[start:end], special) else token
        pieces += [found.text[at:end], added]
        spans.append((start + grown, end + grown + len(added)))
        at, grown = end, grown + len(added)
    return LearntText("".join([*pieces, found.text[at:]]), tuple(spans), found.turns, found.rewritten, found.unclear)


def ends_with_token(text: str, special: Sequence[str]) -> bool:
    """Tell whether a text ends with one of the tokens."""
    return any(token and text.endswith(token) for token in special)
