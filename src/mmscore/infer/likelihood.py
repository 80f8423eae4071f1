"""Log-probabilities of given continuations, over one pass through the prompts (ReForm-Eval's white-box method).

The prompts, images included, go through the model once; what it keeps of them (the key-value cache)
is shared by all options of a row. An option's tokens go in at once, padded to the right. Models with
an encoder score in their decoder, over the encoder's one output.
"""

import copy
import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers.generation import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from mmconvert.core.record import LETTERS, Record
from mmscore.infer.backend import MEAN, TOKEN
from mmscore.llm.response_cache import Answer, failed

Logprobs = tuple[float, ...]

ROOM_ON_CPU = 1 << 30
"""Bytes for options under way at once where a device does not say what is free."""

_SHARE_OF_FREE = 0.5
_FLOAT = 4


class _Option(msgspec.Struct, frozen=True):
    row: int
    tokens: tuple[int, ...]


def tokenize_options(tokenizer: Any, record: Record) -> list[tuple[int, ...]] | Answer:
    """Tokenise the options of a row, or say why they cannot be scored.

    No space is put before an option, and a beginning-of-text token is dropped; control tokens in an
    option are plain text.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 models/interfaces/lynx_interface.py:raw_predict.
    """
    present = [(letter, text) for letter, text in zip(LETTERS, record.options, strict=False) if text is not None]
    if not present or len(record.options) > len(LETTERS):
        return failed(f"options: {len(record.options)} of them. Likelihood takes the best of 1 to {len(LETTERS)}.")
    found = []
    for letter, text in present:
        tokens = tokenizer(text, split_special_tokens=True)["input_ids"]
        tokens = tokens[1:] if tokens[:1] == [tokenizer.bos_token_id] else tokens
        if not tokens:
            return failed(f"options: {letter} is empty, no text has no likelihood. Leave the row out.")
        found.append(tuple(tokens))
    return found


def choose_option(record: Record, logprobs: Sequence[Logprobs], reduction: str, prompt_tokens: int) -> Answer:
    """Take the option with the highest log-probability, the first of several.

    Args:
        record: The row.
        logprobs: Natural log-probability of each token of each present option.
        reduction: One of `mmscore.infer.backend.REDUCTIONS`. `mean` divides by all tokens of the
            option; ReForm-Eval leaves out tokens whose loss is exactly 0.
        prompt_tokens: Tokens of the prompt.
    """
    letters = [letter for letter, text in zip(LETTERS, record.options, strict=False) if text is not None]
    sums = [math.fsum(option) for option in logprobs]
    lacking = next((letter for letter, value in zip(letters, sums, strict=True) if math.isnan(value)), None)
    if lacking is not None:
        return failed(f"options: the model gives no number for {lacking}. Try --dtype float32.")
    values = [total / len(option) for total, option in zip(sums, logprobs, strict=True)] if reduction == MEAN else sums
    return Answer(
        text=letters[max(range(len(values)), key=values.__getitem__)],
        prompt_tokens=prompt_tokens,
        option_logprobs=tuple(sums),
        option_tokens=tuple(len(option) for option in logprobs),
        token_logprobs=tuple(value for option in logprobs for value in option) if reduction == TOKEN else None,
    )


def read_prompts(model: Any, config: GenerationConfig, inputs: Any) -> "ReadPrompts":
    """Pass prompts through a model.

    Args:
        model: A model that generates.
        config: Its settings.
        inputs: What the processor makes of the prompts: one row a prompt.
    """
    with torch.inference_mode():
        return ReadPrompts(model, config, inputs)


def score_options(prompts: "ReadPrompts", options: Sequence[Sequence[tuple[int, ...]]]) -> list[list[Logprobs]]:
    """Score options after their prompts.

    Args:
        prompts: The prompts.
        options: Tokens of each option of each prompt, at least one.

    Returns:
        For each row and option the natural log-probability of each token. Options of equal tokens in
        a row have equal values.
    """
    with torch.inference_mode():
        # Equal options are scored once: they tie exactly, whatever else stands in the batch.
        distinct = sorted({_Option(row, ids) for row, own in enumerate(options) for ids in own}, key=_build_length_key)
        first = prompts.first[[one.row for one in distinct], [one.tokens[0] for one in distinct]].tolist()
        scores: dict[_Option, Logprobs] = {one: (value,) for one, value in zip(distinct, first, strict=True)}
        for piece in _split_options([one for one in distinct if len(one.tokens) > 1], prompts):
            for one, rest in zip(piece, prompts.score_rest(piece), strict=True):
                scores[one] += rest
    return [[scores[_Option(row, tokens)] for tokens in own] for row, own in enumerate(options)]


def _build_length_key(option: _Option) -> tuple[int, int, tuple[int, ...]]:
    return -len(option.tokens), option.row, option.tokens


