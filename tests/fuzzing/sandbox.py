"""A process of its own in which inputs are tried: limits on memory and time, and a watch on what is touched.

usage: python -m fuzzing.sandbox < job.json      one JSON line for each input on standard output

The job names the seeds and which inputs to make of them; the same job gives the same inputs. Or it names
files to try as they are, or one input to make small and keep.
"""

import ast
import contextlib
import faulthandler
import json
import os
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from fuzzing.minimise import keep
from fuzzing.mutators import mutated
from fuzzing.oracle import Case, outcome, signature
from mmconvert.storage import beneath

SECONDS = 20
ADDRESS_SPACE = 3 << 30
RESIDENT_KB = 1 << 20
"""Peak of resident memory: 1 GiB."""

_EXECUTES = ("pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn")
_CODE = ("exec", "compile")
_WRITES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "socket.gethostbyname")
_PASSES, _WALKED = getattr(os, "O_PATH", 0), getattr(os, "O_NOFOLLOW", 0)
"""Flags of the folders and of the file that `mmconvert.storage.beneath` opens; the whole path is looked at before."""
_OF_MACHINE = ("/proc/sys/kernel/random/boot_id", f"/proc/{os.getpid()}/stat")
"""What `mmconvert.storage.leases` reads to say which process writes an output."""


