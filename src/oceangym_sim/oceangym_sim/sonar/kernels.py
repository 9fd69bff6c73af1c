"""Compiled loops of ping formation. Images are (beams, bins) here: a beam's bins lie together."""

# Numba compiles these; annotations would tell it nothing.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _beyond(distance, decay):
    r = max(distance, np.float32(1e-2))
    squared = np.float32(1.0) / (r * r)
    return squared * squared * np.exp(-decay * r)


@numba.njit(cache=True, nogil=True)
def spread(image, near, far, power, range_min, resolution, decay):
    """Add each ray's power over the bins that its footprint covers (a quarter bin at least).

    A bin is what the sonar resolves: a point stays in its bin, or two where it lies on their edge.
    Within a footprint the power goes with r^-5 exp(-decay r): on a plane the cosine and the spreading
    take 1 / r and 1 / r^2, of elevation a range of dr covers dr / r^2, and absorption takes the rest.
    So neighbours meet without a step. What lies beyond r is close to r^-4 exp(-decay r).
    """
    bins = image.shape[1]
    rays, beams = near.shape
    beyond = np.empty(bins + 1, np.float32)
    for i in range(bins + 1):
        beyond[i] = _beyond(range_min + np.float32(i) * resolution, decay)
    for ray in range(rays):
        for beam in range(beams):
            p = power[ray, beam]
            if p <= 0.0:
                continue
            low = (near[ray, beam] - range_min) / resolution
            high = (far[ray, beam] - range_min) / resolution
            if high - low < np.float32(0.25):
                middle = np.float32(0.5) * (low + high)
                low, high = middle - np.float32(0.125), middle + np.float32(0.125)
            if high <= 0.0 or low >= bins:
                continue
            first, last = max(int(np.floor(low)), 0), min(int(np.floor(high)), bins - 1)
            if last - first < 2:
                density = p / (high - low)
                for i in range(first, last + 1):
                    covered = min(high, np.float32(i + 1)) - max(low, np.float32(i))
                    if covered > 0.0:
                        image[beam, i] += density * covered
                continue
            begin, end = _beyond(near[ray, beam], decay), _beyond(far[ray, beam], decay)
            density = p / (begin - end)
            before = begin if low >= 0.0 else beyond[0]
            for i in range(first, last + 1):
                after = end if high < np.float32(i + 1) else beyond[i + 1]
                image[beam, i] += density * (before - after)
                before = after


@numba.njit(cache=True, nogil=True)
def join(distance, near, far, tolerance):
    """Let the footprints of neighbouring rays abut where the surface between them is one, in place.

    Their ends come from a plane through each hit. On a curved surface such ends leave gaps and overlap
    a little; a gap of more than `tolerance` of the footprints' mean length is a real one, a shadow.
    """
    rays, beams = distance.shape
    for ray in range(rays - 1):
        for beam in range(beams):
            a, b = ray, ray + 1
            if distance[a, beam] > distance[b, beam]:
                a, b = b, a
            gap = near[b, beam] - far[a, beam]
            length = far[a, beam] - near[a, beam] + far[b, beam] - near[b, beam]
            # Misses are infinitely far: their gaps are infinite or no numbers.
            if np.abs(gap) <= np.float32(0.5) * tolerance * length:
                middle = np.float32(0.5) * (near[b, beam] + far[a, beam])
                far[a, beam] = middle
                near[b, beam] = middle


@numba.njit(cache=True, nogil=True)
def scatter(image, beam, distance, power, range_min, resolution):
    """Add second-bounce echoes, each over two neighbouring bins."""
    bins = image.shape[1]
    for k in range(beam.shape[0]):
        place = (distance[k] - range_min) / resolution - 0.5
        low = int(np.floor(place))
        share = place - low
        if 0 <= low < bins:
            image[beam[k], low] += power[k] * (1.0 - share)
        if 0 <= low + 1 < bins:
            image[beam[k], low + 1] += power[k] * share


@numba.njit(cache=True, nogil=True, fastmath={'contract'})
def convolve_beams(image, kernel):
    """Smear each range bin over the beams; a beam at the edge sees nothing beyond it."""
    beams, bins = image.shape
    reach = kernel.shape[0] // 2
    out = np.zeros_like(image)
    for beam in range(beams):
        row = out[beam]
        # Four at a time: the row is loaded and stored a quarter as often.
        source, stop = max(0, beam - reach), min(beams, beam + reach + 1)
        while source + 3 < stop:
            k = beam - source + reach
            w0, w1, w2, w3 = kernel[k], kernel[k - 1], kernel[k - 2], kernel[k - 3]
            a, b = image[source], image[source + 1]
            c, d = image[source + 2], image[source + 3]
            for i in range(bins):
                row[i] += (w0 * a[i] + w1 * b[i]) + (w2 * c[i] + w3 * d[i])
            source += 4
        while source < stop:
            w0, a = kernel[beam - source + reach], image[source]
            for i in range(bins):
                row[i] += w0 * a[i]
            source += 1
    return out


@numba.njit(cache=True, nogil=True, fastmath={'contract'})
def grain(field, weights):
    """Return the power of a complex field (2, bins, beams + taps - 1) seen through beams' amplitudes.

    Neighbouring beams hear partly the same scatterers: what is one grain wide in the field becomes as
    wide as the beam.
    """
    taps = weights.shape[0]
    bins, beams = field.shape[1], field.shape[2] - taps + 1
    out = np.empty((bins, beams), np.float32)
    real, imaginary = np.empty(beams, np.float32), np.empty(beams, np.float32)
    for i in range(bins):
        real[:] = 0.0
        imaginary[:] = 0.0
        for k in range(taps):
            w = weights[k]
            for j in range(beams):
                real[j] += w * field[0, i, j + k]
                imaginary[j] += w * field[1, i, j + k]
        for j in range(beams):
            out[i, j] = real[j] * real[j] + imaginary[j] * imaginary[j]
    return out


@numba.njit(cache=True, nogil=True)
def delay(mean, draws, sigma, resolution):
    """Return the mean echoes each delayed by its own `sigma` times an exponential draw [m].

    A delayed echo's weight falls with the delay as the exponential's density does, and the whole is
    doubled: the mean of exp(-x) over an exponential x is a half.
    """
    bins, beams = mean.shape
    out = np.empty_like(mean)
    for i in range(bins):
        for j in range(beams):
            x = draws[i, j]
            place = np.float32(i) - x * sigma / resolution
            low = int(np.floor(place))
            share = place - np.float32(low)
            before = mean[low, j] if low >= 0 else np.float32(0.0)
            after = mean[low + 1, j] if low + 1 >= 0 and low + 1 < bins else before
            weight = np.float32(2.0) * np.exp(-x)
            out[i, j] = weight * (before + share * (after - before))
    return out


@numba.njit(cache=True, nogil=True)
def facing_rows(distance, cosine, least_cosine, range_min, resolution, least_share, bins):
    """Return the rows of which at least a share of the hits, and of the beams, face the sonar."""
    met = np.zeros(bins, np.int64)
    faced = np.zeros(bins, np.int64)
    rays, beams = distance.shape
    for ray in range(rays):
        for beam in range(beams):
            d = distance[ray, beam]
            if not np.isfinite(d):
                continue
            i = int(np.floor((d - range_min) / resolution))
            if 0 <= i < bins:
                met[i] += 1
                if cosine[ray, beam] > least_cosine:
                    faced[i] += 1
    return faced >= np.maximum(least_share * np.maximum(met, beams), 1.0)
