"""Opening backends: plug-ins of the project and of the user, and options that nobody honours."""

import subprocess
import sys
import textwrap

import pytest

from mmconvert.core.errors import UsageError
from mmscore.infer.backend import Generation, ModelOptions, identify_file, refuse
from mmscore.infer.open import open_backend

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"do_sample": True, "temperature": 0.0}, "--temperature 0"),
        ({"top_p": 0.9}, "--top-p has a meaning only when sampling"),
        ({"top_k": 5, "temperature": 0.0}, "--top-k has a meaning only when sampling"),
        ({"seed": 1}, "--seed has a meaning only when sampling"),
        ({"num_beams": 4, "temperature": 0.7}, "--num-beams searches"),
        ({"stop": ("x", "")}, "--stop: an empty text"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Generation(**options)


@pytest.mark.parametrize(
    ("options", "sampling"), [({}, False), ({"temperature": 0.0}, False), ({"temperature": 0.1}, True)]
)
def test_a_temperature_above_zero_draws(options, sampling):
    assert Generation(**options).sampling is sampling


def test_options_a_backend_lacks_are_named_together():
    with pytest.raises(UsageError, match=r"backend 'x' has no --dtype, --stop\."):
        refuse("x", {"--dtype": "float16", "--attn": None, "--stop": ("a",), "--do-sample": False})


def test_an_unknown_backend_suggests_the_nearest():
    with pytest.raises(UsageError, match=r"unknown backend 'ecko'\. Did you mean echo"):
        open_backend("ecko", ModelOptions("m"))


def test_a_file_of_the_user_s_is_a_backend_and_is_known_by_its_content(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        textwrap.dedent(
            """
            from mmscore.llm.response_cache import Answer

            class Blind:
                name = identity = "blind"
                batch_size = 8

                def __init__(self, options):
                    self.word = options.model

                def answer(self, records):
                    return [Answer(self.word) for _ in records]
            """
        )
    )
    backend = open_backend(f"{file}@Blind", ModelOptions("B"))
    assert backend.answer([None, None])[1].text == "B"
    before = identify_file(f"{file}@Blind")
    file.write_text(file.read_text() + "\n")
    assert identify_file(f"{file}@Blind") != before
    assert identify_file("echo") == "echo"


def test_a_file_in_a_folder_with_an_at_is_known_by_its_content(tmp_path):
    file = tmp_path / "a@b" / "mine.py"
    file.parent.mkdir()
    file.write_text("def f(records): ...\n")
    before = identify_file(f"{file}@f")
    file.write_text("def f(records): return 1\n")
    assert identify_file(f"{file}@f") != before


def test_a_file_s_object_that_is_no_backend_is_told_what_it_lacks(tmp_path):
    (tmp_path / "mine.py").write_text("class Half:\n    name = 'half'\n\n    def __init__(self, options): ...\n")
    with pytest.raises(UsageError, match="has no identity, batch_size, answer"):
        open_backend(f"{tmp_path / 'mine.py'}@Half", ModelOptions("B"))


@pytest.mark.parametrize("package", ["torch", pytest.param("transformers", marks=pytest.mark.release)])
def test_without_the_optional_packages_the_message_says_what_to_install(package):
    code = f"""
        import sys
        sys.modules[{package!r}] = None
        from mmscore.infer.backend import ModelOptions
        from mmscore.infer.open import open_backend
        open_backend("transformers", ModelOptions("m"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert f'needs the package {package}. Install it: pip install "mmconvert[infer]"' in done.stderr.splitlines()[-1]


def test_the_echo_needs_no_torch():
    code = """
        import sys
        from mmscore.infer.backend import ModelOptions
        from mmscore.infer.open import open_backend
        open_backend("echo", ModelOptions("answer"))
        sys.exit(bool({"torch", "transformers"} & set(sys.modules)))
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)]).returncode == 0
