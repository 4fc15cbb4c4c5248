"""What `--quick` changes: short training, few values. The figures are for looking at, not for quoting."""

from __future__ import annotations

from unruly.bench.paper_figures import Ranges
from unruly.bench.run import Setting

QUICK_SHARES = (0.02, 0.2, 1.0)
QUICK_RANGES = Ranges(
    hidden=(32, 128, 512), learning_rate=(0.001, 0.02, 0.05), c1=(0.1, 0.5), c3=(0.1, 0.5)
)
QUICK_SEEDS, QUICK_TRIALS = 2, 8

_PAPER: tuple[Setting, ...] = (("epochs", 100),)
_DENOISING: tuple[Setting, ...] = (("settings.epochs", 100),)
_ULMFIT: tuple[Setting, ...] = (
    ("epochs", 4),
    ("classifier_tokens", 100_000),
    ("language.epochs", 5),
    ("language.tokens", 100_000),
)
QUICK: dict[str, tuple[Setting, ...]] = {
    **dict.fromkeys(("paper", "rule-only", "neural-only", "neural-self", "rule-neural"), _PAPER),
    "bert-mlp-denoised": _DENOISING,
    "ulmfit": _ULMFIT,
    "ulmfit-denoised": (*_ULMFIT, *_DENOISING),
    "westclass": (("beta", 300), ("pretrain_epochs", 12), ("rounds", 8), ("batches", 20)),
}
