"""What EvalScope's document on custom multimodal data begins with: folders, images, questions, a service."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import ChatServer, Said, chat_server, said
from support.questions import COLOURS, make_image

IMAGES = ("dog.jpg", "AMNH.jpg", "tesla.jpg", "tokyo.jpg", "running.jpg")
ANSWERS = ("Dog", "Museum", "Tokyo", "Tesla", "Running")
QUESTIONS = (
    "What animal is this?",
    "What building is this?",
    "Which city's skyline is this?",
    "What is the brand of this car?",
    "What is the person in the image doing?",
)


def make_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The document's folders, with small images in the places of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-secret")
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    for place in ("custom_eval/multimodal/images", "LMUData/images/custom_mcq"):
        Path(place).mkdir(parents=True)
        for number, name in enumerate(IMAGES):
            Path(place, name).write_bytes(make_image(COLOURS[number % 4], (24 + number, 16)))
    for kind in ("vqa", "mcq"):
        Path("custom_eval/multimodal", kind).mkdir()
    return tmp_path


def asked_text(request: dict[str, Any]) -> str:
    """The text of a request's last message."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


@contextlib.contextmanager
def start_services() -> Iterator[Callable[[Callable[[str], str]], ChatServer]]:
    """Start a service that says what a function of the question says."""
    with contextlib.ExitStack() as stack:

        def start(reply: Callable[[str], str]) -> ChatServer:
            def say(request: dict[str, Any]) -> Said:
                return said(reply(asked_text(request)))

            return stack.enter_context(chat_server(say))

        yield start


def run_command(*arguments: str, module: str = "mmscore.compat.evalscope") -> str:
    """Run a command in a process of its own; gives what it prints."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
