"""A response is right if it names the reply of the quiz, in any case and whatever stands around it."""

import re

from mmscore.core.recipe import Recipe, parse_whole_response


def metrics(item, parsed, version):
    if item.answer is None:
        return {}
    named = re.search(rf"\b{re.escape(item.answer)}\b", parsed.value, re.IGNORECASE)
    return {"accuracy": float(named is not None)}


def default_for(facts):
    return "samples from quiz files" if facts.formats == {"quiz"} else None


RECIPE = Recipe(
    summary="Quiz: the response names the reply",
    parity="our quiz",  # a recipe that follows somebody's rules goes before the built-in ones, which are OWN
    versions={"1": "rules of 2026"},
    columns=("answer",),
    parse=parse_whole_response,
    metrics=metrics,
    default_for=default_for,
)
