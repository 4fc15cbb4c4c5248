"""`auto`: the best encoders that this machine can run without a network.

minilm with lsa where minilm's weights and libraries are installed, else lsa alone. Both see the text
differently, and together they beat either (see the table in the documentation).
"""

from __future__ import annotations

from unruly.features import minilm
from unruly.features.encoder import Encoder
from unruly.features.lsa import Lsa


def best_offline() -> tuple[Encoder, ...]:
    """The encoders, never empty: lsa needs nothing."""
    if minilm.available():
        return (minilm.MiniLM(), Lsa())
    return (Lsa(),)
