"""Every option of a command is a field of its struct, and so is every keyword of its Python function."""

import importlib
import inspect
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
import msgspec
import pytest

import mmconvert
import mmscore
import mmscore.api as scoring
from mmconvert import api
from mmconvert.core.option_fields import list_option_fields, read_option_docs
from mmconvert.curation.dedupe import DedupeOptions
from mmconvert.curation.fingerprints import FingerprintOptions
from mmconvert.curation.mix import MixOptions
from mmconvert.curation.overlap import OverlapOptions
from mmconvert.curation.split import SplitOptions
from mmconvert.curation.stats import StatsOptions
from mmconvert.dataset.publish import PushOptions
from mmconvert.dataset.views import VIEWS, ViewName
from mmconvert.pipeline.convert_files import ConvertOptions
from mmconvert.pipeline.export import ExportOptions
from mmconvert.pipeline.read import FileOptions
from mmconvert.viewer.preview import PreviewOptions
from mmscore.analysis.bundle import BundleOptions
from mmscore.analysis.compare import CompareOptions
from mmscore.analysis.explain import ExplainOptions
from mmscore.infer.options import PredictOptions
from mmscore.infer.shards import MergeOptions
from mmscore.reporting.submit import SubmitOptions
from mmscore.scoring.evaluate import ScoreKeywords, ScoreOptions
from mmscore.workflow.leaderboard import LeaderboardOptions
from mmscore.workflow.pairs import PairsOptions
from mmscore.workflow.rank import RankOptions
from mmscore.workflow.run import RunOptions
from mmscore.workflow.score import ReportOptions

AT_THE_TERMINAL = {
    "mmconvert convert": "output allow_rejects push json quiet options",
    "mmconvert check": "json quiet options",
    "mmconvert inspect": "json options",
    "mmconvert export": "output allow_rejects json quiet options",
    "mmconvert preview": "output json quiet options",
    "mmconvert open": "no_browser quiet options",
    "mmconvert stats": "html json quiet options",
    "mmconvert mix": "output json quiet options",
    "mmconvert split": "output json quiet options",
    "mmconvert dedupe": "output json quiet options",
    "mmconvert overlap": "with output json quiet options",
    "mmconvert fingerprint": "output json quiet options",
    "mmconvert push": "json quiet options",
    "mmconvert verify": "json quiet",
    "mmconvert list": "json",
    "mmconvert check-plugin": "json options",
    "mmconvert demo": "files_only train",
    "mmconvert completion": "",
    "mmscore score": "recipe dry_run json quiet options verbose",
    "mmscore merge": "output json quiet",
    "mmscore predict": "output dry_run quiet json options",
    "mmscore run": "dry_run init json quiet",
    "mmscore view": "",
    "mmscore compare": "allow_rejects json options",
    "mmscore explain": "json options",
    "mmscore judge": "recipe dry_run json quiet options",
    "mmscore pairs": "output json quiet options",
    "mmscore rank": "allow_rejects json options",
    "mmscore leaderboard": "output json quiet",
    "mmscore submit": "output allow_rejects json quiet options",
    "mmscore bundle": "output allow_rejects json quiet options",
    "mmscore verify": "json",
    "mmscore list": "import json",
    "mmscore completion": "",
}
"""Options of a command that say where it writes, what it prints or what it does beside; all others are fields."""

