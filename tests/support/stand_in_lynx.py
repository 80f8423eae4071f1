"""A stand-in for Lynx: the parts that the code in ReForm-Eval's guide calls and does not show."""

LYNX_CONFIG = {
    "freeze_vit": True,
    "freeze_llm": True,
    "num_bridge_tokens": 2,
    "apply_lemmatizer": False,
    "min_length": 1,
}

STAND_IN = '''
import io, os
from base64 import b64decode
import numpy as np, torch, yaml
from PIL import Image
from torch import nn
from mmscore.compat.reform_eval import ConvSingleChoiceProcessor

class StandIn(nn.Module):
    """What the guide's code asks of Lynx, over letters: every token is as likely as any other."""
    def __init__(self, config, **given):
        super().__init__()
        self.size = config["num_bridge_tokens"]
        self.embed_tokens = nn.Embedding(256, 4)

    def get_vision_embeds(self, vision):
        return vision.flatten(1)[:, : self.size], torch.ones(len(vision), self.size, dtype=torch.long)

    def bridge(self, vision_embeds, vision_atts):
        return vision_embeds[:, :, None].expand(-1, -1, 4).float(), vision_atts

    def LLM(self, inputs_embeds, attention_mask, labels, return_dict, reduction):
        logits = torch.zeros(*inputs_embeds.shape[:2], 256)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction=reduction)
        return type("Output", (), {"loss": loss.flatten()})

    def generate(self, input_ids, max_new_tokens, temperature, num_beams, **given):
        options = bytes(input_ids[0].tolist()).decode().rpartition("Options: ")[2].partition(".")[0]
        return [options.split("; ")[-1] + f" after {max_new_tokens} tokens at {temperature}"]

class Letters:
    bos_token, pad_token_id, padding_side, truncation_side = "\\x01", 0, "left", "left"
    tokenize = staticmethod(list)
    convert_tokens_to_ids = staticmethod(lambda tokens: [ord(token) for token in tokens])

    def __call__(self, texts, return_tensors, padding):
        rows = [torch.tensor([1, *map(ord, text)]) for text in texts]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return Encoded(input_ids=ids, attention_mask=(ids > 0).long())

class Encoded(dict):
    __getattr__ = dict.__getitem__
    to = lambda self, device: self

def Ready(**model_args):
    interface = Lynx_Interface(**model_args)
    interface.tokenizer, interface.lower_text = Letters(), False
    interface.img_transform = lambda image: torch.tensor(np.asarray(image) / 255)
    return interface
'''
