"""What every system that trains by torch must hold to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from tests.peers.planted_task import planted_task

from unruly.peers.system import System


def same_bits_whatever_torch_drew_before(system: System) -> None:
    """The same lesson gives the same bits, another seed others; torch's own generator is left alone."""
    task = planted_task(n=100)
    first = system.fit(task.lesson).predict_proba(task.test)
    torch.rand(7)
    state = torch.get_rng_state()
    again = system.fit(task.lesson).predict_proba(task.test)
    assert first.tobytes() == again.tobytes()
    assert torch.equal(state, torch.get_rng_state())
    other = system.fit(replace(task.lesson, seed=1)).predict_proba(task.test)
    assert not np.array_equal(first, other)
