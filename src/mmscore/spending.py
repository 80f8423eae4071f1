"""What asking a service has cost so far, and the caps that hold before each call."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmconvert.errors import Error
from mmscore.answers import Answer


class CapReachedError(Error):
    """A cap on calls or tokens is used up; what was answered before stands."""


@dataclass(slots=True)
class Totals:
    """What was spent: calls sent, replies that came, and their tokens as the service counts them."""

    calls: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Spending:
    """Counts calls and tokens, and lets no call begin that could pass a cap.

    Attributes:
        totals: What was spent so far.
    """

    def __init__(self, shown: str, max_calls: int | None, max_total_tokens: int | None) -> None:
        """Begin at nothing.

        Args:
            shown: The service, for messages.
            max_calls: Most calls, retries included; None for no cap.
            max_total_tokens: Most tokens of prompts and replies; None for no cap.
        """
        self.totals = Totals()
        self._shown = shown
        self._max_calls = max_calls
        self._max_tokens = max_total_tokens
        self._uncounted = 0
        self._under_way = 0
        self._ended = asyncio.Event()

    async def begin(self, most: int) -> None:
        """Count a call; where only calls under way could pass the cap, wait for what they really take.

        Args:
            most: Tokens that the call can take, see `most_tokens`.

        Raises:
            CapReachedError: The call could pass a cap.
        """
        while self._under_way and not self._fits(most):
            self._ended.clear()
            await self._ended.wait()
        if self._max_calls is not None and self.totals.calls >= self._max_calls:
            raise CapReachedError(f"{self._shown}: the cap of {self._max_calls} calls is used up.")
        if not self._fits(most):
            raise CapReachedError(
                f"{self._shown}: the cap of {self._max_tokens:,} tokens is used up: {self._spent:,} are spent, and the "
                f"next call could take {most:,}."
            )
        self.totals.calls += 1
        self._under_way += most

    def end(self, most: int) -> None:
        """Give back what `begin` kept for a call."""
        self._under_way -= most
        self._ended.set()

    def count(self, answer: Answer, most: int) -> None:
        """Count a reply; the tokens of one that the service did not count are guessed for the cap."""
        self.totals.replies += 1
        self.totals.prompt_tokens += answer.prompt_tokens or 0
        self.totals.completion_tokens += answer.completion_tokens or 0
        if answer.prompt_tokens is None and answer.completion_tokens is None:
            self._uncounted += most

    @property
    def _spent(self) -> int:
        return self.totals.prompt_tokens + self.totals.completion_tokens + self._uncounted

    def _fits(self, most: int) -> bool:
        return self._max_tokens is None or self._spent + self._under_way + most <= self._max_tokens


def most_tokens(messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any]) -> int:
    """Guess the tokens that a call can take: its prompt, and as many as its reply may have.

    Args:
        messages: Turns as the chat completions take them.
        generation: Options of the request; without `max_tokens` the reply counts nothing.

    Example:
        >>> most_tokens([{"role": "user", "content": "A cat sits on the mat."}], {"max_tokens": 10})
        17
    """
    limit = generation.get("max_tokens", generation.get("max_completion_tokens"))
    prompt = sum(tokens_of(str(turn.get("content") or "")) for turn in messages)
    return prompt + (limit if isinstance(limit, int) else 0)


def tokens_of(text: str) -> int:
    """Guess the tokens of a text: bytes of UTF-8 by three and a half, so that a Chinese character is about one.

    Example:
        >>> tokens_of("A cat sits on the mat."), tokens_of("一只猫")
        (7, 3)
    """
    return -(-2 * len(text.encode(errors="surrogatepass")) // 7)
