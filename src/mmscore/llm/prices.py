"""What models cost, as a table of the user's own: prices age, so none come with the program."""

import datetime
import re
from collections.abc import Mapping
from typing import Annotated

import msgspec

from mmconvert.core.errors import UsageError
from mmconvert.core.text.yaml import read_mapping_file

_Amount = Annotated[float, msgspec.Meta(ge=0)]
_DATE_AT_END = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model costs, in the currency of its table, from 0.

    Attributes:
        input: A million tokens of prompts.
        output: A million tokens of responses.
        cached_input: A million tokens of prompts that the provider had in its cache; None where they cost as others.
        batch_discount: Share of the price that batches save, from 0 to 1.
    """

    input: _Amount
    output: _Amount
    cached_input: _Amount | None = None
    batch_discount: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0


class PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of `--prices`.

    Attributes:
        date: The day on which the prices were valid.
        currency: Their currency, such as USD.
        models: Name of a model -> its price.
        source: Where the prices are from; "" where the file does not say.
    """

    date: datetime.date
    currency: str
    models: Mapping[str, ModelPrice]
    source: str = ""

    def find(self, model: str) -> tuple[str, ModelPrice] | None:
        """Find the price of a model: of its name, else of its name without a date at the end.

        Example:
            >>> table = PriceTable(datetime.date(2026, 11, 1), "USD", {"judge-mini": ModelPrice(1, 2)})
            >>> table.find("judge-mini-2026-07-18")[0], table.find("judge-mini-20260718")[0], table.find("judge")
            ('judge-mini', 'judge-mini', None)
        """
        for name in (model, _DATE_AT_END.sub("", model)):
            if name in self.models:
                return name, self.models[name]
        return None


def read_prices(path: str) -> PriceTable:
    """Read a table of prices, YAML or JSON.

    Raises:
        UsageError: It cannot be read, or a field is missing, unknown or no price.
    """
    values = read_mapping_file(path)
    try:
        return msgspec.convert(values, PriceTable)
    except msgspec.ValidationError as error:
        example = "{date: 2026-11-01, currency: USD, models: {NAME: {input: 0.15, output: 0.6}}}"
        raise UsageError(f"{path}: {error}. Write prices of a million tokens as {example}.") from None


class TokenUsage(msgspec.Struct):
    """Tokens of responses, as the server counts them.

    Attributes:
        responses: The responses.
        uncounted: Those of them whose tokens the server did not count.
        prompt: Tokens of their prompts.
        cached: Those of the prompts that the provider had in its cache.
        completion: Tokens of the responses.
    """

    responses: int = 0
    uncounted: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def compute_cost(self, price: ModelPrice, *, batch: bool = False) -> float:
        """Give what they cost.

        Example:
            >>> price = ModelPrice(1.0, 4.0, cached_input=0.5, batch_discount=0.5)
            >>> usage = TokenUsage(prompt=2_000_000, cached=1_000_000, completion=1_000_000)
            >>> usage.compute_cost(price), usage.compute_cost(price, batch=True)
            (5.5, 2.75)
        """
        cached_price = price.input if price.cached_input is None else price.cached_input
        cached = min(self.cached, self.prompt)
        whole = ((self.prompt - cached) * price.input + cached * cached_price + self.completion * price.output) / 1e6
        return whole * (1 - price.batch_discount) if batch else whole
