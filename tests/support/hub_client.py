"""A process that pushes and loads, for tests: one JSON request a line in, one JSON answer a line out.

A process of its own because the Hub's client reads HF_ENDPOINT when it is imported; one for many
requests because that import takes longer than a push.
"""

import contextlib
import dataclasses
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec


def push(folder: str, repo: str, **options: Any) -> dict[str, Any]:
    from mmconvert.dataset import hub_upload
    from mmconvert.storage import hub_errors

    waits: list[float] = []
    hub_errors.RETRIES = msgspec.structs.replace(hub_errors.RETRIES, tries=3, first_wait=0.01)
    hub_errors.time = SimpleNamespace(sleep=waits.append, time=time.time)
    try:
        return {**msgspec.structs.asdict(hub_upload.push(folder, repo, **options)), "waits": waits}
    except hub_upload.Error as error:
        return {"error": str(error), "kind": type(error).__name__}


def load(*name: str, revision: str | None = None) -> dict[str, list[Any]]:
    """Give id, digest of the first image, and messages of every row by split."""
    import datasets

    rows = {}
    for split, table in datasets.load_dataset(*name, revision=revision).items():
        raw = table.cast_column("images", datasets.List(datasets.Image(decode=False)))
        rows[split] = [[r["id"], hashlib.sha256(r["images"][0]["bytes"]).hexdigest(), r["messages"]] for r in raw]
    return rows


def command(program: str, *arguments: str) -> list[Any]:
    """Run `mmconvert` or `mmscore`, which wait for no Hub; give exit code, standard output and standard error."""
    from mmconvert.storage import hub_errors
    from support.terminal import shown

    hub_errors.time = SimpleNamespace(sleep=lambda _: None, time=time.time)
    return [*dataclasses.astuple(shown(program, *arguments))]


def publish(file: str, repo: str, **options: Any) -> dict[str, Any]:
    """Score and publish predictions from Python."""
    import mmscore

    return mmscore.push(file, repo, **options)


def rows(*name: str, revision: str | None = None) -> dict[str, list[Any]]:
    """Give every row by split, as `load_dataset` gives it."""
    import datasets

    return {split: table.to_list() for split, table in datasets.load_dataset(*name, revision=revision).items()}


def fetch(repo: str) -> str:
    """Fetch a whole dataset into the client's cache, as `hf download` does."""
    from huggingface_hub import snapshot_download

    return snapshot_download(repo, repo_type="dataset")


@contextlib.contextmanager
def hub_client(environment: dict[str, str], cwd: Path | None = None) -> Iterator[Callable[..., Any]]:
    """Start the process; call with the name of a function above, its arguments and options."""
    start = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(
        start,
        env=environment,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:

        def call(name: str, *arguments: Any, **options: Any) -> Any:
            process.stdin.write(json.dumps([name, [str(a) for a in arguments], options]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(process.stderr.read())
            return json.loads(line)

        try:
            yield call
        finally:
            process.stdin.close()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    answers = sys.stdout
    sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: SIM115 - only answers may stand in the pipe
    for request in sys.stdin:
        name, arguments, options = json.loads(request)
        try:
            answer = {"push": push, "load": load, "command": command, "fetch": fetch, "rows": rows, "publish": publish}[
                name
            ](*arguments, **options)
        except Exception:
            import traceback

            sys.stderr = sys.__stderr__
            traceback.print_exc()
            sys.exit(1)
        print(json.dumps(answer), file=answers, flush=True)
