"""Which base filters made a pixel: every part is accounted for, and only its surroundings read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from napari_scsc import Axes, FilterBank, LatticeSCSC, samples
from napari_scsc.restore.explain import Explanation, explain

# kind, shape of the image, (joint axes, support) of the filters
KINDS = [
    ("image", (12, 11), ((), (4, 3))),
    ("rgb", (9, 10, 3), ((3,), (3, 4))),
    ("video", (5, 8, 7), ((), (3, 2, 4))),
    ("stack", (6, 5, 7), ((), (2, 3, 3))),
    ("multispectral", (4, 9, 8), ((4,), (3, 3))),
    ("light-field", (2, 3, 7, 6), ((2, 3), (3, 2))),
    ("time-lapse", (3, 9, 8), ((), (4, 4))),
]
each_kind = pytest.mark.parametrize(("kind", "shape", "span"), KINDS, ids=[k for k, *_ in KINDS])


def noise(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def make_bank(span, n_base=None, seed=1, orthonormal=True):
    """Random filters; as many as there are dimensions unless told."""
    joint, support = span
    size = int(np.prod(joint + support))
    vectors = noise((size, n_base or size), seed)
    if orthonormal:
        vectors = np.linalg.qr(vectors)[0]
    return FilterBank(vectors.T.reshape(-1, *joint, *support), len(joint))


def borders_and_middle(shape):
    """Every combination of the first, a middle and the last index of each axis."""
    return itertools.product(*({0, n // 2, n - 1} for n in shape))


def by_number(explanation, parts=None):
    """The parts in the order of the filters."""
    ordered = np.empty(len(explanation.parts))
    ordered[explanation.filters] = explanation.parts if parts is None else parts
    return ordered


def written_out(x, bank, joint_index, point):
    """The parts for x of (*joint, *shift) and every joint index given: one patch at a time."""
    support = bank.support
    flat = bank.filters.reshape(bank.n_base, -1).astype(np.float64)
    parts = []
    starts = itertools.product(
        *(
            range(max(0, p - h + 1), min(p, n - h) + 1)
            for p, h, n in zip(point, support, x.shape[bank.n_joint :], strict=True)
        )
    )
    for start in starts:
        box = tuple(slice(s, s + h) for s, h in zip(start, support, strict=True))
        patch = x[(..., *box)].ravel()
        coefficients = np.linalg.lstsq(flat.T, patch, rcond=1e-9)[0]
        at = tuple(p - s for p, s in zip(point, start, strict=True))
        parts.append(coefficients * bank.filters[(slice(None), *joint_index, *at)])
    return np.mean(parts, axis=0)


# --- nothing is left out ------------------------------------------------------------------------


@pytest.mark.parametrize("orthonormal", [True, False])
@each_kind
def test_parts_and_rest_are_the_value_everywhere(kind, shape, span, orthonormal):
    x = 100 + noise(shape)
    bank = make_bank(span, 5, orthonormal=orthonormal)
    for position in borders_and_middle(shape):
        found = explain(x, bank, position, kind=kind)
        assert isinstance(found, Explanation)
        assert found.position == position
        assert len(found.labels) == len(shape)
        assert found.value == x[position]
        assert found.parts.sum() + found.rest == pytest.approx(found.value, rel=1e-12)
        assert abs(found.rest) > 1e-6
        assert (found.before, found.parts_before) == (None, None)


@pytest.mark.parametrize("orthonormal", [True, False])
@each_kind
def test_complete_basis_leaves_no_rest(kind, shape, span, orthonormal):
    x, bank = 100 + noise(shape), make_bank(span, orthonormal=orthonormal)
    for position in borders_and_middle(shape):
        assert explain(x, bank, position, kind=kind).rest == pytest.approx(0, abs=1e-8)


def test_complete_learned_basis_leaves_no_rest():
    x = samples.tissue((40, 40))
    bank = LatticeSCSC(25, (5, 5)).fit([x]).bank
    assert bank.filters.dtype == np.float32
    for position in borders_and_middle(x.shape):
        assert explain(x, bank, position).rest == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("orthonormal", [True, False])
@pytest.mark.parametrize("point", [(0, 0), (8, 0), (4, 3), (1, 7), (8, 7)])
def test_parts_are_those_of_every_patch_written_out(point, orthonormal):
    x = noise((2, 3, 9, 8))
    bank = make_bank(((2, 3), (4, 3)), 7, orthonormal=orthonormal)
    for joint in [(0, 0), (1, 2)]:
        found = explain(x, bank, (*joint, *point), kind="light-field")
        np.testing.assert_allclose(
            by_number(found), written_out(x, bank, joint, point), rtol=1e-9, atol=1e-12
        )


def test_filters_come_by_the_size_of_their_parts():
    found = explain(noise((12, 11)), make_bank(((), (4, 3))), (5, 5))
    assert sorted(found.filters) == list(range(12))
    assert np.issubdtype(found.filters.dtype, np.integer)
    assert (np.diff(np.abs(found.parts)) <= 0).all()
    assert (found.parts < 0).any()


# --- the right filter is named ------------------------------------------------------------------


@pytest.mark.parametrize("orthonormal", [True, False])
def test_what_every_patch_repeats_is_explained_by_that_filter_alone(orthonormal):
    """All patches of an exponential are multiples of one filter, wherever they lie."""
    y, x = np.mgrid[:14, :13]
    image = 7 * 1.1**y * 0.9**x
    others = make_bank(((), (4, 4)), 6, orthonormal=False).filters.reshape(6, -1)
    vectors = np.vstack([image[:4, :4].ravel(), others])
    if orthonormal:
        vectors = np.linalg.qr(vectors.T)[0].T
    filters = np.roll(vectors, 3, axis=0).reshape(7, 4, 4)
    for position in borders_and_middle(image.shape):
        found = explain(image, FilterBank(filters), position)
        assert found.filters[0] == 3
        assert found.parts[0] == pytest.approx(image[position])
        np.testing.assert_allclose(found.parts[1:], 0, atol=1e-9)
        assert found.rest == pytest.approx(0, abs=1e-9)


def test_wave_is_explained_by_its_sine_and_cosine():
    y = np.mgrid[:20, :18][0]
    step = 2 * np.pi * y / 8
    vectors = [np.ones((8, 8)), np.sin(step[:8, :8]), np.cos(step[:8, :8]), noise((8, 8))]
    filters = np.linalg.qr(np.reshape(vectors, (4, 64)).T)[0].T.reshape(4, 8, 8)
    for position in borders_and_middle(y.shape):
        found = explain(np.sin(step + 0.4), FilterBank(filters), position)
        np.testing.assert_allclose(by_number(found)[[0, 3]], 0, atol=1e-9)
        assert found.rest == pytest.approx(0, abs=1e-9)


def test_brightness_goes_to_the_constant():
    x = samples.tissue((40, 40)).astype(np.float64)
    bank = LatticeSCSC(12, (5, 5)).fit([x]).bank
    dark, bright = (by_number(explain(x + b, bank, (20, 3))) for b in (0, 50))
    np.testing.assert_allclose(bright - dark, [50, *[0] * 11], atol=1e-4)


# --- what does not matter -----------------------------------------------------------------------


@each_kind
def test_explanation_is_linear(kind, shape, span):
    x, y, bank = noise(shape), noise(shape, 2), make_bank(span, 5)
    position = tuple(n - 1 for n in shape)
    of_x, of_y, of_both = (explain(z, bank, position, kind=kind) for z in (x, y, 2 * x - 3 * y))
    np.testing.assert_allclose(
        by_number(of_both), 2 * by_number(of_x) - 3 * by_number(of_y), atol=1e-9
    )
    assert of_both.rest == pytest.approx(2 * of_x.rest - 3 * of_y.rest, abs=1e-9)


def test_length_and_sign_of_a_filter_do_not_matter():
    x, bank = noise((12, 11)), make_bank(((), (4, 3)), 4)
    scaled = FilterBank(bank.filters * np.array([0.3, -1, 2, -0.01])[:, None, None])
    one, other = (explain(x, b, (3, 10)) for b in (bank, scaled))
    np.testing.assert_allclose(other.parts, one.parts, atol=1e-9)
    np.testing.assert_array_equal(other.filters, one.filters)


def test_rest_depends_only_on_the_span():
    x, bank = noise((12, 11)), make_bank(((), (4, 3)), 4)
    mixed = FilterBank(np.tensordot(noise((4, 4), 3), bank.filters, axes=1))
    doubled = FilterBank(np.concatenate([bank.filters, mixed.filters]))
    rests = [explain(x, b, (3, 10)).rest for b in (bank, mixed, doubled)]
    assert rests == pytest.approx([rests[0]] * 3, abs=1e-9)


def test_filter_that_is_there_twice_shares_its_part():
    x, bank = noise((12, 11)), make_bank(((), (4, 3)), 4)
    twice = FilterBank(np.concatenate([bank.filters, bank.filters[2:3]]))
    once, shared = (by_number(explain(x, b, (3, 10))) for b in (bank, twice))
    np.testing.assert_allclose(shared[[2, 4]], once[2] / 2, atol=1e-9)
    np.testing.assert_allclose(shared[[0, 1, 3]], once[[0, 1, 3]], atol=1e-9)


def test_only_the_surroundings_matter():
    x, bank = noise((30, 30)), make_bank(((), (4, 3)), 5)
    other = noise((30, 30), 9)
    near = (slice(15 - 3, 15 + 4), slice(15 - 2, 15 + 3))
    other[near] = x[near]
    one, two = (explain(z, bank, (15, 15)) for z in (x, other))
    np.testing.assert_array_equal(one.parts, two.parts)
    np.testing.assert_array_equal(explain(x[near], bank, (3, 2)).parts, one.parts)


def test_order_of_the_axes_does_not_matter():
    x, bank = noise((4, 9, 8)), make_bank(((4,), (3, 2)), 5)
    first = explain(x, bank, (1, 7, 2), kind="multispectral")
    last = explain(x.transpose(1, 2, 0), bank, (7, 2, 1), axes="yxc")
    said = explain(
        x.transpose(1, 0, 2),
        bank,
        (7, 1, 2),
        axes=Axes("custom", ("row", "colour", "column"), ("shift", "joint", "shift")),
    )
    for other in (last, said):
        np.testing.assert_allclose(other.parts, first.parts, atol=1e-12)
        assert other.rest == pytest.approx(first.rest, abs=1e-12)
    assert first.labels == ("c", "y", "x")
    assert said.labels == ("row", "colour", "column")
    assert last.position == (7, 2, 1)


@pytest.mark.parametrize("t", range(3))
def test_sample_axis_chooses_the_sample(t):
    x, bank = noise((3, 9, 8)), make_bank(((), (4, 4)), 5)
    found = explain(x, bank, (t, 8, 4), kind="time-lapse")
    np.testing.assert_array_equal(found.parts, explain(x[t], bank, (8, 4)).parts)


def test_none_is_the_mean_over_the_joint_axis():
    x, bank = noise((2, 3, 7, 6)), make_bank(((2, 3), (3, 2)), 6)
    every = {
        (u, v): explain(x, bank, (u, v, 6, 2), kind="light-field")
        for u in range(2)
        for v in range(3)
    }
    for u, v in itertools.product([None, 0, 1], [None, 0, 2]):
        found = explain(x, bank, (u, v, 6, 2), kind="light-field", source=x)
        chosen = [e for (i, j), e in every.items() if u in (None, i) and v in (None, j)]
        assert found.position == (u, v, 6, 2)
        assert found.value == pytest.approx(np.mean([e.value for e in chosen]))
        assert found.before == found.value
        np.testing.assert_allclose(
            by_number(found), np.mean([by_number(e) for e in chosen], axis=0), atol=1e-12
        )


@pytest.mark.parametrize("dtype", ["u1", ">i2", "f4", "i8", "f2"])
def test_type_of_the_image_does_not_matter(dtype):
    x = np.round(20 * noise((12, 11)) + 120).clip(0, 250)
    bank = make_bank(((), (4, 3)), 5)
    expected = explain(x, bank, (3, 4))
    given = x.astype(dtype)
    given.flags.writeable = False
    found = explain(given, bank, (np.int64(3), np.uint8(4)))
    np.testing.assert_array_equal(found.parts, expected.parts)
    assert found.parts.dtype == np.float64
    assert type(found.value) is type(found.rest) is float
    assert found.position == (3, 4)


# --- before and after ---------------------------------------------------------------------------


@each_kind
def test_source_is_explained_like_a_result(kind, shape, span):
    x, y, bank = noise(shape), noise(shape, 2), make_bank(span, 5)
    position = tuple(n // 2 for n in shape)
    found = explain(x, bank, position, source=y, kind=kind)
    before = explain(y, bank, position, kind=kind)
    assert found.before == before.value == y[position]
    np.testing.assert_array_equal(by_number(found, found.parts_before), by_number(before))
    np.testing.assert_array_equal(found.parts, explain(x, bank, position, kind=kind).parts)


@pytest.mark.parametrize("missing", [np.nan, np.inf, "masked"])
def test_hole_in_the_source_leaves_nothing_to_explain_near_it(missing):
    x, bank = noise((20, 20)), make_bank(((), (4, 3)), 5)
    hole = np.zeros(x.shape, bool)
    hole[10, 10] = True
    y = np.ma.MaskedArray(x, hole) if missing == "masked" else np.where(hole, missing, x)
    at, near, far = (explain(x, bank, p, source=y) for p in [(10, 10), (13, 8), (14, 10)])
    assert (at.before, at.parts_before) == (None, None)
    assert (near.before, near.parts_before) == (x[13, 8], None)
    assert far.before == x[14, 10]
    np.testing.assert_array_equal(far.parts_before, far.parts)


def test_joint_value_that_another_lacks_is_still_known():
    x, bank = noise((4, 9, 8)), make_bank(((4,), (3, 3)), 5)
    y = x.copy()
    y[2, 4, 4] = np.nan
    arguments = {"source": y, "kind": "multispectral"}
    assert explain(x, bank, (1, 4, 4), **arguments).before == x[1, 4, 4]
    assert explain(x, bank, (2, 4, 4), **arguments).before is None
    assert explain(x, bank, (None, 4, 4), **arguments).before is None
    assert explain(x, bank, (1, 4, 4), **arguments).parts_before is None


# --- reading ------------------------------------------------------------------------------------


class Lazy:
    """Has what a lazy array has, and remembers what was read."""

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype
        self.read = []

    def __getitem__(self, region):
        self.read.append(region)
        return self.values[region]

    def __array__(self, *args, **kwargs):
        raise AssertionError("converted as a whole")


def test_no_more_is_read_than_the_patches_that_cover_the_pixel():
    x = noise((5, 3, 60, 70))
    axes = Axes("custom", tuple("ncyx"), ("sample", "joint", "shift", "shift"))
    bank = make_bank(((3,), (4, 8)), 5)
    result, source = Lazy(x), Lazy(x)
    for position, rows, columns in [
        ((2, 1, 30, 40), (27, 34), (33, 48)),
        ((2, 1, 0, 69), (0, 4), (62, 70)),
    ]:
        result.read.clear()
        source.read.clear()
        explain(result, bank, position, source=source, axes=axes)
        assert result.read == source.read == [np.s_[2:3, :, slice(*rows), slice(*columns)]]


def test_only_the_chunks_around_the_pixel_are_computed():
    da = pytest.importorskip("dask.array")
    x, bank, computed = noise((64, 64)), make_bank(((), (4, 4)), 5), []

    def block(block_info=None):
        (rows, columns) = block_info[None]["array-location"]
        computed.append((rows[0], columns[0]))
        return x[slice(*rows), slice(*columns)]

    lazy = da.map_blocks(block, chunks=((8,) * 8, (8,) * 8), dtype=x.dtype, meta=x[:0, :0])
    found = explain(lazy, bank, (20, 31))
    np.testing.assert_array_equal(found.parts, explain(x, bank, (20, 31)).parts)
    assert sorted(computed) == [(16, 24), (16, 32)]


def test_every_kind_of_array_is_taken():
    da, xr = pytest.importorskip("dask.array"), pytest.importorskip("xarray")
    zarr = pytest.importorskip("zarr")
    x, bank = noise((16, 18)), make_bank(((), (4, 4)), 5)
    expected = explain(x, bank, (9, 17))
    stored = zarr.array(x, chunks=(8, 8))
    multiscale = [x, x[::2, ::2]]
    for given in (
        da.from_array(x, chunks=5),
        stored,
        xr.DataArray(x, dims=tuple("yx")),
        multiscale,
    ):
        found = explain(given, bank, (9, 17), source=given)
        np.testing.assert_array_equal(found.parts, expected.parts)
        np.testing.assert_array_equal(found.parts_before, expected.parts)
    named = explain(
        xr.DataArray(noise((9, 4, 8)), dims=tuple("ycx")),
        make_bank(((4,), (3, 3)), 5),
        (8, None, 0),
    )
    assert named.labels == ("y", "c", "x")


def test_nothing_of_the_users_is_changed():
    x, bank = noise((12, 11)), make_bank(((), (4, 3)), 5)
    before = x.tobytes()
    found = explain(x, bank, (3, 3), source=x)
    found.parts[:] = 0
    found.filters[:] = 0
    assert x.tobytes() == before


# --- wrong arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "error", "words"),
    [
        ((12, 0), ValueError, "axis 'y' must be a whole number from 0 to 11, but is 12"),
        ((0, -1), ValueError, "axis 'x' must be a whole number from 0 to 10, but is -1"),
        ((3,), ValueError, "position has 1 numbers, but the image has 2 axes"),
        ((3, 3, 3), ValueError, "position has 3 numbers, but the image has 2 axes"),
        ((3, None), TypeError, "axis 'x' must be a whole number"),
        ((3.5, 3), TypeError, "axis 'y' must be a whole number"),
    ],
)
def test_wrong_positions_are_named(position, error, words):
    with pytest.raises(error, match=words):
        explain(noise((12, 11)), make_bank(((), (4, 3)), 5), position)


@pytest.mark.parametrize(
    ("kind", "shape", "position"),
    [("multispectral", (4, 9, 8), (4, 0, 0)), ("time-lapse", (3, 9, 8), (3, 0, 0))],
)
def test_positions_beyond_joint_and_sample_axes_are_refused(kind, shape, position):
    span = ((4,), (3, 3)) if kind == "multispectral" else ((), (3, 3))
    with pytest.raises(ValueError, match="from 0 to"):
        explain(noise(shape), make_bank(span, 5), position, kind=kind)


def test_none_is_for_joint_axes_only():
    with pytest.raises(TypeError, match="axis 't'"):
        explain(noise((3, 9, 8)), make_bank(((), (4, 4)), 5), (None, 0, 0), kind="time-lapse")


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (((3,), (3, 3)), r"joint axes of lengths \(3,\)"),
        (((), (3, 3, 3)), "3 shift axes"),
        (((), (13, 3)), "smaller than the filters"),
    ],
)
def test_bank_of_other_data_is_refused(span, words):
    with pytest.raises(ValueError, match=words):
        explain(noise((12, 11)), make_bank(span, 5), (0, 0))


def test_bank_must_be_a_bank():
    with pytest.raises(TypeError, match="FilterBank"):
        explain(noise((12, 11)), noise((5, 4, 3)), (0, 0))


def test_source_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"source has the shape \(11, 12\)"):
        explain(noise((12, 11)), make_bank(((), (4, 3)), 5), (0, 0), source=noise((11, 12)))


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
def test_result_with_holes_is_refused_only_near_them(wrong):
    x, bank = noise((20, 20)), make_bank(((), (4, 3)), 5)
    x[10, 10] = wrong
    with pytest.raises(ValueError, match=r"missing or infinite values near \(13, 8\)"):
        explain(x, bank, (13, 8))
    assert explain(x, bank, (14, 10)).value == x[14, 10]


def test_unclear_kind_is_asked_for():
    with pytest.raises(ValueError, match="say which with kind"):
        explain(noise((5, 8, 7)), make_bank(((), (3, 2, 4)), 5), (0, 0, 0))
