"""`python -m mmscore.compat.vlmevalkit`: the flags of the framework's run.py."""

import contextlib
import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
import pandas as pd

from mmconvert.console.app import EXIT_PARTIAL, EXIT_REFUSED
from mmconvert.console.app import run as run_program
from mmconvert.core.errors import Error, UsageError, show, suggest_spelling
from mmconvert.core.option_fields import build_options
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.printable import escape_control
from mmconvert.plugins.registry import load as load_plugin
from mmscore.compat import kit_imports, vlmevalkit
from mmscore.compat.vlmevalkit.datasets import fetching, whole
from mmscore.compat.vlmevalkit.running import ALL, EVAL, MODES, Run, benchmark_of, run_benchmark
from mmscore.infer.adapter import split_backend
from mmscore.infer.backend import GROUP
from mmscore.infer.options import PredictOptions

SEVERAL = ("--data", "--model", "--import")
"""Flags that take several values."""

_NO_EFFECT = "no effect here"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _refused(flag: str, instead: str, **attributes: Any) -> Callable[[_Command], _Command]:
    """Make an option of the framework's that is named in the refusal instead of being unknown."""

    def refuse(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value:
            raise UsageError(f"{flag}: has no counterpart here. {instead}")

    return click.option(flag, callback=refuse, expose_value=False, hidden=True, **attributes)


def _ignored(flag: str, **attributes: Any) -> Callable[[_Command], _Command]:
    return click.option(flag, expose_value=False, help=_NO_EFFECT, hidden=True, **attributes)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data", multiple=True, metavar="NAME...", help="Benchmarks: NAME, file.py@Class, or NAME=file.py@Class."
)
@click.option("--model", "models", multiple=True, metavar="NAME...", help="Models: paths, names, or file.py@Class.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False), help="JSON file with model and data.")
@click.option("--import", "files", multiple=True, metavar="FILE...", help="Python files that are run first.")
@click.option("--work-dir", default="outputs", type=click.Path(path_type=Path), help="Folder of the results.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=ALL,
    help="Run inference and score (all), inference only, or score only.",
)
@click.option("--api-nproc", "--nproc", "nproc", type=click.IntRange(1), help="Maximum concurrent requests.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N rows; not with --mode eval.")
@click.option("--reuse", is_flag=True, help="Reuse existing answers.")
@click.option("--judge", metavar="NAME", help="Model that judges; exact_matching for none, as is the default.")
@click.option("--judge-args", metavar="JSON", help="Further arguments of evaluate.")
@click.option("--judge-base-url", metavar="URL", help="API server of the judge.")
@click.option("--judge-api-nproc", type=click.IntRange(1), help="Questions to the judge at once.")
@click.option("--base-url", metavar="URL", help="OpenAI-compatible API server of the models.")
@click.option("--max-tokens", type=click.IntRange(1), help="Maximum number of new tokens.")
@click.option("--temperature", type=click.FloatRange(0))
@click.option("--top-k", type=click.IntRange(1))
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True))
@click.option("--repetition-penalty", type=float, help="Sent to the API server unchanged.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Request timeout.")
@click.option("--extra-body", metavar="JSON", help="Further fields of each request.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Fetch tables of DATASET_URL or VLMEvalKit, from public hosts only.",
)
@click.option(
    "--allow-host",
    metavar="NAME[:PORT]",
    multiple=True,
    help="With --allow-remote: also allow this host at a private address; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@_ignored("--retry", type=int)
@_ignored("--judge-retry", type=int)
@_ignored("--judge-timeout", type=int)
@_ignored("--monitor-interval", type=int)
@_ignored("--reuse-aux")
@_ignored("--verbose", is_flag=True)
@_ignored("--ignore", is_flag=True)
@_ignored("--debug", is_flag=True)
@_ignored("--api-mode", is_flag=True)
@_refused("--key", "Put the key into the environment, OPENAI_API_KEY.")
@_refused("--judge-key", "Put the key into the environment, OPENAI_API_KEY.")
@_refused("--keep-failed", "Retry samples without a response.", is_flag=True)
@_refused("--use-vllm", "Start the API server, and give --base-url.", is_flag=True)
@_refused("--use-verifier", "Give --judge.", is_flag=True)
@_refused("--thinker", "Give --max-tokens and --timeout.", is_flag=True)
@_refused("--custom-prompt", "Write use_custom_prompt and build_prompt in the model's class.")
@_refused("--video-llm", "Videos are not read.", is_flag=True)
@_refused("--local-media", "Images are sent.", is_flag=True)
def program(
    data: tuple[str, ...],
    models: tuple[str, ...],
    config: str | None,
    files: tuple[str, ...],
    as_json: bool,
    allow_remote: bool,
    allow_host: tuple[str, ...],
    **given: Any,
) -> int:
    """Ask every model about every benchmark, and score what they say.

    Results go to WORK_DIR/MODEL/: MODEL_BENCHMARK.xlsx is the framework's table. A run that was stopped continues.

    Exit code 3: some rows or some runs have no result, the others have; 1: none has one.
    """
    if given["mode"] == EVAL and given["limit"] is not None:
        raise UsageError(f"--limit: has no effect with --mode {EVAL}, which scores all rows of the file. Leave it out.")
    for file in files:
        # Any name would do: it is the running of the file that counts.
        load_plugin(GROUP, f"{file}@__name__")
    settings = _config(config)
    benchmarks = list(_benchmarks([*data, *settings["data"]], settings["data"], allow_remote, allow_host))
    chosen = [*models, *settings["model"]]
    if not benchmarks or not chosen:
        raise UsageError("no model and dataset given. Give --data and --model, or --config with both.")
    runs: list[Run | Error] = []
    for model, benchmark in itertools.product(chosen, benchmarks):
        try:
            # What an evaluate of the user's prints shall not stand in the JSON.
            with contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):
                runs.append(_run(model, settings["model"].get(model), benchmark, given))
        except Error as error:
            runs.append(error)
        if not as_json:
            click.echo(escape_control(_said(runs[-1], model, benchmark)))
    if as_json:
        click.echo(json.dumps({"runs": [_json(one) for one in runs]}, ensure_ascii=False))
    if len(runs) == 1 and isinstance(runs[0], UsageError):
        raise runs[0]
    if all(isinstance(one, Error) for one in runs):
        return EXIT_REFUSED
    return 0 if all(isinstance(one, Run) and one.complete for one in runs) else EXIT_PARTIAL


