"""The same work in other processes, whose sets and dictionaries are in another order."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import Record, to_arrow
from mmconvert.pipeline.prompting import build_prompt_step
from mmconvert.plugins.transform import apply_steps, load_steps
from mmconvert.testing.examples import load_example_records, load_records

HASH_SEEDS = ("0", "1", "2")
_CODE = """
import json, sys
from mmconvert.testing.elsewhere import digest
plugins, paths, seed = json.load(sys.stdin)
sys.stdout.write(digest(plugins, paths, seed))
"""
SECONDS = 600


def digest(plugins: Iterable[tuple[str, str]], paths: Sequence[str | Path] = (), seed: int = 0) -> str:
    """Give the SHA-256 of what plug-ins make of the example records and of a user's own.

    Args:
        plugins: For each its kind, `prompts` or `transforms`, and what a user writes, parameters behind a colon.
        paths: Files whose records are taken beside the examples'.
        seed: The run's seed.
    """
    total = hashlib.sha256()
    samples = [*load_example_records(), *load_records([Path(path) for path in paths])]
    for kind, spec in plugins:
        word = build_prompt_step(spec) if kind == "prompts" else None
        chain = load_steps([spec], seed) if word is None else ()
        made: list[Record] = []
        for record in samples:
            try:
                made += apply_steps(record, chain) if word is None else (word(record),)
            except RowError as error:
                total.update(f"{record.id} {error.code} {error.message}".encode(errors="surrogatepass"))
        total.update(_spell(made).encode(errors="surrogatepass"))
    return total.hexdigest()


def _spell(made: Sequence[Record]) -> str:
    """Spell records as they are stored, all at once; where one cannot be stored, each by itself."""
    try:
        return repr(to_arrow(made).to_pylist())
    except RowError as error:
        return f"{error.code} {error.message}" if len(made) == 1 else "".join(_spell([one]) for one in made)


def collect_digests(
    plugins: Iterable[tuple[str, str]],
    paths: Sequence[Path] = (),
    seed: int = 0,
    hash_seeds: Iterable[str] = HASH_SEEDS,
) -> set[str]:
    """Run `digest` in a process for each hash seed; one digest comes back where results do not hang on them.

    Raises:
        Error: A process ended with an error.
    """
    job = json.dumps([[*plugins], [str(path) for path in paths], seed])
    found = set()
    for hash_seed in hash_seeds:
        ended = subprocess.run(
            [sys.executable, "-c", _CODE],
            input=job,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if ended.returncode:
            last = ended.stderr.strip().rpartition("\n")[2]
            raise Error(f"in a process of its own the plug-in ends with {last}")
        found.add(ended.stdout)
    return found
