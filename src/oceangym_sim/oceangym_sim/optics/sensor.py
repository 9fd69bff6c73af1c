"""The camera behind the lens: exposure with limits, photon and read noise, white balance, encoding.

Darkness costs: the exposure cannot be longer than a video frame and the gain not higher than the
sensor's, and every decibel of gain lifts the noise with the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

# Percentiles of a view: its darkest pixels, and what may not burn out.
_DARKEST, _BRIGHT = 8.0, 96.0
# Variance of rounding to whole grey levels.
_ROUNDING = 1.0 / 12.0


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """A low-light video sensor whose 2 x 2 pixels are binned into one image pixel.

    Attributes:
        electrons: Collected in the longest exposure per radiance [1/(lux/sr)], each channel. A
            2.9 um pixel (Sony IMX290 class), four binned, three quarters of the photons counted,
            a third of them in a channel, f/1.8 and 1/15 s: pi 0.9 / (4 x 1.8^2) x 1/15 s x
            33.6 um2 x 0.75 x 4090 photons/(lux s um2) / 3.
        full_well: Electrons at full scale without gain: four times 10,000.
        read_noise: [electrons rms].
        max_gain: Highest total gain, 42 dB.
        lamp_gain: Highest gain where the lamps are the light, 22 dB: more shows only their haze.
        crosstalk: Share of R, G, B light in the R, G and B channels: colour filters overlap.
        vignette: Share of the cosine-fourth fall-off that the lens leaves.
        middle: Mean level that the exposure aims at, of full scale, where there is light enough.
        gain_loss: By how much each doubling of the gain lowers that aim: cameras give up
            brightness against noise.
        highlight: Level that the brightest parts may reach.
        black_share: Share of the veil over the whole picture that the contrast control takes off.
        stretch: By how much the contrast control may brighten what is left, by daylight.
        balance_limit: Highest gains of R, G, B in white balance.
        balance_share: How far the balance goes towards grey.
    """

    electrons: float = 500.0
    full_well: float = 40_000.0
    read_noise: float = 2.0
    max_gain: float = 10.0 ** (42.0 / 20.0)
    lamp_gain: float = 12.0
    crosstalk: tuple[tuple[float, float, float], ...] = (
        (0.90, 0.08, 0.02),
        (0.06, 0.86, 0.08),
        (0.01, 0.09, 0.90),
    )
    vignette: float = 0.35
    middle: float = 0.21
    gain_loss: float = 0.08
    highlight: float = 0.8
    black_share: float = 0.9
    stretch: float = 2.0
    # Red gets less: it is gone within metres, and lamp haze close by would turn pink.
    balance_limit: tuple[float, float, float] = (1.3, 4.0, 4.0)
    balance_share: float = 0.72

    def expose(self, views: list[Array], *, daylight: float = 1.0) -> Array:
        """Return each camera's settings, (cameras, 8): R, G, B scale, gain, R, G, B black, 0.

        `scale` turns radiance above black into output; white balance is shared, so that a thing
        has one colour in all views.

        Args:
            views: Per camera the radiance [lux/sr] of some of its pixels, (3, N), vignetted.
            daylight: Share of the light that is not the lamps': for those the balance is fixed.
        """
        views = [np.asarray(self.crosstalk, np.float32) @ view for view in views]
        limit = self.lamp_gain ** (1.0 - daylight) * self.max_gain**daylight
        mean = np.mean([view.mean(axis=1, dtype=np.float64) for view in views], axis=0)
        balance = np.clip(
            (mean.max() / np.maximum(mean, 1e-12)) ** (daylight * self.balance_share),
            1.0,
            self.balance_limit,
        )
        full_scale = self.electrons / self.full_well
        settings = np.zeros((len(views), 8), dtype=np.float32)
        for row, view in zip(settings, views):
            # The exposure looks at the raw signal: haze in front of everything costs contrast.
            level = (view * balance[:, None]).max(axis=0)
            darkest = view[:, level <= np.percentile(level, _DARKEST)].mean(axis=1)
            black = self.black_share * darkest
            shown = ((view - black[:, None]) * balance[:, None]).max(axis=0)
            average = max(float(level.mean(dtype=np.float64)) * full_scale, 1e-12)
            bright = max(float(np.percentile(level, _BRIGHT)) * full_scale, 1e-12)
            gain = self.middle / average
            if gain > 1.0:
                # gain = middle / average x gain^-loss, solved for the gain.
                gain **= 1.0 / (1.0 - math.log2(1.0 - self.gain_loss))
            gain = min(gain, self.highlight / bright, limit)
            left = max(float(shown.mean(dtype=np.float64)) * full_scale, 1e-12)
            peak = max(float(np.percentile(shown, _BRIGHT)) * full_scale, 1e-12)
            stretch = min(
                average / left,
                self.highlight / (gain * peak),
                self.stretch**daylight,
                limit / gain,
            )
            row[0:3], row[3], row[4:7] = (
                max(stretch, 1.0) * gain * full_scale * balance,
                gain,
                black,
            )
        return settings

    def noise(self, exposed: Any, gain: Any) -> Any:
        """Return the noise's standard deviation of full scale, before white balance.

        Photons arrive at random: N electrons fluctuate by sqrt(N). At full scale a gain above one
        leaves full_well / gain of them.

        Args:
            exposed: Signal of full scale, the veil included.
            gain: Total gain; below one the exposure is shortened and no noise added.
        """
        scale = dr.maximum(gain, 1.0) * (1.0 / self.full_well)
        return dr.sqrt(dr.maximum(exposed, 0.0) * scale + (self.read_noise * scale) ** 2)

    def fall_off(self, cosine: NDArray[np.float64]) -> Array:
        """Return the lens's vignetting at the cosine of an angle off its axis (cosine fourth)."""
        return np.asarray(1.0 - self.vignette * (1.0 - cosine**4), dtype=np.float32)


