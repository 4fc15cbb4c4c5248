"""Naive Bayes on lsa's own terms as one more log_likelihoods of the text beside the default's regressions.

    python lab/benchmarks/naive_bayes.py --data DIR [--datasets ...] [--encoders lsa] [--most 3000] [--seeds 1]
                                         [--weights 0,0.1,0.2,0.3] [--power 3] [--json]

    theta[y, t] = (sum_i q_iy x_it + x̄) / sum_t (...)        x: TF-IDF, idf to the power; x̄: its mean where it is not 0
    log p       = log softmax(a sum_t x_it log theta[y, t] + c)        a, c by the likelihood of q, each fold held out

Cross-fitted like the regressions, in the same expectation-maximisation; `--weights` are its weights in the log-opinion
pool of text, the encoders sharing the rest as they do. On validation documents, in percent: accuracy, or F1 of the
second class for spouse and sms.
    stated, nothing         as in default.py
    fit                     naive Bayes takes part in the rounds only; new documents are read by the regressions alone,
                            so that a saved model is what it is without
Gold scores and states the shares, and does nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from _options import wrench_parser
from balance import Answers, Case
from default import RARE, SETS, known_shares, score
from unruly.denoising.balance import ASSUMED_LABELS, STATED_LABELS, Balance, vote_shares
from unruly.denoising.behaviour import evidence
from unruly.denoising.em import Posteriors, Task, expectation_maximisation, pooled
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.features.cache import FeatureCache
from unruly.features.encoder import view_of
from unruly.features.lsa import Lsa
from unruly.features.registry import encoder_from
from unruly.features.stack import EncoderStack
from unruly.findings import BalanceOrigin
from unruly.settings import Settings
from unruly.statistics import log_softmax, sample_rows, softmax
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes

Real = NDArray[np.float32]
Real64 = NDArray[np.float64]
COLUMNS = ("stated", "stated, fit", "nothing", "nothing, fit")
_STEPS = 12  # of Newton's method, for a and c


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """In the place of a `CrossFitting`: weights are (t + 1, (F + 1) m), the last row is the bias."""

    x: csr_matrix  # (n, t)
    fold: NDArray[np.intp]
    folds: int

    def descend(self, _: Real | None, q: Real64, mass: Real64, steps: int) -> Real:
        """(t + 1, (F + 1) m): the best weights in closed form, but for a and c."""
        weighted = q * mass[:, None]
        own = [self.x[self.fold == f].T @ weighted[self.fold == f] for f in range(self.folds)]
        total = sum(own)
        logs = [self._log_theta(total - part) for part in (*own, 0 * total)]
        raw = np.empty(q.shape)
        for f in range(self.folds):
            raw[self.fold == f] = self.x[self.fold == f] @ logs[f]
        a, c = _scale(raw, q, mass)
        return np.vstack([a * np.hstack(logs), np.tile(c, self.folds + 1)]).astype(np.float32)

    def held_out(self, weights: Real, q: Real64, mass: Real64) -> Real64:
        """(n, m): log-probabilities by the weights that have not seen the document."""
        m = q.shape[1]
        logits = (self.x @ weights[:-1] + weights[-1]).reshape(len(q), self.folds + 1, m)
        return log_softmax(logits[np.arange(len(q)), self.fold].astype(np.float64))

    def _log_theta(self, counts: Real64) -> Real64:
        theta = counts + self.x.data.mean()
        logs = np.log(theta / theta.sum(axis=0))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _scale(raw: Real64, q: Real64, mass: Real64) -> tuple[float, Real64]:
    """a and c (m,) of softmax(a raw + c), by the likelihood of q."""
    m, w = q.shape[1], mass / mass.sum()
    found = np.append(1.0, np.log(np.maximum(w @ q, 1e-6)))
    for _ in range(_STEPS):
        p = softmax(found[0] * raw + found[1:])
        mean = (p * raw).sum(axis=1)
        off = (p - q) * w[:, None]
        hessian = np.empty((m + 1, m + 1))
        hessian[0, 0] = w @ ((p * raw**2).sum(axis=1) - mean**2)
        hessian[0, 1:] = hessian[1:, 0] = w @ (p * (raw - mean[:, None]))
        hessian[1:, 1:] = np.diag(w @ p) - (p * w[:, None]).T @ p
        gradient = np.append((off * raw).sum(), off.sum(axis=0))
        step = np.linalg.solve(hessian + 1e-4 * np.eye(m + 1), gradient)
        found -= step * min(1.0, 2 / np.abs(step).max())
    return max(float(found[0]), 0.0), found[1:]


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set that has lsa, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="training documents, at most")
    parser.add_argument("--seeds", type=int, default=1, help="of folds")
    parser.add_argument("--weights", default="0,0.1,0.2,0.3", help="with commas between")
    parser.add_argument("--power", type=float, default=3, help="of idf")
    args = parser.parse_args()
    weights = [float(weight) for weight in args.weights.split(",")]
    rows = []
    print("| data | weight | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    for name in args.datasets.split(","):
        train, valid, x, new = encoded(args.data / name, args.encoders, args.most, args.power)
        for weight in weights:
            found = [list(measure(train, valid, x, new, weight, s)) for s in range(args.seeds)]
            rows.append((name, weight, np.mean(found, axis=0).tolist()))
            print(_line(*rows[-1]), flush=True)
    for weight in weights:
        print(_line("mean", weight, np.mean([r[2] for r in rows if r[1] == weight], axis=0)))
    if args.json:
        print(json.dumps(rows))


def encoded(
    folder: Path, encoders: str, most: int, power: float
) -> tuple[Case, Case, csr_matrix, csr_matrix]:
    """Training and validation documents, and their terms."""
    corpus = Corpus.from_wrench(folder, "train")
    rows = sample_rows(len(corpus), most)
    stack = encoder_from(encoders.split("+")).fit(corpus.take(rows), FeatureCache())
    cases, terms = [], []
    for split in ("train", "valid"):
        documents, votes = Corpus.from_wrench(folder, split), Votes.from_wrench(folder, split)
        if split == "train":
            documents, votes = documents.take(rows), votes.take(rows)
        assert documents.gold is not None
        gold = documents.gold.astype(np.int64)
        cases.append(Case(folder.name, stack.encode(documents, FeatureCache()), votes, gold))
        terms.append(_terms(stack, documents, power))
    return cases[0], cases[1], terms[0], terms[1]


def _terms(stack: EncoderStack, corpus: Corpus, power: float) -> csr_matrix:
    """(n, t): the TF-IDF rows of lsa's last view, side by side."""
    part = [part for part in stack.parts if isinstance(part.encoder, Lsa)][-1]
    texts = view_of(corpus, part.view).to_list()
    grams = cast(Lsa, part.encoder).terms
    return hstack([one.raised(one.weigh(texts), power) for one in grams], "csr")


