"""Cases on the way that a command takes: files written as a user has them, read and scored as the command does."""

import asyncio
import csv
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected
from mmconvert.io import tables, xlsx
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.plugins.registry import load
from mmscore.core.predictions.load import open_rows, read_for
from mmscore.core.recipe import Item
from mmscore.core.select_recipe import choose_recipe, find_recipe, gather_facts
from mmscore.core.table import SCORED, Scored
from mmscore.llm.budget import Totals
from mmscore.llm.client import Chat
from mmscore.llm.response_cache import Answer
from mmscore.scoring.groups import compute_groups
from mmscore.scoring.judging.jury import JudgeSetting, ModelJury
from mmscore.scoring.scored_file import score_by_recipe


@contextmanager
def table_file(name, columns, rows):
    """Write a TSV as pandas does, None as an empty cell."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows([columns, *rows])
        yield path


def read_typed(path):
    """Read a table's cells by column as `mmconvert convert --read-as vlmevalkit` does, before it prints them."""
    sheet = path.suffix == ".xlsx"
    kind = xlsx if sheet else tables
    rows = [fields_of(row) for row in kind.rows(path)]
    return read_cells({name: [row[name] for row in rows] for name in kind.read_header(path)}, sheet=sheet)


def fields_of(row):
    """Give the fields of a raw row; one that is refused is refused."""
    if isinstance(row, Rejected):
        raise Error(str(row))
    return row.fields


def score_workbook(frame, recipe="", *, dataset, version=None):
    """Score a frame as `mmscore score` does the workbook that VLMEvalKit writes of it.

    Returns:
        The scored rows, and the kit's table over them.

    Raises:
        Error: As `score`.
    """
    with _workbook(frame, dataset) as path:
        scored, table, _ = _score_file(path, recipe, dataset, version)
    return scored, table


def score_and_read_workbook(frame, recipe, *, dataset):
    """Score a frame as `score_workbook` does, and read each row's prediction and reference as the kit does."""
    with _workbook(frame, dataset) as path:
        scored, table, open_again = _score_file(path, recipe, dataset)
        columns = ("prediction", "label", "answer")
        read = [Item(**row) for batch in open_again().read(columns) for row in batch.to_pylist()]
    return scored, table, read


@contextmanager
def _workbook(frame, dataset):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model_{dataset}.xlsx"
        write_workbook(frame, path)
        yield path


def _score_file(path, recipe, dataset, version=None):
    rows = open_rows(path, repeated=True)
    choice = find_recipe(recipe) if recipe else choose_recipe(gather_facts(rows, dataset))
    scored, table = score(rows, f"{choice.name}@{version or choice.version}", dataset=dataset)
    return scored, table, lambda: read_for(rows, choice.recipe.results)


def write_workbook(frame, path):
    """Write a frame as VLMEvalKit does."""
    # In memory: the bytes are the same, and ten files a workbook are not written.
    options = {"options": {"strings_to_formulas": False, "in_memory": True}}
    with warnings.catch_warnings(action="ignore"):  # of what it cuts
        frame.to_excel(path, index=False, engine="xlsxwriter", engine_kwargs=options)


def score(rows, recipe="", *, dataset=None, version=None):
    """Score rows as `mmscore score` does, by the recipe that fits where none is named.

    Returns:
        The scored rows, and the kit's table over them.

    Raises:
        Error: A row is refused; the original stops there.
    """
    choice = find_recipe(recipe) if recipe else choose_recipe(gather_facts(rows, dataset))
    choice = replace(choice, version=version or choice.version)
    scored = _settled(rows, choice, dataset).rows if len(rows) else Scored(rows.identity, {})
    return scored, list(choice.recipe.table(scored.with_status(SCORED), choice.version))


def score_groups(rows, recipe):
    """Score rows as `score` does.

    Returns:
        The recipe's numbers over all rows, and those of each group by column, as they stand in the report.
    """
    settled = _settled(rows, find_recipe(recipe))
    recipe, version = settled.choice.recipe, settled.choice.version
    return settled.metrics(), compute_groups(settled.rows.with_status(SCORED), recipe, version, ())


def _settled(rows, choice, dataset=None):
    settled = score_by_recipe(rows, choice, dataset=dataset)
    if settled.refusals:
        raise Error(settled.refusals[0].message)
    return settled


def score_row(recipe, recipe_options=None, **fields):
    """Score one row as `mmscore score --recipe`, with `--recipe-options` where there are any.

    Returns:
        What was read in the prediction, and the row's scores.
    """
    choice, item = find_recipe(recipe), Item(**fields)
    if recipe_options is not None:
        choice = replace(choice, recipe=choice.recipe.configure(recipe_options))
    parsed = choice.recipe.parse(item, choice.version)
    return parsed, choice.recipe.metrics(item, parsed, choice.version)


FAILED_CALL = "Failed to obtain answer via API."
"""What a judge of VLMEvalKit gives where its service fails, as the scripted one does at the end of its script."""


def ask_judge(recipe, judge, script, **fields):
    """Put one row before a judge model that replies by a script, as `mmscore score --recipe --judge` does.

    Returns:
        The prompts that were asked, and the replies to them.
    """
    choice, item = find_recipe(recipe), Item(**fields)
    protocol = load("mmscore.judges", judge)
    setting = JudgeSetting(judge, protocol, next(iter(protocol.versions)), protocol.auto)
    parsed = choice.recipe.parse(item, choice.version)
    chat = _ScriptedChat(script)
    ModelJury(setting, chat, _NoStore()).judge([setting.build_case(item, parsed, {}, {})])
    return chat.prompts, chat.replies


class _ScriptedChat:
    """A judge model that says what stands in a script."""

    def __init__(self, script):
        self.totals, self.replied = Totals(), False
        self.script, self.prompts, self.replies = iter(script), [], []

    def run(self, work):
        return asyncio.run(work)

    async def ask(self, messages, generation, *, model=None):
        self.prompts.append(messages[-1]["content"])
        self.replies.append(next(self.script, FAILED_CALL))
        return Answer(self.replies[-1])


@contextmanager
def scripted_service(script):
    """Stand in for the service of a judge model: it says what is next of the question whose text is in the prompt."""
    left = {question: iter(replies) for question, replies in script.items()}

    async def ask(self, messages, generation, *, model=None):
        said = next((said for question, said in left.items() if question in messages[-1]["content"]), iter(()))
        return Answer(next(said, FAILED_CALL))

    with patch.object(Chat, "ask", ask):
        yield


class _NoStore:
    """Keeps no replies: each case has its own."""

    def get(self, keys):
        return {}

    def put(self, answers):
        pass
