"""What recipes of LLaVA's scripts share: which answers are theirs."""

from collections.abc import Callable, Mapping

from mmscore.core.recipe import Facts

VERSIONS: Mapping[str, str] = {"1": "haotian-liu/LLaVA@c121f04"}
ANSWERS = "llava_answers"


def offer_for(benchmark: str, key: str) -> Callable[[Facts], str | None]:
    """Let a recipe offer itself for LLaVA's answers, or a plain table's, to a benchmark.

    Args:
        benchmark: Its name, as its key says it.
        key: Format of its key.

    Example:
        >>> facts = Facts(frozenset(["GQA"]), formats=frozenset(["llava_answers"]))
        >>> offer_for("GQA", "gqa")(facts), offer_for("TextVQA", "textvqa")(facts)
        ("LLaVA's answers to GQA", None)
    """

    def offer(facts: Facts) -> str | None:
        if facts.datasets != {benchmark} or not facts.formats or not facts.formats <= {ANSWERS, key}:
            return None
        return f"LLaVA's answers to {benchmark}" if ANSWERS in facts.formats else f"answers to {benchmark}"

    return offer
