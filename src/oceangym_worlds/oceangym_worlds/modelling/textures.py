"""Deterministic procedural textures: (H, W, 3) uint8 sRGB, seamless until one is stamped on.

Bases make a whole texture, overlays take one and return a changed copy. Positions on a texture are
(u, v) in 0..1 with v upwards, as in the meshes: v = 1 is row 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.rng import generator
from oceangym_worlds.modelling.font import text_mask
from oceangym_worlds.modelling.texture_noise import (
    fbm,
    Field,
    ridged,
    shape_of,
    Size,
    smoothstep,
    worley,
)

Texture = NDArray[np.uint8]
Colour = tuple[int, int, int]

RUST_DARK: Final[Colour] = (72, 38, 22)
RUST: Final[Colour] = (136, 70, 34)
RUST_BRIGHT: Final[Colour] = (186, 104, 48)
STEEL: Final[Colour] = (128, 132, 134)
ALUMINIUM: Final[Colour] = (196, 200, 200)
SAND: Final[Colour] = (196, 180, 142)
SILT: Final[Colour] = (150, 142, 118)
ALGAE: Final[Colour] = (84, 96, 48)
BARNACLE: Final[Colour] = (214, 206, 186)
SAFETY_YELLOW: Final[Colour] = (244, 196, 20)
SAFETY_ORANGE: Final[Colour] = (240, 104, 20)
WHITE: Final[Colour] = (236, 236, 230)
BLACK: Final[Colour] = (26, 26, 28)


def _solid(size: Size, colour: ArrayLike) -> Field:
    image = np.empty((*shape_of(size), 3), dtype=np.float32)
    image[:] = np.asarray(colour, dtype=np.float32)
    return image


def _mix(image: Field, colour: ArrayLike, mask: Field) -> Field:
    """Blend `colour`, (3,) or (H, W, 3), over `image` where `mask` (H, W) is 1."""
    mixed: Field = image + (np.asarray(colour, dtype=np.float32) - image) * mask[..., None]
    return mixed


def _finish(image: Field) -> Texture:
    texture: Texture = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    return texture


def _rust_colour(seed: int, size: Size) -> Field:
    tone = fbm(seed, size, 10, 5, 0.7, 'rust_tone')
    image = _mix(_solid(size, RUST_DARK), RUST, smoothstep(0.25, 0.55, tone))
    return _mix(image, RUST_BRIGHT, smoothstep(0.52, 0.85, tone))


# ---------------------------------------------------------------- bases


def plain(colour: Colour, size: Size = 64) -> Texture:
    """Return one flat colour."""
    return _finish(_solid(size, colour))


def painted_metal(
    seed: int, colour: Colour, *, wear: float = 0.3, rust: float = 0.3, size: Size = 512
) -> Texture:
    """Return paint that has chalked by `wear` 0..1 and rusted through over about `rust` 0..1."""
    shade = fbm(seed, size, 3, 5, 0.6, 'paint_shade')
    image = _solid(size, colour) * (1 + (shade[..., None] - 0.5) * (0.25 + 0.5 * wear))
    grey = float(np.mean(colour))
    chalk = smoothstep(0.55, 0.8, fbm(seed, size, 6, 5, 0.6, 'chalk')) * 0.45 * wear
    image = _mix(image, (grey * 0.5 + 95, grey * 0.5 + 95, grey * 0.5 + 92), chalk)
    spots = fbm(seed, size, 5, 6, 0.72, 'rust_spots')
    # The rusted share of the area is the share of the noise above this level.
    level = float(np.quantile(spots, 1 - min(max(rust, 0.0), 0.999)))
    image = _mix(image, (112, 84, 62), smoothstep(level - 0.07, level, spots) * 0.6)
    return _finish(_mix(image, _rust_colour(seed, size), smoothstep(level, level + 0.03, spots)))


def bare_steel(seed: int, *, size: Size = 512) -> Texture:
    """Return brushed grey steel with faint tarnish."""
    brushed = fbm(seed, size, (4, 64), 3, 0.7, 'brushed') - 0.5
    tarnish = fbm(seed, size, 4, 5, 0.6, 'tarnish')
    image = _solid(size, STEEL) * (1 + 0.18 * brushed[..., None])
    return _finish(_mix(image, (104, 96, 84), smoothstep(0.5, 0.8, tarnish) * 0.6))


def rusty_steel(seed: int, *, size: Size = 512) -> Texture:
    """Return steel that is rust all over, pitted and scaled."""
    image = _rust_colour(seed, size)
    pits, _, _ = worley(seed, size, 40, 'pits')
    image *= 1 - 0.3 * (1 - smoothstep(0.15, 0.35, pits))[..., None]
    scale = smoothstep(0.62, 0.75, fbm(seed, size, 4, 5, 0.6, 'scale'))
    return _finish(_mix(image, (92, 76, 66), scale * 0.5))


def concrete(seed: int, *, colour: Colour = (168, 164, 154), size: Size = 512) -> Texture:
    """Return cast concrete with stains, air holes and hairline cracks."""
    shade = fbm(seed, size, 3, 6, 0.6, 'cast') - 0.5
    image = _solid(size, colour) * (1 + 0.5 * shade[..., None])
    holes, _, index = worley(seed, size, 28, 'holes')
    few = generator(seed, 'holes_kept').random(28 * 28)[index] < 0.25
    image *= 1 - 0.45 * ((1 - smoothstep(0.10, 0.2, holes)) * few)[..., None]
    cracks = smoothstep(0.955, 0.985, ridged(seed, size, 2, 3, 'cracks'))
    return _finish(_mix(image, (92, 88, 80), cracks * 0.8))


def wood_planks(
    seed: int,
    *,
    rows: int = 8,
    colour: Colour = (118, 84, 54),
    joints: int = 2,
    size: Size = 512,
) -> Texture:
    """Return planks along u: `rows` strakes a tile, each with `joints` butts, and dark seams."""
    height, width = shape_of(size)
    rng = generator(seed, 'planks')
    y = (np.arange(height) + 0.5) * rows / height
    row = y.astype(int)
    x = (np.arange(width) + 0.5) / width
    shift = rng.uniform(0, 1, rows)
    place = (x[None, :] + shift[row][:, None]) * joints
    plank = place.astype(int) % joints
    tone = rng.uniform(0.68, 1.22, (rows, joints))[row[:, None], plank]
    grain = fbm(seed, size, (rows * 6, 3), 3, 0.6, 'grain') - 0.5
    image = _solid(size, colour) * (tone * (1 + 0.7 * grain))[..., None]
    grey = smoothstep(0.5, 0.75, fbm(seed, size, 4, 5, 0.6, 'weather'))
    image = _mix(image, (112, 106, 92), grey * 0.45)
    in_row = np.abs(y - np.rint(y))[:, None] * (height / rows)
    butt = np.abs(place - np.rint(place)) * (width / joints)
    line = max(height / rows * 0.055, 1.2)
    seam = np.maximum(1 - smoothstep(line * 0.5, line * 1.3, in_row.astype(np.float32)), 0)
    joint = 1 - smoothstep(line * 0.4, line, butt.astype(np.float32))
    return _finish(_mix(image, (24, 18, 13), np.maximum(seam, joint).astype(np.float32) * 0.92))


def aluminium_skin(
    seed: int,
    *,
    panels: tuple[int, int] = (4, 4),
    colour: Colour = ALUMINIUM,
    rivets: int = 14,
    size: Size = 512,
) -> Texture:
    """Return sheet metal with panel lines, rivet rows and slightly different panels.

    Args:
        seed: Seed of tones and scratches.
        panels: Panels a tile along (rows, columns).
        colour: Mean albedo.
        rivets: Rivets along each panel edge.
        size: Pixels.
    """
    height, width = shape_of(size)
    y = ((np.arange(height, dtype=np.float32) + 0.5) * panels[0] / height)[:, None]
    x = ((np.arange(width, dtype=np.float32) + 0.5) * panels[1] / width)[None, :]
    tone = generator(seed, 'panel_tone').uniform(0.86, 1.08, panels)
    shade = fbm(seed, size, 4, 5, 0.6, 'skin') - 0.5
    brushed = fbm(seed, size, (64, 4), 2, 0.6, 'skin_brushed') - 0.5
    image = _solid(size, colour) * (
        tone[y.astype(int), x.astype(int)] * (1 + 0.22 * shade + 0.06 * brushed)
    )[..., None].astype(np.float32)
    py, px = height / panels[0], width / panels[1]
    edge_y, edge_x = np.abs(y - np.rint(y)) * py, np.abs(x - np.rint(x)) * px
    line = 1 - smoothstep(0.6, 1.8, np.minimum(edge_y, edge_x).astype(np.float32))
    image = _mix(image, (70, 74, 76), line * 0.85)
    inset = 0.045 * min(py, px)
    along_x, along_y = x * rivets, y * rivets
    dots = np.minimum(
        np.hypot(edge_y - inset, (along_x - np.floor(along_x) - 0.5) * px / rivets),
        np.hypot(edge_x - inset, (along_y - np.floor(along_y) - 0.5) * py / rivets),
    )
    return _finish(_mix(image, (92, 96, 98), (1 - smoothstep(0.8, 1.9, dots)) * 0.7))


def fibreglass(seed: int, colour: Colour = WHITE, *, size: Size = 512) -> Texture:
    """Return gel coat: an even colour with crazing and a little yellowing."""
    shade = fbm(seed, size, 3, 4, 0.5, 'gel') - 0.5
    image = _solid(size, colour) * (1 + 0.16 * shade[..., None])
    yellow = smoothstep(0.5, 0.8, fbm(seed, size, 3, 4, 0.5, 'yellow'))
    image = _mix(image, np.asarray(colour) * np.array([0.95, 0.9, 0.74]), yellow * 0.5)
    craze = smoothstep(0.94, 0.98, ridged(seed, size, 6, 2, 'craze'))
    return _finish(_mix(image, np.asarray(colour) * 0.6, craze * 0.5))


def rubber(seed: int, *, size: Size = 256) -> Texture:
    """Return dark matt rubber or cable sheath."""
    shade = fbm(seed, size, 6, 4, 0.6, 'rubber') - 0.5
    return _finish(_solid(size, (46, 46, 48)) * (1 + 0.6 * shade[..., None]))


def rock(seed: int, *, colour: Colour = (112, 106, 96), size: Size = 512) -> Texture:
    """Return weathered stone with strata, cracks and lichen-like crusts."""
    body = fbm(seed, size, 4, 7, 0.62, 'rock')
    strata = fbm(seed, size, (10, 2), 4, 0.6, 'strata')
    image = _solid(size, colour) * (0.35 + 0.8 * body + 0.5 * strata)[..., None]
    near, second, _ = worley(seed, size, 6, 'facets')
    warp = fbm(seed, size, 8, 4, 0.6, 'facet_warp') - 0.5
    crack = 1 - smoothstep(0.02, 0.08, second - near + 0.12 * np.abs(warp))
    image = _mix(image, np.asarray(colour) * 0.35, crack * 0.7)
    crust = smoothstep(0.62, 0.72, fbm(seed, size, 9, 5, 0.65, 'crust'))
    return _finish(_mix(image, (150, 124, 118), crust * 0.45))


def plant_leaf(seed: int, *, colour: Colour = (104, 112, 34), size: Size = 256) -> Texture:
    """Return a blade's surface: midrib along v, veins, blotches."""
    height, width = shape_of(size)
    x = ((np.arange(width, dtype=np.float32) + 0.5) / width)[None, :]
    y = ((np.arange(height, dtype=np.float32) + 0.5) / height)[:, None]
    shade = fbm(seed, size, (3, 6), 4, 0.6, 'leaf') - 0.5
    image = _solid(size, colour) * (1 + 0.7 * shade[..., None])
    veins = 0.5 + 0.5 * np.cos(2 * np.pi * (12 * y - 3 * np.abs(x - 0.5)))
    image = _mix(image, np.asarray(colour) * 0.62, (veins**6 * 0.5).astype(np.float32))
    rib = 1 - smoothstep(0.02, 0.06, (np.abs(x - 0.5) + 0 * y).astype(np.float32))
    return _finish(_mix(image, np.minimum(np.asarray(colour) * 1.45, 255), rib * 0.8))


