"""How a golden case's expected value is compared with what a rule gives.

Equal means: the same text, the same numbers within a tolerance (true equals 1.0), the same lists
in order, the same objects in any key order. `{"error": ...}` is met by any refusal.
"""

import math
import re
from dataclasses import dataclass, field, replace

ERROR_KEYS = {"error", "construct_error", "message", "log_before_error"}
ERRORS = ("error", "construct_error")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)")


@dataclass(frozen=True)
class Manner:
    """What a family's description widens or leaves out.

    Attributes:
        relative: Relative tolerance of floats.
        absolute: Absolute tolerance of floats near zero.
        informational: Keys of the expected object that are not compared.
        optional: Keys that may be left out, and the log lines that hold their names.
        ordered: True where key order is part of the result.
        unordered: Keys below which the order of keys and items is not settled, in the original neither.
        numbers_in_text: True where numbers inside two texts are compared as numbers.
        wide: Relative and absolute tolerance under keys whose name contains the given word.
    """

    relative: float = 1e-9
    absolute: float = 1e-12
    informational: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    ordered: bool = False
    unordered: frozenset[str] = frozenset()
    numbers_in_text: bool = False
    wide: dict[str, tuple[float, float]] = field(default_factory=dict)


PEARSON = {"pearson": (1e-5, 1e-6)}
MANNERS = {
    "evalscope_bleu_rouge": Manner(ordered=True),
    "files_vlmevalkit": Manner(unordered=frozenset({"table"})),
    "mmte_metrics": Manner(informational=frozenset({"type", "warnings"}), wide=PEARSON),
    "mmte_rules": Manner(informational=frozenset({"item_types"})),
    "mmte_sequence": Manner(informational=frozenset({"types", "warnings"}), wide=PEARSON),
    "mmte_task": Manner(wide=PEARSON),
    "reform_generation": Manner(relative=1e-6, absolute=1e-6, optional=frozenset({"meteor"}), numbers_in_text=True),
    "reform_kie": Manner(numbers_in_text=True),
    "reform_multiround": Manner(relative=1e-7, absolute=1e-7, numbers_in_text=True),
    "reform_ocr": Manner(numbers_in_text=True),
    "reform_singlechoice": Manner(numbers_in_text=True),
    "vlmeval_coco": Manner(relative=1e-6, absolute=1e-6),
    "vlmeval_mcq_eval": Manner(ordered=True, unordered=frozenset({"hit", "acc"})),
    "vlmeval_yorn": Manner(unordered=frozenset({"score"})),
}
PLAIN = Manner()


def difference(expected: object, actual: object, family: str = "", rule: str = "") -> str | None:
    """Describe the first difference, or None when the values are equal in the family's manner.

    Args:
        expected: Value from the golden file, JSON types only.
        actual: What the rule gave, encoded as the family's description says; `{"error": name}`
            stands for a refusal.
        family: Name that picks the manner of comparison.
        rule: The rule's name; picks a wider tolerance as a key does.
    """
    return _difference(expected, actual, MANNERS.get(family, PLAIN), rule)


def _difference(expected, actual, manner, path):
    if isinstance(expected, dict):
        if set(expected) == {"$f"}:
            return _number(float(expected["$f"]), actual, manner, path)
        kind = next((expected[key] for key in ERRORS if key in expected), None)
        if kind is not None and set(expected) <= ERROR_KEYS:
            refused = isinstance(actual, dict) and "error" in actual
            return None if refused else f"{path}: expected a refusal ({kind}), got {actual!r}"
        if "possible_per_item" in expected:
            return _any_per_item(expected["possible_per_item"], actual, manner, path)
        return _object(expected, actual, manner, path)
    if isinstance(expected, list):
        return _list(expected, actual, manner, path)
    if isinstance(expected, bool | int | float) or (_is_number(actual) and _as_float(expected) is not None):
        return _number(expected if isinstance(expected, int | float) else _as_float(expected), actual, manner, path)
    if isinstance(expected, str) and isinstance(actual, str) and manner.numbers_in_text:
        return _text_with_numbers(expected, actual, manner, path)
    return None if type(expected) is type(actual) and expected == actual else _differs(path, expected, actual)


