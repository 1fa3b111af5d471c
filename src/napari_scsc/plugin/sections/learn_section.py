"""Learn: how much to learn, what was learned, live."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import CheckBox, ComboBox, SpinBox
from qtpy.QtCore import Signal

from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.plots import Plots
from napari_scsc.plugin.requests import LearnRequest
from napari_scsc.plugin.sections.form_widgets import (
    Fold,
    Section,
    allow,
    make_label,
    make_number_field,
    make_row,
)

_TILES = {"quick": 8, "balanced": 16, "thorough": 64}
_KNOWN_OF_BANKS = ("n_base", "filter_shape", "n_filters")  # what a bank says itself
_MODELS = {"orthonormal (restores best)": "patches", "the paper's (SCSC)": "scsc"}


class LearnSection(Section):
    """Effort first, the paper's parameters folded away, and the live plots."""

    wanted = Signal()
    """The button was pressed."""

    def __init__(self) -> None:
        super().__init__()
        self.effort = ComboBox(
            label="effort",
            choices=list(_TILES),
            value="balanced",
            tooltip="How much of the layers Learn looks at: "
            + ", ".join(f"{name} {n} tiles" for name, n in _TILES.items())
            + ". 'Learn and denoise' takes what is enough, unless you change this",
        )
        self.model = ComboBox(
            label="model",
            choices=list(_MODELS),
            tooltip="Leave it as it is to restore. The paper's model is there for comparison: each "
            "sample mixes its few base filters B into many by weights W of its own",
        )
        self.n_base = _count_field("base filters", 1000, "How many base filters to learn (R)")
        self.filter_size = _count_field("filter size", 64, "Pixels along a side of a filter")
        self.n_filters = _count_field("filters", 1000, "How many filters each sample mixes (K)")
        self.sparsity = make_number_field(
            "sparsity",
            100,
            "auto",
            "The higher, the fewer filters are used at each place (beta, in noise levels)",
        )
        self.ball = ComboBox(
            label="ball",
            choices=["l2", "l1"],
            tooltip="l1: each filter mixes only a few base filters; l2: any number of them",
        )
        self.passes = SpinBox(
            label="passes",
            min=1,
            max=100,
            tooltip="How often to go through the tiles; once is enough for the standard model",
        )
        self.seed = SpinBox(
            label="seed", min=0, max=2**31 - 1, tooltip="The same seed gives the same result"
        )
        self.go_on = CheckBox(
            text="continue the filters that are there",
            tooltip="Add the ticked layers to what was learned before, instead of starting anew",
        )
        self.model.changed.connect(self._model_changed)
        self.start = self.make_button("Learn", "", self.wanted.emit)
        self.plots = Plots()
        advanced = Fold(
            "advanced",
            make_label("0 stands for what suits the data."),
            self.model,
            self.n_base,
            self.filter_size,
            self.n_filters,
            self.sparsity,
            self.ball,
            self.passes,
            self.seed,
            self.go_on,
        )
        self.fill(self.effort, advanced, make_row(self.start), self.plots)
        self._model_changed()
        self._first_values = self._values()

    def request(self, sources: list[Snapshot], bank: FilterBank | None) -> LearnRequest:
        """What the fields ask for; ``bank`` is what there is to continue."""
        options: dict[str, Any] = {
            "n_base": self.n_base.value,
            "tiles": _TILES[self.effort.value],
            "passes": self.passes.value,
            "seed": self.seed.value,
        }
        if self.filter_size.value:
            lengths = (self.filter_size.value,) * sources[0].axes.count("shift")
            options["filter_shape"] = lengths
        if self.is_paper:
            options |= {
                "model": "scsc",
                "n_filters": self.n_filters.value,
                "beta": self.sparsity.value,
                "ball": self.ball.value,
            }
        continued = bank if self.go_on.value else None
        if continued is not None:
            options = {k: v for k, v in options.items() if k not in _KNOWN_OF_BANKS}
        given = {k: v for k, v in options.items() if v or k == "seed"}
        return LearnRequest(tuple(sources), given, continued)

    @property
    def is_changed(self) -> bool:
        """Whether the user asks for other filters than a restoration learns by itself."""
        return self._values() != self._first_values

    def show_refusal(self, refusal: str) -> None:
        """Let the button be pressed, or say why it cannot be."""
        allow(self.start, "Learn base filters (B) from the ticked layers", refusal)

    def _values(self) -> list[Any]:
        """All but the seed, which a restoration has too."""
        fields = (
            self.effort,
            self.model,
            self.n_base,
            self.filter_size,
            self.n_filters,
            self.sparsity,
            self.ball,
            self.passes,
            self.go_on,
        )
        return [field.value for field in fields]

    @property
    def is_paper(self) -> bool:
        """Whether the filters of the paper are asked for."""
        return _MODELS[self.model.value] == "scsc"

    def _model_changed(self, _value: Any = None) -> None:
        for field in (self.n_filters, self.sparsity, self.ball):
            field.enabled = self.is_paper


def _count_field(name: str, most: int, tip: str) -> SpinBox:
    return SpinBox(label=name, min=0, max=most, tooltip=f"{tip}. 0: what suits the data")
