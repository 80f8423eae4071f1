"""Rows of a dataset to tensors, for a training loop of one's own or a trainer of transformers or TRL.

loader = torch.utils.data.DataLoader(load_dataset(...), batch_size=8, collate_fn=ChatCollator(processor))
"""

import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from mmconvert.chat.learnt_text import (
    LearntText,
    Loss,
    choose_turns,
    ends_with_token,
    find_learnt_text,
    insert_end_tokens,
)
from mmconvert.chat.learnt_tokens import Encoded, Encoder, Rendered
from mmconvert.core.errors import Error, UsageError

IGNORED = -100
"""The label of a token that is not learnt."""

TooLong = Literal["skip", "cut_turns"]
Rewritten = Literal["leave_out", "split"]


@dataclass(slots=True)
class CollatorCounts:
    """What a collator met so far, in its own process.

    Attributes:
        rows: Rows that it was given.
        skipped: Rows longer than `max_length` that were left out.
        cut: Rows that lost turns at their end to fit.
        split: Sequences made beside, each for a turn that a later one rewrites.
        rewritten: Turns that are not learnt because a later one rewrites them.
        unclear: Turns that are not learnt because the template renders no prompt before them.
        unended: Rows with a learnt turn that no special token ends.
        nothing: Sequences of which nothing is learnt.
    """

    rows: int = 0
    skipped: int = 0
    cut: int = 0
    split: int = 0
    rewritten: int = 0
    unclear: int = 0
    unended: int = 0
    nothing: int = 0


UNENDED = (
    "the chat template puts no special token behind an answer, so that the model does not learn to stop. To add the "
    "tokenizer's: ChatCollator(processor, add_end_token=True)."
)

_REMARKS = {
    "skipped": "a row is longer than max_length and left out of its batch. To keep batches full, leave such rows out "
    "before training: dataset.filter(collator.fits).",
    "cut": "a row is longer than max_length: its last turns are left out.",
    "rewritten": "the chat template rewrites an earlier turn of the assistant, for example takes out its thinking. "
    'Such turns are not learnt. To learn them in sequences of their own: ChatCollator(processor, rewritten="split").',
    "unclear": "the chat template renders no prompt before a turn of the assistant. Such turns are not learnt.",
    "unended": UNENDED,
    "nothing": "nothing is learnt of a row.",
}
"""What is said the first time that something is counted."""


class Talk(msgspec.Struct, frozen=True):
    """The conversation of a row.

    Attributes:
        name: What errors call the row.
        turns: Its turns, each image in its part.
        prompt: How many turns are a prompt of which nothing is learnt.
    """

    name: str
    turns: Sequence[Mapping[str, Any]]
    prompt: int = 0


class Sequenced(msgspec.Struct, frozen=True):
    """One sequence of tokens that a talk makes: as a rule the only one.

    Attributes:
        talk: What it is made of.
        found: Its text, and what is learnt of it.
        images: Its images in order.
        main: It holds the whole talk; others are of one turn that is rewritten later.
    """

    talk: Talk
    found: LearntText
    images: Sequence[Any]
    main: bool = True