def _object(expected, actual, manner, path):
    if not isinstance(actual, dict):
        return _differs(path, expected, actual)
    left_out = manner.informational | (manner.optional - actual.keys())
    wanted = {key: value for key, value in expected.items() if key not in left_out}
    given = {str(key): value for key, value in actual.items() if key not in manner.informational}
    if wanted.keys() != given.keys():
        lacking, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
        return f"{path}: keys lacking {lacking}, keys too many {extra}"
    if manner.ordered and list(wanted) != list(given):
        return f"{path}: keys in order {list(wanted)}, got {list(given)}"
    found = (_under(key, value, given[key], manner, f"{path}.{key}") for key, value in wanted.items())
    return next((reason for reason in found if reason), None)


def _under(key, expected, actual, manner, path):
    if key not in manner.unordered:
        return _difference(expected, actual, manner, path)
    if isinstance(expected, dict):
        return _difference(expected, actual, replace(manner, ordered=False), path)
    if not isinstance(actual, list) or len(actual) != len(expected):
        return _differs(path, expected, actual)
    lacking = list(expected)
    for item in actual:
        found = next((n for n, one in enumerate(lacking) if not _difference(one, item, manner, path)), None)
        if found is None:
            return _differs(path, lacking, item)
        del lacking[found]
    return None


def _list(expected, actual, manner, path):
    if not isinstance(actual, list | tuple):
        return _differs(path, expected, actual)
    lines = [item for item in expected if not _is_optional(item, manner)]
    if len(lines) == len(actual):
        expected = lines
    if len(expected) != len(actual):
        return f"{path}: expected {len(expected)} items, got {len(actual)}: {expected!r} / {actual!r}"
    pairs = enumerate(zip(expected, actual, strict=True))
    found = (_difference(e, a, manner, f"{path}[{i}]") for i, (e, a) in pairs)
    return next((reason for reason in found if reason), None)


def _is_optional(item, manner):
    return isinstance(item, str) and any(f" {key} " in item for key in manner.optional)


def _any_per_item(possible, actual, manner, path):
    items = actual.get("preds") if isinstance(actual, dict) else actual
    if not isinstance(items, list) or len(items) != len(possible):
        return _differs(path, possible, actual)
    for i, (values, item) in enumerate(zip(possible, items, strict=True)):
        if all(_difference(value, item, manner, path) for value in values):
            return f"{path}[{i}]: expected one of {values!r}, got {item!r}"
    return None


def _number(expected, actual, manner, path):
    if not isinstance(actual, int | float):
        return _differs(path, expected, actual)
    given = actual
    if isinstance(expected, int) and isinstance(actual, int):
        return None if expected == actual else _differs(path, expected, actual)
    if math.isnan(expected) or math.isnan(given):
        return None if math.isnan(expected) and math.isnan(given) else _differs(path, expected, actual)
    relative, absolute = next(
        (wide for word, wide in manner.wide.items() if word in path), (manner.relative, manner.absolute)
    )
    near = math.isclose(expected, given, rel_tol=relative, abs_tol=absolute)
    return None if near else _differs(path, expected, actual)


def _text_with_numbers(expected, actual, manner, path):
    if NUMBER.sub("#", expected) != NUMBER.sub("#", actual):
        return _differs(path, expected, actual)
    wanted, given = ([float(x) for x in NUMBER.findall(text)] for text in (expected, actual))
    return _list(wanted, given, manner, path)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_float(value):
    if isinstance(value, int | float):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _differs(path, expected, actual):
    return f"{path}: expected {expected!r}, got {actual!r}"
