#!/usr/bin/env python
"""Make golden cases anew: run a framework's code from a checkout on texts of ours, and write what it gives.

usage: python scripts/golden_cases_made FRAMEWORK CHECKOUT [--shared ../shared] [--seed N --output FOLDER]

FRAMEWORK: vlmevalkit and vlmevalkit_NAME (open-compass/VLMEvalKit@e8e78f05), pope (AoiDragon/POPE@f3ec604), mme
(eval_tool of BradyFU/Awesome-Multimodal-Large-Language-Models@dd29509, unpacked), mmtrusteval
(thu-ml/MMTrustEval@a067801), reform_eval (FudanDISC/ReForm-Eval@df1cfa7), mathvista (lupantech/MathVista@53d5258),
llava (haotian-liu/LLaVA@c121f04). Needs what the framework's rules import, such as scikit-learn or Levenshtein, for
VLMEvalKit pandas 2, validators and num2words, for MathVista pandas 2; models and API clients are stood in for, and the
last line names them. The same checkout gives the same cases; --seed makes a second set.

Cases are written to tests/goldens/cases/FAMILY.made_FRAMEWORK.jsonl.xz; scripts/golden_cases.py leaves those alone.
reform_eval makes the cases anew that hold its prose in ../shared/golden: the same data under instructions of ours.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "src")]

from checkout import list_stood_in  # noqa: E402  (the path is set above)
from golden_cases import CASES, SUFFIX, write_family  # noqa: E402  (the path is set above)

FRAMEWORKS = (
    "vlmevalkit",
    "vlmevalkit_choice_reports",
    "vlmevalkit_judged",
    "vlmevalkit_short_answers",
    "vlmevalkit_spatial",
    "pope",
    "mme",
    "mmtrusteval",
    "reform_eval",
    "mathvista",
    "llava",
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make golden cases again by a framework's code.")
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="../shared by default")
    parser.add_argument("--seed", type=int, help="of a second set, for makers that take one")
    parser.add_argument("--output", type=Path, default=CASES, help="folder of a second set")
    options = parser.parse_args()
    maker = importlib.import_module(options.framework)
    options.output.mkdir(parents=True, exist_ok=True)
    seeded = {} if options.seed is None else {"seed": options.seed}
    for family, cases in maker.make_cases(options.checkout.resolve(), options.shared.resolve(), **seeded).items():
        file = options.output / f"{family}.made_{options.framework}{SUFFIX}"
        write_family(file, [json.dumps(case, ensure_ascii=False) for case in cases])
        print(f"{file.name}: {len(cases)} cases")
    if stood_in := list_stood_in():
        print(f"not installed, and stood in for: {', '.join(stood_in)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
