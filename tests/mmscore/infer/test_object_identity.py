"""Objects of the user's are told apart by what they are made of, and by nothing else."""

import contextlib
import functools
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from mmscore.infer.backend import identify_file
from mmscore.infer.object_identity import identify_code, identify_object, keep_identity


def typed(source: str, name: str = "answer", **around: object) -> object:
    """Run what is typed at a prompt, which no file stands behind."""
    namespace = {"__name__": "prompt", **around}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace[name]


def made(held: object, default: object = None):
    def answer(records, shape=default):
        return [held for _ in records]

    return answer


V1 = "def answer(records):\n    return ['A' for _ in records]\n"


@pytest.mark.parametrize(
    "other",
    [
        V1.replace("'A'", "'B'"),
        V1.replace("_ in records", "_ in records if True or _"),
        V1.replace("records)", "records, n=1)", 1),
        "def answer(records):\n    return [(lambda: 'A')() for _ in records]\n",
    ],
)
def test_a_function_that_was_corrected_at_a_prompt_is_another_one(other):
    assert identify_object(typed(V1)) == identify_object(typed("\n\n" + V1)) != identify_object(typed(other))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def helper():\n    return 'A'\n", "def helper():\n    return 'B'\n"),
        ("helper = lambda: TEXT\nTEXT = 'A'\n", "helper = lambda: TEXT\nTEXT = 'B'\n"),
        ("class helper:\n    def word(self): return 'A'\n", "class helper:\n    def word(self): return 'B'\n"),
        (
            "class Base:\n    word = 'A'\nclass helper(Base): ''\n",
            "class Base:\n    word = 'B'\nclass helper(Base): ''\n",
        ),
        (
            "class helper:\n    @property\n    def word(self): return 'A'\n",
            "class helper:\n    @property\n    def word(self): return 'B'\n",
        ),
        (
            "class helper:\n    @staticmethod\n    def word(): return helper('A')\n",
            "class helper:\n    @staticmethod\n    def word(): return helper('B')\n",
        ),
    ],
)
def test_code_and_constants_around_a_function_at_a_prompt_count(first, second):
    answer = "def answer(records):\n    return [[helper() for _ in range(2)] for _ in records]\n"
    assert identify_object(typed(first + answer)) == identify_object(typed(first + answer))
    assert identify_object(typed(first + answer)) != identify_object(typed(second + answer))


def test_objects_around_a_function_at_a_prompt_have_their_name_in_the_models():
    answer = "def answer(records):\n    seen.extend(records)\n    return model(records)\n"
    first, second = (typed(answer, model=object(), seen=seen) for seen in ([], [1]))
    assert identify_object(first) == identify_object(second)


@pytest.mark.parametrize(
    ("held", "same", "other"),
    [
        ("A", "A", "B"),
        (1, 1, 1.0),
        (b"1", b"1", "1"),
        (None, None, False),
        ((1, ("a",)), (1, ("a",)), (1, ("b",))),
        ([1, [2]], [1, [2]], [1, 2]),
        ({"a": {1, 2}}, {"a": {2, 1}}, {"a": {2, 3}}),
        ({"a": 1}, {"a": 1}, {"b": 1}),
        (functools.partial(made, 1), functools.partial(made, 1), functools.partial(made, 2)),
        (made("A"), made("A"), made("B")),
        (len, len, max),
        ([1].append, [1].append, [2].append),
        (Path, Path, hashlib),
    ],
)
def test_what_a_function_of_a_file_holds_counts_by_value(held, same, other):
    for kept in (made, functools.partial(made, "A")):
        assert identify_object(kept(held)) == identify_object(kept(same)) != identify_object(kept(other))


def test_what_does_not_say_what_it_holds_is_itself_alone():
    class Loaded:
        def words(self, records):
            return ["A" for _ in records]

    first, second = Loaded(), Loaded()
    assert identify_object(made(first)) == identify_object(made(first)) != identify_object(made(second))
    assert identify_object(first.words) == identify_object(first.words) != identify_object(second.words)
    # What takes no reference cannot be met again for sure.
    assert identify_object(made(kept := iter(()))) != identify_object(made(kept))


def test_what_a_function_changes_while_it_answers_makes_it_no_other_one():
    counts = {"asked": 0, "temperature": 0.2}

    class Model:
        def words(self, records):
            counts["asked"] += len(records)

    for given in (made(counts), Model().words):
        counts["asked"], counts["temperature"] = 0, 0.2
        first = identify_object(given)
        for _ in range(2):
            with keep_identity(given) as identity:
                counts["asked"] += 8
            assert identity == identify_object(given) == first
        with contextlib.suppress(KeyboardInterrupt), keep_identity(given):
            counts["asked"] += 1
            raise KeyboardInterrupt
        assert identify_object(given) == first != identify_object(made(counts))
        # What the user changes between two runs does.
        counts["temperature"] = 0.9
        assert identify_object(given) != first


def test_what_holds_itself_has_an_end():
    loop: list[object] = []
    loop.append(loop)
    assert identify_object(made(loop)) == identify_object(made(loop))


def test_functions_of_one_line_are_told_apart():
    first, second = (lambda records: ["A"] * len(records)), (lambda records: ["B"] * len(records))
    assert identify_object(first) != identify_object(second)


def test_a_class_of_a_file_is_its_file_and_one_of_a_prompt_its_code():
    class Held:
        pass

    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    for given in (Held, Held(), functools.partial(Held)):
        assert identify_code(given) == identify_object(given) == f"{Held.__qualname__}:{digest}"
    source = "class Model:\n    def chat(self): return {}\n"
    identities = [identify_code(typed(source.format(text), "Model")) for text in ("1", "1", "2")]
    assert identities[0] == identities[1] != identities[2]
    assert identify_code(typed(source.format(1), "Model")()) == identities[0]


def test_a_function_of_a_file_is_that_file_whatever_it_holds_where_only_code_counts():
    assert identify_code(made(object())) == identify_file(f"{__file__}@{made(1).__qualname__}")


@pytest.mark.slow
def test_it_is_the_same_in_another_process():
    code = (
        "from mmscore.infer.object_identity import identify_object\n"
        "class Held:\n    names = 'a', 'b'\n    def get(self): return {'x', 'y', 'z'}\n"
        "def answer(records, kinds=frozenset('abcdef')):\n    return [Held() for r in records if r in {'p', 'q'}]\n"
        "print(identify_object(answer), identify_object(Held))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
