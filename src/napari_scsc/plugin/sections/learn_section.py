"""Learn: which model, how much to learn from, what was learned, live."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import CheckBox, ComboBox, SpinBox
from qtpy.QtCore import Signal

from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.plots import Plots
from napari_scsc.plugin.requests import LearnRequest
from napari_scsc.plugin.sections.form_widgets import (
    Fold,
    NumberField,
    RadioField,
    Section,
    allow,
    make_label,
    make_row,
)

_TILES = {"quick": 8, "balanced": 16, "thorough": 64}
_KNOWN_OF_BANKS = ("n_base", "filter_shape", "n_filters")  # what a bank says itself
SCSC, PATCHES = "convolutional (SCSC)", "patches (quick)"
_MODELS = {SCSC: "scsc", PATCHES: "patches"}
# What banks call the model that they were learned with, those of version 0.1 too.
_LEARNERS = {"scsc": SCSC, "paper": SCSC, "patches": PATCHES, "lattice": PATCHES}
_FIELDS_OF_SCSC = ("n_filters", "sparsity", "ball")
# What a restoration that has to learn first would not do by itself. Neither the model, of which it
# takes the quick one, nor the seed, which it has too.
_FIELDS_THAT_COUNT = ("effort", "n_base", "filter_size", "passes", "go_on", *_FIELDS_OF_SCSC)
_SENTENCES = {
    SCSC: "A few filters that slide over the image, and that each tile mixes into many of its own.",
    PATCHES: "The patterns that patches have most in common. In a second: 'Denoise' "
    "learns these by itself.",
}


class LearnSection(Section):
    """The model and the effort first, its numbers folded away, and the live plots."""

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
            + ". 'Denoise' takes what is enough, unless you change this",
        )
        self.model = RadioField(
            "model",
            _SENTENCES,
            "What kind of filters Learn learns. Images can be restored with either kind",
        )
        self.n_base = _count_field("base filters", 1000, "How many base filters to learn (R)")
        self.filter_size = _count_field("filter size", 64, "Pixels along a side of a filter")
        self.n_filters = _count_field("filters", 1000, "How many filters each sample mixes (K)")
        self.sparsity = NumberField(
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
            tooltip="How often to go through the tiles; once is enough for patches",
        )
        self.seed = SpinBox(
            label="seed", min=0, max=2**31 - 1, tooltip="The same seed gives the same result"
        )
        self.go_on = CheckBox(
            text="go on from these filters",
            tooltip="Add the ticked layers to what was learned before, with the same model, "
            "instead of starting anew",
        )
        self.model.changed.connect(self._model_changed)
        self.start = self.make_button("Learn", "", self.wanted.emit)
        self._about_bank = make_label()
        self.plots = Plots()
        advanced = Fold(
            "advanced",
            make_label("0 stands for what suits the data."),
            self.n_base,
            self.filter_size,
            self.n_filters,
            self.sparsity,
            self.ball,
            self.passes,
            self.seed,
            self.go_on,
        )
        self.fill(
            self.model.native,
            self.model.sentence,
            self.effort,
            advanced,
            make_row(self.start),
            self._about_bank,
            self.plots,
        )
        self.show_bank(None)
        self._model_changed()
        self._first_values = {name: getattr(self, name).value for name in _FIELDS_THAT_COUNT}

    def request(self, sources: list[Snapshot], bank: FilterBank | None) -> LearnRequest:
        """What the fields ask for; ``bank`` is what there is to continue, with its own model."""
        continued = bank if self.go_on.value else None
        model = (_model_of(continued) if continued else None) or self.model.value
        options: dict[str, Any] = {
            "model": _MODELS[model],
            "n_base": self.n_base.value,
            "tiles": _TILES[self.effort.value],
            "passes": self.passes.value,
            "seed": self.seed.value,
        }
        if self.filter_size.value:
            lengths = (self.filter_size.value,) * sources[0].axes.count("shift")
            options["filter_shape"] = lengths
        if model == SCSC:
            options |= {
                "n_filters": self.n_filters.value,
                "beta": self.sparsity.value,
                "ball": self.ball.value,
            }
        if continued is not None:
            options = {k: v for k, v in options.items() if k not in _KNOWN_OF_BANKS}
        given = {k: v for k, v in options.items() if v or k == "seed"}
        return LearnRequest(tuple(sources), given, continued)

    @property
    def is_changed(self) -> bool:
        """Whether the user asks for other filters than a restoration learns by itself."""
        unused = () if self.is_scsc else _FIELDS_OF_SCSC
        return any(
            getattr(self, name).value != first
            for name, first in self._first_values.items()
            if name not in unused
        )

    def show_state(self, refusal: str, is_learning: bool) -> None:
        """Let the button be pressed, or say why it cannot be; while it learns, it stops."""
        self.start.setText("Stop learning" if is_learning else "Learn")
        tip = "Stop; what was learned so far stays"
        if not is_learning:
            tip = "Learn base filters (B) from the ticked layers"
        allow(self.start, tip, "" if is_learning else refusal)

    def show_bank(self, bank: FilterBank | None) -> None:
        """Say which filters there are to restore with; None: they have to be learned first."""
        self._about_bank.setVisible(bank is not None)
        if bank is not None:
            model = _model_of(bank)
            kind = f", {model}" if model else ""
            self._about_bank.setText(f"There are {bank.n_base} filters{kind}")

    @property
    def is_scsc(self) -> bool:
        """Whether convolutional filters are asked for."""
        return self.model.value == SCSC

    @handler
    def _model_changed(self, _value: Any = None) -> None:
        for name in _FIELDS_OF_SCSC:
            getattr(self, name).enabled = self.is_scsc


def _model_of(bank: FilterBank) -> str | None:
    """With which of the models a bank was learned, if with one of them."""
    return _LEARNERS.get(str(bank.info.get("learner")))


def _count_field(name: str, most: int, tip: str) -> SpinBox:
    return SpinBox(label=name, min=0, max=most, tooltip=f"{tip}. 0: what suits the data")