def measure(
    train: Case, valid: Case, x: csr_matrix, new: csr_matrix, weight: float, seed: int
) -> Iterator[float]:
    """The four columns."""
    settings, votes = Settings(), SparseVotes.of(train.votes)
    fold, distinct = content_folds(train.features, settings.folds, seed)
    l2 = settings.l2 * votes.n / distinct
    regressions = [
        CrossFitting.of(block.array, fold, settings.folds, l2) for block in train.features.blocks
    ]
    shared = train.features.weights
    texts, pool = list(regressions), list(shared)
    if weight:
        texts.append(cast(CrossFitting, NaiveBayes(x, fold, settings.folds)))
        pool = [*((1 - weight) * share for share in shared), weight]
    task = Task(tuple(texts), tuple(pool), votes, np.full(votes.n, UNKNOWN))
    for balance in (
        Balance(known_shares(train), STATED_LABELS, BalanceOrigin.STATED),
        Balance(vote_shares(votes), ASSUMED_LABELS, BalanceOrigin.ASSUMED),
    ):
        fitted = expectation_maximisation(task, balance, settings)
        opinions = [
            text.regression(w).log_proba(block.values)
            for text, w, block in zip(
                regressions, fitted.weights, valid.features.blocks, strict=False
            )
        ]
        alone = _answers(fitted, valid, opinions, shared)
        if weight:
            last = fitted.weights[-1][:, -votes.m :]  # of the model of all documents
            opinions.append(log_softmax((new @ last[:-1] + last[-1]).astype(np.float64)))
        for answers in (_answers(fitted, valid, opinions, pool), alone):
            yield score(valid, answers)[valid.name in RARE]


def _answers(
    fitted: Posteriors, case: Case, opinions: Sequence[Real64], weights: Sequence[float]
) -> Answers:
    lp = pooled(opinions, weights)
    ev = evidence(SparseVotes.of(case.votes), fitted.behaviour.log_likelihoods)
    return np.asarray((fitted.settings.tau * lp + ev + fitted.b).argmax(axis=1))


def _line(name: str, weight: float, values: Sequence[float] | NDArray[np.float64]) -> str:
    return f"| {name} | {weight:g} | " + " | ".join(f"{value:.1f}" for value in values) + " |"


if __name__ == "__main__":
    main()
