"""`python -m mmscore.compat.mmtrusteval`: MMTrustEval's task runner, and its registry."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import click

from mmconvert._version import __version__
from mmconvert.console.app import EXIT_PARTIAL, LazyGroup
from mmconvert.console.app import run as run_program
from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.text.printable import escape_control
from mmscore.compat.kit_imports import install, run_script
from mmscore.compat.mmtrusteval import listing
from mmscore.compat.mmtrusteval.registry import registry
from mmscore.compat.mmtrusteval.runner import JUDGE, Surroundings, run_task
from mmscore.compat.mmtrusteval.task import read_task
from mmscore.scoring.judging.request import JudgeRequest

IMPORT = click.option(
    "--import", "imports", multiple=True, metavar="FILE.py|MODULE", help="Where your classes are; may be repeated."
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("arguments", nargs=-1, metavar="[TASK] [KEY=VALUE]...")
@click.option("--config", metavar="FILE", help="The task, where TASK is not given.")
@click.option("--cfg-options", multiple=True, metavar="KEY=VALUE", help="Keys of the task; further ones may follow.")
@IMPORT
@click.option("--input", "source", metavar="INPUT", help="Samples of a dataset without a class.")
@click.option("--image-root", "image_roots", multiple=True, type=click.Path(path_type=Path), help="Its images.")
@click.option("--model", metavar="NAME", help="Folder, Hub id or the API server's name for model_id.")
@click.option("--backend", metavar="NAME|file.py@NAME", help="Inference backend, as in mmscore predict.")
@click.option("--base-url", metavar="URL", help="OpenAI-compatible API server of the model.")
@click.option("--api-key-env", metavar="NAME", help="Variable of its key.")
@click.option("--concurrency", type=click.IntRange(1, 1000), metavar="N", help="Rows under way at once.")
@click.option("--batch-size", type=click.IntRange(1), metavar="N", help="Rows at once.")
@click.option("--judge-model", metavar="NAME", help="Model that judges. [default: the chain's model_id]")
@click.option("--judge-base-url", metavar="URL", help="Its API server. [default: OPENAI_BASE_URL]")
@click.option("--judge-api-key-env", metavar="NAME", help="Variable of its key. [default: OPENAI_API_KEY]")
@click.option("--work-dir", type=click.Path(path_type=Path), metavar="DIR", help="Default: LOG.run beside the log.")
@click.option("--restart", is_flag=True, help="Discard cached responses, and replace the log.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def run(
    arguments: tuple[str, ...],
    config: str | None,
    cfg_options: tuple[str, ...],
    imports: tuple[str, ...],
    work_dir: Path | None,
    source: str | None,
    image_roots: tuple[Path, ...],
    restart: bool,
    as_json: bool,
    quiet: bool,
    **services: Any,
) -> int:
    """Run a task file of MMTrustEval: its samples, its model, its evaluators, its log.

    Exit code 3: the log is written, but some samples have no response or no score.
    """
    file, *more = (config, *arguments) if config else arguments or (None,)
    if file is None:
        raise UsageError("which task? Write: run TASK.yaml")
    judge = {name.removeprefix("judge_"): services.pop(name) for name in list(services) if name.startswith("judge_")}
    model = {name: value for name, value in services.items() if value is not None}
    around = Surroundings(
        work_dir, source, image_roots, model, JudgeRequest(JUDGE, rejudge=True, **judge), restart, quiet
    )
    # Classes of the framework print as they go, and standard output is the result's.
    with contextlib.redirect_stdout(sys.stderr), registry.importing(imports):
        outcome = run_task(read_task(file, [*cfg_options, *more]), around)
    if as_json:
        about = {"log": str(outcome.log), "rows": outcome.rows, "failed": outcome.failed, "stood": outcome.stood}
        about |= {"rejected": list(outcome.rejected), "unscored": outcome.unscored}
        click.echo(json.dumps({**about, "total_results": outcome.totals}))
    else:
        click.echo(escape_control("\n".join(_lines(outcome))))
    return 0 if outcome.complete else EXIT_PARTIAL


def _lines(outcome: Any) -> list[str]:
    if outcome.stood:
        return [f"{outcome.log}: already exists; --restart replaces it."]
    lacking = {"without a response": outcome.failed, "without a score": outcome.unscored}
    lacking["refused"] = len(outcome.rejected)
    said = "".join(f", {number} {what}" for what, number in lacking.items() if number)
    if outcome.failed:
        said += f" (why: prediction_error in {outcome.answers})"
    totals = [f"  {key}: {value:.6g}" for key, value in outcome.totals.items()]
    return [f"{outcome.log}: {outcome.rows} samples{said}", *outcome.rejected[:3], *totals]


@click.command("list")
@click.argument("kind", required=False)
@IMPORT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_ids(kind: str | None, imports: tuple[str, ...], as_json: bool) -> int:
    """Show the ids of chatmodels, datasets, methods, evaluators, tasks and metrics, as mmscore list mmtrusteval."""
    found = listing(imports)
    if kind is not None and kind not in found:
        raise UsageError(f"no kind {kind!r}.{suggest_spelling(kind, found)} Known: {', '.join(found)}.")
    shown = {name: ids for name, ids in found.items() if kind in (None, name)}
    if as_json:
        click.echo(json.dumps(shown))
    else:
        click.echo(escape_control("\n".join(f"{name}: {', '.join(ids) or '-'}" for name, ids in shown.items())))
    return 0


@click.command("script", context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@IMPORT
def script(file: str, arguments: tuple[str, ...], imports: tuple[str, ...]) -> int:
    """Run a Python FILE; what it imports of mmte is answered here where the framework is not installed."""
    install()
    with registry.importing(imports):
        return run_script(file, arguments)


COMMANDS = {
    "run": ("mmscore.compat.mmtrusteval.__main__:run", "Run a task file."),
    "script": ("mmscore.compat.mmtrusteval.__main__:script", "Run a Python file that imports mmte."),
    "list": ("mmscore.compat.mmtrusteval.__main__:list_ids", "Show the ids of the registry."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def program() -> None:
    """MMTrustEval's task files and classes, run here (docs/kits/mmtrusteval.md)."""


if __name__ == "__main__":
    install()
    run_program(program, program="mmscore.compat.mmtrusteval", holds_output=False)
