"""docs/how_exact.md and the badges of the README: all of it follows from docs/how_exact.json and the survivors."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from support.exactness import MUTANTS, ROOT, Golden, Mutation, Record, count_noticed, read_record

PAGE = ROOT / "docs/how_exact.md"
BADGES = ROOT / "docs/badges"
SURVIVORS = ROOT / "tests/mutation/survivors.json"


class Source(NamedTuple):
    """Where the golden cases of a framework come from; NOTICE names the same place."""

    name: str
    repository: str
    release: str
    parts: str


SOURCES = (
    Source("VLMEvalKit", "open-compass/VLMEvalKit", "e8e78f05", r"vlmevalkit|mmbench_circular"),
    Source("lmms-eval", "EvolvingLMMs-Lab/lmms-eval", "75571cf", r"lmms_"),
    Source("MMBench", "open-compass/MMBench", "20faed3", r"compat\.mmbench"),
    Source("EvalScope", "modelscope/evalscope", "1.14.1", r"evalscope"),
    Source("MMMU, MMMU-Pro", "MMMU-Benchmark/MMMU", "bb0b95a", r"mmmu"),
    Source("ReForm-Eval", "FudanDISC/ReForm-Eval", "df1cfa7", r"reform"),
    Source("MMTrustEval", "thu-ml/MMTrustEval", "a067801", r"mmtrust|mmscore rank"),
    Source("MathVista", "lupantech/MathVista", "53d5258", r"mathvista"),
    Source("MME", "BradyFU/Awesome-Multimodal-Large-Language-Models", "dd29509", r"mme_official"),
    Source("POPE", "AoiDragon/POPE", "f3ec604", r"pope_official"),
    Source("LLaVA", "haotian-liu/LLaVA", "c121f04", r"llava_"),
)
"""Frameworks; the first whose pattern is found in the name of a recipe or command is its framework."""

_HEAD = """\
# How exact?

How far scores agree with those of the frameworks, and how much of the code the tests watch. `scripts/how_exact`
measures it for every release and writes this page; docs/how_exact.json holds the figures."""

_GOLDEN = """\
## Golden cases

A golden case is an input and what the framework's own code gave for it, at the commit below. Cases are calls of one
function of the framework, or whole result files with the numbers of its final evaluation. `scripts/goldens` runs all
of them. They were known while the rules were written: that they agree does not show that no other input differs.
`scripts/golden_cases_made FRAMEWORK CHECKOUT --seed N` makes new ones."""

_PUBLISHED = """\
## Published result files

Result files that authors of models and benchmarks published, scored by `mmscore FILE` without naming a recipe.
*Theirs* is what the authors' own program gives for the file. Numbers are equal if they are so to six decimal
places."""

_MUTATION = """\
## Mutation score

