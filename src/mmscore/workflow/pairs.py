"""From scored responses to training data: preference pairs, or the right responses alone.

A question has several responses where `mmscore predict --n K` asked for them. Of a pair the chosen response is the
first with the best score, the rejected one the first with the worst; equal scores make no pair, since no trainer knows
ties.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import asdict, replace

from mmconvert.core.errors import Error, RowError, UsageError, suggest_spelling
from mmconvert.core.record import Part, Preference, Record, Turn, count_images, from_arrow, remove_preference
from mmconvert.core.text.turns import find_begun_response, remove_begun_response
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.dataset.views import PREFERENCE, split_pair
from mmconvert.pipeline.convert import read
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import require_unchanged, watch_sources
from mmscore.core.predictions.load import Rows, list_parquet_files
from mmscore.core.predictions.locate import STDIN, locate_predictions
from mmscore.core.table import SCORED, Floats
from mmscore.scoring.evaluate import JoinKeywords, ScoreOptions, score_results
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.scoring.repeats import COLUMNS
from mmscore.scoring.scored_file import Result

Ints = npt.NDArray[np.int64]

SCHEMA_VERSION = 1
PAIRS: Literal["pairs"] = "pairs"
_SFT = "sft"
_MESSAGES = 5
"""Rejected rows that are named."""
_PROMPT = ("question", "options", "messages")
"""Columns that say what was asked, where no dataset says which rows are responses to one question."""
_GIVE = "Give the dataset that was asked: --answers DATASET."


class PairsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How responses are scored, which of them are kept, and how the dataset is written."""

    recipe: str | None = None
    """Recipe that scores the responses; NAME@VERSION for a version. [default: chosen by task and source]"""
    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the file. [default: detected]"""
    answers: str | None = None
    """Dataset that was asked: its prompts, images and references."""
    allow_mismatch: bool = False
    """Score even if --answers holds other questions than the predictions."""
    dataset: str | None = None
    """Benchmark name, if the file does not state it."""
    where: str | None = None
    """Score only samples that match a condition: "task = 'vqa'"."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes. [default: one per core for files that take seconds]"""
    judge: JudgeRequest | None = None
    """A model that judges after the rules; None when the rules stand alone."""
    score: str | None = None
    """Score to compare, the higher the better. [default: the recipe's first]"""
    keep: Literal["pairs", "right"] = PAIRS
    """Keep the best and the worst response of each question as a preference pair, or every right response as an SFT
    sample."""
    min_gap: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Minimum difference of the two scores of a pair; equal scores never make one."""
    right_from: float = 1.0
    """Score from which a response is right (--keep right)."""
    split: str = "train"
    """Name of the split."""
    overwrite: bool = False
    """Replace an existing dataset."""
    append: bool = False
    """Add the split to an existing dataset."""


class PairsKeywords(JoinKeywords, total=False):
    """Keywords of `pairs`: the options of `mmscore pairs` by their names."""

    recipe: str | None
    where: str | None
    workers: int | None
    score: str | None
    keep: Literal["pairs", "right"]
    min_gap: float
    right_from: float
    split: str
    overwrite: bool
    append: bool


class Pairs(msgspec.Struct, frozen=True):
    """The dataset that was written, and what became of each question.

    Attributes:
        output: The dataset.
        keep: What its samples are: `pairs` or `right`.
        recipe: Recipe and version that scored.
        score: The score that was compared.
        questions: Questions with a response.
        rows: Samples written.
        used: Questions that gave a sample.
        unscored: Questions of which no response has the score.
        single: Questions of which one response alone has it; they give no pair.
        tied: Questions whose responses all have the same score.
        close: Questions whose best and worst score lie less than `min_gap` apart.
        alike: Questions whose best and worst response say the same.
        wrong: Questions without a right response.
        notes: Remarks on how the file was read.
    """

    output: str
    keep: str
    recipe: str
    score: str
    questions: int
    rows: int
    used: int
    unscored: int = 0
    single: int = 0
    tied: int = 0
    close: int = 0
    alike: int = 0
    wrong: int = 0
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> dict[str, int]:
        """Give the number of questions without a sample, by reason; reasons without a question are left out."""
        names = ("unscored", "single", "tied", "close", "alike", "wrong")
        return {name: count for name in names if (count := getattr(self, name))}

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmscore pairs --json` prints."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self), "notes": list(self.notes)}


class _Questions(msgspec.Struct, frozen=True):
    """Which responses answer one question.

    Attributes:
        of_row: Number of the question of each row.
        ids: Id of each question in the place that holds its prompt.
        place: That place, as the user wrote it.
        names: What each question is called.
    """

    of_row: Ints
    ids: Sequence[str]
    place: str
    names: Sequence[str]


_Kept = tuple[int, ...]
"""The responses of a question that become samples: row numbers, the chosen one first in a pair."""


@watch_sources()
def write_pairs(predictions: str, output: str | Path, options: PairsOptions) -> Pairs:
    """Write the best and the worst response to each question as a dataset of preference pairs, or the right ones.

    Args:
        predictions: A file with several responses to a question, as `mmscore predict --n K` writes it.
        output: The folder that shall appear.
        options: How.

    Returns:
        What was written, and why other questions gave nothing. Samples stand in the order of the questions.

    Raises:
        UsageError: As `score`; or there is no such score, or the output exists.
        Error: As `score`; or no question gives a sample, or the place that holds the prompts lacks prompt or images.
    """
    if STDIN in (predictions, options.answers):
        raise UsageError(f"{STDIN}: is read twice, once for scores and once for prompts. Write it to a file first.")
    if is_url(str(output)):
        raise UsageError(f"{output}: is a URL. Name a folder, and send it: mmconvert push FOLDER USER/REPO.")
    require_apart([str(output)], [predictions, *([options.answers] if options.answers else ())])
    view = PREFERENCE if options.keep == PAIRS else _SFT
    # First of all: nothing is scored, and no judge is asked, for a place that is taken.
    DatasetWriter(output, overwrite=options.overwrite, append=options.append, view=view)
    result = _score(predictions, options)
    name = _choose_score(result, options.score)
    about = {"format": "mmscore pairs", "recipe": f"{result.entry.recipe}@{result.entry.version}", "score": name}
    with DatasetWriter(output, overwrite=options.overwrite, append=options.append, view=view, about=about) as writer:
        questions = _find_questions(result.rows, predictions, options.answers)
        scores = _order_scores(result, name)
        texts = _Texts(result.rows)
        kept, counts = _choose(questions, scores, texts, options)
        if not kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
            raise Error(
                f"{predictions}: none of {len(questions.ids):,} questions gives a sample ({reasons}). "
                "Ask for more responses: mmscore predict --n 8 --temperature 1."
            )
        rows = 0
        for record in _build_records(questions, kept, scores, texts, options):
            writer.write([record], options.split)
            rows += 1
        require_unchanged()
    # Remarks on intervals are about numbers that nobody asked for here.
    refused = [refusal.message for refusal in result.refusals[:_MESSAGES]]
    return Pairs(
        output=str(output),
        keep=options.keep,
        recipe=about["recipe"],
        score=name,
        questions=len(questions.ids),
        rows=rows,
        used=len(kept),
        notes=tuple(dict.fromkeys((*result.rows.notes, *result.entry.notes, *refused))),
        **counts,
    )


def _score(predictions: str, options: PairsOptions) -> Result:
    shared = {name: getattr(options, name) for name in ScoreOptions.__struct_fields__ if hasattr(options, name)}
    (result,) = score_results([predictions], [options.recipe] if options.recipe else [], ScoreOptions(**shared))
    return result


def _choose_score(result: Result, wanted: str | None) -> str:
    known = list(result.scored.scores)
    if not known:
        raise Error(f"{result.rows.path}: {result.entry.recipe} scores no response. See mmscore {result.rows.path}.")
    if wanted is not None and wanted not in known:
        hint = suggest_spelling(wanted, known)
        raise UsageError(f"--score: {result.entry.recipe} has no score {wanted!r}.{hint} Known: {', '.join(known)}.")
    return wanted or known[0]


def _order_scores(result: Result, name: str) -> Floats:
    """Give the score of each row of the file, NaN for none; a recipe may have put its rows in another order."""
    scored = result.scored
    place = pc.index_in(result.rows.identity["id"], value_set=scored.rows["id"].combine_chunks(), skip_nulls=True)
    valid = pc.equal(scored.rows["status"], SCORED).to_numpy()
    found = np.where(valid, scored.scores[name], np.nan)
    places = pc.fill_null(place, -1).to_numpy()
    return np.where(places < 0, np.nan, found[places])


def _find_questions(rows: Rows, predictions: str, answers: str | None) -> _Questions:
    """Tell which rows are responses to one question.

    Raises:
        Error: The rows are rounds of conversations, whose prompts hold the model's own earlier responses.
    """
    if "round" in rows.identity.column_names and rows.identity["round"].null_count < len(rows):
        raise Error(
            f"{predictions} round: the rows are rounds of conversations, whose prompts hold the model's own earlier "
            "responses, which no dataset holds. Give responses to single questions."
        )
    if rows.partner is not None and answers is not None:
        codes = rows.partner.to_numpy(zero_copy_only=False).astype(np.int64)
        asked, numbers = np.unique(codes, return_inverse=True)
        ids = rows.sides[1].identity["id"].take(pa.array(asked)).to_pylist()
        return _Questions(numbers, ids, answers, ids)
    own = rows.identity["id"].to_pylist()
    names = _list_question_names(rows, own) if rows.replies else _list_prompt_keys(rows)
    first = {name: number for number, name in reversed([*enumerate(names)])}
    place = {name: number for number, name in enumerate(dict.fromkeys(names))}
    ids = [own[first[name]] for name in place]
    called = [str(name) for name in place] if rows.replies else ids
    return _Questions(np.array([place[name] for name in names], np.int64), ids, predictions, called)


def _list_question_names(rows: Rows, ids: Sequence[str]) -> list[str]:
    """Give the id of the question of each response, which a run of ours has numbered behind it: `<id>#<variant>`."""
    variants = rows.identity["variant"].to_pylist()
    return [id.removesuffix(f"#{variant}") for id, variant in zip(ids, variants, strict=True)]


def _list_prompt_keys(rows: Rows) -> list[bytes]:
    """Give a key of each row that is equal for responses to one prompt: those of one `sample` that ask the same."""
    names = [name for name in (*COLUMNS, *_PROMPT) if name in rows.names]
    keys: list[bytes] = []
    for batch in rows.read(names):
        for row in batch.to_pylist():
            # Without a sample each row is a question of its own.
            said = row if row.get("sample") is not None else len(keys)
            keys.append(blake2b(msgspec.json.encode(said), digest_size=16).digest())
    return keys


class _Texts:
    """The responses, column by column."""

    def __init__(self, rows: Rows) -> None:
        batches = rows.read(["prediction"])
        self._column = pa.chunked_array([batch.column(0) for batch in batches], pa.string())

    def __getitem__(self, row: int) -> str:
        return self._column[row].as_py() or ""


def _choose(
    questions: _Questions, scores: Floats, texts: _Texts, options: PairsOptions
) -> tuple[dict[int, _Kept], dict[str, int]]:
    """Choose the responses to keep, question by question.

    Returns:
        Question -> its responses, and how many questions gave none, by reason.
    """
    counts = dict.fromkeys(("unscored", "single", "tied", "close", "alike", "wrong"), 0)
    kept: dict[int, _Kept] = {}
    order = np.argsort(questions.of_row, kind="stable")
    bounds = np.searchsorted(questions.of_row[order], np.arange(len(questions.ids) + 1))
    for number in range(len(questions.ids)):
        rows = order[bounds[number] : bounds[number + 1]]
        rows = rows[~np.isnan(scores[rows])]
        if options.keep == PAIRS:
            found = _choose_pair(rows, scores, texts, options.min_gap)
        else:
            found = _choose_right(rows, scores, texts, options.right_from)
        if isinstance(found, str):
            counts[found] += 1
        else:
            kept[number] = found
    return kept, counts


def _choose_pair(rows: Ints, scores: Floats, texts: _Texts, min_gap: float) -> _Kept | str:
    """Take the first best and the first worst response; else say why there is no pair."""
    if len(rows) < 2:
        return "single" if len(rows) else "unscored"
    best, worst = int(rows[np.argmax(scores[rows])]), int(rows[np.argmin(scores[rows])])
    gap = scores[best] - scores[worst]
    if gap == 0:
        return "tied"
    if gap < min_gap:
        return "close"
    return "alike" if texts[best] == texts[worst] else (best, worst)


def _choose_right(rows: Ints, scores: Floats, texts: _Texts, right_from: float) -> _Kept | str:
    """Take every right response, those that say the same once; else say why there is none."""
    if not len(rows):
        return "unscored"
    right = rows[scores[rows] >= right_from].tolist()
    said = {texts[row]: row for row in reversed(right)}
    return tuple(sorted(said.values())) if right else "wrong"


def _build_records(
    questions: _Questions, kept: Mapping[int, _Kept], scores: Floats, texts: _Texts, options: PairsOptions
) -> Iterator[Record]:
    """Put the responses behind the prompts, in the order of the place that holds these.

    Raises:
        Error: A prompt is missing, or lacks its images.
    """
    numbers = {questions.ids[number]: number for number in kept}
    for record in _read_prompts(questions.place, {*numbers}, options):
        number = numbers.pop(record.id, None)
        if number is None:
            continue
        try:
            yield from _build_samples(record, questions.names[number], kept[number], scores, texts, options)
        except RowError as error:
            raise Error(f"{questions.place} row {record.id!r} {error.field}: {error.message}") from None
    if numbers:
        raise Error(f"{questions.place}: has no prompt of question {next(iter(numbers))!r}. {_GIVE}")


def _read_prompts(place: str, wanted: set[str], options: PairsOptions) -> Iterator[Record]:
    """Read the records of some ids, in their order, a batch at a time."""
    path = locate_predictions(place).path
    if not list_parquet_files(path):
        for record in read(path, options.format if place != options.answers else None):
            if record.id in wanted:
                yield record
        return
    data = open_dataset(path)
    ids = pa.array(sorted(wanted))
    for batch in data.batches():
        missing = [name for name in ("id", "sample", "source") if name not in batch.schema.names]
        if missing or not {"messages", "prompt"} & {*batch.schema.names}:
            raise Error(f"{place}: holds no prompts. {_GIVE}")
        yield from from_arrow(batch.filter(pc.is_in(batch.column("id"), value_set=ids)))


def _build_samples(
    record: Record, name: str, kept: _Kept, scores: Floats, texts: _Texts, options: PairsOptions
) -> Iterator[Record]:
    """Make the samples of a question.

    Raises:
        RowError: The record has no prompt that can be answered, or not its images.
    """
    begun = find_begun_response(record)
    prompt = remove_begun_response(remove_preference(replace(record, prediction=None)))
    if not prompt.messages or prompt.messages[-1].role == "assistant":
        raise RowError("pairs.prompt", "messages", f"the row holds no prompt that ends with the user. {_GIVE}")
    shown = count_images(prompt.messages)
    if shown != len(prompt.images):
        lacking = f"the prompt shows {shown} images, the row holds {len(prompt.images)}"
        raise RowError("pairs.images", "images", f"{lacking}. {_GIVE}")
    sides = [(Turn("assistant", (Part("text", _join_begun(begun, texts[row])),)),) for row in kept]
    if options.keep == PAIRS:
        best, worst = (float(scores[row]) for row in kept)
        chosen, rejected = sides
        pair = Preference(chosen, rejected, margin=best - worst, score_chosen=best, score_rejected=worst)
        yield split_pair(replace(prompt, id=name, preference=pair))
        return
    for number, side in enumerate(sides):
        yield replace(prompt, id=f"{name}#{number}", variant=number, messages=(*prompt.messages, *side))


def _join_begun(begun: str | None, response: str) -> str:
    """Put a response behind the beginning that its prompt gave it."""
    return response if begun is None else f"{begun} {response.lstrip()}"
