"""`unruly worth`: how many hand labels is this rule set worth?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.encoder_option import encoder_option, with_encoder
from unruly.cli.screen import Screen, json_option, quiet_option
from unruly.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unruly.model.worth import Worth
    from unruly.progress import Progress
    from unruly.project.project import Project
    from unruly.texts.corpus import Corpus


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@encoder_option
@click.option(
    "--draws",
    type=click.IntRange(2, 100),
    default=5,
    show_default=True,
    help="How often labels are drawn for each number of them.",
)
@json_option
@quiet_option
def command(
    project: Path, encoder: tuple[str, ...], draws: int, as_json: bool, quiet: bool
) -> None:
    """Tell how many hand labels a project's rules are worth.

    A model learns from the rules alone; a classifier on the same features learns from 10, 20, 50, ...
    gold labels. Both are scored on the test file, or without one on half of the labelled training
    documents. Where the classifier catches up is what the rules are worth. Gold labels must be in the
    training file (or in the file under `clean` in [data]).

    \b
    Example:
      unruly worth spam
    """
    from unruly.cli.tables import table_of
    from unruly.project.project import Project

    screen = Screen(quiet, as_json)
    opened = with_encoder(Project.read(project), encoder)
    worth = project_worth(opened, draws, screen.progress())
    screen.answer(worth.to_plain())
    rows = [(f"{r.labels:,}", f"{r.accuracy:.1%}", f"± {r.deviation:.1%}") for r in worth.rungs]
    rows.append(("the rules", f"{worth.rules.value:.1%}", ""))
    screen.table(table_of(("hand labels", "accuracy", "draws"), rows, last=True))
    screen.say(worth.sentence)
    screen.say(str(worth.ledger))


def _labels(project: Project, corpus: Corpus) -> NDArray[np.int64]:
    """(n,): the gold labels of the training documents, -1 where there is none."""
    import numpy as np

    if corpus.gold is not None and (corpus.gold >= 0).any():
        return np.asarray(corpus.gold, np.int64)
    if project.data.clean:
        return np.asarray(project.clean_labels(corpus), np.int64)
    raise InputError(
        'no training document has a gold label to compare the rules with: name their column by label = "..." '
        'under [data], or a file of ids and labels by clean = "..."'
    )


def project_worth(project: Project, draws: int, progress: Progress) -> Worth:
    """Fit the rules' model without any gold, then compare."""
    import numpy as np

    from unruly.features.cache import Cache as FeatureCache
    from unruly.features.spec import encoder_from
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.model.worth import measure_worth
    from unruly.rules.cache import Cache

    corpus = project.corpus("train")
    labels = _labels(project, corpus)
    held_out = None
    if project.data.test:
        held_out = project.corpus("test")
        if held_out.gold is None or not (held_out.gold >= 0).any():
            raise InputError(
                'the test file has no gold labels to score on: name their column by label = "..." under [data], '
                "or leave the test file out to score on half of the labelled training documents"
            )
    votes = project.sources.vote(corpus, progress, Cache.default())
    model = WeakClassifier(
        encoder=encoder_from(project.encoder, project.folder),
        class_prior=project.prior,
        settings=project.settings,
    ).fit(corpus, votes, progress=progress)
    known = np.flatnonzero(labels >= 0)
    pool = known
    if held_out is None:
        shuffled = np.random.default_rng(project.settings.seed).permutation(known)
        pool, rest = np.sort(shuffled[::2]), np.sort(shuffled[1::2])
        held_out, gold = corpus.take(rest), labels[rest]
        answers = model.predictions(held_out, votes.take(rest)).numbers
        origin = "half of the labelled training documents"
    else:
        held_out = held_out.take(np.asarray(held_out.gold) >= 0)
        gold = np.asarray(held_out.gold, np.int64)
        answers = model.predictions(held_out).numbers
        origin = "the test file"
    assert model.encoder_ is not None
    cache = FeatureCache()
    return measure_worth(
        answers == gold,
        model.encoder_.features(held_out, cache),
        gold,
        model.encoder_.features(corpus.take(pool), cache),
        labels[pool],
        len(project.classes),
        ledger=model.ledger_,
        origin=origin,
        draws=draws,
        seed=project.settings.seed,
        progress=progress,
    )
