"""What the dock is set to, for files that are restored in a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from napari_scsc.batch.request import BatchRequest
from napari_scsc.data.axes import Axes
from napari_scsc.model.bank import FilterBank
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.restore.options import RestoreOptions


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What is done with each file: what the tab Restore would do with a layer.

    Made by the dock when a batch begins, and used by the tab Batch.

    Attributes
    ----------
    task : {"denoise", "inpaint"}
        What to do.
    options : mapping
        Arguments of ``iter_denoise`` or ``iter_inpaint``, such as quality, strength, sigma, noise,
        outliers, seed and method; what is left to the function may be left out.
    bank : FilterBank, optional
        Filters to restore with; without, they are learned from each file.
    bank_path : str, optional
        The file that they are in, for the command that does the same.
    n_jobs : int, optional
        Threads; None is one for each core.
    kind : str, optional
        What the axes of each file are; None: as the file says, or guessed.
    axes : str or Axes, optional
        The same, axis by axis.
    """

    task: RestoreTask = "denoise"
    options: Mapping[str, Any] = field(default_factory=dict)
    bank: FilterBank | None = None
    bank_path: str | None = None
    n_jobs: int | None = None
    kind: str | None = None
    axes: str | Axes | None = None

    def request(self, **files: Any) -> BatchRequest:
        """The batch that these settings ask for; ``files`` are the fields about files."""
        return BatchRequest(
            task=self.task,
            options={**self.options, "n_jobs": self.n_jobs},
            bank=self.bank,
            kind=self.kind,
            axes=self.axes,
            **files,
        )

    def in_words(self) -> str:
        """The settings in a line."""
        usual = RestoreOptions()
        chosen = {"quality": usual.quality, "strength": usual.strength, "method": usual.method}
        chosen |= self.options
        words = [self.task, str(chosen["quality"])]
        if self.task == "denoise":
            words += [f"strength {chosen['strength']:.2f}", self._noise_in_words()]
        if chosen["method"] != usual.method:
            words.append(f"method {chosen['method']}")
        if self.bank is not None:
            source = f" of {Path(self.bank_path).name}" if self.bank_path else ""
            words.append(f"{self.bank.n_base} filters{source}")
        if self.axes is not None or self.kind is not None:
            kind = self.axes.kind if isinstance(self.axes, Axes) else self.kind
            words.append(kind or f"axes {self.axes}")
        return ", ".join(words)

    def _noise_in_words(self) -> str:
        sigma, noise = self.options.get("sigma"), self.options.get("noise", "auto")
        if sigma is not None:
            return f"noise {sigma:.4g}"
        if not isinstance(noise, str):
            return "the noise that was measured"
        return "noise found in each" if noise == "auto" else f"noise found in each ({noise})"