class ChatCollator:
    """Words rows with a processor's chat template, pads them, and labels what the assistant has to write.

    Learnt are the turns of the assistant with the token that ends each, as the model writes them when it is asked with
    the same template: no prompt, role word, image or padding. Rows are those of `--view sft` or `prompt-completion`,
    whose prompt is not learnt either; they may be text alone, or show several images.

    Attributes:
        counts: Rows and turns that were left out or changed so far; the first of each kind is a warning too.
    """

    def __init__(
        self,
        processor: Any,
        *,
        loss: Loss = "assistant",
        max_length: int | None = None,
        too_long: TooLong = "skip",
        rewritten: Rewritten = "leave_out",
        add_end_token: bool = False,
    ) -> None:
        """Say how rows become tensors.

        Args:
            processor: The processor of a vision-language model of transformers, with a chat template; or a
                tokenizer, for rows without images.
            loss: `assistant` learns every turn of the assistant, `completion` those behind the last other turn,
                `last` the last one, `all` everything but images and padding.
            max_length: Most tokens of a row, those of images among them; None for any number.
            too_long: What becomes of a longer row: `skip` leaves it out, `cut_turns` leaves out its last turns, each
                whole and with its images, and the row where its first answer does not fit.
            rewritten: What becomes of turns that the template renders otherwise once others follow, as those that
                strip thinking do: `leave_out` does not learn them, `split` adds a sequence up to each.
            add_end_token: Put the tokenizer's `eos_token` behind answers that the template ends with no special token.

        Raises:
            UsageError: A word is none of these, or there is no end token to add.
        """
        for name, given, known in (
            ("loss", loss, Loss),
            ("too_long", too_long, TooLong),
            ("rewritten", rewritten, Rewritten),
        ):
            if given not in get_args(known):
                raise UsageError(f"{name}: {given!r} is none of {', '.join(get_args(known))}.")
        self.counts = CollatorCounts()
        self._processor = processor
        self._tokenizer = getattr(processor, "tokenizer", processor)
        self._encoder = Encoder(processor)
        self._loss, self._rewritten = loss, rewritten
        self._max_length, self._too_long = max_length, too_long
        added = [str(token) for token in self._tokenizer.added_tokens_decoder.values() if token.special]
        self._special = [*self._tokenizer.all_special_tokens, *added]
        self._end_token = str(self._tokenizer.eos_token or "") if add_end_token else None
        if self._end_token == "":
            raise UsageError("add_end_token: the tokenizer has no eos_token. Set it: tokenizer.eos_token = ...")

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Give the model's arguments.

        Args:
            rows: Rows as `datasets` reads them, images decoded.

        Returns:
            The processor's tensors, one sequence a row as a rule, and `labels`: `input_ids`, `IGNORED` for what is
            not learnt.

        Raises:
            Error: A row shows other images than it has, is laid out for evaluation, or is refused by the chat
                template; or every row is longer than `max_length`.
        """
        talks = [read_talk(row) for row in rows]
        self.counts.rows += len(talks)
        sequences, encoded = self._encode(talks)
        if self._max_length is not None:
            lengths = encoded.batch["attention_mask"].sum(dim=1).tolist()
            long = {id(s.talk) for s, length in zip(sequences, lengths, strict=True) if length > self._max_length}
            if long:
                sequences, encoded = self._encode(self._shorten_all(talks, long))
        learnt = self.find_learnt(encoded)
        self._count_sequences(sequences, learnt)
        return {**encoded.batch, "labels": encoded.batch["input_ids"].masked_fill(~learnt, IGNORED)}

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Tell whether something of a row is left within `max_length`, for `dataset.filter(collator.fits)`."""
        talk = read_talk(row)
        return self._max_length is None or self._shorten(talk) is not None

    def render(self, talk: Talk) -> list[Sequenced]:
        """Render a talk as the sequences that it makes.

        Raises:
            Error: The chat template refuses it.
        """
        wanted = [] if self._loss == "all" else choose_turns(talk.turns, self._loss, talk.prompt)
        try:
            found = find_learnt_text(self._render, talk.turns, wanted)
        except Error:
            raise
        except Exception as error:  # templates of many makers: each refuses in its own way
            raise Error(f"{talk.name}: the chat template refuses the turns: {error}. Leave the row out.") from error
        sequences = [Sequenced(talk, found, _list_images(talk.turns))]
        if self._rewritten == "split":
            for number in found.rewritten:
                turns = talk.turns[: number + 1]
                sequences.append(
                    Sequenced(talk, find_learnt_text(self._render, turns, [number]), _list_images(turns), main=False)
                )
        if self._end_token is None:
            return sequences
        end = self._end_token
        return [
            msgspec.structs.replace(one, found=insert_end_tokens(one.found, end, self._special)) for one in sequences
        ]

    def encode(self, sequences: Sequence[Sequenced]) -> Encoded:
        """Give the tensors of sequences, and their tokens."""
        return self._encoder.encode([Rendered(one.found.text, one.images, one.found.spans) for one in sequences])

    def find_learnt(self, encoded: Encoded) -> Any:
        """Give which tokens of a batch are learnt: bool [rows, length]."""
        if self._loss == "all":
            return encoded.batch["attention_mask"].bool() & (encoded.images < 0)
        return encoded.learnt

    def is_ended(self, found: LearntText) -> bool:
        """Tell whether a special token ends every learnt turn."""
        return all(ends_with_token(found.text[start:end], self._special) for start, end in found.spans)

    def _encode(self, talks: Sequence[Talk]) -> tuple[list[Sequenced], Encoded]:
        sequences = [sequence for talk in talks for sequence in self.render(talk)]
        return sequences, self.encode(sequences)

    def _render(self, turns: Sequence[Mapping[str, Any]], prompt: bool) -> str:
        if self._processor is self._tokenizer:
            turns = [{**turn, "content": _join_texts(turn["content"])} for turn in turns]
        return str(self._processor.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=prompt))

    def _shorten_all(self, talks: Sequence[Talk], long: set[int]) -> list[Talk]:
        """Make the talks with these identities fit or leave them out."""
        kept = []
        for talk in talks:
            shorter = self._shorten(talk) if id(talk) in long else talk
            if shorter is None:
                self._count("skipped")
            else:
                self._count("cut", int(shorter is not talk))
                kept.append(shorter)
        if not kept:
            names = ", ".join(talk.name for talk in talks)
            raise Error(
                f"{names}: longer than max_length={self._max_length}, so that nothing is left of the batch. Leave such "
                "rows out before training: dataset.filter(collator.fits)."
            )
        return kept

    def _shorten(self, talk: Talk) -> Talk | None:
        """Give the longest beginning of a talk that ends with an answer and fits; None where there is none."""
        ends = [number + 1 for number in choose_turns(talk.turns, "assistant", talk.prompt)]
        ends = ends if self._too_long == "cut_turns" else ends[-1:]
        most = self._max_length or 0
        # All of it is asked first: that is what most rows keep.
        if ends and self._measure(talk, ends[-1]) <= most:
            return talk
        fitting = bisect_right(ends[:-1], most, key=lambda end: self._measure(talk, end))
        return msgspec.structs.replace(talk, turns=talk.turns[: ends[fitting - 1]]) if fitting else None

    def _measure(self, talk: Talk, end: int) -> int:
        """Count the tokens of the longest sequence that the first turns of a talk make."""
        _, encoded = self._encode([msgspec.structs.replace(talk, turns=talk.turns[:end])])
        return int(encoded.batch["attention_mask"].sum(dim=1).max())

    def _count_sequences(self, sequences: Sequence[Sequenced], learnt: Any) -> None:
        for one, own in zip(sequences, learnt, strict=True):
            found = one.found
            self._count("split", int(not one.main))
            self._count("rewritten", len(found.rewritten) if self._rewritten == "leave_out" else 0)
            self._count("unclear", len(found.unclear))
            self._count("unended", int(not self.is_ended(found)))
            self._count("nothing", int(not own.any()))

    def _count(self, what: str, more: int = 1) -> None:
        known = getattr(self.counts, what)
        setattr(self.counts, what, known + more)
        if more and not known and what in _REMARKS:
            warnings.warn(_REMARKS[what], stacklevel=2)


