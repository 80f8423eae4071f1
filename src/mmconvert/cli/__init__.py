"""The `mmconvert` program: one file a command, imported when it runs."""

import gc
import os
from typing import NoReturn

import click

from mmconvert._version import __version__
from mmconvert.console.app import HELP, LazyGroup
from mmconvert.console.app import run as run_program

COMMANDS: dict[str, tuple[str, ...]] = {
    "convert": (
        "mmconvert.cli.convert:convert",
        "Convert files of any supported format to one dataset.",
        "mmconvert convert MMBench_DEV_EN.tsv -o mmbench",
        "mmconvert convert train=a.jsonl test=b.jsonl -o mine --image-root images --workers 8",
    ),
    "export": (
        "mmconvert.cli.export:export",
        "Write a dataset in another format.",
        "mmconvert export mmbench -o again.tsv --to lmudata",
    ),
    "inspect": (
        "mmconvert.cli.inspect:inspect",
        "Show the detected format and columns of a file; write nothing.",
        "mmconvert inspect questions.jsonl",
    ),
    "check": (
        "mmconvert.cli.check:check",
        "List every problem by file, row and field; write nothing.",
        "mmconvert check questions.jsonl --image-root images",
    ),
    "preview": (
        "mmconvert.cli.preview:preview",
        "Write an HTML page with samples and their images as a model sees them.",
        "mmconvert preview mmbench -o mmbench.html --rows 500",
    ),
    "open": (
        "mmconvert.cli.open:open_page",
        "Open that page in the browser, from a temporary folder.",
        "mmconvert open MMBench_DEV_EN.tsv",
    ),
    "stats": (
        "mmconvert.cli.stats:stats",
        "Count a dataset: images, sizes, turns, lengths, tokens, answers, repeated samples.",
        "mmconvert stats mmbench",
        "mmconvert stats train --processor Qwen/Qwen2.5-VL-7B-Instruct --context 4096 --html train.html",
    ),
    "mix": (
        "mmconvert.cli.mix:mix",
        "Mix datasets into one, by weights.",
        "mmconvert mix chart:0.5 ocr:0.3 chat -o mixed --samples 100000",
    ),
    "split": (
        "mmconvert.cli.split:split",
        "Divide a dataset into splits that have no image in common.",
        "mmconvert split train -o divided --split-ratio train=0.98,val=0.02",
    ),
    "dedupe": (
        "mmconvert.cli.dedupe:dedupe",
        "Write a dataset without its duplicates.",
        "mmconvert dedupe train -o clean",
        "mmconvert dedupe train -o clean --near --by image",
    ),
    "overlap": (
        "mmconvert.cli.overlap:overlap",
        "Find samples of benchmarks in a training set.",
        "mmconvert overlap train --with mmbench --with mmstar --html overlap.html",
        "mmconvert overlap train --fingerprints benchmarks.parquet --drop -o clean",
    ),
    "fingerprint": (
        "mmconvert.cli.fingerprint:fingerprint",
        "Write hashes of datasets into a file, without their content.",
        "mmconvert fingerprint mmbench mmstar -o benchmarks.parquet",
    ),
    "push": (
        "mmconvert.cli.push:push",
        "Push a converted dataset to the Hub.",
        "mmconvert push mmbench USER/REPO --private",
        "mmconvert push mmbench USER/REPO --dry-run",
    ),
    "verify": (
        "mmconvert.cli.verify:verify",
        "Check every byte of a dataset against its manifest.",
        "mmconvert verify mmbench",
    ),
    "list": (
        "mmconvert.cli.list:list_plugins",
        "List formats, benchmarks and other plug-ins.",
        "mmconvert list formats",
        "mmconvert list mmmu",
    ),
    "check-plugin": (
        "mmconvert.cli.check_plugin:check_plugin",
        "Test your own plug-in against the contract of its kind.",
        "mmconvert check-plugin formats mine.py@FORMAT example.jsonl",
    ),
    "demo": (
        "mmconvert.cli.demo:demo",
        "Convert, predict and score small example files.",
        "mmconvert demo scratch",
    ),
    "completion": (
        "mmconvert.cli.completion:completion",
        "Print the shell completion script.",
        "mmconvert completion bash >> ~/.bashrc",
        "mmconvert completion zsh >> ~/.zshrc",
        "mmconvert completion fish > ~/.config/fish/completions/mmconvert.fish",
    ),
}
"""Where each command is, what it does, examples of its use."""


@click.group(
    cls=LazyGroup,
    commands_in=COMMANDS,
    context_settings={"help_option_names": HELP},
    epilog="Next: mmscore predict DATASET, mmscore PREDICTIONS.",
)
@click.version_option(__version__, prog_name="mmconvert")
def program() -> None:
    """Convert multimodal evaluation and training data to one Arrow schema."""


def main() -> NoReturn:
    """Run the program; the console script's entry point."""
    # numpy, which comes with pyarrow, and Arrow's second allocator start threads that nothing here uses; a process
    # without any can fork workers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    # Nearly all that a command loads stays, and records have no cycles. Not so for `mmscore`, whose models may.
    gc.set_threshold(500_000)
    run_program(program, program="mmconvert")