FUNCTIONS: dict[Any, tuple[type[msgspec.Struct], type, str]] = {
    mmconvert.convert: (ConvertOptions, api.ConvertKeywords, ""),
    mmconvert.check: (FileOptions, api.FileKeywords, ""),
    mmconvert.inspect: (FileOptions, api.FileKeywords, ""),
    mmconvert.export: (ExportOptions, api.ExportKeywords, "to"),
    mmconvert.preview: (PreviewOptions, api.PreviewKeywords, ""),
    mmconvert.stats: (StatsOptions, api.StatsKeywords, ""),
    mmconvert.mix: (MixOptions, api.MixKeywords, ""),
    mmconvert.split: (SplitOptions, api.SplitKeywords, "split_ratio"),
    mmconvert.dedupe: (DedupeOptions, api.DedupeKeywords, ""),
    mmconvert.overlap: (OverlapOptions, api.OverlapKeywords, ""),
    mmconvert.fingerprint: (FingerprintOptions, api.FingerprintKeywords, ""),
    mmconvert.push: (PushOptions, api.PushKeywords, ""),
    mmscore.predict: (PredictOptions, scoring.PredictKeywords, "model backend resume restart share"),
    mmscore.merge: (MergeOptions, scoring.MergeKeywords, ""),
    mmscore.score: (ReportOptions, scoring.ReportKeywords, "judge progress allow_rejects"),
    mmscore.push: (ScoreOptions, ScoreKeywords, "judge progress"),
    mmscore.run: (RunOptions, scoring.RunKeywords, ""),
    mmscore.compare: (CompareOptions, scoring.CompareKeywords, "judge"),
    mmscore.explain: (ExplainOptions, scoring.ExplainKeywords, ""),
    mmscore.pairs: (PairsOptions, scoring.PairsKeywords, "judge"),
    mmscore.rank: (RankOptions, scoring.RankKeywords, ""),
    mmscore.leaderboard: (LeaderboardOptions, scoring.LeaderboardKeywords, ""),
    mmscore.bundle: (BundleOptions, scoring.BundleKeywords, ""),
    mmscore.submit: (SubmitOptions, scoring.SubmitKeywords, "to"),
}
"""Function -> its struct, its keywords, and the fields that its own signature names or that are not for callers."""


@pytest.mark.parametrize("words", AT_THE_TERMINAL)
def test_every_option_of_a_command_is_a_field(words: str) -> None:
    package, _, name = words.partition(" ")
    program = importlib.import_module(f"{package}.cli").program
    assert {f"{package} {command}" for command in program.commands_in} <= set(AT_THE_TERMINAL)
    options = [p for p in program.get_command(click.Context(program), name).params if isinstance(p, click.Option)]
    own = {max(p.opts, key=len).lstrip("-").replace("-", "_") for p in options if not hasattr(p, "struct")}
    assert own == set(AT_THE_TERMINAL[words].split())
    for option in options:
        if hasattr(option, "struct"):
            assert option.help == read_option_docs(option.struct)[option.name]


def members(hint: Any) -> frozenset[Any]:
    """What a keyword may be, where the field has this type: one value may stand for several, a text for a path."""
    if get_origin(hint) is Annotated:
        return members(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return frozenset().union(*map(members, get_args(hint)))
    if get_origin(hint) in (tuple, Sequence) or getattr(get_origin(hint), "__name__", "") == "Sequence":
        one = members(get_args(hint)[0])
        return (one if get_origin(hint) is tuple else frozenset()) | {("several", one)}
    if hint is Path:
        return frozenset({str, Path})
    return frozenset({("words", get_args(hint))}) if get_origin(hint) is Literal else frozenset({hint})


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_keywords_have_the_names_and_types_of_the_fields(function: Any) -> None:
    struct, keywords, elsewhere = FUNCTIONS[function]
    fields = {name: members(hint) for name, hint in get_type_hints(struct, include_extras=True).items()}
    typed = {name: members(hint) for name, hint in get_type_hints(keywords).items()}
    assert set(typed) == set(fields) - set(elsewhere.split())
    for name, kinds in typed.items():
        assert kinds >= fields[name], name
        # A text may name a place, and None stands for the default.
        assert kinds - fields[name] <= {Path, types.NoneType}, name


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_help_lists_every_option_with_default_and_meaning(function: Any) -> None:
    struct, keywords, _ = FUNCTIONS[function]
    parameters = inspect.signature(function).parameters
    said = " ".join(inspect.getdoc(function).split())
    assert "**" not in said
    for name in get_type_hints(keywords):
        default = list_option_fields(struct)[name].default
        assert parameters[name].default == default
        assert f" {name}: " in said
        assert f"[default: {default!r}]" in said


def test_the_words_of_an_option_are_those_that_are_honoured() -> None:
    assert list(get_args(ViewName)) == list(VIEWS)