def _config(path: str | None) -> dict[str, dict[str, Any]]:
    """Read `{"model": {NAME: {"class": ..., ...}}, "data": {NAME: {"class": ..., "dataset": ...}}}`."""
    found = {} if path is None else parse_json(Path(path).read_text(encoding="utf-8"))
    known = ("model", "data")
    if not isinstance(found, dict) or not all(isinstance(found.get(name, {}), dict) for name in known):
        raise UsageError(f"{path}: expected an object with model and data {show(found)}.")
    if unknown := [name for name in found if name not in known]:
        raise UsageError(f"{path}: has no {unknown[0]!r}.{suggest_spelling(unknown[0], known)} Known: model, data.")
    return {name: found.get(name, {}) for name in known}


def _class(name: str, where: str) -> Any:
    if ".py@" in name:
        return load_plugin(GROUP, name)
    if name not in vlmevalkit.__all__:
        near = suggest_spelling(name, vlmevalkit.__all__)
        raise UsageError(f"{where}: no class {name!r} here.{near} Name one of a file of yours: file.py@Class.")
    return getattr(vlmevalkit, name)


def _benchmarks(
    names: Sequence[str], settings: Mapping[str, Any], allow_remote: bool, allow_host: Sequence[str]
) -> Iterator[Any]:
    """Open benchmarks: NAME, file.py@Class for all that the class names, or NAME=file.py@Class."""
    for given in dict.fromkeys(names):
        more = dict(settings.get(given) or {})
        name, _, file = given.rpartition("=")
        if ".py@" not in file and not more:
            yield benchmark_of(given, allow_remote, allow_host)
            continue
        one = whole(_class(more.pop("class", file), given))
        named = [more.pop("dataset")] if "dataset" in more else [name] if name else one.supported_datasets()
        if not named:
            raise UsageError(f"--data {given}: which table is it about? Give NAME={file}, or DATASET_URL in the class.")
        for dataset in named:
            with fetching(allow_remote, allow_host):
                made = one(dataset, **more)
            yield made


