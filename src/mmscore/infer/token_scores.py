"""Log-probabilities of generated tokens, one number a token kept."""

import torch
from transformers.generation import LogitsProcessor


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
