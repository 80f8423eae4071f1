"""What Windows has not and what it refuses, for every Python process that has this folder on its path.

It stands for a system that the tests cannot run on. Modules of this project find neither the modules, functions and
signals of POSIX nor `/proc`; the libraries do, which have ways of their own there. Files behave for all of them as
those of NTFS: a folder is not opened, a file that is open is neither removed nor replaced, a name that stands there is
not renamed over, some names are refused. What a library written in C does goes past these rules, except that the files
count which it holds open.

Sources: `os` and `signal` of the Python documentation (availability); "Naming Files, Paths, and Namespaces" and
"CreateFile" of the Windows documentation.
"""

import asyncio
import builtins
import contextlib
import errno
import fcntl
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_OURS = ("mmconvert", "mmscore")
_HIDDEN = {
    os: """
        fork forkpty register_at_fork getuid geteuid getgid getegid getgroups setuid setsid getsid getpgid getpgrp
        setpgid killpg pread preadv pwrite pwritev posix_fadvise posix_fallocate sched_getaffinity sched_setaffinity
        fchmod fchown chown lchown mkfifo mknod statvfs fstatvfs uname sysconf getloadavg nice sync fdatasync sendfile
        copy_file_range wait wait3 wait4 memfd_create getxattr setxattr listxattr
        O_DIRECT O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_PATH O_TMPFILE O_SYNC O_DSYNC
    """,
    signal: """
        SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGPIPE SIGQUIT SIGCHLD SIGCONT SIGSTOP alarm setitimer pthread_sigmask
    """,
}
_MODULES = ("fcntl", "resource", "grp", "pwd", "termios", "tty", "pty", "syslog")
_PLACES = ("/proc", "/dev/fd", "/dev/shm")
_NAME = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_IN_USE = "The process cannot access the file because it is being used by another process"

_import, _stat, _readlink, _fsync, _rename, _replace, _utime, _kill = (
    builtins.__import__, os.stat, os.readlink, os.fsync, os.rename, os.replace, os.utime, os.kill
)  # fmt: skip
_local = threading.local()


@contextlib.contextmanager
def _without_rules() -> Iterator[None]:
    before, _local.free = getattr(_local, "free", False), True
    try:
        yield
    finally:
        _local.free = before


def _is_ours(depth: int) -> bool:
    """Tell whether a module of this project calls; what the standard library does for it counts as well."""
    frame: Any = sys._getframe(depth + 1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "os",
        "pathlib",
        "genericpath",
    ):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS)


def _hide(module: ModuleType, names: str) -> None:
    kept = {name: vars(module)[name] for name in names.split() if hasattr(module, name)}
    for name in kept:
        delattr(module, name)

    def find(name: str) -> object:
        if name in kept and not _is_ours(1):
            return kept[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find


def _import_there(name: str, globals: Any = None, *more: Any, **options: Any) -> ModuleType:
    if name in _MODULES and globals and globals.get("__name__", "").startswith(_OURS):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _import(name, globals, *more, **options)


def _is_hidden(place: object) -> bool:
    return isinstance(place, (str, os.PathLike)) and os.fspath(place).startswith(_PLACES)


def _list_open_files() -> set[str]:
    places = set()
    with _without_rules():
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                places.add(_readlink(f"/proc/self/fd/{name}"))
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            places |= {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if len(line.split()) > 5}
    return places


def _refuse_use(place: Any) -> None:
    folder, name = os.path.split(os.path.abspath(os.fsdecode(place)))
    path = os.path.join(os.path.realpath(folder), name)
    if any(one == path or one.startswith(f"{path}/") for one in _list_open_files()):
        raise PermissionError(errno.EACCES, _IN_USE, path)


def _refuse_name(place: Any) -> None:
    for part in os.fsdecode(place).split("/"):
        if part not in (".", "..") and _NAME.search(part):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fsdecode(place))


def _build_error(kind: int, place: object) -> OSError:
    return OSError(kind, os.strerror(kind), place)


def _check(event: str, details: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(details[0], (str, bytes, os.PathLike)):
        place = os.fsdecode(details[0])
        if os.path.isdir(place):
            raise _build_error(errno.EACCES, place)
        if isinstance(details[2], int) and details[2] & _WRITES and not place.startswith("/dev/"):
            _refuse_name(place)
    elif event == "os.mkdir":
        _refuse_name(details[0])
    elif event == "os.remove":
        _refuse_use(details[0])
    elif event == "os.symlink":
        raise _build_error(errno.EPERM, details[1])


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if getattr(_local, "free", False):
        return
    if event in ("open", "os.listdir", "os.scandir") and _is_hidden(details[0]) and _is_ours(1):
        raise _build_error(errno.ENOENT, details[0])
    with _without_rules():
        _check(event, details)


def _stat_there(place: Any, *more: Any, **options: Any) -> os.stat_result:
    if _is_hidden(place) and _is_ours(1):
        raise _build_error(errno.ENOENT, place)
    return _stat(place, *more, **options)


def _readlink_there(place: Any, *more: Any, **options: Any) -> str:
    if _is_hidden(place) and _is_ours(1):
        raise _build_error(errno.ENOENT, place)
    return _readlink(place, *more, **options)


def _sync_there(file: Any) -> None:
    handle = file if isinstance(file, int) else file.fileno()
    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise _build_error(errno.EBADF, None)
    _fsync(handle)


def _rename_there(source: Any, target: Any, **options: Any) -> None:
    _refuse_name(target)
    _refuse_use(source)
    if os.path.lexists(target):
        raise _build_error(errno.EEXIST, target)
    _rename(source, target, **options)


def _replace_there(source: Any, target: Any, **options: Any) -> None:
    _refuse_name(target)
    _refuse_use(source)
    if os.path.lexists(target):
        _refuse_use(target)
        if os.path.isdir(target):
            raise _build_error(errno.EACCES, target)
    _replace(source, target, **options)


def _touch_there(place: Any, *more: Any, **options: Any) -> None:
    if isinstance(place, int):
        raise TypeError("utime: path should be string, bytes or os.PathLike, not int")
    _utime(place, *more, **options)


def _signal_there(pid: int, number: int) -> None:
    if number == 0 and _is_ours(1):
        raise AssertionError("os.kill(pid, 0) sends Ctrl-C to the console on Windows")
    _kill(pid, number)


def _refuse_handler(*_: object) -> None:
    raise NotImplementedError


def _apply() -> None:
    for module, names in _HIDDEN.items():
        _hide(module, names)
    signal.CTRL_C_EVENT = 0
    builtins.__import__ = _import_there
    # The standard library itself, where it would take another way there.
    shutil._use_fd_functions = False
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile
    asyncio.SelectorEventLoop.add_signal_handler = _refuse_handler
    os.supports_dir_fd, os.supports_fd = set(), {os.stat, os.truncate, os.listdir}
    os.stat, os.readlink, os.fsync, os.utime, os.kill = (
        _stat_there, _readlink_there, _sync_there, _touch_there, _signal_there
    )  # fmt: skip
    os.rename, os.replace = _rename_there, _replace_there
    sys.addaudithook(_watch)


_apply()
