"""Scores for the leaderboards of the Hub: `.eval_results/*.yaml` in the repository of a model.

Such a file names a benchmark, which is a dataset with an `eval.yaml`, and one of its tasks. It holds one value, so
that a recipe's main metric alone goes there.

Source: huggingface/hub-docs@064c754 docs/hub/eval-results.md; entries are written by huggingface_hub@2.4.0
EvalResultEntry.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mmconvert._version import __version__
from mmconvert.benchmarks.catalogue import HubFiles, list_named
from mmconvert.core.errors import UsageError
from mmconvert.core.text.yaml import AliasError, load_yaml
from mmconvert.storage.hub_errors import explain_errors, retry
from mmscore.core.predictions.run_metadata import DATASET_SOURCE
from mmscore.core.report import Entry

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_BENCHMARK = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*)(?:#(?P<task>[^\s#]+))?", re.ASCII)
_COMMIT = re.compile(r"(?P<repo>[^@]+)@(?P<revision>[0-9a-f]{40})")
_NO_NAME = re.compile(r"[^\w.-]+", re.ASCII)
_DIGITS = 8
"""Hex digits of a digest that tell names of files apart that ASCII cannot spell."""
TASKS = "eval.yaml"
"""File of a benchmark that lists its tasks."""


class HubBenchmark(msgspec.Struct, frozen=True):
    """A benchmark on the Hub.

    Attributes:
        repo: `USER/DATASET`.
        task: A task of its `eval.yaml`; None where nobody names one.
        revision: The commit that was scored; None where it is not known.
        config: Configuration of its questions; None where it is not known.
        split: Their split; None where it is not known.
    """

    repo: str
    task: str | None = None
    revision: str | None = None
    config: str | None = None
    split: str | None = None


class EvalResults(msgspec.Struct, frozen=True):
    """Entries for the repository of a model.

    Attributes:
        files: Entry by the path of its file.
        left_out: Why other scores have no entry, a sentence each.
    """

    files: Mapping[str, Mapping[str, Any]]
    left_out: Sequence[str]


def parse_benchmark(text: str) -> HubBenchmark:
    """Read the name of a benchmark on the Hub.

    Raises:
        UsageError: It is none.

    Example:
        >>> parse_benchmark("user/colours#hard").task
        'hard'
    """
    found = _BENCHMARK.fullmatch(text)
    if found is None:
        raise UsageError(f"--eval-results {text}: is no benchmark of the Hub. Give USER/DATASET or USER/DATASET#TASK.")
    return HubBenchmark(found["repo"], found["task"])


def find_benchmark(entry: Entry, run: Mapping[str, Any], named: str | None = None) -> HubBenchmark | None:
    """Find which benchmark of the Hub a score is of.

    Args:
        entry: The score.
        run: What the run that wrote the predictions says of itself.
        named: The benchmark that the user names.

    Returns:
        The named one; else the one from which the catalogue takes the dataset, where the recipe is its own; else the
        repository that the questions were read from.

    Raises:
        UsageError: The named one is none.
    """
    source = _COMMIT.fullmatch(str(run.get(DATASET_SOURCE)))
    read = HubBenchmark(source["repo"], revision=source["revision"]) if source else None
    listed = [one for one in list_named(entry.dataset or "") if (one.recipe or "").partition("@")[0] == entry.recipe]
    places = [one.source for one in listed if isinstance(one.source, HubFiles)]
    known = [HubBenchmark(one.repo, None, one.revision, one.config, one.split) for one in places]
    found = parse_benchmark(named) if named is not None else next(iter(known), read)
    if found is None or read is None or found.repo != read.repo:
        return found
    return replace(found, revision=read.revision)


def build_eval_results(
    scored: Sequence[tuple[Mapping[str, Any], Sequence[Entry]]], named: str | None, url: str
) -> EvalResults:
    """Build the entries of scores; the Hub is asked for the tasks of their benchmarks.

    Args:
        scored: Entries of reports, with what the run that wrote their predictions says of itself.
        named: The benchmark that the user names, `USER/DATASET[#TASK]`.
        url: Page of the predictions and reports.

    Raises:
        UsageError: The named benchmark is none, has no such task, or the scores are of several datasets.
        Error: The Hub cannot be reached.
    """
    datasets = {entry.dataset for _, entries in scored for entry in entries}
    if named is not None and len(datasets) > 1:
        raise UsageError(f"--eval-results {named}: is one benchmark, and the scores are of {len(datasets)}.")
    files: dict[str, Mapping[str, Any]] = {}
    left_out = []
    for run, entries in scored:
        for entry in entries:
            task = _refuse_score(entry) or _find_task(find_benchmark(entry, run, named))
            if isinstance(task, HubBenchmark):
                files[build_path(entry)] = _build_item(entry, task, url)
            else:
                left_out.append(
                    f"{entry.dataset or entry.predictions} by {entry.recipe}: not for a leaderboard: {task}"
                )
    return EvalResults(files, left_out)


def _refuse_score(entry: Entry) -> str | None:
    """Say why a score stands for no benchmark, None where it does."""
    if entry.main_metric is None or not math.isfinite(entry.main_metric[1].value):
        return "there is no score."
    if entry.partial or entry.counts.unscored:
        return "the score is of a part of the samples. Run and score all of them."
    return None


def _find_task(found: HubBenchmark | None) -> HubBenchmark | str:
    """Find the task of a benchmark, or say why there is none.

    Raises:
        UsageError: The task that the user names is none of it.
        Error: The Hub cannot be reached.
    """
    if found is None:
        return "its dataset on the Hub is not known. Name it: --eval-results USER/DATASET."
    with explain_errors(found.repo):
        tasks = retry(lambda: _read_tasks(found.repo))
    if found.task is not None:
        if tasks and found.task not in tasks:
            raise UsageError(f"--eval-results: {found.repo} has no task {found.task!r}. Known: {', '.join(tasks)}.")
        return found
    give = f"Name its task: --eval-results {found.repo}#TASK."
    if tasks is None:
        return f"{found.repo} has no readable {TASKS}, which makes a dataset a benchmark of the Hub. {give}"
    fit = [
        name
        for name, (config, split) in tasks.items()
        if found.config in (None, config) and found.split in (None, split)
    ]
    if len(fit) != 1:
        return f"not one task of {found.repo} fits, but {len(fit)} of: {', '.join(tasks) or 'none'}. {give}"
    return replace(found, task=fit[0])


def _read_tasks(repo: str) -> dict[str, tuple[str, str]] | None:
    """Read configuration and split of each task of a benchmark; None where its file is missing or of another shape."""
    import yaml
    from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError

    api = open_api()
    try:
        head = api.dataset_info(repo).sha
        told = load_yaml(Path(api.hf_hub_download(repo, TASKS, repo_type="dataset", revision=head)).read_bytes())
    except (EntryNotFoundError, RepositoryNotFoundError, yaml.YAMLError, AliasError, UnicodeDecodeError):
        return None
    listed = told.get("tasks") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        return None
    named = [one for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)]
    return {one["id"]: (str(one.get("config", "default")), str(one.get("split", "test"))) for one in named}


def build_path(entry: Entry) -> str:
    """Name the file of a score in a model's repository: by dataset and recipe, so that it takes no other's place.

    Example:
        >>> from mmscore.core.report import Counts
        >>> counts = Counts(1, 1, 0, 0, 0, 0, 0, 0)
        >>> build_path(Entry("own_choice", "1", "own", "", {}, {}, counts, False, "m", "颜 色", "s"))
        '.eval_results/mmscore_own_choice-6dc51423.yaml'
    """
    from huggingface_hub.constants import EVAL_RESULTS_FOLDER

    named = [entry.dataset or Path(entry.predictions).stem, entry.recipe]
    words = [word for part in named if (word := _NO_NAME.sub("-", part).strip(".-"))]
    plain = words == named
    digest = "" if plain else "-" + hashlib.sha256(msgspec.json.encode(named)).hexdigest()[:_DIGITS]
    return f"{EVAL_RESULTS_FOLDER}/{'_'.join(['mmscore', *words])}{digest}.yaml"


def open_api() -> "HfApi":
    """Open the Hub's client, with the token of the environment or of `hf auth login`."""
    from huggingface_hub import HfApi

    return HfApi(library_name="mmscore", library_version=__version__)


