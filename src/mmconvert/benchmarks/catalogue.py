"""The catalogue of benchmarks: what each framework calls them, and what it takes to convert and to score them.

Nothing of it is read before a benchmark is asked for.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import UsageError, suggest_spelling

FRAMEWORKS = {
    "vlmevalkit": "VLMEvalKit",
    "lmms_eval": "lmms-eval",
    "evalscope": "EvalScope",
    "reform_eval": "ReForm-Eval",
    "mmtrusteval": "MMTrustEval",
}
"""Prefix of a benchmark's name -> what the framework calls itself."""

PREFIX_ALIASES = {"lmms": "lmms_eval"}
"""Other words for a prefix."""

_FIRST = "vlmevalkit"
"""The framework whose benchmarks need no prefix."""

_NAMED = 3
"""Names of parts that are shown."""

_PREFIXED = re.compile(r"(?P<prefix>[a-z_]+):(?P<name>.+)", re.DOTALL)


class _Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"):
    """Where the data of a benchmark is."""


class Url(_Source, frozen=True, tag="url"):
    """One file at an https address.

    Attributes:
        url: The address.
        md5: MD5 of the file, where the framework knows it.
    """

    url: str
    md5: str | None = None


class UrlParts(_Source, frozen=True, tag="parts"):
    """Several files at https addresses that are one.

    Attributes:
        urls: The addresses, in order.
        join: Their bytes make one file, or each is a table and their rows make one.
        md5: MD5 of the file that their bytes make.
        md5s: MD5 of each.
    """

    urls: tuple[str, ...]
    join: Literal["bytes", "rows"] = "rows"
    md5: str | None = None
    md5s: tuple[str, ...] = ()


class HubFiles(_Source, frozen=True, tag="hub"):
    """Files of a dataset on the Hugging Face Hub.

    Attributes:
        repo: `OWNER/NAME`.
        config: Configuration; None for the only one.
        split: Split; None for all.
        revision: Branch, tag or commit; None for the main branch.
        files: The files to read, `*` for any letters; () for those of the configuration and split.
    """

    repo: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = ()


class ModelScopeFiles(_Source, frozen=True, tag="modelscope"):
    """Files of a dataset on ModelScope.

    Attributes:
        repo: `OWNER/NAME`.
        subsets: The subsets that the framework reads.
        split: The split that it scores.
    """

    repo: str
    subsets: tuple[str, ...] = ()
    split: str | None = None


class LocalTable(_Source, frozen=True, tag="local"):
    """A table that its authors hand out themselves; it must be in $LMUData."""


class JoinedTables(_Source, frozen=True, tag="concat"):
    """The rows of other benchmarks of the framework.

    Attributes:
        names: Their names, in order.
    """

    names: tuple[str, ...]


class TaskGroup(_Source, frozen=True, tag="group"):
    """Several benchmarks of the framework under one name, each scored by itself.

    Attributes:
        names: Their names, which may be groups too.
    """

    names: tuple[str, ...]


class BuiltByCode(_Source, frozen=True, tag="code"):
    """Data that only the framework's own code makes, or that the user must point it to."""


Source = Url | UrlParts | HubFiles | ModelScopeFiles | LocalTable | JoinedTables | TaskGroup | BuiltByCode


class PublishedScore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A score that the framework publishes for a model.

    Attributes:
        model: The model.
        metric: What the value is.
        value: The value.
        source: Repository, commit and file that say so.
    """

    model: str
    metric: str
    value: float
    source: str


class Benchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A benchmark of one framework.

    Attributes:
        name: As the framework spells it.
        source: Where its data is.
        framework: Prefix of the framework, a key of `FRAMEWORKS`.
        aliases: Other names that it has.
        format: Format of the data; None to detect it.
        prompt: Prompt template of the framework, as `--prompt` takes it; None where none of ours is its.
        recipe: Recipe that scores it as the framework does; None where there is none yet.
        rule: The framework's function that scores it.
        questions: Number of questions, where the framework states it.
        modality: What the questions show: image or text.
        judge: Whether a model must or may judge the responses in the framework; None where that is unknown.
        answers: Whether its references are public.
        licence: Licence of the data, where it is known.
        published: Scores that the framework publishes.
        note: What else one must know.
    """

    name: str
    source: Source
    framework: str = ""
    aliases: tuple[str, ...] = ()
    format: str | None = None
    prompt: str | None = None
    recipe: str | None = None
    rule: str | None = None
    questions: int | None = None
    modality: Literal["image", "text"] = "image"
    judge: Literal["no", "optional", "required"] | None = None
    answers: bool = True
    licence: str | None = None
    published: tuple[PublishedScore, ...] = ()
    note: str | None = None

    @property
    def key(self) -> str:
        """Give the name that no other benchmark has: `FRAMEWORK:NAME`."""
        return f"{self.framework}:{self.name}"

    @property
    def shortest_name(self) -> str:
        """Give the shortest name by which it is surely found."""
        return self.name if self.framework == _FIRST else self.key

    @property
    def spellings(self) -> tuple[str, ...]:
        """Give the name and the aliases."""
        return (self.name, *self.aliases)


@cache
def load_framework(framework: str) -> tuple[Benchmark, ...]:
    """Load the benchmarks of a framework.

    Args:
        framework: A key of `FRAMEWORKS`.
    """
    text = Path(__file__).with_name(f"{framework}.json").read_bytes()
    return tuple(replace(one, framework=framework) for one in msgspec.json.decode(text, type=list[Benchmark]))


