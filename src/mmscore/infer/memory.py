"""How many tokens go together, learnt from what the batches before them took of a GPU's memory."""

from collections.abc import Sequence
from typing import Protocol

PROCESSES_PER_GPU = "MMSCORE_PROCESSES_PER_GPU"
"""The environment variable that tells a process how many, it among them, share each of its GPUs."""

_SHARE = 0.8
"""Of the memory that is free; the rest is for what a longer response or another image takes beside."""

_MARGIN = 1.5
"""By how much a batch that ran out of memory was too large, at the least."""


class Device(Protocol):
    """The memory of one GPU, in bytes."""

    def measure_room(self) -> int:
        """Say how much could still be taken, what is kept for reuse included."""
        ...

    def reset_peak(self) -> None:
        """Forget the highest use so far."""
        ...

    def measure_peak(self) -> int:
        """Say how much was taken at the most since `begin`, beyond what was in use then."""
        ...


class TokenBudget:
    """Learns bytes per token, padding included; the worst batch counts."""

    def __init__(self, devices: Sequence[Device], tokens_unknown: int) -> None:
        """Begin without knowledge.

        Args:
            devices: The GPUs that hold the model; none for a machine without.
            tokens_unknown: Tokens that go together as long as nothing was measured.
        """
        self._devices = devices
        self._unknown = tokens_unknown
        self._bytes = [0.0 for _ in devices]

    def count_tokens(self) -> int:
        """Say how many tokens may go together."""
        known = [(one, per_token) for one, per_token in zip(self._devices, self._bytes, strict=True) if per_token]
        return min((int(_SHARE * one.measure_room() / per_token) for one, per_token in known), default=self._unknown)

    def begin_batch(self) -> None:
        """Begin to watch a batch."""
        for device in self._devices:
            device.reset_peak()

    def learn(self, tokens: int) -> None:
        """End watching: so many tokens were worked on, padding and responses included."""
        for number, device in enumerate(self._devices):
            self._bytes[number] = max(self._bytes[number], device.measure_peak() / tokens)

    def lower_limit(self, tokens: int) -> None:
        """Learn that so many tokens do not fit."""
        for number, device in enumerate(self._devices):
            self._bytes[number] = max(self._bytes[number], _MARGIN * _SHARE * device.measure_room() / tokens)