Does a test fail if the code is wrong? `scripts/mutation` changes the code in one small way, such as `<` for `<=`, an
argument left out, or `None` for a value, and runs the tests that reach the line. The operators of
[mutmut](https://github.com/boxed/mutmut) make the changes. They are drawn from all possible ones by the release's
version as the seed, over the code that parses, scores, asks servers and stores: `mmscore` parsers, metrics, scoring,
infer and llm, and `mmconvert` storage. A change is noticed if a test fails or does not end. Tests were added for
changes of this seed that survived at first, so that another seed may give a lower share."""

_LEFT_OUT = """\
Not drawn, because no test should notice them: docstrings, annotations, decorators and imports for types; type
arguments of `isinstance` and `cast`; sentences inside errors and notes, which people read; the argument `strict` of
`zip`; the name of the encoding UTF-8, which is the default on Linux. A change is run against the tests of these
folders and the golden cases that reach it, the quickest first, up to 45 seconds of tests: the slowest start servers
or load models, and could only notice more."""

_MORE = """\
## See also

- [Recipes](recipes.md): what each recipe reproduces, its bugs included
- [Intervals and tests](intervals.md): how often 95 % intervals hold the truth
- [Performance](performance.md): speed and memory beside what people use today
- [Threat model](threat-model.md) and [bad input](bad-input.md): what untrusted files can and cannot do
"""


def page(record: Record | None = None) -> str:
    """Write the page."""
    record = record or read_record()
    parts = [_HEAD, _write_summary(record), _GOLDEN, _write_frameworks(record), _write_recipes(record)]
    parts += [_PUBLISHED, _write_published(record)]
    if record.mutation:
        parts += [_MUTATION, _write_rooms(record.mutation), _LEFT_OUT, _write_open(record.mutation), _write_survivors()]
    if record.coverage:
        parts += ["## Coverage", _write_coverage(record)]
    return "\n\n".join(part for part in [*parts, _MORE] if part)


def is_recipe(name: str) -> bool:
    """Tell a recipe from a command line and from a name of a compatibility layer."""
    return name.isidentifier()


def find_source(name: str) -> Source:
    """Find the framework of a recipe or command."""
    return next(source for source in SOURCES if re.search(source.parts, name))


def _write_summary(record: Record) -> str:
    total = _add(record.golden.values())
    numbers = [pair for file in record.published for pair in file.numbers.values()]
    right = sum(is_equal(*pair) for pair in numbers)
    rows = [
        ("golden cases that give the framework's result", f"{total.agree:,} of {total.cases:,}"),
        ("whole result files that give the framework's numbers", f"{total.files_agree:,} of {total.files:,}"),
        (f"numbers of {len(record.published)} published files that are equal", f"{right} of {len(numbers)}"),
    ]
    if record.mutation:
        noticed, mutants = count_noticed(record.mutation)
        rows.append(("mutants that the tests notice", f"{noticed} of {mutants}, {noticed / mutants:.1%}"))
    if record.coverage:
        lines, branches = compute_coverage(record)
        rows.append(("lines, and branches, that the tests run", f"{lines:.1%}, {branches:.1%}"))
    about = f"Release {record.version}, {record.date}; {record.machine}."
    return f"{about}\n\n{_write_table(('what', 'figure'), rows)}"


def is_equal(theirs: float, ours: float) -> bool:
    """Tell whether two numbers are equal: what others publish may be rounded to six places."""
    return math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=5.1e-7)


def _write_frameworks(record: Record) -> str:
    found: defaultdict[Source, list[str]] = defaultdict(list)
    for name in record.golden:
        found[find_source(name)].append(name)
    rows = []
    for source in (source for source in SOURCES if source in found):
        total = _add(record.golden[name] for name in found[source])
        recipes = sum(map(is_recipe, found[source]))
        version = f"[{source.repository}](https://github.com/{source.repository}) @ {source.release}"
        rows.append((source.name, version, str(recipes), *_write_counts(total)))
    return _write_table(("framework", "code", "recipes", "cases", "agree", "files", "agree"), rows)


def _write_recipes(record: Record) -> str:
    recipes, others = [], []
    for name, golden in record.golden.items():
        (recipes if is_recipe(name) else others).append((f"`{name}`", *_write_counts(golden)))
    heads = ("cases", "agree", "files", "agree")
    return "\n\n".join(
        (
            "### By recipe",
            _write_table(("recipe", *heads), recipes),
            "### Commands and names without a recipe",
            "Prompt templates, loader emulation, and names that users of a framework import.",
            _write_table(("command or name", *heads), others),
        )
    )


def _write_counts(golden: Golden) -> tuple[str, str, str, str]:
    return (f"{golden.cases:,}", f"{golden.agree:,}", f"{golden.files:,}", f"{golden.files_agree:,}")


def _add(parts: Iterable[Golden]) -> Golden:
    columns = zip(*map(msgspec.structs.astuple, parts), strict=True)
    return Golden(*map(sum, columns))


def _write_published(record: Record) -> str:
    rows = [
        (file.what, file.tool, f"`{file.recipe}`", f"{file.rows:,}", metric, f"{theirs:.6g}", f"{ours:.6g}")
        for file in record.published
        for metric, (theirs, ours) in file.numbers.items()
    ]
    return _write_table(("file", "authors' program", "recipe", "rows", "metric", "theirs", "ours"), rows)


def _write_rooms(mutation: Mutation) -> str:
    rows = [
        (f"`{name}`", *(str(count) for count in msgspec.structs.astuple(room))) for name, room in mutation.rooms.items()
    ]
    noticed, mutants = count_noticed(mutation)
    about = (
        f"{noticed} of {mutants} mutants were noticed, {noticed / mutants:.1%} (seed {mutation.seed}, {mutation.date}, "
        f"{mutation.minutes} minutes)."
    )
    if mutants < MUTANTS:
        about += f" A release takes {MUTANTS}; these are the first of them."
    heads = ("folder", "a test fails", "a test does not end", "not noticed", "of these with a reason")
    return f"{about}\n\n{_write_table(heads, rows)}"


def _write_open(mutation: Mutation) -> str:
    if not mutation.open:
        return ""
    rows = [
        (f"`{one.file}`", _write_code(one.function), _write_code(one.before), _write_code(one.after))
        for one in mutation.open
    ]
    table = _write_table(("file", "function", "code", "mutant"), rows)
    return f"### Not noticed, without a reason\n\nA test is missing for these.\n\n{table}"


def _write_survivors() -> str:
    listed = msgspec.json.decode(SURVIVORS.read_bytes())
    if not listed:
        return ""
    rows = [
        (
            f"`{one['file']}`",
            _write_code(one["function"]),
            _write_code(one["before"]),
            _write_code(one["after"]),
            reason,
        )
        for one, reason in ((entry["change"], entry["reason"]) for entry in listed)
    ]
    table = _write_table(("file", "function", "code", "mutant", "reason"), rows)
    about = (
        "What these change is seen in time alone, on a GPU or Windows alone, or not at all from outside. "
        "`tests/mutation/survivors.json` lists them."
    )
    return f"### Not noticed, with a reason\n\n{about}\n\n{table}"


def _write_code(code: str) -> str:
    """Write code as a cell of a table: a bar would end it."""
    return f"`` {code.replace('|', chr(92) + '|')} ``" if code else "*(removed or outside of functions)*"


def compute_coverage(record: Record) -> tuple[float, float]:
    """Compute the shares of lines and branches that the suite runs."""
    if record.coverage is None:
        raise ValueError("no coverage is recorded: scripts/how_exact coverage")
    run, lines, taken, branches = map(sum, zip(*record.coverage.packages.values(), strict=True))
    return run / lines, taken / branches


def _write_coverage(record: Record) -> str:
    coverage = record.coverage
    if coverage is None:
        raise ValueError("no coverage is recorded: scripts/how_exact coverage")
    rows = [
        (f"`{name}`", f"{run:,} of {lines:,}, {run / lines:.1%}", f"{taken:,} of {branches:,}, {taken / branches:.1%}")
        for name, (run, lines, taken, branches) in coverage.packages.items()
    ]
    table = _write_table(("package", "lines", "branches"), rows)
    return f"Measured by coverage.py on {coverage.date} over {coverage.suite}.\n\n{table}"


def _write_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Badges.

_GREEN, _YELLOW, _BLUE = "#2e7d32", "#9a6700", "#0b5cad"
_LETTER = 6.6
"""Width of a letter in pixels, on average."""
_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {value}">
<title>{label}: {value}</title>
<clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{label_at}" y="14">{label}</text><text x="{value_at}" y="14">{value}</text></g>
</svg>
"""


def list_badges(record: Record | None = None) -> dict[Path, str]:
    """Draw the badges: file -> SVG."""
    record = record or read_record()
    total = _add(record.golden.values())
    agree, cases = total.agree + total.files_agree, total.cases + total.files
    badges = {
        "golden": ("golden cases", f"{agree:,} of {cases:,} agree", _GREEN if agree == cases else _YELLOW),
        "python": ("python", _find_pythons(), _BLUE),
    }
    if record.mutation:
        noticed, mutants = count_noticed(record.mutation)
        good = noticed >= 0.9 * mutants
        badges["mutation"] = ("mutants noticed", f"{noticed / mutants:.0%} of {mutants}", _GREEN if good else _YELLOW)
    if record.coverage:
        lines, _ = compute_coverage(record)
        badges["coverage"] = ("line coverage", f"{lines:.0%}", _GREEN if lines >= 0.9 else _YELLOW)
    return {BADGES / f"{name}.svg": _draw(*badge) for name, badge in badges.items()}


def _find_pythons() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", text)
    return f"{versions[0]} to {versions[-1]}"


def _draw(label: str, value: str, colour: str) -> str:
    left, right = (round(len(text) * _LETTER) + 12 for text in (label, value))
    return _BADGE.format(
        width=left + right, left=left, right=right, colour=colour, label=label, value=value, label_at=left / 2,
        value_at=left + right / 2,
    )  # fmt: skip
