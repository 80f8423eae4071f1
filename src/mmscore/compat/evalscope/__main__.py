"""`python -m mmscore.compat.evalscope eval|script`: its command with its flags, and scripts that import it."""

import ast
import json
from collections.abc import Mapping
from typing import Any

import click

from mmconvert.console.app import run
from mmconvert.core.errors import UsageError, show, take_first_line
from mmscore.compat import kit_imports
from mmscore.compat.evalscope.running import run_task

_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _json(_ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Read a flag's JSON."""
    try:
        return None if value is None else json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"is not JSON ({take_first_line(error)}) {show(value)}.") from None


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Read a flag's JSON, or `a=1,b=x`."""
    if value is None or "=" not in value or value.lstrip().startswith("{"):
        return _json(ctx, param, value)
    return dict(_pair(item) for item in value.split(","))


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise click.BadParameter(f"expected name=value {show(text)}. Write name=value,name=value, or JSON.")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


@click.group(context_settings=_SETTINGS)
def program() -> None:
    """EvalScope's command, run by this project."""


@program.command("eval", context_settings=_SETTINGS)
@click.argument("more", nargs=-1, metavar="")
@click.option("--model", help="Name of the model on the API server, a folder or a Hub id.")
@click.option("--model-id", help="Name for the report.")
@click.option("--model-args", callback=_names, help="precision=torch.float16, for a model on this machine.")
@click.option("--datasets", metavar="NAME...", help="general_vqa, general_vmcq.")
@click.option("--dataset-args", callback=_json, help="Arguments of each benchmark, as JSON.")
@click.option("--eval-type", help="openai_api, llm_ckpt or mock_llm.")
@click.option("--eval-backend", default="Native", help="Native or VLMEvalKit.")
@click.option("--eval-config", metavar="FILE", help="The VLMEvalKit backend's keys.")
@click.option("--eval-batch-size", type=click.IntRange(1), help="Rows at once.")
@click.option("--limit", type=float, help="Rows of each subset, or below 1 a share of them.")
@click.option("--repeats", type=click.IntRange(1), default=1, help="Responses per sample.")
@click.option("--generation-config", callback=_names, help="temperature=0.7,max_tokens=64, or JSON.")
@click.option("--timeout", type=float, help="Request timeout in seconds.")
@click.option("--api-url", metavar="URL", help="OpenAI-compatible API server.")
@click.option("--api-key", help="Its key, or '$NAME' for the variable that holds it. [default: EVALSCOPE_API_KEY]")
@click.option("--judge-strategy", default="auto", help="auto, rule, llm or llm_recall.")
@click.option("--judge-model-args", callback=_json, help="model_id, api_url, api_key, generation_config, as JSON.")
@click.option("--judge-worker-num", type=click.IntRange(1), help="Questions to the judge at once.")
@click.option("--work-dir", metavar="DIR", help="Output directory of the results. [default: ./outputs]")
@click.option("--no-timestamp", is_flag=True, help="Put no folder of the time between.")
@click.option("--use-cache", metavar="DIR", help="Folder of an earlier run, which is gone on with.")
@click.option("--ignore-errors", is_flag=True, help="Take numbers although rows failed.")
@click.option("--evalscope-version", help="Release whose numbers are wanted. [default: 1.3.0]")
@click.option("--dataset-hub", help="No effect: nothing is fetched.")
@click.option("--dataset-dir", help="No effect: nothing is fetched.")
@click.option("--seed", type=int, help="No effect: nothing draws from it.")
@click.option("--rerun-review", is_flag=True, help="No effect: numbers are always computed again.")
@click.option("--debug", is_flag=True, help="No effect.")
@click.option("--stream", is_flag=True, help="No effect: the response is the same.")
def evaluate(more: tuple[str, ...], **given: Any) -> int:
    """Ask a model about benchmarks of custom data and print the framework's table."""
    run_task(task_keys(more, given))
    return 0


@program.command("script", context_settings={**_SETTINGS, "ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def script(file: str, arguments: tuple[str, ...]) -> int:
    """Run a Python FILE; what it imports of evalscope and vlmeval is answered here where they are not installed."""
    kit_imports.install()
    return kit_imports.run_script(file, arguments)


def task_keys(more: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keys of a `TaskConfig`: those that were given, `--datasets` with the names behind it.

    Example:
        >>> task_keys(("general_vmcq",), {"datasets": "general_vqa", "limit": 5.0, "seed": None})
        {'datasets': ['general_vqa', 'general_vmcq'], 'limit': 5.0}
    """
    if more and not given["datasets"]:
        raise UsageError(f"unexpected argument {more[0]!r}. Names of benchmarks follow --datasets.")
    keys = {name: value for name, value in given.items() if value is not None}
    return {**keys, "datasets": [given["datasets"], *more]} if given["datasets"] else keys


if __name__ == "__main__":
    run(program, program="evalscope", holds_output=False)