class Watch:
    """An audit hook that notes what no input may cause; Python has no way to take a hook off again."""

    def __init__(self, scratch: Path, target: str) -> None:
        self._scratch = os.path.realpath(scratch)
        libraries = {sys.prefix, sys.base_prefix, *(p for p in sys.path if p)}
        self._readable = tuple(os.path.realpath(p) + os.sep for p in [*libraries, "/usr/share/zoneinfo"]) + _OF_MACHINE
        # A plug-in of the user's is digested for the manifest.
        self._readable += tuple(os.path.realpath(file) for file in [target.rpartition("@")[0]] if file)
        self._armed = False
        self._folders: dict[str, str] = {}
        self.breaches: list[str] = []
        # The hook is told no more than the last name of a file that is opened below a folder's handle.
        self._walk, beneath._walk = beneath._walk, self._walk_watched
        sys.addaudithook(self._event)

    def _walk_watched(self, place: str) -> int:
        handle = self._walk(place)
        opened = os.readlink(f"/proc/self/fd/{handle}")
        if self._armed and not self._may_open(opened, os.O_RDONLY):
            self._breach("open", (opened,))
        return handle

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        self.breaches.clear()
        self._folders.clear()
        self._armed = True
        try:
            yield
        finally:
            self._armed = False

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._armed:
            return
        if event.startswith(_EXECUTES) or event in _NETWORK:
            self._breach(event, arguments)
        elif event in _CODE:
            if not _importing() and not _is_parse(event, arguments):
                self._breach(event, arguments)
        elif event in _WRITES:
            paths = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
            if not all(self._inside(path) for path in paths):
                self._breach(event, arguments)
            if event in ("os.rename", "os.symlink"):
                self._folders.clear()  # a name may lead elsewhere from now on
        elif event == "open" and not self._may_open(arguments[0], arguments[2]):
            self._breach(event, arguments)

    def _may_open(self, path: Any, flags: int) -> bool:
        if isinstance(path, int) or self._inside(path):
            return True
        reading = not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if reading and (flags & _PASSES or (flags & _WALKED and not os.path.isabs(path))):
            return True
        return reading and (self._resolve(os.fsdecode(path)).startswith(self._readable) or _importing())

    def _inside(self, path: Any) -> bool:
        if isinstance(path, int):
            return True
        real = self._resolve(os.fsdecode(path))
        return real == self._scratch or real.startswith(self._scratch + os.sep)

    def _resolve(self, path: str) -> str:
        """Follow links, those of a folder once."""
        head, tail = os.path.split(path)
        if tail in ("", os.curdir, os.pardir) or not os.path.isabs(path) or os.path.islink(path):
            return os.path.realpath(path)
        if head not in self._folders:
            self._folders[head] = os.path.realpath(head)
        return os.path.join(self._folders[head], tail)

    def _breach(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.breaches.append(f"{event} {str(arguments)[:200]}")
        raise PermissionError(f"no input may cause {event} {str(arguments)[:200]}")


def _is_parse(event: str, arguments: tuple[Any, ...]) -> bool:
    """Tell `ast.parse`, by which literals are read: it makes a tree, and to run anything takes another `compile`."""
    return event == "compile" and arguments[1] == "<unknown>" and sys._getframe(2).f_code is ast.parse.__code__


def _importing() -> bool:
    """Tell whether a module is being imported, which runs code of ours and none of the input."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
            return True
    return False


def tried(case: Case, watch: Watch) -> dict[str, Any]:
    """Try one input: its outcome, or the fault it shows; the most memory that this process has held, in kB."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    started = time.monotonic()
    try:
        with watch.armed():
            result: dict[str, Any] = {"outcome": outcome(case)}
    except Exception as error:
        result = {"fault": signature(error), "detail": f"{type(error).__name__}: {error}"[:500]}
    finally:
        faulthandler.cancel_dump_traceback_later()
    if watch.breaches:
        result = {"fault": f"breach: {watch.breaches[0][:60]}", "detail": watch.breaches[0]}
    result["seconds"] = time.monotonic() - started
    peak = result["peak"] = _peak_resident()
    if peak > RESIDENT_KB and "fault" not in result:
        result = {"fault": "memory", "detail": f"{peak:,} kB were resident", "peak": peak}
    return result


def _peak_resident() -> int:
    """Give the most memory this program has held, in kB; what its parent held before does not count."""
    # ru_maxrss would: it survives the exec that began this program.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def made(job: dict[str, Any], index: int, folder: Path) -> Case:
    """Make the input of a number: a damaged copy of a seed, with the seed's images beside it."""
    rng = Random(f"{job['seed']}:{job['target']}:{index}")
    seeds = job["seeds"]
    seed = rng.choice(seeds)
    path, root = Path(seed["path"]), Path(seed["root"])
    copy = folder / "input"
    if root.is_dir():
        shutil.copytree(root, copy)
        mutant = copy / path.relative_to(root)
    else:
        copy.mkdir()
        mutant = copy / path.name
        shutil.copyfile(path, mutant)
    files = [mutant] if mutant.is_file() else sorted(p for p in mutant.rglob("*") if p.is_file())
    if rng.random() < 0.05:
        files = sorted(p for p in copy.rglob("*") if p.is_file())
    victim = rng.choice(files)
    others = [Path(s["path"]).read_bytes() for s in seeds if Path(s["path"]).suffix == victim.suffix]
    victim.write_bytes(mutated(victim.read_bytes(), victim.suffix.lower(), rng, others))
    roots = Path(seed["image_root"]) if seed["image_root"] else None
    if roots is not None:
        shutil.copytree(roots, folder / "pictures", symlinks=True)
        roots = folder / "pictures"
    return _case(job, mutant, roots, folder, rng.random() < 0.25)


def _case(job: dict[str, Any], path: Path, roots: Path | None, folder: Path, decode: bool) -> Case:
    scratch = folder / "work"
    scratch.mkdir()
    return Case(path, "" if job["target"] == "pictures" else job["target"], roots, scratch, decode)


def fresh(case: Case) -> Case:
    """Empty a case's folder of outputs, so that it can be tried once more."""
    shutil.rmtree(case.scratch, ignore_errors=True)
    case.scratch.mkdir()
    return case


def unchanged(job: dict[str, Any], name: str, folder: Path) -> Case:
    """Take a stored input as it is."""
    shutil.copytree(Path(name).parent, folder / "input", symlinks=True)
    return _case(job, folder / "input" / Path(name).name, None, folder, True)


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    job = json.load(sys.stdin)
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    warnings.simplefilter("ignore")
    scratch = Path(job["scratch"])
    # Names that are relative to an open folder (shutil.rmtree) count as inside.
    os.chdir(scratch)
    watch = Watch(scratch, job["target"])
    if "keep" in job:
        case = made(job, job["index"], scratch / "kept")
        kind = keep(case, lambda case: tried(fresh(case), watch).get("fault"), Path(job["keep"]))
        _say({"kept": kind})
        return
    inputs = job.get("files") or range(job["start"], job["start"] + job["count"])
    for number, which in enumerate(inputs):
        folder = scratch / f"case-{os.getpid()}-{number}"
        folder.mkdir(parents=True)
        _say({"begins": which})
        case = unchanged(job, which, folder) if job.get("files") else made(job, which, folder)
        _say({"ends": which, **tried(case, watch)})
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
