"""A server command of tests: `python served.py --port N` answers in capitals and has children of several kinds."""

import argparse
import os
import subprocess
import sys
import time

from chat_server import ChatServer, Said, _Handler, _Server, said

_SLEEP = "import time; time.sleep(600)"
_STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
_ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {_SLEEP!r}], start_new_session=True)"


def _answer(request: dict) -> Said:
    content = request["messages"][-1]["content"]
    return said((content if isinstance(content, str) else content[-1]["text"]).upper())


def _serve(given: argparse.Namespace) -> None:
    code = _STUBBORN if given.stubborn else _SLEEP
    for program in () if given.alone else (code, _ORPHAN):
        subprocess.Popen([sys.executable, "-S", "-c", program])
    time.sleep(given.wait)
    state = ChatServer(f"http://127.0.0.1:{given.port}/v1")

    def say(request: dict) -> Said:
        if given.requests is not None and len(state.asked) > given.requests:
            sys.stdout.write("out of memory\n")
            sys.stdout.flush()
            os._exit(9)
        time.sleep(given.slow)
        return _answer(request)

    attributes = {"server_state": state, "say": staticmethod(say), "models": [given.model]}
    sys.stdout.write(f"serving {given.model}\n")
    sys.stdout.flush()
    _Server(("127.0.0.1", given.port), type("Handler", (_Handler,), attributes)).serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="loopback")
    parser.add_argument("--wait", type=float, default=0.0)
    parser.add_argument("--requests", type=int)
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--fail")
    given = parser.parse_args()
    if given.fail:
        sys.stderr.write(f"loading\n{given.fail}\n")
        sys.exit(7)
    _serve(given)


if __name__ == "__main__":
    main()
