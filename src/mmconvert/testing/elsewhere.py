"""The same work in other processes, whose sets and dictionaries are in another order."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import to_arrow
from mmconvert.pipeline.prompting import build_prompt_step
from mmconvert.plugins.transform import apply_steps, load_steps
from mmconvert.testing.examples import load_example_records, load_records

HASH_SEEDS = ("0", "1", "2")
_CODE = (
    "import sys; from mmconvert.testing.elsewhere import digest; kind, seed, specs, *paths = sys.argv[1:]; "
    "sys.stdout.write(digest(kind, specs.split('|'), paths, int(seed)))"
)
SECONDS = 600


def digest(kind: str, specs: Sequence[str], paths: Sequence[str], seed: int = 0) -> str:
    """Give the SHA-256 of what plug-ins make of the example records and of a user's own.

    Args:
        kind: `prompts` or `transforms`.
        specs: What a user writes, parameters behind a colon.
        paths: Files whose records are taken beside the examples'.
        seed: The run's seed.
    """
    total = hashlib.sha256()
    for spec in specs:
        word = build_prompt_step(spec) if kind == "prompts" else None
        chain = load_steps([spec], seed) if word is None else ()
        for record in (*load_example_records(), *load_records([Path(path) for path in paths])):
            try:
                made = apply_steps(record, chain) if word is None else (word(record),)
                total.update(repr([to_arrow([one]).to_pylist() for one in made]).encode(errors="surrogatepass"))
            except RowError as error:
                total.update(f"{error.code} {error.message}".encode(errors="surrogatepass"))
    return total.hexdigest()


def collect_digests(kind: str, specs: Sequence[str], paths: Sequence[Path] = (), seed: int = 0) -> set[str]:
    """Run `digest` in processes of different hash seeds; one digest comes back where results do not hang on them.

    Raises:
        Error: A process ended with an error.
    """
    found = set()
    for hash_seed in HASH_SEEDS:
        ended = subprocess.run(
            [sys.executable, "-c", _CODE, kind, str(seed), "|".join(specs), *map(str, paths)],
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
