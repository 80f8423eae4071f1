"""MMMU as its own evaluation script scores model outputs, random fallback reproduced.

A choice that cannot be read is drawn at random, as the script does: one draw a response from a
generator seeded with 42, subject after subject in the script's order, rows in file order. `accuracy`
is the official number; `accuracy_without_fallback` counts the drawn ones as wrong, and
`fallback_share` says how many there were. Rows of subjects that MMMU does not have are left out.

Version `eval_only` takes answers that are final: letters as they are, nothing drawn, and a choice that
nobody made is wrong. It is taken for MMMU's files of final answers.

Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/main_parse_and_eval.py (subject ALL) and
mmmu/print_results.py, whose table rounds to three digits; `eval_only`: mmmu/main_eval_only.py.
"""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import list_letters
from mmconvert.kits.mmmu.subjects import DATASET, DOMAIN_OF, SUBJECTS, parse_subject
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row, average_scores, read_label
from mmscore.core.table import FAILED, SCORED, Scored
from mmscore.metrics.mmmu_accuracy import AccuracyShare, build_breakdown, is_right_choice
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.mmmu_choice import draw_choice, mmmu_choice
from mmscore.parsers.mmmu_open import mmmu_open

OFFICIAL, FINAL = "1", "eval_only"
SEED = 42
DRAWN = "random fallback"
FORMATS = frozenset(("mmmu", "mmmu_outputs"))
FINAL_FORMATS = frozenset(("mmmu_eval_only",))


def _parse(item: Item, version: str) -> Parsed:
    if version == FINAL and _is_choice(item):
        return Parsed(item.prediction, "as given")
    if item.options:
        texts = {letter: text for letter, text in zip(LETTERS, item.options, strict=False) if text is not None}
        return mmmu_choice(item.prediction, list(texts), texts)
    values = mmmu_open(item.prediction)
    return Parsed(" | ".join(map(str, values)), "key phrases")


def _is_choice(item: Item) -> bool:
    """Tell a choice from an open question; the key of final answers says so without the options."""
    return bool(item.options) or item.task == "multiple_choice"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if parse_subject(item.id or "") not in DOMAIN_OF:
        return {}
    gold = _read_gold(item)
    if item.options or (version == FINAL and _is_choice(item)):
        right = is_right_choice(parsed.value, gold)
    else:
        right = mmmu_open_match(gold, mmmu_open(item.prediction))
    drawn = float(parsed.how == UNPARSED.how)
    return {"accuracy": float(right), "accuracy_without_fallback": float(right), "fallback_share": drawn}


def _read_gold(item: Item) -> str | Sequence[str]:
    """Give the reference as the source wrote it, or the list of them."""
    if len(item.answers) > 1:
        return item.answers
    label = read_label(item)
    gold = label if isinstance(label, str) else item.answers[0] if item.answers else item.answer
    if gold is None:
        raise RowError("answer.missing", "answer", "the row has no reference. Leave it out, or give --answers.")
    return gold


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Settle what nobody can read, and name subject and domain."""
    scored = _with_unmade_choices(scored) if version == FINAL else _with_drawn_letters(scored)
    subjects = [parse_subject(id or "") for id in scored.column("id")]
    scored = scored.with_column("subject", [subject if subject in DOMAIN_OF else None for subject in subjects])
    return scored.with_column("domain", list(map(DOMAIN_OF.get, subjects)))


def _with_drawn_letters(scored: Scored) -> Scored:
    """Draw the letters that the script draws, in its order."""
    ids, statuses, values, hows = (scored.column(name) for name in ("id", "status", "value", "how"))
    accuracy = scored.scores["accuracy"].copy()
    unread = [n for n, (status, how) in enumerate(zip(statuses, hows, strict=True)) if (status, how) == _UNREAD]
    options, references = scored.column("options"), [scored.column(name) for name in _REFERENCES]
    rng = Random(SEED)
    for n in sorted(unread, key=lambda n: SUBJECTS.index(parse_subject(ids[n]))):
        values[n], hows[n] = draw_choice(list_letters(options[n]), rng), DRAWN
        item = Item(**{name: column[n] for name, column in zip(_REFERENCES, references, strict=True) if column[n]})
        accuracy[n] = float(is_right_choice(values[n], _read_gold(item)))
    return scored.with_column("value", values).with_column("how", hows).with_scores(accuracy=accuracy)


def _with_unmade_choices(scored: Scored) -> Scored:
    """Count a choice that nobody made as wrong; the script stops at an open question without an answer."""
    rows = zip(*map(scored.column, ("id", "status", "options")), strict=True)
    unmade = [status == FAILED and parse_subject(id or "") in DOMAIN_OF for id, status, _ in rows]
    choices = [options or task == "multiple_choice" for options, task in zip(*map(scored.column, _KIND), strict=True)]
    if not all(choice for choice, row in zip(choices, unmade, strict=True) if row):
        raise Error('an open question has no answer, at which the script stops. Give one, or "".')
    statuses = [SCORED if row else status for status, row in zip(scored.column("status"), unmade, strict=True)]
    scores = {name: np.where(unmade, 0.0, values) for name, values in scored.scores.items()}
    return scored.with_column("status", statuses).with_scores(**scores)


_KIND = ("options", "task")
_UNREAD = (SCORED, UNPARSED.how)
_REFERENCES = ("answer", "answers", "label")


def _reduce(scored: Scored, version: str) -> Metrics:
    metrics = average_scores()(scored, version)
    return {**metrics, "fallback_share": replace(metrics["fallback_share"], higher_is_better=False)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    estimates = {subject: part.mean("accuracy") for subject, part in scored.split("subject")}
    shares = build_breakdown({subject: AccuracyShare(e.value, e.n) for subject, e in estimates.items()})
    return [{"name": name, "num": s.count, "acc": round(s.accuracy, 3)} for name, s in shares.items()]


def _default_for(facts: Facts) -> str | None:
    if not facts.formats or not facts.datasets <= {DATASET}:
        return None
    if facts.formats <= FINAL_FORMATS:
        return "MMMU's files of final answers"
    return "answers to MMMU's own records" if facts.formats <= FORMATS else None


RECIPE = Recipe(
    summary="MMMU as its own script scores model outputs, random fallback reproduced",
    parity="MMMU main_parse_and_eval.py",
    versions={OFFICIAL: "MMMU-Benchmark/MMMU@bb0b95a", FINAL: "MMMU-Benchmark/MMMU@bb0b95a main_eval_only.py"},
    columns=("id", "options", *_REFERENCES),
    optional=("task",),
    parse=_parse,
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=("options", "task", *_REFERENCES),
    groups=("domain", "subject"),
    default_for=_default_for,
    version_for=lambda facts: FINAL if facts.formats <= FINAL_FORMATS else OFFICIAL,
)