def _build_item(entry: Entry, benchmark: HubBenchmark, url: str) -> Mapping[str, Any]:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if entry.main_metric is None:
        raise ValueError("an entry without a metric has no value")
    metric, estimate = entry.main_metric
    interval = "" if estimate.ci95 is None else ", 95 % interval {:.6g} to {:.6g}".format(*estimate.ci95)
    found = EvalResultEntry(
        dataset_id=benchmark.repo,
        task_id=str(benchmark.task),
        value=estimate.value,
        dataset_revision=benchmark.revision,
        date=datetime.now(UTC).date().isoformat(),
        source_url=url,
        source_name="mmscore",
        notes=f"{metric} in {estimate.unit}, n={estimate.n}{interval}; {entry.signature}",
    )
    return eval_result_entries_to_yaml([found])[0]


def format_file(item: Mapping[str, Any]) -> bytes:
    """Write the file of an entry; the date stands in quotes, so that it is read as a text."""
    import yaml

    return yaml.safe_dump([dict(item)], sort_keys=False, allow_unicode=True, width=1_000_000).encode()


def says_the_same(data: bytes, item: Mapping[str, Any]) -> bool:
    """Tell whether a file has an entry already, whatever its date."""
    import yaml

    try:
        told = load_yaml(data)
    except (yaml.YAMLError, AliasError, UnicodeDecodeError):
        return False
    match told:
        case [dict() as one]:
            return {**one, "date": None} == {**item, "date": None}
    return False
