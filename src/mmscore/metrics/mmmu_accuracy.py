"""Average MMMU subjects as the benchmark's own scripts do: by domain and overall, a question a vote."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mmconvert.kits.mmmu.subjects import DOMAINS


class AccuracyShare(msgspec.Struct, frozen=True):
    """Accuracy of some questions.

    Attributes:
        accuracy: Fraction of right answers, 0-1, not rounded; 0 where there are no questions.
        count: How many questions.
    """

    accuracy: float
    count: int


def mmmu_accuracy(shares: Iterable[AccuracyShare]) -> AccuracyShare:
    """Average accuracies, weighted by their numbers of questions.

    Args:
        shares: Accuracies of disjoint sets of questions.

    Returns:
        The accuracy of all questions together.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:calculate_ins_level_acc.

    Example:
        >>> mmmu_accuracy([AccuracyShare(1.0, 1), AccuracyShare(0.5, 2)])
        AccuracyShare(accuracy=0.6666666666666666, count=3)
        >>> mmmu_accuracy([])
        AccuracyShare(accuracy=0.0, count=0)
    """
    right, count = 0.0, 0
    for share in shares:
        right += share.accuracy * share.count
        count += share.count
    return AccuracyShare(right / count if count else 0.0, count)


def build_breakdown(subjects: Mapping[str, AccuracyShare]) -> dict[str, AccuracyShare]:
    """Lay out the result table: each domain, then its subjects; the total last.

    Args:
        subjects: Accuracy by subject; absent subjects are left out of the table, and unknown ones
            count in the total only.

    Returns:
        Accuracies by `Overall-<domain>`, subject and `Overall`, in the scripts' order. A domain
        without questions stands there with 0 of 0.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/main_eval_only.py, print_results.py;
    EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmmu/utils.py:mmmu_aggregate_results.

    Example:
        >>> table = build_breakdown({"Art": AccuracyShare(0.5, 2)})
        >>> list(table)[:3], table["Overall"]
        (['Overall-Art and Design', 'Art', 'Overall-Business'], AccuracyShare(accuracy=0.5, count=2))
    """
    table = {}
    for domain, names in DOMAINS.items():
        present = {name: subjects[name] for name in names if name in subjects}
        table[f"Overall-{domain}"] = mmmu_accuracy(present.values())
        table |= present
    table["Overall"] = mmmu_accuracy(subjects.values())
    return table


def is_right_choice(letter: str | None, gold: str | Sequence[str]) -> bool:
    """Tell whether a letter is the reference, or one of them.

    Example:
        >>> is_right_choice("B", "B"), is_right_choice("A", ["A", "C"]), is_right_choice(None, "A")
        (True, True, False)
    """
    return letter == gold if isinstance(gold, str) else letter in gold


METRIC = mmmu_accuracy
