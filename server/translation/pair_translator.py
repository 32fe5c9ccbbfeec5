"""One pair of languages of a model that translates between many."""

from typing import Any

from server.engine.worker import EngineWorker
from server.translation.loaded_model import LoadedModel
from server.translation.planning import Planner
from server.translation.translator import Translator


class PairTranslator(Translator):
    """A model with the languages of one request: its vocabularies put the tokens of both before every source. Engine,
    users and state are the model's own, so that sentences of all pairs are in the same batches. Made for every request;
    it holds nothing but its model."""

    def __init__(self, model: Translator, source: str, target: str) -> None:
        """`model` translates from `source` into `target`."""
        self._model, self._pair = model, (source, target)
        self._made: tuple[LoadedModel, LoadedModel] | None = None
        """The model's parts, and those of the pair that were made of them."""

    def __getattr__(self, name: str) -> Any:
        """What is not of the pair is the model's."""
        return getattr(self._model, name)

    @property
    def languages(self) -> tuple[str, str]:
        return self._pair

    @property
    def _parts(self) -> LoadedModel:
        loaded = self._model._parts
        if self._made is None or self._made[0] is not loaded:
            self._made = (loaded, self._of_pair(loaded))
        return self._made[1]

    def _of_pair(self, loaded: LoadedModel) -> LoadedModel:
        manifest, (source, target) = self.artifact.manifest, self._pair
        assert manifest.languages is not None
        pieces = (
            loaded.source_pieces.in_language(source, manifest.languages.prefix(source, target)),
            loaded.target_pieces.in_language(source),
        )
        planner = Planner(manifest, pieces, self.settings.max_waiting, self._pair)
        return LoadedModel(*pieces, planner, loaded.worker)

    @property
    def whole(self) -> Translator:
        return self._model

    def open(self, loaded: LoadedModel) -> None:
        self._model.open(loaded)

    def close(self) -> LoadedModel:
        return self._model.close()

    def fail(self, state: Any, reason: str) -> None:
        self._model.fail(state, reason)

    def recover(self, worker: EngineWorker) -> None:
        self._model.recover(worker)


def in_languages(model: Translator, source: str, target: str) -> Translator:
    """The model as it translates from `source` into `target`, which it does: itself, if it has one pair."""
    return model if model.artifact.manifest.languages is None else PairTranslator(model, source, target)
