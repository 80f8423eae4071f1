"""Models that are built, or trained, once a session."""

import os
from pathlib import Path

import pytest
from filelock import FileLock


@pytest.fixture(scope="session")
def trained_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mmconvert.testing.demo.tiny_vlm import train
    from support.questions import colour_records

    # Trained by the worker that wants it first, for all of them.
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "tiny-llava"
    with FileLock(shared / "tiny-llava.lock"):
        if not folder.exists():
            assert train(shared / "tiny-llava.new", colour_records()) == 1.0
            (shared / "tiny-llava.new").rename(folder)
    return folder


@pytest.fixture(scope="session")
def random_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_llava

    return save_llava(tmp_path_factory.mktemp("models") / "random-llava")


@pytest.fixture(scope="session")
def idefics3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_idefics3

    return save_idefics3(tmp_path_factory.mktemp("models") / "random-idefics3")


@pytest.fixture(scope="session")
def blip2_opt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_blip2

    return save_blip2(tmp_path_factory.mktemp("models") / "random-blip2-opt", encoder=False)


@pytest.fixture(scope="session")
def blip2_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_blip2

    return save_blip2(tmp_path_factory.mktemp("models") / "random-blip2-t5", encoder=True)


@pytest.fixture(scope="session")
def qwen2_5_vl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torchvision", reason="Qwen's processor needs torchvision, which has no build for this torch")
    from support.tiny_models import save_qwen2_5_vl

    return save_qwen2_5_vl(tmp_path_factory.mktemp("models") / "random-qwen2-5-vl")
