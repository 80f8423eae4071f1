"""Models that are built, or trained, once a session."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def trained_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mmconvert.demo.tiny_vlm import train
    from support.questions import colour_records

    folder = tmp_path_factory.mktemp("models") / "tiny-llava"
    assert train(folder, colour_records()) == 1.0
    return folder


@pytest.fixture(scope="session")
def random_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_llava

    return save_llava(tmp_path_factory.mktemp("models") / "random-llava")


@pytest.fixture(scope="session")
def idefics3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny_models import save_idefics3

    return save_idefics3(tmp_path_factory.mktemp("models") / "random-idefics3")