def develop(
    sensor: Sensor,
    *,
    radiance: Any,
    direct: Any,
    fall_off: Any,
    settings: Array,
    camera: Any,
    key: NDArray[np.uint32],
) -> tuple[Any, Any]:
    """Return the image (UInt32: R, G, B from the lowest byte) and the direct signal of full scale.

    Args:
        sensor: The camera's sensor.
        radiance: All light [lux/sr], one lane a pixel.
        direct: The objects' own light in it.
        fall_off: Of `Sensor.fall_off`, one lane a pixel.
        settings: Of `Sensor.expose`.
        camera: Index of the camera, one lane a pixel.
        key: Two words that fix every noise bit.
    """
    scale, gain, black = _settings_of(settings, camera)
    radiance, direct = (fall_off * _mixed(sensor, light) for light in (radiance, direct))
    # What the sensor holds before white balance, of full scale.
    held = gain * (sensor.electrons / sensor.full_well)
    balance = scale / held
    sigma = balance * sensor.noise(radiance * held, gain)
    lane = dr.arange(mi.UInt32, dr.width(camera)) + dr.opaque(mi.UInt32, int(key[0]))
    first, second = mi.sample_tea_32(lane, dr.opaque(mi.UInt32, int(key[1])), rounds=4)
    noise = mi.Color3f(
        _near_normal(first & 0xFFFF, first >> 16),
        _near_normal(second & 0xFFFF, second >> 16),
        _near_normal((first ^ (second << 3)) & 0xFFFF, (second ^ (first << 5)) >> 16),
    )
    encoded = encode((radiance - black) * scale + sigma * noise)
    level = mi.Vector3u(encoded * 255.0 + 0.5)
    image = level.x | level.y << 8 | level.z << 16
    signal = direct * scale
    # What does not stand out of the noise is not there.
    return image, dr.minimum(dr.max(dr.select(signal >= sigma, signal, 0.0)), 1.0)


def contrast(
    sensor: Sensor,
    *,
    shown: Any,
    hidden: Any,
    fall_off: Any,
    settings: Array,
    camera: Any,
) -> tuple[Any, Any]:
    """Return how two radiances differ in the image, in standard deviations and in grey levels.

    The first is the root of the sum over the channels of (difference / deviation)^2, the second the
    largest difference of a channel, 0..255. The deviation is the delivered image's: photon and read
    noise through white balance, contrast and display curve, and the rounding to 8 bits.

    Args:
        sensor: The camera's sensor.
        shown: Radiance [lux/sr], one lane a pixel.
        hidden: Another one for the same pixels.
        fall_off: Of `Sensor.fall_off`, one lane a pixel.
        settings: Of `Sensor.expose`.
        camera: Index of the camera, one lane a pixel.
    """
    scale, gain, black = _settings_of(settings, camera)
    held = gain * (sensor.electrons / sensor.full_well)
    linear, sigma = [], []
    for light in (shown, hidden):
        mixed = fall_off * _mixed(sensor, light)
        linear.append((mixed - black) * scale)
        sigma.append(scale / held * sensor.noise(mixed * held, gain))
    grey = [255.0 * encode(value) for value in linear]
    # Of the brighter of the two, by the display curve's slope over one deviation to either side.
    noise = mi.Color3f(0.0)
    for value, spread in zip(linear, sigma):
        noise = dr.maximum(noise, 127.5 * (encode(value + spread) - encode(value - spread)))
    difference = dr.abs(grey[0] - grey[1])
    ratio = difference * dr.rsqrt(noise * noise + _ROUNDING)
    return dr.norm(mi.Vector3f(ratio)), dr.max(difference)


def _settings_of(settings: Array, camera: Any) -> tuple[Any, Any, Any]:
    """Return scale, gain and black of each pixel's camera."""
    table = mi.Float(settings.ravel())
    first = dr.gather(mi.Vector4f, table, camera * 2)
    second = dr.gather(mi.Vector4f, table, camera * 2 + 1)
    return (
        mi.Color3f(first.x, first.y, first.z),
        first.w,
        mi.Color3f(second.x, second.y, second.z),
    )


def _mixed(sensor: Sensor, light: Any) -> Any:
    """Return what the colour filters make of R, G, B light."""
    return mi.Color3f(*(r * light.x + g * light.y + b * light.z for r, g, b in sensor.crosstalk))


def _near_normal(low: Any, high: Any) -> Any:
    """Return a unit-variance bell-shaped number from two 16-bit ones (their sum, triangular)."""
    return (mi.Float(low + high) * (1.0 / 65535.0) - 1.0) * math.sqrt(6.0)


def encode(linear: Any) -> Any:
    """Return linear values as sRGB 0..1 (IEC 61966-2-1), clipped."""
    value = dr.clip(linear, 0.0, 1.0)
    curve = 1.055 * dr.power(dr.maximum(value, 1e-6), 1.0 / 2.4) - 0.055
    return dr.select(value <= 0.0031308, 12.92 * value, curve)
