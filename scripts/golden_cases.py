#!/usr/bin/env python
"""Copy golden cases from ../shared into tests/goldens/cases, but those that hold longer prose of a source.

usage: scripts/golden_cases.py --mmtrusteval FOLDER [--shared ../shared] [--output tests/goldens/cases]

The rules below decide by what a case holds, never by its name. What stays outside is counted in index.json, by family
and by rule. Cases made anew with texts of ours are written by scripts/golden_cases_made and stay as they are.
"""

import argparse
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "goldens" / "cases"
SUFFIX = ".jsonl.xz"
FOLDERS = {"golden": "", "golden_files": "files_"}
"""Folder below ../shared -> what the names of its families begin with here."""

WORD = re.compile(r"[a-z_']+|[一-鿿]")
"""Numbers do not count: the n-th question of a case would differ from every other."""
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n|\\n|\"|(?<=[。！？])")
POOL_WORDS, REPOSITORY_WORDS, REAL_WORDS, PROMPT_WORDS = 4, 5, 10, 4
"""How many words a text must have to be prose of its source rather than words that anybody writes."""
PROMPT_SENTENCES = 3
REASONS = {
    "pool": "holds a sentence of ReForm-Eval's instruction pools or one-shot rounds",
    "prompt": "holds more than three sentences of a framework's prompt",
    "mmtrusteval": "holds a sentence that stands in MMTrustEval's repository",
    "real": "holds a sentence of ten words or more of a file in ../shared/real, which the product itself does not hold",
}
FAMILIES = {"mmtrusteval": "mmte_"}
"""Rule -> what the names of the families begin with that it concerns; the others concern all."""
BINARY = {".jpg", ".jpeg", ".png", ".gif", ".mp4", ".parquet", ".xlsx"}


def iterate_strings(value: object) -> Iterator[str]:
    """Give every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iterate_strings(part)


def split_sentences(text: str) -> list[str]:
    """Split a text at ends of sentences and lines."""
    return [part.strip() for part in SENTENCE_END.split(text) if part.strip()]


def normalize(text: str) -> str:
    """Keep the words of a text, in lower case, one space before and after each."""
    return f" {' '.join(find_words(text))} "


def find_words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def count_words(text: str) -> int:
    """Count the words of a text; letters of options are none."""
    return sum(len(word) > 1 for word in find_words(text))


def build_pool_rule(file: Path) -> Callable[[dict], bool]:
    """Find sentences of ReForm-Eval's pools; `{}` in them stands for words of the sample.

    A question that the product asks as the framework does, and NOTICE names, is none of them.
    """
    strings = {text for text in iterate_strings(json.loads(file.read_text("utf-8"))) if not is_code(text)}
    parts = {part for text in strings for piece in text.split("{}") for part in split_sentences(piece)}
    product = read_product()
    sentences = {normalize(part) for part in parts if count_words(part) >= POOL_WORDS}
    sentences = {sentence for sentence in sentences if sentence not in product}
    pattern = re.compile("|".join(map(re.escape, sorted(sentences))))
    return lambda case: any(pattern.search(normalize(text)) for text in iterate_strings(case))


def is_code(text: str) -> bool:
    """Tell conditions and places of classes from texts that a model reads."""
    return text.startswith(("build/", "args.", "self.", "data["))


def build_repository_rule(folder: Path) -> Callable[[dict], bool]:
    """Find sentences that stand in a repository's files."""
    repository = "".join(normalize(text) for text in iterate_files(folder))
    return lambda case: any(sentence in repository for sentence in list_prose(case, REPOSITORY_WORDS))


def build_real_rule(folder: Path) -> Callable[[dict], bool]:
    """Find sentences that stand in files from the field, and not in the product as a framework's instruction line."""
    field = "".join(normalize(text) for text in iterate_files(folder))
    product = read_product()
    return lambda case: any(one in field and one not in product for one in list_prose(case, REAL_WORDS))


