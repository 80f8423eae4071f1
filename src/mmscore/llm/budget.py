"""What asking a service has cost so far, and the caps that hold before each call."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mmconvert.core.errors import Error, UsageError, show, suggest_spelling
from mmconvert.core.lazy import LazyModule
from mmscore.llm.prices import read_prices
from mmscore.llm.response_cache import Answer

if TYPE_CHECKING:  # takes time to load, and who has no judge does without
    import asyncio
else:
    asyncio = LazyModule("asyncio")

_TOKENS_A_IMAGE = 1000


class CapReachedError(Error):
    """A cap on calls or tokens is used up; what was answered before stands."""


class Price(msgspec.Struct, frozen=True):
    """What a service asks for a million tokens, in any currency.

    Attributes:
        prompt: For tokens of prompts, from 0.
        completion: For tokens of responses, from 0.
    """

    prompt: float
    completion: float

    def compute_cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Give the price of tokens.

        Example:
            >>> Price(0.15, 0.6).compute_cost(1_000_000, 500_000)
            0.45
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


def read_price(text: str, model: str) -> Price:
    """Read `PROMPT,COMPLETION`, or a table of prices that has the model.

    Args:
        text: The two numbers, or the file of the table, see `mmscore.llm.prices`.
        model: Name of the model.

    Raises:
        UsageError: It is no pair of numbers from 0, and no file; or the table is damaged, or lacks the model.

    Example:
        >>> read_price("0.15,0.6", "m")
        Price(prompt=0.15, completion=0.6)
    """
    if os.path.isfile(text):
        table = read_prices(text)
        found = table.find(model)
        if found is None:
            hint = suggest_spelling(model, table.models)
            raise UsageError(f"--price: {text} has no price for {model!r}.{hint} Add it to the table.")
        return Price(found[1].input, found[1].output)
    try:
        prompt, completion = map(float, text.split(","))
    except ValueError:
        prompt = completion = math.nan
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        wanted = "two numbers, PROMPT,COMPLETION for a million tokens, or a file of prices"
        raise UsageError(f"--price: expected {wanted} {show(text)}.")
    return Price(prompt, completion)


@dataclass(slots=True)
class Totals:
    """What was spent: calls sent, responses that came, and their tokens as the service counts them."""

    calls: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Spending:
    """Counts calls and tokens, and lets no call begin that could pass a cap.

    Attributes:
        totals: What was spent so far.
    """

    def __init__(
        self,
        shown: str,
        max_calls: int | None,
        max_total_tokens: int | None,
        max_cost: float | None = None,
        price: Price | None = None,
    ) -> None:
        """Begin at nothing.

        Args:
            shown: The service, for messages.
            max_calls: Most calls, retries included; None for no cap.
            max_total_tokens: Most tokens of prompts and responses; None for no cap.
            max_cost: Most that they may cost, in the currency of `price`; None for no cap.
            price: What tokens cost; without it `max_cost` is no cap.
        """
        self.totals = Totals()
        self._shown = shown
        self._max_calls = max_calls
        self._max_tokens = max_total_tokens
        self._max_cost = max_cost
        self._price = price or Price(0, 0)
        self._uncounted = 0
        self._under_way = 0
        self._ended = asyncio.Event()

    async def begin(self, most: int) -> None:
        """Count a call; where only calls under way could pass the cap, wait for what they really take.

        Args:
            most: Tokens that the call can take, see `estimate_most_tokens`.

        Raises:
            CapReachedError: The call could pass a cap.
        """
        while self._under_way and not self._fits(most):
            self._ended.clear()
            await self._ended.wait()
        self.begin_now(most)

    def begin_now(self, most: int) -> None:
        """Count a call as `begin` does, without a wait for those under way.

        Raises:
            CapReachedError: The call could pass a cap, or could together with those under way.
        """
        if self._max_calls is not None and self.totals.calls >= self._max_calls:
            raise CapReachedError(f"{self._shown}: the cap of {self._max_calls} calls is used up.")
        if not self._fits(most):
            taken = self._spent + self._under_way
            spent = f"{taken:,} are spent or under way, and the next call could take {most:,}."
            if self._max_tokens is not None and taken + most > self._max_tokens:
                raise CapReachedError(f"{self._shown}: the cap of {self._max_tokens:,} tokens is used up: {spent}")
            raise CapReachedError(f"{self._shown}: the cap on cost of {self._max_cost:g} is used up. Tokens: {spent}")
        self.totals.calls += 1
        self._under_way += most

    def end(self, most: int) -> None:
        """Give back what `begin` kept for a call."""
        self._under_way -= most
        self._ended.set()

    def count(self, answer: Answer, most: int) -> None:
        """Count a response; the tokens of one that the service did not count are guessed for the cap."""
        self.totals.replies += 1
        self.totals.prompt_tokens += answer.prompt_tokens or 0
        self.totals.completion_tokens += answer.completion_tokens or 0
        if answer.prompt_tokens is None and answer.completion_tokens is None:
            self._uncounted += most

    @property
    def counts_tokens(self) -> bool:
        """Whether a cap depends on tokens."""
        return self._max_tokens is not None or self._max_cost is not None

    @property
    def _spent(self) -> int:
        return self.totals.prompt_tokens + self.totals.completion_tokens + self._uncounted

    def _fits(self, most: int) -> bool:
        coming = self._under_way + most
        if self._max_tokens is not None and self._spent + coming > self._max_tokens:
            return False
        if self._max_cost is None:
            return True
        # What is not counted yet is taken for the dearer kind.
        dearest = max(self._price.prompt, self._price.completion) * (self._uncounted + coming) / 1e6
        known = self._price.compute_cost(self.totals.prompt_tokens, self.totals.completion_tokens)
        return known + dearest <= self._max_cost


def estimate_most_tokens(messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any]) -> int:
    """Guess the maximum tokens of a request: its prompt, a thousand for an image, and all of its responses.

    Args:
        messages: Turns as the chat completions take them.
        generation: Options of the request; without `max_tokens` the response counts nothing, `n` responses count each.

    Example:
        >>> estimate_most_tokens([{"role": "user", "content": "A cat sits on the mat."}], {"max_tokens": 10})
        17
        >>> estimate_most_tokens([{"role": "user", "content": "A cat sits on the mat."}], {"max_tokens": 10, "n": 8})
        87
    """
    limit = generation.get("max_tokens", generation.get("max_completion_tokens"))
    texts = [turn.get("content") or "" for turn in messages]
    prompt = sum(sum(map(_estimate_part_tokens, t)) if isinstance(t, list) else estimate_tokens(str(t)) for t in texts)
    return prompt + (limit * generation.get("n", 1) if isinstance(limit, int) else 0)


def _estimate_part_tokens(part: Mapping[str, Any]) -> int:
    return estimate_tokens(str(part.get("text") or "")) if part.get("type") == "text" else _TOKENS_A_IMAGE


def estimate_tokens(text: str) -> int:
    """Guess the tokens of a text: bytes of UTF-8 by three and a half, so that a Chinese character is about one.

    Example:
        >>> estimate_tokens("A cat sits on the mat."), estimate_tokens("一只猫")
        (7, 3)
    """
    return -(-2 * len(text.encode(errors="surrogatepass")) // 7)