def find_benchmark(name: str) -> Benchmark:
    """Find a benchmark by `NAME` or `FRAMEWORK:NAME`.

    Args:
        name: Without a prefix it is VLMEvalKit's where that has one of this spelling; else no second framework may
            have one of this name, in any case.

    Raises:
        UsageError: No framework has it, or several have.

    Example:
        >>> find_benchmark("MMStar").key, find_benchmark("lmms:chartqa").key
        ('vlmevalkit:MMStar', 'lmms_eval:chartqa')
    """
    found = _list_meant(name)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(one.key for one in found)
        raise UsageError(f"{name}: several frameworks have a benchmark of this name. Choose one: {names}.")
    framework, bare = _split_prefix(name)
    searched = [framework] if framework else [*FRAMEWORKS]
    spellings = {text: one for key in searched for text, one in _index(key).items()}
    alike = [one.key for text, one in spellings.items() if text.lower() == bare.lower()]
    hint = f" Did you mean {' or '.join(alike)}?" if alike else suggest_spelling(bare, spellings)
    who = FRAMEWORKS[framework] if framework else "a framework"
    raise UsageError(f"{name}: no benchmark of {who} has this name.{hint} See: mmconvert list benchmarks")


def is_benchmark(name: str) -> bool:
    """Tell whether `find_benchmark` finds a name, or several frameworks' of this name.

    Example:
        >>> is_benchmark("MMStar"), is_benchmark("pope"), is_benchmark("no_such")
        (True, True, False)
    """
    return bool(_list_meant(name))


def list_named(name: str) -> list[Benchmark]:
    """List the benchmarks of exactly this name, which has no prefix, one a framework.

    Example:
        >>> [one.key for one in list_named("chartqa")]
        ['lmms_eval:chartqa', 'evalscope:chartqa']
    """
    return [found for framework in FRAMEWORKS if (found := _index(framework).get(name)) is not None]


def list_names() -> list[str]:
    """List the names by which benchmarks are found, the prefix left out where none is needed."""
    return [one.shortest_name for framework in FRAMEWORKS for one in load_framework(framework)]


def list_benchmarks(words: Sequence[str] = ()) -> list[Benchmark]:
    """List the benchmarks of all frameworks, by framework and name.

    Args:
        words: Words that must occur in the name with its prefix, an alias, the place of the data or the recipe, in
            any case.

    Raises:
        UsageError: None has all the words.
    """
    wanted = [word.lower() for word in words]
    every = [one for framework in FRAMEWORKS for one in load_framework(framework)]
    found = [one for one in every if all(word in _describe(one) for word in wanted)] if wanted else every
    if not found:
        near = suggest_spelling(words[0], [text for one in every for text in one.spellings])
        raise UsageError(f"no benchmark has {' and '.join(map(repr, words))}.{near} See: mmconvert list benchmarks")
    return sorted(found, key=lambda one: (list(FRAMEWORKS).index(one.framework), one.name.lower(), one.name))


def describe_source(source: Source) -> str:
    """Say in a few words where the data of a benchmark is.

    Example:
        >>> describe_source(HubFiles("owner/set", config="full", split="test"))
        'hf://datasets/owner/set (full, test)'
    """
    match source:
        case Url():
            return source.url
        case UrlParts():
            return f"{source.urls[0]} and {len(source.urls) - 1} more"
        case HubFiles():
            detail = [*filter(None, (source.config, source.split, *source.files[:1]))]
            more = ["..."] if len(source.files) > 1 else []
            revision = f"@{source.revision}" if source.revision else ""
            return f"hf://datasets/{source.repo}{revision}" + (f" ({', '.join(detail + more)})" if detail else "")
        case ModelScopeFiles():
            return f"https://modelscope.cn/datasets/{source.repo}"
        case JoinedTables() | TaskGroup():
            kind = "tables" if isinstance(source, JoinedTables) else "tasks"
            named = [*source.names[:_NAMED], *["..."][: len(source.names) - _NAMED]]
            return f"{len(source.names)} {kind}: {', '.join(named)}"
        case LocalTable():
            return "$LMUData"
        case _:
            return "built by the framework's code"


@cache
def _index(framework: str) -> dict[str, Benchmark]:
    return {name: one for one in load_framework(framework) for name in one.spellings}


def _split_prefix(name: str) -> tuple[str | None, str]:
    found = _PREFIXED.fullmatch(name)
    prefix = PREFIX_ALIASES.get(found["prefix"], found["prefix"]) if found else None
    return (prefix, found["name"]) if found and prefix in FRAMEWORKS else (None, name)


def _list_meant(name: str) -> list[Benchmark]:
    """List what a name may mean; without a prefix, the other frameworks' benchmarks of this name in any case too."""
    framework, bare = _split_prefix(name)
    exact = {key: found for key in ([framework] if framework else FRAMEWORKS) if (found := _index(key).get(bare))}
    if framework or _FIRST in exact or not exact:
        return [exact.get(_FIRST) or next(iter(exact.values()))] if exact else []
    others = (one for key in FRAMEWORKS if key not in exact for text, one in _index(key).items() if _alike(text, bare))
    return [*exact.values(), *others]


def _alike(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _describe(benchmark: Benchmark) -> str:
    words = (benchmark.key, *benchmark.aliases, describe_source(benchmark.source), benchmark.recipe or "")
    return " ".join(words).lower()
