"""What a reader of docs/howto has before the first command, and what they put in the place of a word."""

import shutil
from pathlib import Path

from mmscore.compat.mmtrusteval.evaluators import SequentialEvaluator
from mmscore.compat.mmtrusteval.runner import evaluated
from mmscore.kits.mmtrusteval.task_log import format_log
from support.hub_repo import Blob, Repo
from support.hub_server import HubServer
from support.videos import make_video

EXAMPLES = Path(__file__).resolve().parents[2] / "src/mmconvert/testing/demo/files"

FILES = {
    "lmudata": {"MyBench.tsv": "lmudata/Colours.tsv"},
    "vlmevalkit-predictions": {
        "demo-1b_SEEDBench_IMG_openai_result.xlsx": "vlmevalkit_predictions/demo-1b_SEEDBench_IMG_openai_result.xlsx"
    },
    "evalscope": {
        "outputs/reviews/demo-1b": "evalscope_reviews",
        "outputs/predictions/demo-1b": "evalscope_predictions",
        "outputs/predictions/demo-2b": "evalscope_predictions",
        "colours.tsv": "vmcq/colours.tsv",
        "images": "vmcq/images",
    },
    "mmbench-submission": {"MMBench_TEST_EN.tsv": "mmbench/Circular.tsv"},
    "mmtrusteval": {"samples.json": "mmtrust/samples.json", "images": "mmtrust/images"},
    "reform-eval": {
        "Colours_SingleChoice_generation_demo_demo-1b.json": (
            "reform_predictions/Colours_SingleChoice_generation_demo_demo-1b.json"
        ),
        "colours.json": "reform_eval/colours.json",
    },
    "training-data": {
        "llava.json": "llava/train.json",
        "qwen.json": "qwen_vl/train.json",
        "factory.json": "sharegpt/colours.json",
        "images": "llava/images",
    },
    "mmmu-outputs": {"outputs": "mmmu_outputs", "validation.parquet": "mmmu/validation.parquet"},
    "own-questions": {"images": "openai_messages/images"},
    "hub-benchmark": {},
    "video": {},
    "other-results": {
        "20260101_120000_samples_mme.jsonl": "lmms_eval_samples/20260101_120000_samples_mme.jsonl",
        "mme_results": "mme_results",
    },
}
"""Page -> name that it gives a file or folder -> the example that stands in for it."""

ON_THE_HUB = {"hub-benchmark": {"lmms-lab/MMBench_EN": {"data/dev-00000-of-00001.parquet": "hub_vqa/test.parquet"}}}
"""Page -> dataset of the Hub -> file in it -> the example that stands in for it."""

WORDS = {
    "--model Qwen/Qwen3-VL-8B-Instruct --base-url http://localhost:8000/v1": "--backend echo --model answer",
}
"""What a page says -> what is put in its place: a service of one's own, without a service."""

_TRUSTED = [("Yes, there is.", 1), ("No.", 0), ("Notice the face on the left.", 1), ("Yes", 1), ("I see none.", 0)]


def lay_out(page: str, folder: Path) -> None:
    """Put a page's files where its commands expect them."""
    for name, example in FILES[page].items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (EXAMPLES / example).is_dir() else shutil.copy)(EXAMPLES / example, target)
    if page == "video":
        make_video(folder / "clips/one.mp4")
        make_video(folder / "clips/two.mp4", frames=3)
    if page == "mmtrusteval":
        (folder / "logs").mkdir()
        (folder / "logs/vispr-recognition.json").write_text(_log(), encoding="utf-8")


def publish(page: str, hub: HubServer) -> None:
    """Put a page's datasets on the Hub."""
    for name, files in ON_THE_HUB.get(page, {}).items():
        repo = hub.repos[f"datasets/{name}"] = Repo(name)
        blobs = {path: Blob((EXAMPLES / example).read_bytes(), lfs=True) for path, example in files.items()}
        repo.commit("main", blobs, "as it stands")


def _log() -> str:
    chain = SequentialEvaluator({"rule_yes_or_no_eval": {"metrics_cfg": {"pred_no_op": {}, "accuracy_score": {}}}})
    columns = {
        "content": [f"Is there a face in image {number}?" for number in range(len(_TRUSTED))],
        "pred": [reply for reply, _ in _TRUSTED],
        "label": [target for _, target in _TRUSTED],
        "extra": [None for _ in _TRUSTED],
    }
    return format_log(evaluated([chain], columns))