def read_product() -> str:
    """Read the words of the product: its code, the facts of frameworks among them, and its own instructions."""
    files = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*_pools.json")])
    return "".join(normalize(file.read_text("utf-8")) for file in files)


def list_prose(case: dict, words: int) -> set[str]:
    """List the sentences of a case that have so many words or more."""
    parts = {part for text in iterate_strings(case) for part in split_sentences(text)}
    return {normalize(part) for part in parts if count_words(part) >= words}


def iterate_files(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix.lower() not in BINARY:
            yield file.read_text("utf-8", errors="ignore")


def holds_long_prompt(case: dict) -> bool:
    """Tell whether a text that the framework made holds more than three sentences that it was not given.

    Questions and responses were written for the cases. In result files they stand beside the framework's prompt; there
    the question, which ends with a question mark, is the case's own.
    """
    given = normalize("\n".join(iterate_strings(case["input"])))
    made = [(text, given) for text in iterate_strings(case["expected"])]
    made += [(text, "") for text in iterate_turns(case["input"])]
    return any(count_own_sentences(text, known) > PROMPT_SENTENCES for text, known in made)


def count_own_sentences(text: str, known: str) -> int:
    parts = [part for part in split_sentences(text) if part[-1] in ".!。！" and len(find_words(part)) >= PROMPT_WORDS]
    return sum(normalize(part) not in known for part in parts)


def iterate_turns(given: object) -> Iterator[str]:
    """Give the texts of user and system turns in a case's result files."""
    files = given.get("files", {}) if isinstance(given, dict) else {}
    for text in (text for text in files.values() if isinstance(text, str)):
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            turns = record.get("messages", []) if isinstance(record, dict) else []
            yield from (text for turn in turns if turn.get("role") != "assistant" for text in iterate_strings(turn))


def build_rules(shared: Path, mmtrusteval: Path) -> dict[str, Callable[[dict], bool]]:
    """Build the rules in the order in which they are asked; the first that holds is counted."""
    return {
        "pool": build_pool_rule(shared / "data" / "reform_eval_pools.json"),
        "mmtrusteval": build_repository_rule(mmtrusteval),
        "prompt": holds_long_prompt,
        "real": build_real_rule(shared / "real"),
    }


def find_reason(family: str, case: dict, rules: dict[str, Callable[[dict], bool]]) -> str | None:
    concerned = {reason: holds for reason, holds in rules.items() if family.startswith(FAMILIES.get(reason, ""))}
    return next((reason for reason, holds in concerned.items() if holds(case)), None)


def write_family(file: Path, lines: list[str]) -> None:
    """Write lines compressed; the same lines give the same bytes."""
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    file.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def main() -> int:
    parser = argparse.ArgumentParser(description="Copy golden cases into tests/goldens/cases.")
    parser.add_argument("--mmtrusteval", required=True, type=Path, metavar="FOLDER", help="checkout of MMTrustEval")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="../shared by default")
    parser.add_argument("--output", type=Path, default=CASES, help="tests/goldens/cases by default")
    options = parser.parse_args()
    rules = build_rules(options.shared, options.mmtrusteval)
    options.output.mkdir(parents=True, exist_ok=True)
    families = {}
    for folder, prefix in FOLDERS.items():
        for file in sorted((options.shared / folder).glob("*.visible.jsonl")):
            family = f"{prefix}{file.name.partition('.')[0]}"
            lines = [line for line in file.read_text("utf-8").split("\n") if line.strip()]
            reasons = [find_reason(family, json.loads(line), rules) for line in lines]
            kept = [line for line, reason in zip(lines, reasons, strict=True) if reason is None]
            outside = Counter(reason for reason in reasons if reason)
            families[family] = {"moved": len(kept), "outside": dict(sorted(outside.items()))}
            write_family(options.output / f"{family}{SUFFIX}", kept)
            print(f"{family}: {len(kept)} moved, {sum(outside.values())} outside {dict(outside) or ''}")
    index = {"reasons": REASONS, "families": families}
    (options.output / "index.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
