"""Errors and remarks in the words of the dock: its fields, and what can be done in it."""

from __future__ import annotations

import math
from typing import Any

from napari_scsc.errors import Message, Remedy, message_of
from napari_scsc.noise.model import Noise
from napari_scsc.plugin.parts import PartFailed
from napari_scsc.restore.bank_fit import BankFit
from napari_scsc.run.updates import (
    BlocksDone,
    FirstLook,
    NoiseFound,
    RegionRestored,
    TileLearned,
)

ARGUMENTS = {
    "axes": "what is said of the axes",
    "ball": "the ball",
    "bank": "the filter bank",
    "beta": "the sparsity",
    "error": "the error map",
    "filter_shape": "the filter size",
    "image": "the image",
    "images": "the list of ticked layers",
    "kind": "the kind",
    "memory": "the memory",
    "method": "the method",
    "missing": "the mask",
    "model": "the model",
    "n_base": "the number of base filters",
    "n_filters": "the number of filters",
    "n_jobs": "the number of threads in the preferences",
    "noise": "the noise model",
    "noise_filters": "the list of filters that are noise",
    "out": "the file of the result",
    "outliers": "what is done with outliers",
    "passes": "the number of passes",
    "path": "the file",
    "quality": "the quality",
    "saturation": "the level of saturation",
    "seed": "the seed",
    "sigma": "the noise level",
    "strength": "the strength",
    "tiles": "the number of tiles",
}
"""What the fields of the dock are called, by the arguments that they become."""

REMEDIES = {
    Remedy.CHOOSE_ANOTHER_NAME: "choose another name",
    Remedy.CHOOSE_ANOTHER_OUTPUT: "choose another name",
    Remedy.CHOOSE_SCSC_MODEL: "choose the model 'convolutional (SCSC)'",
    Remedy.CLUSTER_MEMORY: "close what needs memory, and start it again",
    Remedy.DENOISE_FOR_ERROR: "choose the task Denoise and the method 'scsc'",
    Remedy.DROP_AXIS: "set it to 'each by itself', or choose another kind",
    Remedy.FILL_MISSING: "choose the task 'Fill holes'; to take noise out as well, type its level "
    "into 'noise'",
    Remedy.FILL_OUTLIERS: "'outliers: fill', under advanced, replaces them",
    Remedy.GIVE_SIGMA: "type the noise level into 'noise' if you know it",
    Remedy.INVERT_MASK: "if the mask covers what is known, invert it",
    Remedy.LEARN_WITH_CHECKPOINT: "learn again",
    Remedy.MARK_INFINITE: "cover them with a Labels layer, choose the task 'Fill holes' and that "
    "layer as the mask",
    Remedy.MARK_MISSING: "choose a Labels or Shapes layer as the mask, or if one is chosen, draw "
    "on it; to take noise out of a complete image, choose the task Denoise",
    Remedy.NAME_AXES: "press 'edit' below the image and say what each axis is",
    Remedy.NAME_INPUT: "open the file that you mean",
    Remedy.NAME_ONE_SAMPLE_AXIS: "set one of them to 'each by itself' or 'joined'",
    Remedy.NAME_OUTPUT: "name a folder for large results in the preferences",
    Remedy.OVERWRITE: "choose another name",
    Remedy.RESTORE_TOGETHER: "with the kind video or stack it is filled from its neighbours",
    Remedy.RESUME: "remove it, and start again",
    Remedy.RESUME_WITH_SAME_ARGUMENTS: "remove it, and start again",
    Remedy.RUN_AGAIN: "start it again",
    Remedy.SAY_KEY: "open the one that is meant by itself",
    Remedy.SAY_KIND_OR_AXES: "press 'edit' below the image, and choose a kind",
}
"""What a user of the dock can do about something that is wrong."""


def say(said: Message | BaseException) -> str:
    """A remark or an error for somebody who sees no code."""
    message = said if isinstance(said, Message) else message_of(said)
    return message.render(ARGUMENTS, REMEDIES)


def describe_stage(update: Any) -> str:
    """What a job is doing, in a few words."""
    match update:
        case NoiseFound():
            return f"noise {update.noise.sigma:.3g} found" if update.noise.sigma else "no noise"
        case FirstLook():
            return "learning filters"
        case TileLearned():
            return f"learning filters, tile {update.number} of {update.total}"
        case RegionRestored() if update.total > 1:
            return f"restoring, tile {update.number} of {update.total}"
        case RegionRestored() | BlocksDone():
            return "restoring"
        case PartFailed():
            return "failed"
        case _:
            return "done"


def describe_fit(fit: BankFit) -> tuple[str, str]:
    """Whether filters fit an image, in a line, and the figures behind it."""
    words = "The filters fit this image"
    if fit.verdict != "fits":
        words = "The filters do not fit this image well: learn again"
    weights = "not known" if fit.distance_of_weights is None else f"{fit.distance_of_weights:.2f}"
    details = (
        f"outside the span of the filters: {fit.energy_outside:.1%} of the structure\n"
        f"that filters of this image would gain: {fit.energy_to_gain:.1%}\n"
        f"distance of the weights W from their mean in the filters: {weights}\n"
        f"objective in squares of the noise level: {fit.objective:.2f} (noise alone: 0.5)"
    )
    return words, details


_FEW_LEVELS = 12  # of channels or frames, that are told one by one


def summarize_noise(noise: Noise) -> str:
    """What was found of a noise, in a few words."""
    words = [f"found {noise.sigma:.3g}"]
    if noise.depends_on_signal:
        words.append("grows with brightness")
    if noise.lags or noise.rows or noise.columns or noise.frames or noise.shared:
        words.append("shared by neighbours" if noise.lags else "with stripes or steps")
    levels = noise.levels
    if levels:
        words.append(f"{min(levels):.3g} to {max(levels):.3g}")
    return ", ".join(words) + ("" if noise.sure else "; not sure")


def describe_noise(noise: Noise) -> str:
    """What was found of a noise, in a line."""
    mean = "mean " if noise.depends_on_signal else ""
    words = [f"found: {mean}{noise.sigma:.4g}"]
    if noise.depends_on_signal:
        words.append(f"grows with brightness (gain {noise.gain:.3g}")
        if math.isfinite(noise.photons):
            words[-1] += f", about {noise.photons:.3g} photons at the mean"
        words[-1] += ")"
    if noise.lags:
        words.append(f"shared by neighbours ({noise.lags[0][1]:.0%})")
    shared = {"rows": noise.rows, "columns": noise.columns, "frames": noise.frames}
    words += [f"{level:.3g} shared by {name}" for name, level in shared.items() if level]
    if noise.shared:
        words.append("shared by channels")
    levels = noise.levels
    if levels:
        few = ", ".join(f"{level:.3g}" for level in levels)
        ends = f"{min(levels):.3g} to {max(levels):.3g}"
        words.append(f"of each by itself: {few if len(levels) <= _FEW_LEVELS else ends}")
    sure = "" if noise.sure else " (not sure: type it in if you know it)"
    return ", ".join(words) + sure
