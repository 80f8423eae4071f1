"""Draws take from the tokens that the options leave, and from the model's own settings where none is given."""

from collections.abc import Sequence

import pytest
import torch
from transformers.generation import GenerationConfig

from mmscore.infer.backend import Generation
from mmscore.infer.sampling import draw_processors
from support.questions import record

pytestmark = pytest.mark.slow

PROBABILITIES = (0.5, 0.3, 0.15, 0.05)
ROWS = [record(number, "?") for number in range(400)]


def draw(generation: Generation, config: GenerationConfig) -> Sequence[int]:
    """Draw one token a row from four of known probability, and give how often each came."""
    scores = torch.tensor([PROBABILITIES]).log().repeat(len(ROWS), 1)
    steps = draw_processors(generation, config, torch.device("cpu"), ROWS)
    return torch.bincount(steps(None, scores).argmax(dim=1), minlength=4).tolist()


@pytest.mark.parametrize(
    ("options", "config", "left"),
    [
        ({}, {}, {0, 1, 2, 3}),
        ({"top_p": 1.0}, {}, {0, 1, 2, 3}),
        ({"top_p": 0.7}, {}, {0, 1}),
        ({"top_k": 3}, {}, {0, 1, 2}),
        ({}, {"top_p": 0.7}, {0, 1}),
        ({}, {"top_k": 3}, {0, 1, 2}),
        ({"top_p": 0.9}, {"top_p": 0.4}, {0, 1, 2}),
        ({"top_k": 2}, {"top_k": 1}, {0, 1}),
    ],
)
def test_tokens_are_drawn_from_those_that_are_left(options: dict, config: dict, left: set[int]) -> None:
    counts = draw(Generation(do_sample=True, **options), GenerationConfig(**config))
    assert {token for token, count in enumerate(counts) if count} == left


def test_a_higher_temperature_draws_the_unlikely_more_often() -> None:
    cold, asked, hot = (draw(Generation(temperature=value), GenerationConfig())[3] for value in (0.3, 1.0, 5.0))
    assert cold < asked < hot
    assert draw(Generation(do_sample=True), GenerationConfig(temperature=5.0))[3] == hot