def _run(model: str, settings: Mapping[str, Any] | None, benchmark: Any, given: Mapping[str, Any]) -> Run:
    backend: Any = None
    more = dict(settings or {})
    name, is_service = model, given["base_url"] is not None
    if ".py@" in model or "class" in more:
        backend = _class(more.pop("class", model), model)
        is_service = getattr(backend, "is_api", False)
        backend = functools.partial(backend, **more) if more else backend
        name = model.rpartition("@")[2]
    elif more:
        raise UsageError(f"--config: model {model!r} has values but no class. Give class: file.py@Class.")
    plugin, backend = split_backend(backend)
    options = PredictOptions(model=name, backend=plugin)
    if given["mode"] != EVAL:
        body = parse_json(given["extra_body"]) if given["extra_body"] else {}
        if given["repetition_penalty"] is not None:
            body["repetition_penalty"] = given["repetition_penalty"]
        asked = {field: given[field] for field in ("limit", "base_url", "timeout", "temperature", "top_k", "top_p")}
        # As in the framework, --api-nproc is for models that are asked over the network, and for judges.
        asked |= {"concurrency": given["nproc"] if is_service else None, "max_new_tokens": given["max_tokens"]}
        asked |= {"extra_body": json.dumps(body) if body else None}
        options = build_options(PredictOptions, {**asked, "model": name, "backend": plugin}, "predict")
    judge = {"model": given["judge"], "base_url": given["judge_base_url"]}
    judge |= {"nproc": given["judge_api_nproc"] or given["nproc"]}
    judge = {argument: value for argument, value in judge.items() if value is not None}
    return run_benchmark(
        benchmark,
        options,
        backend,
        judge_kwargs=judge | (parse_json(given["judge_args"]) if given["judge_args"] else {}),
        **{argument: given[argument] for argument in ("work_dir", "mode", "reuse", "quiet")},
    )


def _said(one: Run | Error, model: str, benchmark: Any) -> str:
    if isinstance(one, Error):
        return f"{model} / {benchmark.dataset_name}: failed: {one}"
    lines = [f"{one.model} / {one.dataset}: {one.eval_file}"]
    lines += [f"refused: {reason}" for reason in one.refused[:3]]
    lines += [one.note] if one.note else []
    if one.result:
        lines.append(pd.DataFrame(list(one.result)).to_string(index=False))
    return "\n".join(lines)


def _json(one: Run | Error) -> dict[str, Any]:
    if isinstance(one, Error):
        return {"error": str(one)}
    about = {"summary": asdict(one.summary) if one.summary else None, "refused": one.refused, "result": one.result}
    about |= {"note": one.note} if one.note else {}
    return {"model": one.model, "dataset": one.dataset, "eval_file": str(one.eval_file), **about}


def spread(argv: Sequence[str]) -> list[str]:
    """Write `--data A B` as `--data A --data B`, for the flags that take several values.

    Example:
        >>> spread(["--data", "A", "B", "--reuse"])
        ['--data', 'A', '--data', 'B', '--reuse']
    """
    spelled: list[str] = []
    flag, first = "", False
    for argument in argv:
        if argument.startswith("-"):
            flag, first = argument if argument in SEVERAL else "", True
            spelled.append(argument)
        else:
            spelled += [argument] if first or not flag else [flag, argument]
            first = False
    return spelled


def main() -> None:
    """Run the program."""
    kit_imports.install()
    run_program(program, spread(sys.argv[1:]), program="vlmevalkit", holds_output=False)


if __name__ == "__main__":
    main()