def read_talk(row: Mapping[str, Any]) -> Talk:
    """Read the turns of a row, each image in its part.

    Raises:
        Error: The row ends with no answer, or has other images than its turns show.
    """
    name = f"row {row.get('id')!r}"
    prompt = list(row["prompt"]) if "completion" in row else []
    turns = [*prompt, *row["completion"]] if "completion" in row else row["messages"]
    if not turns or turns[-1]["role"] != "assistant":
        raise Error(f"{name}: has no response to train on. Convert with --view sft or prompt-completion.")
    images = iter(row["images"])
    talk = Talk(name, _insert_images(turns, images, name), len(prompt))
    if any(True for _ in images):
        raise Error(f"{name}: has more images than its turns show. Convert it again.")
    return talk


def _insert_images(turns: Sequence[Mapping[str, Any]], images: Iterator[Any], name: str) -> list[dict[str, Any]]:
    return [
        {"role": turn["role"], "content": [_build_part(p, images, name) for p in turn["content"]]} for turn in turns
    ]


def _build_part(part: Mapping[str, Any], images: Iterator[Any], name: str) -> dict[str, Any]:
    if part["type"] != "image":
        return {"type": "text", "text": part["text"]}
    try:
        image = next(images)
    except StopIteration:
        raise Error(f"{name}: the turns show more images than the row has. Convert it again.") from None
    if image is None:
        raise Error(f"{name}: an image is only a URL. Convert with --allow-remote, without --keep-urls.")
    return {"type": "image", "image": image}


def _list_images(turns: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [part["image"] for turn in turns for part in turn["content"] if part["type"] == "image"]


def _join_texts(parts: Sequence[Mapping[str, Any]]) -> str:
    if any(part["type"] == "image" for part in parts):
        raise Error("a tokenizer reads no images. Give the model's processor: AutoProcessor.from_pretrained(...).")
    return "".join(part["text"] for part in parts)
