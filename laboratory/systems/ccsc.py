"""CCSC (Choudhury et al. 2017): consensus ADMM over blocks of samples, a block a dask task.

Each block has the codes of its samples and filters of its own, which must agree:

    min  sum_b sum_n  1/2 || M . (x_n - D_b * Z_n) ||^2 + beta ||Z_n||_1,  D_b = V, V in its ball

Blocks stay where they were computed (``dask.persist``): with a cluster, only filters travel. The
scheduler is the one that is set; dask's default takes all cores, "synchronous" takes one. What lies
outside a sample is missing data, filled by the last reconstruction as the engine does.
"""

import time
from dataclasses import dataclass, replace

import dask
import numpy as np

from laboratory.systems.box_fft import backward, forward
from laboratory.systems.interface import LearningStep, shared_coder
from napari_scsc.model.solver.filter_step import project_filters
from napari_scsc.model.solver.problem import Geometry, filter_spectra
from napari_scsc.model.solver.prox import soft_threshold
from napari_scsc.model.threads import single_threaded

_MAX_ITERATIONS = 200
_N_BLOCKS = 5
_ADMM_ROUNDS = 10  # of ADMM for the codes, and as many for the filters, in an iteration
_CODE_RHO = 1.0


@dataclass(frozen=True)
class Block:
    """Some of the samples, and all that ADMM keeps for them. P points of the box, F frequencies."""

    geometry: Geometry
    samples: np.ndarray  # (N, C, P), zero outside
    mask: np.ndarray  # (P,)
    filled: np.ndarray  # (N, C, P), the reconstruction outside
    codes: np.ndarray  # (N, K, P), sparse
    code_dual: np.ndarray  # (N, K, P)
    filters: np.ndarray  # (K, C, P), of this block
    filter_dual: np.ndarray  # (K, C, P)

    @classmethod
    def first(cls, samples, n_filters, geometry):
        padded = np.stack([geometry.pad(x, np.float32) for x in samples])
        codes = np.zeros((len(samples), n_filters, geometry.size), np.float32)
        filters = np.zeros((n_filters, geometry.n_joint, geometry.size), np.float32)
        return cls(
            geometry=geometry,
            samples=padded,
            mask=geometry.pad(np.ones(geometry.shift), np.float32)[0],
            filled=padded,
            codes=codes,
            code_dual=codes,
            filters=filters,
            filter_dual=filters,
        )

    @property
    def nbytes(self):
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))


def learn(task, n_blocks=_N_BLOCKS):
    """An iteration: some rounds of ADMM for all codes, and some for the filters."""
    geometry = Geometry(task.joint, task.shift, task.support)
    begin = time.process_time()
    filters = task.first_filters()
    parts = np.array_split(task.samples, min(n_blocks, len(task.samples)))
    first = dask.delayed(Block.first)
    blocks = dask.persist(*[first(part, task.n_filters, geometry) for part in parts])
    rho = 0.0
    seconds = time.process_time() - begin
    for iteration in range(1, _MAX_ITERATIONS + 1):
        begin = time.process_time()
        with single_threaded():
            blocks = dask.persist(*[dask.delayed(code)(b, filters, task.beta) for b in blocks])
            blocks, filters, rho = agree(blocks, filters, rho)
        seconds += time.process_time() - begin
        kept_bytes = sum(dask.compute(*[b.nbytes for b in blocks])) + filters.nbytes
        yield LearningStep(seconds, iteration, shared_coder(task, filters), kept_bytes)


def code(block, filters, beta, rounds=_ADMM_ROUNDS):
    """The block after some rounds of ADMM for its codes, sample by sample."""
    spectra = filter_spectra(filters, block.geometry)
    gram = np.einsum("kcf,kdf->fcd", spectra, spectra.conj())
    inverse = np.linalg.inv(gram + _CODE_RHO * np.eye(gram.shape[-1])).astype(spectra.dtype)
    results = [
        _code_one(block, n, spectra, inverse, beta, rounds) for n in range(len(block.samples))
    ]
    filled, codes, dual = map(np.stack, zip(*results, strict=True))
    return replace(block, filled=filled, codes=codes, code_dual=dual)


