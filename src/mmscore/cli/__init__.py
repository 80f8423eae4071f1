"""The `mmscore` program: one file a command, imported when it runs."""

from typing import NoReturn

import click

from mmconvert._version import __version__
from mmconvert.console.app import HELP, LazyGroup
from mmconvert.console.app import run as run_program
from mmscore.compat import kit_imports

COMMANDS: dict[str, tuple[str, ...]] = {
    "score": (
        "mmscore.cli.score:score",
        "Score predictions as a framework would (the default command).",
        "mmscore predictions.parquet",
        "mmscore predictions.parquet --recipe vlmevalkit_mcq --by category -o report.json",
    ),
    "predict": (
        "mmscore.cli.predict:predict",
        "Run a model on a dataset and write the predictions.",
        "mmscore predict mmbench -o predictions.parquet --model path/to/model",
        "mmscore predict mmbench -o predictions.parquet --model NAME --base-url http://127.0.0.1:8000/v1",
    ),
    "merge": (
        "mmscore.cli.merge:merge",
        "Merge the shards of a run (predict --shard I/N) into one file.",
        "mmscore merge predictions.*.parquet -o predictions.parquet",
    ),
    "run": (
        "mmscore.cli.run:run",
        "Run models on benchmarks by name, or on the datasets of a task file.",
        "mmscore run --benchmark MMStar --model MODEL --allow-remote -w results",
        "mmscore run task.yaml --work-dir results",
        "mmscore run task.yaml --dry-run",
    ),
    "view": (
        "mmscore.cli.view:view",
        "Watch the runs below a folder in the browser.",
        "mmscore view results",
    ),
    "compare": (
        "mmscore.cli.compare:compare",
        "Compare two predictions files sample by sample.",
        "mmscore compare model_a.parquet model_b.parquet --recipe own_choice",
    ),
    "explain": (
        "mmscore.cli.explain:explain",
        "Show how each response was parsed, and why two recipes differ.",
        "mmscore explain predictions.parquet --recipe own_choice --recipe vlmevalkit_mcq",
    ),
    "judge": (
        "mmscore.cli.judge:judge",
        "Run a judge model on predictions and cache its verdicts.",
        "mmscore judge predictions.parquet --judge own --judge-model NAME --judge-base-url http://127.0.0.1:8000/v1",
    ),
    "pairs": (
        "mmscore.cli.pairs:pairs",
        "Turn several responses a question into preference pairs, or into SFT samples.",
        "mmscore pairs answers.parquet --answers data -o pairs",
        "mmscore pairs answers.parquet --answers data -o right --keep right",
    ),
    "rank": (
        "mmscore.cli.rank:rank_models",
        "Rank models over many datasets by average score and average rank.",
        "mmscore rank MME=a_mme.parquet POPE=a_pope.parquet MME=b_mme.parquet POPE=b_pope.parquet",
    ),
    "submit": (
        "mmscore.cli.submit:submit",
        "Write predictions as a submission file for a benchmark server.",
        "mmscore submit predictions.parquet --to mmbench -o submission.xlsx",
    ),
    "leaderboard": (
        "mmscore.cli.leaderboard:leaderboard",
        "Gather many reports into one static page.",
        "mmscore leaderboard results -o board",
    ),
    "bundle": (
        "mmscore.cli.bundle:bundle",
        "Copy a score and everything it depends on into one folder.",
        "mmscore bundle predictions.parquet -o bundle --recipe own_choice",
    ),
    "verify": ("mmscore.cli.verify:verify", "Recompute a bundle and compare every score.", "mmscore verify bundle"),
    "list": (
        "mmscore.cli.list:list_plugins",
        "List recipes, metrics and other plug-ins.",
        "mmscore list recipes",
        "mmscore list recipes mmmu",
    ),
    "completion": (
        "mmconvert.cli.completion:completion",
        "Print the shell completion script.",
        "mmscore completion bash >> ~/.bashrc",
        "mmscore completion zsh >> ~/.zshrc",
        "mmscore completion fish > ~/.config/fish/completions/mmscore.fish",
    ),
}
"""Where each command is, what it does, examples of its use."""

# Files of users, named as file.py@name, may import the framework that they were written for.
kit_imports.install()


@click.group(
    cls=LazyGroup,
    commands_in=COMMANDS,
    default="score",
    context_settings={"help_option_names": HELP},
    epilog="`mmscore FILE` is short for `mmscore score FILE`.",
)
@click.version_option(__version__, prog_name="mmscore")
def program() -> None:
    """Score multimodal predictions as each evaluation framework would."""


def main() -> NoReturn:
    """Run the program; the console script's entry point."""
    run_program(program, program="mmscore")
