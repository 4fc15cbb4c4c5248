"""New rules for a project, proposed by a language model, then ranked on the corpus like all other suggestions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.suggesting import Judged, Suggestions, judge, ranked
from unruly.prompts.asking import RetryPolicy
from unruly.prompts.budget import Budget, Plan
from unruly.prompts.endpoint import Endpoint
from unruly.prompts.requests import RuleRequest
from unruly.rules.asking import (
    LanguageModel,
    contested,
    first_prompt,
    plan_proposals,
    propose,
    rule_requests,
    urgency_by_rules,
)
from unruly.rules.cache import Cache

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier


def language_model(
    project: Project,
    endpoint: str | None = None,
    model: str | None = None,
    key_env: str | None = None,
    calls: int | None = None,
) -> LanguageModel:
    """Whom to ask: the model at this endpoint or, where none is named, that of the project's first `prompt` source.

    A source is asked on its own budget; `calls` is the budget of another endpoint, all runs together.
    """
    if endpoint is not None:
        if model is None:
            raise InputError(
                "the endpoint needs the name of a model, as in --endpoint http://127.0.0.1:11434/v1 --llm-model mistral"
            )
        return LanguageModel(Endpoint(endpoint, key_env), model, Budget(calls=calls))
    if model is not None or key_env is not None or calls is not None:
        raise InputError(
            "the language model of the project has its name, key and budget in unruly.toml: change them there, or name "
            "another one by --endpoint"
        )
    prompt = first_prompt(project.sources)
    if prompt is None:
        raise InputError(
            "no source of the project is a language model: name one, as in --endpoint http://127.0.0.1:11434/v1 "
            "--llm-model mistral"
        )
    return LanguageModel.of(prompt)


@dataclass(frozen=True, eq=False)
class LlmSuggester:
    """Documents judged and requests made ready; nothing is sent before `suggest`.

    A model sees the names and descriptions of the classes, words of existing rules, and the beginnings of some
    documents that rules fight over or do not cover.
    """

    project: Project
    llm: LanguageModel
    judged: Judged
    requests: tuple[RuleRequest, ...]

    @classmethod
    def of(
        cls,
        project: Project,
        llm: LanguageModel,
        model: WeakClassifier | None = None,
        progress: Progress = SILENT,
    ) -> LlmSuggester:
        """By a model of the project, or by one that is fitted for this."""
        judged = judge(project, model, progress)
        need = urgency_by_rules(project.sources, judged.corpus, Cache.default())
        rows = contested(judged.corpus, need, judged.posteriors)
        requests = rule_requests(llm, project.sources, judged.corpus, rows)
        return cls(project, llm, judged, tuple(requests))

    def plan(self) -> Plan:
        """What asking would send and cost."""
        return plan_proposals(self.llm, self.requests)

    def suggest(
        self, n: int = 20, progress: Progress = SILENT, retries: RetryPolicy | None = None
    ) -> Suggestions:
        """Ask for rules, and rank those that the corpus bears out, the best first."""
        proposals = propose(self.llm, self.requests, progress, retries)
        return ranked(self.project, self.judged, n, proposals, progress)
