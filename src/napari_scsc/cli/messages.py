"""What the command line says: results, complaints, and messages in the words of its options."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import click

from napari_scsc.cli.options import ARGUMENT_NAMES
from napari_scsc.errors import Message, Remedy

REMEDIES = {
    Remedy.CHOOSE_ANOTHER_NAME: "choose another name, or remove it",
    Remedy.CHOOSE_ANOTHER_OUTPUT: "choose another --out",
    Remedy.CHOOSE_SCSC_MODEL: "learn with --model scsc",
    Remedy.CLUSTER_MEMORY: "run it again with --resume, on workers with more memory or without "
    "--scheduler, or remove it and begin again with a smaller --memory",
    Remedy.DENOISE_FOR_ERROR: "denoise tells it, with --method scsc",
    Remedy.DROP_AXIS: "choose another --kind or --axes",
    Remedy.FILL_MISSING: "inpaint fills them, and denoises with --sigma",
    Remedy.FILL_OUTLIERS: "--outliers fill replaces them",
    Remedy.GIVE_SIGMA: "give --sigma if you know it",
    Remedy.INVERT_MASK: "if the mask marks what is known, invert it",
    Remedy.LEARN_WITH_CHECKPOINT: "learn again",
    Remedy.MARK_INFINITE: "mark them as missing, with a --mask for inpaint",
    Remedy.MARK_MISSING: "to take noise out of a complete image, use denoise",
    Remedy.NAME_AXES: "name its axes with --axes",
    Remedy.NAME_INPUT: "name the file that you mean with --input",
    Remedy.NAME_ONE_SAMPLE_AXIS: "call one of them n in --axes, or write separate after it",
    Remedy.NAME_OUTPUT: "name the file with --out",
    Remedy.OVERWRITE: "choose another name, or remove it",
    Remedy.RESTORE_TOGETHER: "with --kind video or --kind stack it is filled from its neighbours",
    Remedy.RESUME: "go on with --resume, or remove it",
    Remedy.RESUME_WITH_SAME_ARGUMENTS: "resume with the same options, or remove it",
    Remedy.RUN_AGAIN: "run it again with --resume",
    Remedy.SAY_KEY: "say which with --key",
    Remedy.SAY_KIND_OR_AXES: "say which with --kind, or name its axes with --axes",
}


def printable(words: str) -> str:
    """Words of which nothing can move the cursor, colour the terminal, or turn its direction.

    File names hold what their maker wants, and terminals do what they read.
    """
    return "".join(c if unicodedata.category(c) not in _UNSEEN else ascii(c)[1:-1] for c in words)


_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format and surrogate characters, line ends


def say(facts: dict[str, Any], *lines: str, as_json: bool) -> None:
    """Give a result: to programs as JSON, to people as lines."""
    click.echo(json.dumps(facts) if as_json else "\n".join(map(printable, lines)))


def complain(words: str) -> None:
    """Say on the standard error, in one line, what is wrong or stands out."""
    click.echo(f"napari-scsc: {printable(' '.join(words.split()))}", err=True)


def render(message: Message) -> str:
    """A message in the words of the command line."""
    return message.render(ARGUMENT_NAMES, REMEDIES)