def _code_one(block, n, spectra, inverse, beta, rounds):
    """Filled sample, code and dual of the n-th sample."""
    geometry, sample = block.geometry, block.samples[n]
    filled, z, dual = block.filled[n], block.codes[n], block.code_dual[n].copy()
    for _ in range(rounds):
        # (D^H D + rho) Y = D^H x + rho (Z - U), by a system of the size of the joint axes.
        right = np.einsum("kcf,cf->kf", spectra.conj(), forward(filled, geometry))
        right += np.float32(_CODE_RHO) * forward(z - dual, geometry)
        inner = np.einsum("fcd,kdf,kf->cf", inverse, spectra, right, optimize=True)
        right -= np.einsum("kcf,cf->kf", spectra.conj(), inner)
        y = backward(right, geometry) / np.float32(_CODE_RHO)
        dual += y
        z = soft_threshold(dual, np.float32(beta / _CODE_RHO))
        dual -= z
        reconstruction = np.einsum("kcf,kf->cf", spectra, forward(z, geometry))
        filled = sample + (1 - block.mask) * backward(reconstruction, geometry)
    return filled, z, dual


def agree(blocks, filters, old_rho, rounds=_ADMM_ROUNDS):
    """Consensus ADMM for the filters, the codes fixed: the blocks, the filters, and the rho used.

    The penalty is the mean curvature of a block's error, as in the engine; the scaled dual
    variables follow when it changes.
    """
    energies = dask.compute(*[dask.delayed(energy)(b) for b in blocks])
    rho = max(sum(energies) / len(blocks), 1e-30)
    ready = dask.persist(
        *[dask.delayed(prepare)(b, rho, old_rho / rho if old_rho else 1.0) for b in blocks]
    )
    for _ in range(rounds):
        ready = dask.persist(*[dask.delayed(fit_filters)(r, filters) for r in ready])
        mean = sum(dask.compute(*[dask.delayed(proposal)(r) for r in ready])) / len(blocks)
        filters = project_filters(mean)
        ready = [dask.delayed(settle)(r, filters) for r in ready]  # done with what comes next
    return dask.persist(*[r.block for r in ready]), filters, rho


@dataclass(frozen=True)
class Ready:
    """A block whose codes no longer change, with what all rounds of its filter step need."""

    block: Block
    maps: np.ndarray  # (N, K, F), spectra of the codes
    answers: np.ndarray  # (K, C, F), their products with the samples
    inverse: np.ndarray  # (F, N, N), of Z Z^H + rho
    rho: np.float32


def energy(block):
    """Mean over filters and frequencies of the squared spectra of the codes."""
    return float((np.abs(forward(block.codes, block.geometry)) ** 2).sum(axis=0).mean())


def prepare(block, rho, change):
    maps = forward(block.codes, block.geometry)
    answers = np.einsum("nkf,ncf->kcf", maps.conj(), forward(block.filled, block.geometry))
    gram = np.einsum("nkf,mkf->fnm", maps, maps.conj())
    inverse = np.linalg.inv(gram + rho * np.eye(len(maps))).astype(maps.dtype)
    block = replace(block, filter_dual=np.float32(change) * block.filter_dual)
    return Ready(block, maps, answers, inverse, np.float32(rho))


def fit_filters(ready, filters):
    """The block's own filters, pulled towards those of all: exact, at each frequency."""
    block, maps = ready.block, ready.maps
    right = filter_spectra(filters, block.geometry) - forward(block.filter_dual, block.geometry)
    right = ready.answers + ready.rho * right
    inner = np.einsum("fnm,mkf,kcf->ncf", ready.inverse, maps, right, optimize=True)
    right -= np.einsum("nkf,ncf->kcf", maps.conj(), inner)
    block_filters = backward(right, block.geometry) / ready.rho
    return replace(ready, block=replace(block, filters=block_filters))


def proposal(ready):
    """What the block says the filters should be, on their support."""
    block, geometry = ready.block, ready.block.geometry
    boxed = (block.filters + block.filter_dual).reshape(-1, geometry.n_joint, *geometry.box)
    values = boxed[geometry.around_origin(len(boxed))]
    return values.reshape(len(boxed), *geometry.joint, *geometry.support)


def settle(ready, filters):
    """Add to the dual how far the block's filters are from those of all."""
    block, geometry = ready.block, ready.block.geometry
    dual = (block.filter_dual + block.filters).reshape(-1, geometry.n_joint, *geometry.box)
    around = geometry.around_origin(len(dual))
    dual[around] -= filters.reshape(len(dual), geometry.n_joint, *geometry.support)
    return replace(ready, block=replace(block, filter_dual=dual.reshape(block.filters.shape)))
