"""Cases of MME's own evaluation tool: a folder of one text a category, as `calculation.py --results_dir` reads it."""

import contextlib
import importlib.util
import io
import re
import tempfile
from pathlib import Path
from random import Random

SAID = (
    "Yes", "No", "yes.", "no.", "YES", "NO", "", "None", "Not sure", "I do not think so", "ye", "y", "nope",
    "Oh yes", "yesterday", "It is, yes", "是", "Yes\\no", " no", "unknown", "Cannot tell: no",
)  # fmt: skip
SCORE = re.compile(r"total score: (\S+)")


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    spec = importlib.util.spec_from_file_location("calculation", checkout / "calculation.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    rng = Random(20261125)
    return {"files_benchmarks": [_make_case(tool, rng) for _ in range(14)]}


def _make_case(tool, rng: Random) -> dict:
    categories = [name for names in tool.eval_type_dict.values() for name in names]
    files, rows = {}, 0
    for category in categories:
        lines = []
        for image in range(rng.randint(1, 4)):
            for label in rng.sample(("Yes", "No"), 2):
                # The tool refuses a category in which it reads nothing.
                said = label if not lines or rng.random() < 0.6 else rng.choice(SAID)
                lines.append(f"{image:04}.png\tDoes {category} {image} hold? Say yes or no.\t{label}\t{said}\n")
        files[f"model/{category}.txt"] = "".join(lines)
        rows += len(lines)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            tool.calculate_metrics().process_result(f"{folder}/model")
    perception, cognition = map(float, SCORE.findall(printed.getvalue()))
    expected = {"numbers": {"perception": perception, "cognition": cognition}, "rows": rows}
    return {"rule": "mme_folder_file", "input": {"files": files, "path": "model"}, "expected": expected}
