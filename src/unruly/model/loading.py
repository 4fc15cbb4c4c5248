"""`load`: a saved model, ready to predict."""

from __future__ import annotations

from pathlib import Path

from unruly.model.storage import Functions
from unruly.model.weak_classifier import WeakClassifier


def load(path: str | Path, functions: Functions = None) -> WeakClassifier:
    """A saved model, ready to predict.

    `functions` is the Python file (or files) with the model's rules of kind `function`, where it has
    any: a model file carries no code, and only files named here are run.

    >>> import tempfile
    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.rule import Rule
    >>> from unruly.rules.source import Source
    >>> from unruly.rules.sources import Sources
    >>> loved = Source("loved", [Rule("good", Keywords(["lovely", "great"]))])
    >>> hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    >>> texts = [
    ...     "a lovely film",
    ...     "great, just great",
    ...     "an awful film",
    ...     "boring and awful",
    ...     "a film",
    ... ]
    >>> model = WeakClassifier("lsa", cache=False)
    >>> path = Path(tempfile.mkdtemp()) / "films.unruly"
    >>> model.fit(texts, sources=Sources(["bad", "good"], [loved, hated])).save(path)
    >>> again = load(path)
    >>> again.predict(["what a great film", "so boring"]).tolist()
    ['good', 'bad']
    >>> again.explain("what a great film").votes[0].matched
    ('great',)
    """
    return WeakClassifier.load(path, functions)
