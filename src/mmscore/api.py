"""The verbs of the command line as functions; and what they give."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.notebook import DISPLAYS
from mmconvert.core.option_fields import build_options
from mmconvert.core.signature_checks import check_python_call
from mmconvert.core.text.yaml import read_mapping_file
from mmconvert.pipeline.objects import Data, open_dataset_of, open_inputs
from mmconvert.plugins.listing import ListedPlugin
from mmconvert.plugins.listing import list_plugins as find_plugins
from mmconvert.storage.source_files import watch_sources
from mmscore.analysis.bundle import Bundle, BundleKeywords, BundleOptions, Verification, bundle_files
from mmscore.analysis.bundle import verify as verify_bundle
from mmscore.analysis.compare import CompareKeywords, CompareOptions, Comparison, compare_files
from mmscore.analysis.explain import ExplainKeywords, ExplainOptions, Explanation, explain_file
from mmscore.analysis.rank import Ranking
from mmscore.core.recipe import Recipe
from mmscore.core.table import Scored
from mmscore.infer import session
from mmscore.infer.adapter import split_backend
from mmscore.infer.ledger import Summary
from mmscore.infer.options import PredictOptions
from mmscore.infer.shards import Merged, MergeKeywords, MergeOptions, merge_shards
from mmscore.reporting.leaderboard_page import Board
from mmscore.reporting.live.server import LiveView, ViewOptions
from mmscore.reporting.notebook import NotebookReport as Report
from mmscore.reporting.notebook import format_comparison
from mmscore.reporting.publish import HubOptions, PushedPredictions, push_results
from mmscore.reporting.submit import Submission, SubmitKeywords, SubmitOptions
from mmscore.reporting.submit import submit as write_submission
from mmscore.reporting.track import choose_trackers
from mmscore.scoring.evaluate import (
    ScoreKeywords,
    ScoreOptions,
    list_files,
    list_recipes,
    score_results,
)
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.workflow.leaderboard import LeaderboardKeywords, LeaderboardOptions, write_leaderboard
from mmscore.workflow.pairs import Pairs, PairsKeywords, PairsOptions, write_pairs
from mmscore.workflow.rank import RankKeywords, RankOptions, rank_files
from mmscore.workflow.reward import Reward
from mmscore.workflow.run import (
    Results,
    RunKeywords,
    RunOptions,
    log_outcome,
    require_numbers,
    run_plan,
    write_pages,
    write_summary,
)
from mmscore.workflow.score import ReportKeywords, ReportOptions, score_to_files
from mmscore.workflow.task_file import PREDICT, build_plan
from mmscore.workflow.task_readers import Outcome

__all__ = [
    "Board",
    "Bundle",
    "Comparison",
    "Explanation",
    "JudgeRequest",
    "ListedPlugin",
    "LiveView",
    "Merged",
    "Outcome",
    "Pairs",
    "Ranking",
    "Report",
    "Reward",
    "Submission",
    "Summary",
    "Verification",
    "bundle",
    "compare",
    "explain",
    "judge",
    "leaderboard",
    "list_plugins",
    "merge",
    "pairs",
    "predict",
    "push",
    "rank",
    "reward",
    "run",
    "score",
    "submit",
    "verify",
    "view",
]

DISPLAYS[Comparison] = format_comparison


class PredictKeywords(TypedDict, total=False):
    """Keywords of `predict`: the options of `mmscore predict` by their names."""

    base_url: str | Sequence[str] | None
    serve: str | None
    api_key_env: str | None
    concurrency: int | Literal["auto"] | None
    timeout: float | None
    max_calls: int | None
    max_total_tokens: int | None
    price: str | None
    max_cost: float | None
    extra_body: str | None
    json_schema: str | Path | None
    batch_size: int | Literal["auto"] | None
    dtype: str | None
    attn: str | None
    compile: bool
    method: Literal["generate", "likelihood"]
    likelihood_reduction: Literal["sum", "mean", "token"] | None
    max_new_tokens: int | None
    temperature: float | None
    do_sample: bool
    top_p: float | None
    top_k: int | None
    num_beams: int | None
    n: int
    output_scores: bool
    stop: str | Sequence[str]
    seed: int | None
    continue_final_message: bool
    system: str | None
    template: Literal["chat", "raw"]
    max_image_side: int | None
    no_interleave: bool
    protocol: str | None
    processes: int | None
    engine: Literal["local", "ray"]
    shard: str | None
    limit: int | None
    where: str | None


@check_python_call(options=PredictOptions)
def predict(
    dataset: str | Path | Data,
    output: str | Path,
    *,
    model: str | None = None,
    backend: object = None,
    resume: bool = False,
    restart: bool = False,
    share: bool = False,
    quiet: bool = True,
    **options: Unpack[PredictKeywords],
) -> Summary:
    """Run a model on every sample of a dataset and write a predictions file; `push` uploads it.

    Args:
        dataset: Folder or parquet file created by mmconvert, or its URL. Or data in memory, as `mmconvert.convert`
        takes them.
        output: The predictions file that shall appear, or its URL; the responses are kept in a store beside it, of a
        URL
            in `NAME.work` in the current folder.
        model: Folder, Hub id, or a name for the predictions file; the backend's own name by default.
        backend: Name of a backend, `file.py@name`, or an object: a backend, a function from a batch of
            records to answers, a model of a framework whose classes are known here.
        resume: Continue a previous run, even if the output file exists.
        restart: Forget the stored answers.
        share: Let other processes answer rows of the same output.
        quiet: No progress on standard error.
        **options: Options of `mmscore predict` by their names, as `max_new_tokens=64`.

    Returns:
        Counts; rows = answered + failed.

    Raises:
        UsageError: An option is unknown or excludes another, or the output exists.
        Error: The dataset cannot be read, the model cannot be loaded, or the output cannot be written.

    Example:
        >>> predict("missing", "p.parquet", backend=lambda records: ["A"] * len(records))
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: missing: no such file or folder. See what is there: ls .
    """
    plugin, given = split_backend(backend)
    if model is None and given is not None:
        model = str(getattr(given, "name", None) or getattr(given, "__name__", None) or plugin)
    elif model is None and plugin is not None and "@" in plugin:
        model = plugin.rpartition("@")[2]
    own = {"model": model, "backend": plugin, "resume": resume, "restart": restart, "share": share}
    asked = build_options(PredictOptions, {**options, **own}, "predict")
    with open_dataset_of(dataset, "predict") as place:
        return session.predict(place, output, asked, given, quiet=quiet)


@check_python_call(options=MergeOptions)
def merge(shards: Sequence[str | Path], output: str | Path, **options: Unpack[MergeKeywords]) -> Merged:
    """Merge the predictions files of all shards of a run into the file of one process, to the byte.

    Args:
        shards: The files that `predict` wrote with `shard`, in any order, or their URLs.
        output: The predictions file that shall appear, or its URL.
        **options: Options of `mmscore merge` by their names.

    Returns:
        The file, its shards and rows, and rows without a response.

    Raises:
        UsageError: No shard is given, or the output exists.
        Error: A shard is missing, unfinished, given twice or of another run.
    """
    return merge_shards(shards, output, build_options(MergeOptions, options, "merge"))


@check_python_call(options=ReportOptions)
def score(
    predictions: str | Path | Sequence[str | Path] | Data,
    recipe: str | Recipe | Sequence[str | Recipe] = (),
    *,
    judge: JudgeRequest | str | None = None,
    **options: Unpack[ReportKeywords],
) -> Report:
    """Score predictions as each recipe's framework would.

    Args:
        predictions: A parquet file or folder created by mmconvert, a framework's result file, `-` for standard input,
            or a Hub id `USER/REPO`; several are models side by side. Or data in memory, as `mmconvert.convert` takes
            them.
        recipe: Names, with `@version` where wanted, or recipes; none takes the one that fits the file.
        judge: A model that judges after the rules; the name of a judge is a request with nothing else said.
        **options: Options of `mmscore score` by their names.

    Returns:
        One entry for each file and recipe, files first, with the rows behind it.

    Raises:
        UsageError: A path, a recipe or a column does not exist, no recipe fits, or it takes no such options.
        Error: A file is damaged or holds nothing that can be scored.
    """
    request = JudgeRequest(judge) if isinstance(judge, str) else judge
    asked = build_options(ReportOptions, {**options, "judge": request}, "score")
    kept: list[Scored] = []
    recipes = list_recipes(recipe)
    with open_inputs(predictions, "score", format=asked.format, mapping=asked.map) as files:
        paths = list_files([path for _, path in files.paths])
        found = score_to_files(paths, recipes, asked, then=lambda result: kept.append(result.scored))
    return Report(found.entries, tuple(kept))


@check_python_call(options=ReportOptions)
def judge(
    predictions: str | Path | Sequence[str | Path] | Data,
    request: JudgeRequest | str,
    recipe: str | Recipe | Sequence[str | Recipe] = (),
    **options: Unpack[ReportKeywords],
) -> Report:
    """Score predictions with a judge that reads them after the rules; responses are stored, nothing is asked twice.

    Args:
        predictions: As `score`.
        request: The judge, its server and settings; or only the name of a judge.
        recipe: As `score`.
        **options: Further arguments of `score`.

    Returns:
        The report; rows without a verdict are counted as `judge_failed`.

    Raises:
        UsageError: As `score`, or the judge does not fit the recipe.
        Error: As `score`, or the service cannot be asked at all.
    """
    return score(predictions, recipe, judge=request, **options)


@check_python_call(options=ScoreOptions)
@watch_sources()
def push(
    predictions: str | Path | Sequence[str | Path],
    repo_id: str,
    recipe: str | Recipe | Sequence[str | Recipe] = (),
    *,
    private: bool = False,
    revision: str | None = None,
    create_pr: bool = False,
    dry_run: bool = False,
    model_card: str | None = None,
    eval_results: str | None = None,
    quiet: bool = True,
    **options: Unpack[ScoreKeywords],
) -> PushedPredictions:
    """Score predictions and publish them on the Hub, with their references, the report and a card.

    Args:
        predictions: As `score`.
        repo_id: `USER/REPO`, a repository of predictions.
        recipe: As `score`.
        private: Make the repository private.
        revision: Branch to commit to, made where it is missing; None for the main one.
        create_pr: Open a pull request instead of committing to the branch.
        dry_run: Check everything and send nothing.
        model_card: `USER/MODEL`, for a pull request that puts the numbers on the model's card; None for none.
        eval_results: `USER/DATASET[#TASK]`, the benchmark of the Hub that the scores are of; None for the one that the
            catalogue names or the questions were read from.
        quiet: No progress on standard error.
        **options: Further arguments of `score`.

    Returns:
        What `mmconvert.push` gives; `model_card` is the address of the pull request for the model's card,
        `eval_results` are the files in it for leaderboards, `left_out` says why other scores have none.

    Raises:
        UsageError: As `score`, or a name is wrong.
        Error: As `score`, or the Hub refuses.
    """
    hub = HubOptions(
        push=repo_id,
        private=private,
        revision=revision,
        create_pr=create_pr,
        model_card=model_card,
        eval_results=eval_results,
        dry_run=dry_run,
    )
    hub.check(_list_texts(predictions))
    found = score_results(list_files(predictions), list_recipes(recipe), build_options(ScoreOptions, options, "push"))
    return push_results(list(found), hub, quiet=quiet)


@check_python_call(options=RunOptions)
def run(task: str | Path | Mapping[str, Any], *, quiet: bool = True, **options: Unpack[RunKeywords]) -> list[Outcome]:
    """Run every model of a task on every dataset and score the predictions.

    Args:
        task: File of `mmscore run`, or what such a file holds.
        quiet: No progress on standard error.
        **options: Options of `mmscore run` by their names; `work_dir` goes before the task's own.

    Returns:
        What became of each model's answers to each dataset; see `Outcome.status`.

    Raises:
        UsageError: The task has something that is unknown, or lacks something; nothing was done then.
        Error: A page cannot be written.
    """
    if not isinstance(task, str | Path | Mapping):
        raise UsageError(
            "run: expected the file of a task, or what it holds, such as "
            f"{{'datasets': ['DIR'], 'models': [{{'model': 'NAME'}}]}} {show(task)}. See docs/run.md."
        )
    asked = build_options(RunOptions, options, "run")
    named = "task" if isinstance(task, Mapping) else str(task)
    plan = build_plan(task if isinstance(task, Mapping) else read_mapping_file(named), asked.work_dir, named)
    kept: Results | None = {} if asked.html else None
    if asked.html:
        require_numbers(plan, named)
    trackers = choose_trackers(asked.log)
    done = []
    for outcome in run_plan(plan, restart=asked.restart, quiet=quiet, kept=kept):
        log_outcome(outcome, trackers, asked.log_project)
        done.append(outcome)
    if plan.steps != PREDICT:
        write_summary(plan, done)
    if lacking := write_pages(plan, kept or {}) if asked.html else []:
        raise Error("\n".join(lacking))
    return done


@check_python_call(options=CompareOptions)
def compare(
    a: str | Path, b: str | Path, *, judge: JudgeRequest | str | None = None, **options: Unpack[CompareKeywords]
) -> Comparison:
    """Say how far predictions `b` lie above predictions `a`, row by row, and whether that is more than chance.

    Args:
        a: As the predictions of `score`, one file.
        b: Another file of answers to the same questions.
        judge: As `score`.
        **options: Options of `mmscore compare` by their names.

    Returns:
        Differences over the rows that have a score in both: of the recipe's first metric, with `all` of every one.

    Raises:
        UsageError: As `score`; or no recipe was named and another fits each file.
        Error: As `score`; or no row has a score in both files.
    """
    request = JudgeRequest(judge) if isinstance(judge, str) else judge
    return compare_files(str(a), str(b), build_options(CompareOptions, {**options, "judge": request}, "compare"))


@check_python_call(options=ExplainOptions)
def explain(predictions: str | Path, **options: Unpack[ExplainKeywords]) -> Explanation:
    """Show what was read out of each response, by which rule; with two recipes, where their numbers part.

    Args:
        predictions: As `score`, one file.
        **options: Options of `mmscore explain` by their names.

    Raises:
        UsageError: More than two recipes, or names that nobody knows.
        Error: The file is damaged, has no references, or no row is scored (by both recipes).
    """
    return explain_file(str(predictions), build_options(ExplainOptions, options, "explain"))


@check_python_call(options=PairsOptions)
def pairs(
    predictions: str | Path,
    output: str | Path,
    *,
    judge: JudgeRequest | str | None = None,
    **options: Unpack[PairsKeywords],
) -> Pairs:
    """Write the best and the worst of several responses to each question as a dataset of preference pairs.

    Args:
        predictions: As `score`, one file with several responses to a question, as `predict` writes it with `n`.
        output: The folder that shall appear.
        judge: As `score`.
        **options: Options of `mmscore pairs` by their names; `keep="right"` writes every right response instead.

    Returns:
        What was written, and why other questions gave nothing.

    Raises:
        UsageError: As `score`; or there is no such score, or the output exists.
        Error: As `score`; or no question gives a sample, or prompts or images are missing.
    """
    request = JudgeRequest(judge) if isinstance(judge, str) else judge
    asked = build_options(PairsOptions, {**options, "judge": request}, "pairs")
    return write_pairs(str(predictions), output, asked)


@check_python_call(options=RankOptions)
def rank(predictions: str | Path | Sequence[str | Path], **options: Unpack[RankKeywords]) -> Ranking:
    """Give each model its average score and average rank over many datasets.

    Args:
        predictions: Files of one model and one dataset each, or reports; `NAME=PATH` says which dataset.
        **options: Options of `mmscore rank` by their names.

    Raises:
        UsageError: As `score`; or the dataset of a file cannot be told.
        Error: As `score`; or numbers of several recipes would be ranked together.
    """
    return rank_files(_list_texts(predictions), build_options(RankOptions, options, "rank"))


@check_python_call
def reward(
    recipe: str | Recipe,
    *,
    score: str | None = None,
    recipe_options: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> Reward:
    """Make a recipe the reward function of TRL's `GRPOTrainer`, or verl's `compute_score`.

    Args:
        recipe: Name of a recipe, NAME@VERSION for a version; or the recipe.
        score: Score that is the reward; None for the first that the recipe gives a response.
        recipe_options: YAML or JSON file with options of the recipe.
        columns: Field -> column of the training data, where its name is another: `{"answer": "solution"}`.

    Returns:
        The function. Each response is scored by itself, without a thinking block at its beginning.

    Raises:
        UsageError: There is no such recipe, or it has no scores without a judge.

    Example:
        >>> score_choice = reward("own_choice")
        >>> score_choice(completions=["B", "A. red"], answer=["A", "A"], options=[["red", "blue"]] * 2)
        [0.0, 1.0]
    """
    return Reward(recipe, score, recipe_options, columns)


@check_python_call(options=LeaderboardOptions)
def leaderboard(reports: str | Path, output: str | Path, **options: Unpack[LeaderboardKeywords]) -> Board:
    """Gather all reports below a folder into a page of models and scores.

    Args:
        reports: The folder.
        output: The folder that shall appear: a page, its data, and the card of a static Space.
        **options: Options of `mmscore leaderboard` by their names.

    Raises:
        UsageError: There is no report, or the output is no new folder.
        Error: A report is damaged, or two have a score of one model, dataset and recipe.
    """
    asked = build_options(LeaderboardOptions, options, "leaderboard")
    return write_leaderboard(Path(reports), Path(output), asked)


@check_python_call(options=SubmitOptions)
def submit(predictions: str | Path, output: str | Path, *, to: str, **options: Unpack[SubmitKeywords]) -> Submission:
    """Write predictions as a submission file for a benchmark server.

    Args:
        predictions: Any file of predictions, `-` for standard input.
        output: The file.
        to: Format of the submission, for example mmbench.
        **options: Options of `mmscore submit` by their names.

    Returns:
        What was written, and what a server will miss in it.

    Raises:
        UsageError: The file is missing, or the format or its columns are unknown.
        Error: The file is damaged, or the format cannot hold a value.
    """
    asked = build_options(SubmitOptions, {**options, "to": to}, "submit")
    return write_submission(Path(predictions), Path(output), asked)


@check_python_call(options=BundleOptions)
def bundle(
    predictions: str | Path | Sequence[str | Path], output: str | Path, **options: Unpack[BundleKeywords]
) -> Bundle:
    """Put predictions and all that their score depends on into one folder, which `verify` recomputes.

    Args:
        predictions: Files and folders on this machine.
        output: The folder that shall appear.
        **options: Options of `mmscore bundle` by their names.

    Raises:
        UsageError: The place is taken, a file is missing, or a recipe is code of your own or asks somebody.
        Error: As `score`; or the numbers depend on where the files stand.
    """
    return bundle_files(_list_texts(predictions), Path(output), build_options(BundleOptions, options, "bundle"))


@check_python_call
def verify(folder: str | Path) -> Verification:
    """Compare every byte of a bundle with its manifest, score it again and compare every number.

    Args:
        folder: The bundle.

    Returns:
        What is not as it was: `faults` is empty when all is well.

    Raises:
        UsageError: Nothing stands there.
        Error: The folder is no bundle, or its manifest is damaged or leads out of it.
    """
    return verify_bundle(Path(folder))


@check_python_call
def view(folder: str | Path, *, port: int = 0) -> LiveView:
    """Serve the live view of the runs below a folder, as `mmscore view` does, until `close` or the end of the program.

    Args:
        folder: Folder whose runs are shown, those of folders below it too.
        port: Port of 127.0.0.1; 0 takes a free one.

    Returns:
        The view: `url` is the address of its page with its token; as a context manager it ends with the block.

    Raises:
        UsageError: There is no such folder, or the port is taken.

    Example:
        >>> view("missing")
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: missing: no such file or folder. See what is there: ls .
    """
    return LiveView(folder, build_options(ViewOptions, {"port": port}, "view"))


@check_python_call
def list_plugins(kind: str | None = None, words: str | Sequence[str] = ()) -> dict[str, list[ListedPlugin]]:
    """List the recipes and other plug-ins by kind, as `mmscore list` does.

    Args:
        kind: recipes, judges, metrics, parsers, backends, protocols or adapters, or one more word; None for all.
        words: Those alone that have all of them in name or summary.

    Returns:
        Kind -> its plug-ins: name, what it is, and who brought it.

    Raises:
        UsageError: There is no such kind, or nothing with all the words.
    """
    return find_plugins("mmscore", kind, [words] if isinstance(words, str) else words)


def _list_texts(named: str | Path | Sequence[str | Path]) -> list[str]:
    return [str(named)] if isinstance(named, str | Path) else [str(one) for one in named]
