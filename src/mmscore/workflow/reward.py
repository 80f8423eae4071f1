"""Any recipe that needs no judge as a reward function: for TRL's `GRPOTrainer`, and as verl's `compute_score`.

A response is scored by itself, by the recipe's `parse` and `metrics`. What a recipe makes of all rows together, such as
one point for all copies of a question, is no part of it.

TRL 1.16 calls `f(prompts=, completions=, **columns)`, all columns as lists, and passes over None. verl calls
`f(data_source=, solution_str=, ground_truth=, extra_info=)` for each response.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.record import encode_json
from mmconvert.core.text.json import parse_json
from mmscore.core.predictions.join import REFERENCES
from mmscore.core.recipe import Item, Recipe
from mmscore.core.select_recipe import find_recipe
from mmscore.infer.thinking import CLOSE, OPEN, split_thinking

_OPTIONS = "options"


class Reward:
    """A recipe as a reward function; see `mmscore.reward`."""

    def __init__(
        self,
        recipe: str | Recipe,
        score: str | None = None,
        recipe_options: str | Path | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Find the recipe.

        Args:
            recipe: Name of a recipe, NAME@VERSION for a version; or the recipe.
            score: Score that is the reward; None for the first that the recipe gives a response.
            recipe_options: File of options for the recipe.
            columns: Field -> column of the training data, for columns of other names.

        Raises:
            UsageError: There is no such recipe, it does not take the options, or a model has to score its responses.
        """
        self._given = (recipe, score, recipe_options, columns)
        self._choice = find_recipe(recipe, recipe_options)
        found, name = self._choice.recipe, self._choice.name
        if found.needs_judge or found.asks_outside:
            raise UsageError(
                f"reward: recipe {name!r} has no scores without a judge, and a reward asks no model. Choose another "
                "recipe: mmscore list recipes."
            )
        self._score = score
        self._columns = dict(columns or {})
        if unknown := sorted({*self._columns} - {*found.fields}):
            raise UsageError(
                f"reward: recipe {name!r} reads no {', '.join(unknown)}. It reads: {', '.join(found.fields)}."
            )
        self._is_warned = False
        self.__name__ = name

    def __reduce__(self) -> tuple[Any, ...]:
        """Let trainers send it to other processes, where the recipe is found again."""
        return Reward, self._given

    def __call__(
        self, completions: Sequence[Any] | None = None, *, solution_str: str | None = None, **columns: Any
    ) -> list[float | None] | float:
        """Score the responses of a trainer.

        Args:
            completions: TRL's responses: texts, or lists of turns.
            solution_str: verl's response.
            **columns: The columns of the training data, one value a response each; of verl `ground_truth`,
                `data_source` and `extra_info`.

        Returns:
            For TRL one reward a response, None where the recipe leaves the row out; for verl the reward.

        Raises:
            UsageError: A column that the recipe compares with is missing, or there is no such score.
            Error: verl's row cannot be scored.
        """
        if completions is not None:
            held = {name: columns.get(self._columns.get(name, name)) for name in self._choice.recipe.fields}
            self._require({name for name, values in held.items() if values is not None}, columns)
            rows = ({n: v[i] for n, v in held.items() if v is not None} for i in range(len(completions)))
            return [self._score_one(_read_text(text), row) for text, row in zip(completions, rows, strict=True)]
        if solution_str is None:
            raise UsageError("reward: expected completions (TRL) or solution_str (verl). See docs/training.md.")
        row = _read_verl_row(columns)
        row |= {name: row[column] for name, column in self._columns.items() if column in row}
        self._require({name for name, value in row.items() if value is not None}, row)
        reward = self._score_one(solution_str, row)
        if reward is None:
            raise Error(
                f"reward: {self.__name__} gives the row no score {show(row.get('id'))}. Leave the row out of the data."
            )
        return reward

    def _require(self, known: set[str], found: Mapping[str, Any]) -> None:
        """Refuse data without a column that the recipe cannot do without."""
        recipe = self._choice.recipe
        references = sorted(REFERENCES & {*recipe.fields})
        lacking = [" or ".join(references)] if references and not known & {*references} else []
        lacking += [_OPTIONS] if recipe.has_options is not None and _OPTIONS not in known else []
        if lacking:
            raise UsageError(
                f"reward: recipe {self.__name__!r} needs the column {' and '.join(lacking)}. Found: "
                f"{', '.join(sorted(found))}. Name it: columns={{{lacking[0].split(' or ')[0]!r}: COLUMN}}."
            )

    def _score_one(self, text: str, row: Mapping[str, Any]) -> float | None:
        """Score a response; None where the recipe leaves the row out or the row itself is no good."""
        recipe, version = self._choice.recipe, self._choice.version
        values = {name: _convert(name, row[name]) for name in recipe.fields if row.get(name) is not None}
        # A response whose prompt ended with the opening tag has the closing one alone.
        before, closed, _ = text.partition(CLOSE)
        _, response = split_thinking(text, opened=bool(closed) and OPEN not in before)
        item = Item(**{**values, "prediction": response})
        try:
            parsed = recipe.parse(item, version)
            scores = recipe.metrics(item, parsed, version)
        except RowError as error:
            if not self._is_warned:
                self._is_warned = True
                warnings.warn(
                    f"reward {self.__name__}: a row has no reward: {error.field}: {error.message}", stacklevel=3
                )
            return None
        if not scores:
            return None
        if self._score is not None and self._score not in scores:
            raise UsageError(f"reward: {self.__name__} has no score {self._score!r}. Known: {', '.join(scores)}.")
        return float(scores[self._score] if self._score is not None else next(iter(scores.values())))


def _read_text(completion: Any) -> str:
    """Give what the assistant wrote: a text, or the texts of the last turn.

    Example:
        >>> _read_text([{"role": "assistant", "content": [{"type": "text", "text": "A"}]}])
        'A'
    """
    content = completion if isinstance(completion, str) else completion[-1].get("content") if completion else ""
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(part.get("text") or "" for part in content)


def _read_verl_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Name the facts that verl passes as the fields of a record; `extra_info` may hold any field."""
    info = columns.get("extra_info") or {}
    truth = columns.get("ground_truth")
    row = {name: value for name, value in info.items() if value is not None}
    references = row.pop("references", truth)
    if truth is not None:
        row |= {"answer": _convert("answer", truth), "label": encode_json(truth)}
    if references is not None:
        row["answers"] = references
    return {"dataset": columns.get("data_source"), **row}


def _convert(name: str, value: Any) -> Any:
    """Bring a value to what a field of `Item` holds: a list (which may be JSON), a number, or a text."""
    if Item._field_defaults[name] == ():
        if isinstance(value, str):
            found = parse_json(value) if value.startswith("[") else [value]
            return tuple(found) if isinstance(found, list) else (value,)
        return tuple(value)
    return value if isinstance(value, str) or name in ("variant", "round") else encode_json(value)
