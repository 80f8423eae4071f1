"""Golden rules of VLMEvalKit's option inference."""

from goldens.rules import per_version
from mmscore.parsers.vlmevalkit_option import infer_option, infer_option_text, vlmevalkit_option


def _inferring(infer):
    def run(given):
        options = {letter: str(text) for letter, text in given["choices"].items()}
        answer = str(given["answer"])
        return per_version(lambda version: infer(answer, options, version).value or False, ("v1", "v2", "v3"))

    return run


LAYER = "mmscore.compat.vlmevalkit"
RULES = {
    ("vlmeval_can_infer", "can_infer"): ("mmscore score --recipe vlmevalkit_mcq", _inferring(vlmevalkit_option)),
    ("vlmeval_can_infer", "can_infer_option"): (f"{LAYER}.can_infer_option", _inferring(infer_option)),
    ("vlmeval_can_infer", "can_infer_text"): (f"{LAYER}.can_infer_text", _inferring(infer_option_text)),
}