def _split_options(options: Sequence[_Option], prompts: "ReadPrompts") -> Iterator[Sequence[_Option]]:
    """Cut options, the longest first, into pieces that fit the memory."""
    start = 0
    while start < len(options):
        count = prompts.count_most_at_once(len(options[start].tokens))
        yield options[start : start + count]
        start += count


class ReadPrompts:
    """Prompts that went through the model, and what it keeps of them."""

    def __init__(self, model: Any, config: GenerationConfig, inputs: Any) -> None:
        # Generating one token is the one way through a prompt that every family gets right: positions,
        # images, encoders. Its cache then holds the prompt, its scores are those of the next token.
        config = copy.deepcopy(config)
        config.update(
            max_new_tokens=1,
            num_beams=1,
            stop_strings=None,
            cache_implementation=None,
            use_cache=True,
            return_dict_in_generate=True,
            output_logits=True,
            output_hidden_states=bool(model.config.is_encoder_decoder),
        )
        out = model.generate(**inputs, generation_config=config)
        self.first = out.logits[0].float().log_softmax(-1)
        # transformers renames it, one model after the other.
        self._cache = next(out[name] for name in ("cache", "past_key_values") if name in out)
        self._tensors = {id(tensor): tensor for tensor in _find_tensors(self._cache)}
        self._mask = inputs["attention_mask"]
        self._pad = config.pad_token_id or 0
        self._encoded = out.encoder_hidden_states[-1] if model.config.is_encoder_decoder else None
        # Qwen's kind counts positions from where the images end, and remembers the distance here.
        self._shift = getattr(getattr(model, "model", None), "rope_deltas", None)
        # BLIP's kind wraps a language model that generates by itself.
        language = getattr(model, "language_model", None)
        self._head = language if language is not None and language.can_generate() else model
        taken = inspect.signature(self._head.forward).parameters
        self._cache_name = "cache" if "cache" in taken else "past_key_values"

    def count_most_at_once(self, tokens: int) -> int:
        """Say how many options of so many tokens fit the memory, at least one."""
        rows, vocabulary = self.first.shape
        kept = sum(tensor.nbytes for tensor in self._tensors.values()) // rows
        # What is kept is copied when the option's own tokens are put to it; scores, and as many sums over them.
        needed = 2 * kept + 2 * (tokens - 1) * vocabulary * _FLOAT
        return max(1, int(_measure_room(self.first.device) // needed))

    def score_rest(self, options: Sequence[_Option]) -> list[Logprobs]:
        """Score the tokens after the first, all options at once."""
        device = self.first.device
        rows = torch.tensor([option.row for option in options], device=device)
        fed = self._pad_tokens([option.tokens[:-1] for option in options], self._pad)
        expected = self._pad_tokens([option.tokens[1:] for option in options], 0)
        given = self._pad_tokens([(1,) * (len(option.tokens) - 1) for option in options], 0)
        logits = self._compute_logits(rows, fed, given).float()
        values = logits.gather(-1, expected[..., None]).squeeze(-1) - logits.logsumexp(-1)
        return [tuple(row[: len(option.tokens) - 1]) for row, option in zip(values.tolist(), options, strict=True)]

    def _pad_tokens(self, tokens: Sequence[Sequence[int]], value: int) -> torch.Tensor:
        rows = [torch.tensor(row, device=self.first.device) for row in tokens]
        return pad_sequence(rows, batch_first=True, padding_value=value)

    def _compute_logits(self, rows: torch.Tensor, fed: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        # The tensors are shared and the rest is copied: the rows are picked into tensors of their own.
        cache = copy.deepcopy(self._cache, dict(self._tensors))
        cache.reorder_cache(rows)
        if self._encoded is not None:
            out = self._head(
                encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded[rows]),
                attention_mask=self._mask[rows],
                decoder_input_ids=fed,
                **{self._cache_name: cache},
                use_cache=True,
            )
            return out.logits
        mask = torch.cat([self._mask[rows], given.to(self._mask.dtype)], dim=1)
        positions = mask.long().cumsum(-1)[:, -fed.shape[1] :] - 1
        if self._shift is not None:
            positions = (positions + self._shift[rows]).expand(3, -1, -1)
        return self._head(
            input_ids=fed, attention_mask=mask, position_ids=positions, **{self._cache_name: cache}, use_cache=True
        ).logits


def _find_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Find every tensor inside a cache, whatever its layers are."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_tensors(item)
    elif isinstance(value, dict):
        yield from _find_tensors(list(value.values()))
    elif hasattr(value, "__dict__"):
        yield from _find_tensors(vars(value))


def _measure_room(device: torch.device) -> float:
    """Give the bytes that options under way may take."""
    if device.type != "cuda":
        return ROOM_ON_CPU
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(_SHARE_OF_FREE * (torch.cuda.mem_get_info(device)[0] + unused))
