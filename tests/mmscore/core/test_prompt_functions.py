"""Functions that build prompts are followed on their syntax trees, and nothing of them is run."""

import pytest

from mmconvert.core.errors import Error
from mmscore.core.prompt_functions import find_source, mark_slot, read_prompt


def read(tmp_path, body, *, head=""):
    path = tmp_path / "module.py"
    path.write_text(head + "\ndef ask(a, b):\n" + "".join(f"    {line}\n" for line in body.splitlines()), "utf-8")
    return read_prompt(path, "ask", [mark_slot("a"), mark_slot("b")], ("a", "b"))


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ('"""Doc."""\nreturn "Q: " + a + f" A: {b}."', "Q: {a} A: {b}."),
        ("return '{x}{{y}} {0} {x}'.format(b, x=a)", "{a}{y} {b} {a}"),
        ("t = '-'.join([a, '', str(b)])\nt += '!'\nreturn t", "{a}--{b}!"),
        ("s = ''\nfor k, v in {'x': a, 'y': b}.items():\n    s += k + v\nreturn s", "x{a}y{b}"),
        ("if pd.isna(a):\n    return a\nelse:\n    return b", "{b}"),
        ("return other(b) + HEAD", "<{b}>head"),
    ],
)
def test_texts_are_put_together(tmp_path, body, prompt):
    head = "HEAD = 'head'\ndef other(x):\n    return '<' + x + '>'\n"
    assert read(tmp_path, body, head=head) == prompt


@pytest.mark.parametrize(
    "body",
    [
        "return open('/etc/passwd').read()",
        "return a.upper()",
        "return a % b",
        "return a * 9",
        "return f'{a:>10}'",
        "return f'{a!r}'",
        "return '{0.__class__}'.format(a)",
        "return '{:>999999999}'.format(a)",
        "return '{} {}'.format(a)",
        "return a.replace(b, '')",
        "return a.replace('', b)",
        "while True:\n    pass",
        "return ask(a, b)",
        "return unknown",
        "x = a",
        "return [a]",
        "return 'literal {a} ' + a",
        "return '\ue000b\ue000'",
        "import os\nreturn a",
        "s = 'x' * 1\nreturn s",
        "s = 'xxxxxxxxxxxxxxxx'\n" + "s = s + s\n" * 14 + "return s",
        "s = ''\n"
        + "".join(f"{'    ' * n}for i{n} in ['a', 'b', 'c', 'd']:\n" for n in range(8))
        + " " * 32
        + "s += ''",
    ],
)
def test_anything_else_is_refused_and_the_function_named(tmp_path, body):
    with pytest.raises(Error, match=r"module\.py ask: the prompt cannot be read"):
        read(tmp_path, body)


def test_a_module_is_found_in_a_checkout_or_as_the_package_itself(tmp_path):
    place = tmp_path / "kit/utils/ask.py"
    place.parent.mkdir(parents=True)
    place.write_text("")
    assert find_source(tmp_path, "kit/utils/ask.py") == find_source(tmp_path / "kit", "kit/utils/ask.py") == place
    with pytest.raises(Error, match=r"holds no kit/utils/ask\.py \(looked for build, other\)"):
        find_source(tmp_path / "kit/utils", "kit/utils/ask.py", "build", "other")
