"""The verbs of the command line as functions: predict, judge, score, push, run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from mmconvert.core.errors import UsageError, got
from mmconvert.core.option_fields import build_options
from mmconvert.core.signature_checks import python_call
from mmconvert.dataset.publish import UploadOptions
from mmscore.cli.push_predictions import PushedPredictions, Pushing
from mmscore.cli.run import Outcome, outcomes
from mmscore.core.predictions.load import models_in
from mmscore.core.recipe import Recipe
from mmscore.core.report import Report
from mmscore.infer import session
from mmscore.infer.adapter import plugin_name
from mmscore.infer.ledger import Summary
from mmscore.infer.options import PredictOptions
from mmscore.scoring.evaluate import Options, results
from mmscore.scoring.evaluate import score as _score
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.workflow.task_file import plan_of, read_plan

__all__ = ["JudgeRequest", "Outcome", "Report", "Summary", "judge", "predict", "push", "run", "score"]

score = python_call(_score)


class ScoreOptions(TypedDict, total=False):
    """Further keywords of `judge`: those of `score`."""

    answers: str | Path | None
    dataset: str | None
    by: str | Sequence[str]
    average: str
    format: str | None
    model: str | None
    recipe_options: str | Path | None
    html: str | Path | None


class PushOptions(TypedDict, total=False):
    """Further keywords of `push`: those of `score` that say how."""

    answers: str | Path | None
    dataset: str | None
    by: str | Sequence[str]
    average: str
    format: str | None
    model: str | None
    recipe_options: str | Path | None


class PredictKeywords(TypedDict, total=False):
    """Keywords of `predict`: the options of `mmscore predict` by their names."""

    base_url: str | None
    api_key_env: str | None
    concurrency: int | None
    timeout: float | None
    max_calls: int | None
    max_total_tokens: int | None
    price: str | None
    max_cost: float | None
    extra_body: str | None
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
    limit: int | None


@python_call(options=PredictOptions)
def predict(
    dataset: str | Path,
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
    """Ask a model about every row of a dataset and write its replies to a predictions file; `push` publishes it.

    Args:
        dataset: Folder or parquet file of ours, or its URL.
        output: The predictions file that shall appear, or its URL; the replies are kept in a store beside it, of a URL
            in `NAME.work` in the current folder.
        model: Folder, Hub id, or a name for the predictions file; the backend's own name by default.
        backend: Name of a backend, `file.py@name`, or an object: a backend, a function from a batch of
            records to answers, a model of a kit whose classes are known here.
        resume: Go on where a run stopped, also when the output stands already.
        restart: Forget the stored answers.
        share: Let other processes answer rows of the same output.
        quiet: No progress on standard error.
        **options: Options of `mmscore predict` by their names, as `max_new_tokens=64`.

    Returns:
        Counts; rows = answered + failed.

    Raises:
        UsageError: An option is unknown or excludes another, or the output stands already.
        Error: The dataset cannot be read, the model cannot be loaded, or the output cannot be written.

    Example:
        >>> predict("missing", "p.parquet", backend=lambda records: ["A"] * len(records))
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: missing: no such file or folder. See what is there: ls .
    """
    given_object = None if backend is None or isinstance(backend, str) else backend
    plugin = backend if isinstance(backend, str) or backend is None else plugin_name(backend)
    if given_object is not None and model is None:
        model = str(getattr(given_object, "name", None) or getattr(given_object, "__name__", None) or plugin)
    elif model is None and plugin is not None and "@" in plugin:
        model = plugin.rpartition("@")[2]
    given: dict[str, Any] = {**options, "resume": resume, "restart": restart, "share": share}
    asked = build_options(PredictOptions, {"model": model, "backend": plugin, **given}, "predict")
    return session.predict(dataset, output, asked, given_object, quiet=quiet)


@python_call
def judge(
    predictions: str | Path | Sequence[str | Path],
    request: JudgeRequest | str,
    recipe: str | Recipe | Sequence[str | Recipe] = (),
    **options: Unpack[ScoreOptions],
) -> Report:
    """Score predictions with a judge that reads them after the rules; replies are stored, nothing is asked twice.

    Args:
        predictions: As `score`.
        request: Whom to ask, and how; or just the name of a judge.
        recipe: As `score`.
        **options: Further arguments of `score`.

    Returns:
        The report; rows without a verdict are counted as `judge_failed`.

    Raises:
        UsageError: As `score`, or the judge does not fit the recipe.
        Error: As `score`, or the service cannot be asked at all.
    """
    return score(predictions, recipe, judge=request, **options)


@python_call
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
    quiet: bool = True,
    **options: Unpack[PushOptions],
) -> PushedPredictions:
    """Score predictions and publish them on the Hub, with their references, the report and a card.

    Args:
        predictions: As `score`.
        repo_id: `USER/REPO`, a repository of predictions.
        recipe: As `score`.
        private: Make the repository private.
        revision: Branch to commit to, made where it is missing; None for the main one.
        create_pr: Propose the upload as a pull request.
        dry_run: Check everything and send nothing.
        model_card: `USER/MODEL`, for a pull request that puts the numbers on the model's card; None for none.
        quiet: No progress on standard error.
        **options: Further arguments of `score`.

    Returns:
        What `mmconvert.push` gives; `model_card` is the address of the pull request for the model's card.

    Raises:
        UsageError: As `score`, or a name is wrong.
        Error: As `score`, or the Hub refuses.
    """
    upload = UploadOptions(private=private, revision=revision, create_pr=create_pr)
    named = [predictions] if isinstance(predictions, str | Path) else list(predictions)
    place = Pushing.checked(
        {"push": repo_id, "upload": upload, "model_card": model_card}, [str(path) for path in named], dry_run=dry_run
    )
    by = options.get("by", ())
    given: dict[str, Any] = {**options, "by": (by,) if isinstance(by, str) else tuple(by)}
    recipes = [recipe] if isinstance(recipe, str | Recipe) else recipe
    found = results([one for path in named for one in models_in(path)], recipes, Options(**given))
    return place.scored(list(found), quiet=quiet)


@python_call
def run(
    task: str | Path | Mapping[str, Any],
    *,
    work_dir: str | Path | None = None,
    restart: bool = False,
    quiet: bool = True,
) -> list[Outcome]:
    """Ask every model of a task about every dataset and score the replies.

    Args:
        task: File of `mmscore run`, or what such a file holds.
        work_dir: Folder for what is made; the task's own `work-dir` by default.
        restart: Forget the stored answers.
        quiet: No progress on standard error.

    Returns:
        What became of each model's answers to each dataset; see `Outcome.status`.

    Raises:
        UsageError: The task has something that is unknown, or lacks something; nothing was done then.
    """
    _refuse_other(task)
    place = None if work_dir is None else Path(work_dir)
    plan = plan_of(task, place) if isinstance(task, Mapping) else read_plan(str(task), place)
    return list(outcomes(plan, restart=restart, quiet=quiet))


def _refuse_other(task: object) -> None:
    if not isinstance(task, str | Path | Mapping):
        raise UsageError(
            "run: expected the file of a task, or what it holds, such as "
            f"{{'datasets': ['DIR'], 'models': [{{'model': 'NAME'}}]}} {got(task)}. See docs/run.md."
        )
