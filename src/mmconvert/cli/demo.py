"""`mmconvert demo`: convert, predict and score small example files, command by command."""

import importlib.util
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import click

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.core.errors import Error, UsageError

DATASETS = {
    "choice": ("lmudata/Colours.tsv",),
    "short": ("openai_messages/colours.jsonl",),
    "mmmu": ("mmmu/validation.parquet",),
}
"""Dataset to convert -> example files."""

RECIPES = {"choice": "vlmevalkit_mcq", "short": "own_short_answer", "mmmu": "mmmu_val"}
"""Dataset -> the recipe that scores it."""

RESULTS = (
    "vlmevalkit_predictions/demo-1b_SEEDBench_IMG_openai_result.xlsx",
    "evalscope_reviews/general_vmcq_colours.jsonl",
    "ms_swift_results/infer_result.jsonl",
)
"""Example files that hold responses."""

ECHO = {"right": "answer", "a": "text=A"}
"""Name of a predictions file -> what the backend `echo` says: the reference answers, or always A."""

_TRAINING = ("torch", "transformers")
"""What the tiny model needs."""


@click.command(cls=GroupedCommand)
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path), metavar="[DIR]")
@click.option("--files-only", is_flag=True, help="Write the example files and stop.")
@click.option("--train", is_flag=True, help="Train a tiny vision-language model and predict with it (needs torch).")
def demo(folder: Path | None, files_only: bool, train: bool) -> int:
    """Convert, predict and score small example files.

    DIR is the output directory, a temporary one by default. Predictions come from the backend `echo`, which gives the
    reference answers and then always A; with --train from a tiny vision-language model, trained in seconds (needs
    torch).
    """
    if train and (missing := [name for name in _TRAINING if importlib.util.find_spec(name) is None]):
        raise UsageError(f"--train needs {' and '.join(missing)}. Run: pip install 'mmconvert[infer]'")
    folder = folder or Path(tempfile.mkdtemp(prefix="mmconvert-demo-"))
    files = folder / "files"
    with resources.as_file(resources.files("mmconvert.testing.demo") / "files") as examples:
        shutil.copytree(examples, files, dirs_exist_ok=True)
    click.echo(f"Example files, one folder per format: {files}")
    if files_only:
        return 0
    for name, sources in DATASETS.items():
        _run("mmconvert", "convert", *(str(files / s) for s in sources), "-o", str(folder / name), "--overwrite")
    if train:
        models = {"tiny": _train_model(folder)}
    else:
        models = {name: ["--model", says, "--backend", "echo"] for name, says in ECHO.items()}
    for name in DATASETS:
        outputs = [str(folder / f"{name}-{model}.parquet") for model in models]
        for output, model in zip(outputs, models.values(), strict=True):
            _run("mmscore", "predict", str(folder / name), "-o", output, *model, "--restart", "--quiet")
        _run("mmscore", *outputs, "--recipe", RECIPES[name])
    click.echo("\nResult files of frameworks are scored the same way:")
    for result in RESULTS:
        _run("mmscore", str(files / result))
    if not train:
        click.echo(
            "\nThe predictions are the reference answers, and always A (backend echo). For a trained model: "
            "mmconvert demo --train"
        )
    click.echo(f"\nEverything is in {folder}. Next: mmconvert list formats, mmconvert convert YOUR_FILE -o DIR")
    return 0


def _train_model(folder: Path) -> list[str]:
    """Train the tiny model; give the options that name it."""
    click.echo("\nTraining a tiny vision-language model on these samples (seconds) ...")
    model = str(folder / "tiny-vlm")
    datasets = [str(folder / name) for name in DATASETS]
    command = [sys.executable, "-m", "mmconvert.testing.demo.tiny_vlm", model, *datasets]
    if subprocess.run(command, check=False).returncode:
        raise Error(f"{model}: the model could not be trained; see the message above.")
    return ["--model", model]


def _run(program: str, *arguments: str) -> None:
    click.echo(f"\n$ {shlex.join([program, *arguments])}")
    if subprocess.run([sys.executable, "-m", program, *arguments], check=False).returncode:
        raise Error(f"{program} {arguments[0]} failed; see its message above.")
