"""Draws of tokens that hang on seed and row alone, whatever the batch, and the log-probabilities of what was drawn."""

import hashlib
from collections.abc import Sequence

import torch
from transformers.generation import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from mmconvert.core.record import Record
from mmscore.infer.backend import Generation


class RowDraws(LogitsProcessor):  # type: ignore[misc]
    """Adds Gumbel noise from one generator a row: the largest sum is then a fair draw (the Gumbel-max rule)."""

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        """Take one generator for each row of the batch."""
        self._generators = generators

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Disturb the scores of each row, in float32."""
        noise = torch.empty_like(scores, dtype=torch.float32)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return scores.float() - noise.log()


def draw_processors(
    generation: Generation, model_config: GenerationConfig, device: torch.device, records: Sequence[Record]
) -> LogitsProcessorList:
    """Build the steps from scores to a draw: temperature, top-k, top-p, noise.

    Generating then takes the largest score. Torch's own draw would share one random state between
    the rows, and change with the batch.

    Args:
        generation: What was asked for.
        model_config: The model's own settings, for what was not.
        device: Where the scores are.
        records: The rows of the batch, whose ids and variants make their seeds.
    """
    temperature = generation.temperature or model_config.temperature or 1.0
    top_k = generation.top_k or model_config.top_k
    top_p = generation.top_p or model_config.top_p
    processors = LogitsProcessorList()
    if temperature != 1.0:
        processors.append(TemperatureLogitsWarper(temperature))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1.0:
        processors.append(TopPLogitsWarper(top_p))
    seeds = [_row_seed(generation.seed or 0, record) for record in records]
    processors.append(RowDraws([torch.Generator(device).manual_seed(seed) for seed in seeds]))
    return processors


def _row_seed(seed: int, record: Record) -> int:
    digest = hashlib.sha256(f"{seed}:{record.variant}:{record.id}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class TokenScores(LogitsProcessor):  # type: ignore[misc]
    """Looks at the scores of each step and, a step later, at the token that was taken.

    Generate's own way keeps the scores of the whole vocabulary for every step, which is gigabytes.
    """

    def __init__(self) -> None:
        """Begin before the first token."""
        self._last: torch.Tensor | None = None
        self._values: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Keep the scores as they are, in float32."""
        self._take(input_ids[:, -1])
        self._last = scores.float().log_softmax(-1)
        return scores

    def _take(self, tokens: torch.Tensor) -> None:
        if self._last is not None:
            self._values.append(self._last.gather(-1, tokens[:, None]))

    def values(self, generated: torch.Tensor) -> list[list[float]]:
        """Give the natural log-probability of each token of each row.

        Args:
            generated: What came out, rows x tokens, whose last column no step has seen.

        Returns:
            One list a row, as long as the row has new tokens; those after its end mean nothing.
        """
        self._take(generated[:, -1])
        self._last = None
        values: list[list[float]] = torch.cat(self._values, dim=1).tolist()
        return values
