"""Where and with how many threads the work is done; whatever torch was set to is put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from unruly.errors import SettingsError
from unruly.settings import Settings


@contextmanager
def computing(settings: Settings) -> Iterator[torch.device]:
    """Yield the device, with the threads asked for and without gradient tracking."""
    device = choose_device(settings.device)
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        with torch.no_grad(), _repeatable(device):
            yield device
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _repeatable(device: torch.device) -> Iterator[None]:
    """Sums in a fixed order. On the processor they always are; asking there costs a second."""
    if device.type == "cpu":
        yield
        return
    strict = torch.are_deterministic_algorithms_enabled()
    warn = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=warn)


def choose_device(name: str) -> torch.device:
    """The device of that name; auto is a GPU if there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    found = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device("cuda" if found["cuda"] else "cpu")
    if not found[name]:
        raise SettingsError(f"device = {name!r}: there is none on this machine; use auto or cpu")
    return torch.device(name)