def coral(seed: int, colour: Colour = (206, 92, 84), *, size: Size = 256) -> Texture:
    """Return coral skin: pale polyps on a coloured body."""
    shade = fbm(seed, size, 4, 4, 0.6, 'coral') - 0.5
    image = _solid(size, colour) * (1 + 0.5 * shade[..., None])
    polyps, _, _ = worley(seed, size, 20, 'polyps')
    pale = np.minimum(np.asarray(colour) * 0.6 + 110, 255)
    return _finish(_mix(image, pale, (1 - smoothstep(0.15, 0.35, polyps)) * 0.7))


def hazard_stripes(
    seed: int,
    *,
    first: Colour = SAFETY_YELLOW,
    second: Colour = BLACK,
    stripes: int = 4,
    size: Size = 256,
) -> Texture:
    """Return seamless diagonal stripes, `stripes` pairs a tile, a little worn."""
    height, width = shape_of(size)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    phase = ((x / width + y / height) * stripes) % 1.0
    mask = smoothstep(0.49, 0.51, phase) * (1 - smoothstep(0.98, 1.0, phase))
    image = _mix(_solid(size, first), second, mask)
    shade = fbm(seed, size, 4, 5, 0.6, 'hazard') - 0.5
    return _finish(image * (1 + 0.35 * shade[..., None]))


