"""`python -m mmscore.compat.reform_eval run_eval|run_loader_eval`: the framework's two scripts with their flags."""

import json
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import EXIT_PARTIAL, run
from mmscore.compat import kit_imports
from mmscore.compat.reform_eval import PACKAGES, TAKEN
from mmscore.compat.reform_eval.evaluation import loader_eval
from mmscore.compat.reform_eval.run import Arguments, open_data
from mmscore.compat.reform_eval.run import run_eval as run_it

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_FORMULATIONS = ("SingleChoice", "Generation", "OCROpenEnded", "KIEOpenEnded")
_MARKS = ("number", "lower", "upper", "random")


@click.group(context_settings=_SETTINGS)
def program() -> None:
    """ReForm-Eval's scripts, run by this project."""


@program.command("run_eval", context_settings=_SETTINGS)
@click.option("--model", metavar="FILE.py@get_NAME|BACKEND", help="A model's loader or class, or a backend's name.")
@click.option("--model_name", help="The model to load: a file, a folder, a name.")
@click.option("--model_type", help="Passed to the model's loader.")
@click.option("--dataset_name", help="The framework's name of the dataset.")
@click.option("--formulation", type=click.Choice(_FORMULATIONS), help="Prompt formulation.")
@click.option("--dataset_config", metavar="FILE", help="The dataset's YAML file.")
@click.option("--dataset_duplication", type=click.IntRange(1), default=1, help="Copies of each sample.")
@click.option("--in_context_sample", is_flag=True, help="A finished round before the question.")
@click.option("--capitalize", is_flag=True, help="Questions and options of conversations begin with a capital.")
@click.option("--yesno_instruct", is_flag=True, help="No effect, as in the original.")
@click.option("--answer_space_instruct", is_flag=True, help="Only for CLEVR by likelihood.")
@click.option("--per_gpu_eval_batch_size", type=click.IntRange(1), help="Rows at once. [default: the model's]")
@click.option("--num_workers", type=int, default=4, help="No effect: images are read while the model runs.")
@click.option("--half_evaluation", is_flag=True, help="Weights in float16.")
@click.option("--do_eval", is_flag=True, help="Evaluate the predictions, or those already in output_dir.")
@click.option("--eval_stability", is_flag=True, help="Measure how predictions for one sample differ.")
@click.option("--temperature", type=click.FloatRange(0), help="Softness of the draw. [default: the model's]")
@click.option("--max_new_tokens", type=click.IntRange(1), help="Maximum number of new tokens. [default: the model's]")
@click.option("--likelihood_reduction", help="sum or mean. [default: the model's, sum]")
@click.option("--infer_method", type=click.Choice(["generation", "likelihood"]), default="generation", help="How.")
@click.option("--option_mark", type=click.Choice(_MARKS), help="Marks of options. [default: drawn for each question]")
@click.option("--random_instruct", is_flag=True, help="Another instruction for each copy of a sample.")
@click.option("--shuffle_options", is_flag=True, help="Draw the options' order.")
@click.option("--options_in_history", is_flag=True, help="No effect, as in the original.")
@click.option("--online_multi_round", is_flag=True, help="Put the model's answers into the history of a conversation.")
@click.option("--multi_round_eval", is_flag=True, help="Report accuracy per round of conversations.")
@click.option("--output_dir", default="./output/", help="Folder for results and log.txt.")
@click.option("--dataset_debug", is_flag=True, help="Show the dataset, run nothing.")
@click.option("--dataset_subsample", type=click.IntRange(1), help="Only the first conversations (VisDial).")
@click.option("--core_eval", is_flag=True, help="No effect, as in the original.")
@click.option("--hf", is_flag=True, help="Read the Hub; wins over --offline_hf.")
@click.option("--offline_hf", is_flag=True, help="Read the files that the configuration names on this machine.")
@click.option("--pools", metavar="CHECKOUT", help="ReForm-Eval's checkout, for its own instructions. [default: ours]")
@click.option("--seed", type=int, default=0, help="Seed of the draws; the original sets none.")
def run_eval(**given: Any) -> int:
    """Ask a model about a dataset and evaluate what it says.

    Exit code 3: some rows have no prediction; run again to ask them.
    """
    kit_imports.install(PACKAGES)  # the file of an interface imports its preprocessor
    arguments = Arguments(**given)
    if arguments.dataset_debug:
        data = open_data(arguments)
        click.echo(f"the dataset has {len(data)} samples")
        for index in range(min(2, len(data))):
            click.echo(json.dumps({**data[index], "image": repr(data[index]["image"])}, ensure_ascii=False))
        return 0
    result = run_it(arguments)
    return EXIT_PARTIAL if result.list_file is None else 0


@program.command("run_loader_eval", context_settings=_SETTINGS)
@click.option(
    "--formulation", required=True, type=click.Choice(_FORMULATIONS), help="Prompt formulation of the predictions."
)
@click.option("--eval_stability", is_flag=True, help="Measure how predictions for one sample differ.")
@click.option("--multi_round_eval", is_flag=True, help="Report accuracy per round of conversations.")
@click.option(
    "--infer_method",
    type=click.Choice(["generation", "likelihood"]),
    help="How it was predicted. [default: as the predictions state]",
)
@click.option("--prediction_file", required=True, metavar="FILE", help="The result list.")
def run_loader_eval(**given: Any) -> int:
    """Evaluate a result list; its numbers go to log.txt beside it."""
    loader_eval(**given)
    return 0


@program.command("script", context_settings={**_SETTINGS, "ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def script(file: str, arguments: tuple[str, ...]) -> int:
    """Run a Python FILE; what it imports of build, run_loader_eval and utils.preprocessors is answered here."""
    folder = Path(file).resolve().parent
    kit_imports.install(PACKAGES)
    if not any((folder / name).exists() for name in TAKEN):  # as they do in the framework's own checkout
        kit_imports.install(TAKEN, ahead=True)
    return kit_imports.run_script(file, arguments)


if __name__ == "__main__":
    run(program, program="python -m mmscore.compat.reform_eval", holds_output=False)
