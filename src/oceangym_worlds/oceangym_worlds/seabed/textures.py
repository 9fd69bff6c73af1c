"""Seamless albedo textures of the seabed materials, (1024, 1024, 3) uint8 sRGB, tile sizes in metres.

Fine relief is painted in as a soft shade from a low sun: the meshes resolve two metres, the
cameras centimetres.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.errors import unknown_name
from oceangym_core.rng import generator
from oceangym_worlds.modelling.texture_noise import fbm, Field, perlin, ridged, smoothstep, worley

SIZE: Final = 1024
# Edge of one repeat on the seabed [m]; not multiples of each other, so that borders do not align.
TILE_M: Final[dict[str, float]] = {
    'sand': 9.0,
    'rippled_sand': 7.0,
    'silt': 10.0,
    'gravel': 6.0,
    'rock': 11.0,
}


def seabed_texture(material: str, seed: int, size: int = SIZE) -> NDArray[np.uint8]:
    """Return the tile of one seabed material.

    Args:
        material: Key of `TILE_M`.
        seed: The same seed gives the same texels.
        size: Side [px].

    Raises:
        OceanGymError: The material is unknown.
    """
    if material not in _PAINTERS:
        raise unknown_name('seabed material', material, _PAINTERS)
    image = _PAINTERS[material](seed, size)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def _colour(size: int, colour: ArrayLike) -> Field:
    image: Field = np.empty((size, size, 3), dtype=np.float32)
    image[:] = np.asarray(colour, dtype=np.float32)
    return image


def _mix(image: Field, colour: ArrayLike, mask: Field) -> Field:
    mixed: Field = image + (np.asarray(colour, dtype=np.float32) - image) * mask[..., None]
    return mixed


def _relief(height: Field, tile: float, strength: float) -> Field:
    """Return the shade factor of a height tile [m] lit from the top left, 1 on the level."""
    step = tile / height.shape[0]
    dx = (np.roll(height, -1, 1) - np.roll(height, 1, 1)) / (2 * step)
    dy = (np.roll(height, -1, 0) - np.roll(height, 1, 0)) / (2 * step)
    lean = (dx + dy) / np.sqrt(2.0)
    shade: Field = (1.0 + strength * lean / np.sqrt(1.0 + lean * lean)).astype(np.float32)
    return shade


def _speckle(seed: int, size: int, cells: int, share: float, stream: str) -> tuple[Field, Field]:
    """Return small discs scattered over the tile: mask 0..1 and a random number for each disc."""
    nearest, _, index = worley(seed, size, cells, stream)
    lot = generator(seed, f'{stream}/lot').random((cells * cells, 2)).astype(np.float32)
    radius = 0.05 + 0.15 * lot[:, 1]
    ragged = nearest * (0.55 + 0.9 * fbm(seed, size, 2 * cells, 2, 0.6, f'{stream}/ragged'))
    mask = smoothstep(1.2, 0.8, ragged / radius[index]) * (lot[:, 0] < share)[index]
    chosen: Field = mask.astype(np.float32)
    return chosen, lot[index, 1]


def _grain(seed: int, size: int, amount: float) -> Field:
    grain: Field = 1 + amount * perlin(seed, size, size // 3, 'grain')
    return grain


def _sand(seed: int, size: int) -> Field:
    tile = TILE_M['sand']
    tone = fbm(seed, size, 3, 6, 0.6, 'sand_tone')
    image = _mix(_colour(size, (190, 174, 136)), (174, 157, 121), smoothstep(0.3, 0.75, tone))
    dimples = fbm(seed, size, 14, 4, 0.55, 'dimples')
    image *= _relief(0.10 * dimples, tile, 0.45)[..., None]
    debris = smoothstep(0.58, 0.8, fbm(seed, size, 9, 5, 0.65, 'debris'))
    image = _mix(image, (136, 122, 94), debris * 0.28)
    shells, lot = _speckle(seed, size, 60, 0.10, 'shells')
    image = _mix(image, (226, 218, 200), shells * (0.5 + 0.5 * lot))
    pebbles, lot = _speckle(seed, size, 42, 0.05, 'pebbles')
    image = _mix(image, (104, 96, 84), pebbles * (0.5 + 0.5 * lot))
    return image * _grain(seed, size, 0.12)[..., None]


def _rippled_sand(seed: int, size: int) -> Field:
    tile = TILE_M['rippled_sand']
    v = (np.arange(size, dtype=np.float32) + 0.5)[:, None] / size
    bend = 1.3 * perlin(seed, size, 2, 'bend') + 0.55 * perlin(seed, size, 5, 'bend_fine')
    # 22 ripples a tile: 0.32 m apart, crests sharper than troughs.
    phase = 22.0 * v + bend
    wave = 0.5 + 0.5 * np.cos(2 * np.pi * phase + 0.6 * np.sin(2 * np.pi * phase))
    crests: Field = (wave**1.4 * (0.6 + 0.8 * fbm(seed, size, 4, 3, 0.5, 'worn'))).astype(
        np.float32
    )
    image = _mix(_colour(size, (160, 142, 108)), (202, 186, 148), smoothstep(0.1, 0.9, crests))
    image *= _relief(0.045 * crests + 0.02 * fbm(seed, size, 24, 3, 0.5, 'fine'), tile, 0.5)[
        ..., None
    ]
    coarse = smoothstep(0.35, 0.05, crests) * smoothstep(
        0.35, 0.8, fbm(seed, size, 70, 2, 0.6, 'lag')
    )
    image = _mix(image, (118, 105, 82), coarse * 0.6)
    shells, lot = _speckle(seed, size, 48, 0.06, 'shells')
    image = _mix(image, (224, 216, 198), shells * (0.4 + 0.6 * lot))
    return image * _grain(seed, size, 0.1)[..., None]


def _silt(seed: int, size: int) -> Field:
    tile = TILE_M['silt']
    tone = fbm(seed, size, 3, 6, 0.55, 'silt_tone')
    image = _mix(_colour(size, (150, 141, 116)), (126, 119, 98), smoothstep(0.3, 0.75, tone))
    hummocks = fbm(seed, size, 8, 5, 0.5, 'hummocks')
    # Burrows: a mound of spoil around a dark hole.
    nearest, _, index = worley(seed, size, 13, 'burrows')
    dug = (generator(seed, 'burrows/dug').random(13 * 13) < 0.4)[index]
    mound = smoothstep(0.2, 0.05, nearest) * dug
    image *= _relief(0.11 * hummocks + 0.05 * mound.astype(np.float32), tile, 0.45)[..., None]
    image = _mix(image, (172, 164, 138), (mound * 0.45).astype(np.float32))
    image = _mix(image, (58, 54, 46), (smoothstep(0.055, 0.03, nearest) * dug).astype(np.float32))
    film = smoothstep(0.6, 0.85, fbm(seed, size, 6, 5, 0.6, 'film'))
    image = _mix(image, (104, 104, 74), film * 0.55)
    return image * _grain(seed, size, 0.06)[..., None]


def _stones(
    seed: int, size: int, cells: int, share: float, stream: str
) -> tuple[Field, Field, Field]:
    """Return one layer of rounded stones: mask, dome height 0..1 and a random tone for each."""
    nearest, second, index = worley(seed, size, cells, stream)
    lot = generator(seed, f'{stream}/lot').random((cells * cells, 2)).astype(np.float32)[index]
    inside = (second - nearest) * (lot[..., 0] < share)
    mask = smoothstep(0.05, 0.14, inside.astype(np.float32))
    dome = np.sqrt(np.clip(inside * 1.4, 0, 1)).astype(np.float32)
    return mask, dome * mask, lot[..., 1]


def _gravel(seed: int, size: int) -> Field:
    tile = TILE_M['gravel']
    image = _colour(size, (150, 136, 108))
    image *= (0.85 + 0.3 * fbm(seed, size, 6, 5, 0.6, 'bed'))[..., None]
    for cells, share, metres in ((90, 0.75, 0.03), (42, 0.5, 0.06), (18, 0.22, 0.12)):
        mask, dome, tone = _stones(seed, size, cells, share, f'stones{cells}')
        stone = np.stack([92 + 84 * tone, 88 + 74 * tone, 80 + 56 * tone], axis=-1)
        stone *= (0.55 + 0.5 * dome)[..., None]
        stone *= (0.85 + 0.3 * fbm(seed, size, cells, 3, 0.6, f'face{cells}'))[..., None]
        shaded = stone * _relief(metres * dome, tile, 0.35)[..., None]
        # A stone's shadow darkens the gap around it.
        gap = smoothstep(0.0, 0.5, 1.0 - mask) * smoothstep(
            0.02, 0.3, np.roll(mask, (3, 3), (0, 1))
        )
        image *= (1 - 0.45 * gap)[..., None]
        image = _mix(image, shaded, mask)
    dust = smoothstep(0.5, 0.75, fbm(seed, size, 4, 5, 0.6, 'dust'))
    image = _mix(image, (178, 162, 126), dust * 0.6)
    return image * _grain(seed, size, 0.1)[..., None]


def _rock(seed: int, size: int) -> Field:
    tile = TILE_M['rock']
    facets, second, index = worley(seed, size, 9, 'facets')
    lot = generator(seed, 'facets/lot').random((81, 3)).astype(np.float32)[index]
    rough = fbm(seed, size, 10, 7, 0.62, 'rough')
    joints = smoothstep(0.09, 0.01, second - facets + 0.12 * (rough - 0.5))
    cracks = smoothstep(0.90, 0.97, ridged(seed, size, 7, 3, 'cracks'))
    height = 0.22 * lot[..., 0] + 0.5 * rough - 0.10 * joints - 0.05 * cracks
    tone = fbm(seed, size, 5, 6, 0.6, 'rock_tone')
    image = _mix(_colour(size, (118, 110, 97)), (84, 80, 74), smoothstep(0.3, 0.7, tone))
    image *= (0.88 + 0.24 * lot[..., 1])[..., None]
    image *= _relief(height.astype(np.float32), tile, 0.5)[..., None]
    image = _mix(image, (44, 42, 40), np.maximum(0.6 * joints, 0.7 * cracks))
    growth = smoothstep(0.55, 0.72, fbm(seed, size, 11, 5, 0.7, 'growth'))
    image = _mix(image, (96, 93, 64), growth * 0.4)
    crust = smoothstep(0.72, 0.86, fbm(seed, size, 22, 4, 0.7, 'crust'))
    image = _mix(image, (140, 104, 96), crust * 0.5)
    dust = smoothstep(0.48, 0.72, fbm(seed, size, 7, 5, 0.6, 'dust')) * smoothstep(
        0.62, 0.4, rough
    )
    image = _mix(image, (158, 145, 116), dust * 0.6)
    return image * _grain(seed, size, 0.14)[..., None]


_PAINTERS: Final[dict[str, Callable[[int, int], Field]]] = {
    'sand': _sand,
    'rippled_sand': _rippled_sand,
    'silt': _silt,
    'gravel': _gravel,
    'rock': _rock,
}