# ---------------------------------------------------------------- overlays


def growth(texture: Texture, seed: int, amount: float) -> Texture:
    """Overlay marine growth over about `amount` 0..1 of the area: algae film, then barnacles."""
    size = texture.shape[:2]
    patch = fbm(seed, size, 4, 6, 0.65, 'growth')
    level = float(np.quantile(patch, 1 - min(max(amount, 0.0), 0.999)))
    cover = smoothstep(level - 0.02, level + 0.10, patch)
    tone = fbm(seed, size, 16, 4, 0.7, 'growth_tone')
    algae = _solid(size, ALGAE) * (0.45 + 1.1 * tone[..., None])
    warm = smoothstep(0.55, 0.7, fbm(seed, size, 7, 4, 0.6, 'growth_hue'))
    algae = _mix(algae, (132, 84, 62), warm * 0.7)
    image = _mix(texture.astype(np.float32), algae, cover * 0.82)
    cells = max(size[0] // 14, 4), max(size[1] // 14, 4)
    near, _, index = worley(seed, size, cells, 'barnacles')
    kept = generator(seed, 'barnacles_kept').random(cells[0] * cells[1])[index] < 0.35
    shell = (1 - smoothstep(0.22, 0.34, near)) * kept * smoothstep(0.2, 0.9, cover)
    mouth = (1 - smoothstep(0.07, 0.13, near)) * kept * smoothstep(0.2, 0.9, cover)
    return _finish(_mix(_mix(image, BARNACLE, shell * 0.8), (70, 62, 50), mouth * 0.8))


def sediment(
    texture: Texture, seed: int, amount: float, *, colour: Colour = SAND, from_below: bool = False
) -> Texture:
    """Overlay settled sediment over about `amount` 0..1; `from_below` gathers it at low v."""
    size = texture.shape[:2]
    drift = fbm(seed, size, 3, 6, 0.6, 'sediment')
    if from_below:
        v = 1 - (np.arange(size[0], dtype=np.float32)[:, None] + 0.5) / size[0]
        drift = (0.25 * drift + 0.75 * (1 - v)).astype(np.float32)
    level = float(np.quantile(drift, 1 - min(max(amount, 0.0), 0.999)))
    grains = fbm(seed, size, 32, 3, 0.8, 'grains') - 0.5
    dust = _solid(size, colour) * (1 + 0.4 * grains[..., None])
    mask = smoothstep(level - 0.05, level + 0.06, drift) * 0.88
    return _finish(_mix(texture.astype(np.float32), dust, mask))


def streaks(
    texture: Texture, seed: int, amount: float, *, colour: Colour = RUST, columns: int = 24
) -> Texture:
    """Overlay stains that run down (towards low v), about `amount` 0..1 strong."""
    size = texture.shape[:2]
    runs = fbm(seed, size, (2, columns), 4, 0.6, 'streaks')
    level = 1 - 0.75 * amount
    mask = smoothstep(level - 0.2, level + 0.1, runs) * 0.8
    return _finish(_mix(texture.astype(np.float32), colour, mask))


def stamp(
    texture: Texture, mask: Field, colour: Colour, *, seed: int = 0, wear: float = 0.0
) -> Texture:
    """Paint `colour` where `mask` (H, W) is 1, flaked off over about `wear` 0..1 of it."""
    if wear > 0:
        height, width = texture.shape[:2]
        # Flaking is fine enough to repeat on a large texture, and costs a quarter then.
        times = (max(height // 512, 1), max(width // 512, 1))
        flake = fbm(seed, (height // times[0], width // times[1]), 6, 6, 0.7, 'flake')
        level = float(np.quantile(flake, wear))
        flake = np.pad(
            np.tile(flake, times), ((0, height % times[0]), (0, width % times[1])), 'edge'
        )
        mask = (mask * smoothstep(level - 0.02, level + 0.03, flake)).astype(np.float32)
    return _finish(_mix(texture.astype(np.float32), colour, mask))


def band(
    texture: Texture,
    low: float,
    high: float,
    colour: Colour,
    *,
    along_u: bool = True,
    seed: int = 0,
    wear: float = 0.0,
) -> Texture:
    """Paint a band between v = `low` and `high` (or between those u if not `along_u`)."""
    height, width = texture.shape[:2]
    count = height if along_u else width
    t = (np.arange(count, dtype=np.float32) + 0.5) / count
    if along_u:
        t = 1 - t
    line = np.clip(np.minimum(t - low, high - t) * count + 0.5, 0, 1).astype(np.float32)
    mask = np.broadcast_to(line[:, None] if along_u else line[None, :], (height, width))
    return stamp(texture, mask.astype(np.float32), colour, seed=seed, wear=wear)


def ring(
    texture: Texture,
    centre: tuple[float, float],
    radius: float,
    colour: Colour,
    *,
    inner: float = 0.0,
    seed: int = 0,
    wear: float = 0.0,
) -> Texture:
    """Paint a ring, or a disc for `inner` = 0; radii are fractions of the width."""
    height, width = texture.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
    distance = np.hypot(x - centre[0] * width, y - (1 - centre[1]) * height)
    inside = np.clip(radius * width - distance + 0.5, 0, 1)
    outside = np.clip(distance - inner * width + 0.5, 0, 1) if inner > 0 else 1.0
    mask = (inside * outside).astype(np.float32)
    return stamp(texture, mask, colour, seed=seed, wear=wear)


def text(
    texture: Texture,
    words: str,
    centre: tuple[float, float],
    height: float,
    colour: Colour,
    *,
    stretch: float = 1.0,
    turn: int = 0,
    weight: float = 0.18,
    seed: int = 0,
    wear: float = 0.0,
) -> Texture:
    """Paint one line of text.

    Args:
        texture: Base.
        words: Capitals, digits, ``-./`` and spaces.
        centre: (u, v) of the middle of the line.
        height: Height of the letters as a fraction of the texture's height.
        colour: Paint.
        stretch: Widens the letters, to make up for a texture mapped unevenly.
        turn: Quarter turns counter-clockwise.
        weight: Stroke width over letter height.
        seed: Seed of the flaking.
        wear: Share of the paint that has flaked off.
    """
    rows, cols = texture.shape[:2]
    letters = text_mask(words, max(int(height * rows), 5), weight)
    if stretch != 1.0:
        wide = max(int(letters.shape[1] * stretch), 1)
        source = (np.arange(wide) + 0.5) / stretch - 0.5
        left = np.clip(np.floor(source).astype(int), 0, letters.shape[1] - 2)
        part = np.clip(source - left, 0, 1).astype(np.float32)
        letters = letters[:, left] * (1 - part) + letters[:, left + 1] * part
    letters = np.rot90(letters, turn)
    mask = np.zeros((rows, cols), dtype=np.float32)
    top = round((1 - centre[1]) * rows - letters.shape[0] / 2)
    start = round(centre[0] * cols - letters.shape[1] / 2)
    r0, c0 = max(top, 0), max(start, 0)
    r1, c1 = min(top + letters.shape[0], rows), min(start + letters.shape[1], cols)
    mask[r0:r1, c0:c1] = letters[r0 - top : r1 - top, c0 - start : c1 - start]
    return stamp(texture, mask, colour, seed=seed, wear=wear)
