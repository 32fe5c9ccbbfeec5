"""`ringmt models`."""

import argparse
import shlex

from export.local_models import LocalModel, find_local_models
from server.artifact.language_tokens import MANY


class ModelsCommand:
    """Models of other programs on this machine."""

    help = (
        "list the models that Argos Translate, LibreTranslate, translateLocally, Firefox and the Hugging Face Hub left "
        "on this machine, with the command that imports each; nothing is downloaded"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, args: argparse.Namespace) -> int:
        models = find_local_models()
        for model in models:
            print(f"{model.format:12} {model.pair:12} {model.size / 2**20:8.1f} MiB  {model.path}")
            print(f"  {command_for(model)}")
        if not models:
            print("no models of other programs here; `ringmt import --help` lists the formats that are read")
        return 0


def command_for(model: LocalModel) -> str:
    """The command that imports a model; what its files do not say is left to fill in."""
    options = [
        f"--{side} {code or side.upper()}"
        for side, code in zip(("source", "target"), model.languages, strict=True)
        if code is None or model.is_one_of_several
    ]
    out = "MODELS/NAME" if None in model.languages or MANY in model.languages else f"MODELS/{model.pair}"
    return " ".join(["ringmt import", model.format, shlex.quote(str(model.path)), *options, "--out", shlex.quote(out)])


models_command = ModelsCommand()
