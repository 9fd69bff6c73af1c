"""Wrecks, platform, containers, tower, rocks and plants: size, collisions, budget, labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_worlds.modelling import font as stroke_font
from oceangym_worlds.modelling import texture_noise as noise_kit
from oceangym_worlds.modelling import textures as texture_kit
from oceangym_worlds.modelling.model import ACOUSTIC_STRENGTH_DB, Primitive, PropModel, write_model
from oceangym_worlds.modelling.primitives import grid
from oceangym_worlds.modelling.shells import thicken
from oceangym_worlds.props import (
    aircraft,
    boulders,
    container_boxes,
    landing_platform,
    rock_arch,
    ship_hull,
    sunken_ship,
    tower_wreck,
    vegetation,
)

BUILDERS: dict[str, Callable[..., PropModel]] = {
    'sunken_ship': sunken_ship.build,
    'aircraft': aircraft.build,
    'landing_platform': landing_platform.build,
    'container_boxes': container_boxes.build,
    'tower_wreck': tower_wreck.build,
    'rock_arch': rock_arch.build,
    **{name: partial(boulders.build, variant=name) for name in boulders.VARIANTS},
    **{name: partial(vegetation.build, variant=name) for name in vegetation.VARIANTS},
}
LABELS = {
    'sunken_ship': 'SUNKEN SHIP',
    'aircraft': 'AIRCRAFT WRECKAGE',
    'landing_platform': 'H-MARKED LANDING PLATFORM',
    'container_boxes': 'CONTAINER BOX',
    'tower_wreck': 'TOWER WRECK',
    'rock_arch': 'ROCK ARCH',
}
# Extent above the seabed along x, y, z [m] and its tolerance.
SIZES = {
    'sunken_ship': ((34.0, 13.0, 12.5), 1.0),
    'aircraft': ((18.6, 20.2, 3.1), 1.0),
    'landing_platform': ((8.5, 8.2, 1.33), 0.2),
    'container_boxes': ((10.6, 7.3, 4.0), 0.5),
    'tower_wreck': ((14.2, 5.6, 18.3), 0.5),
    'rock_arch': ((18.0, 7.7, 8.8), 0.7),
    'kelp': ((2.2, 2.2, 4.4), 0.7),
}


@cache
def built(name: str) -> PropModel:
    return BUILDERS[name](seed=0)


def vertices(prop: PropModel) -> NDArray[np.float64]:
    return np.vstack([np.asarray(part.mesh.vertices) for part in prop.parts])


def distance(primitive: Primitive, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signed distance (N,) of points to a primitive [m]."""
    local = primitive.pose.inverse().apply(points)
    if primitive.shape == 'box':
        beyond = np.abs(local) - np.array(primitive.size) / 2
        outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0)
    if primitive.shape == 'capsule':
        half = primitive.size[1] / 2
        local[:, 2] -= np.clip(local[:, 2], -half, half)
    return np.linalg.norm(local, axis=1) - primitive.size[0]


@pytest.mark.parametrize('name', BUILDERS)
def test_mesh_is_sound_and_within_budget(name: str) -> None:
    prop = built(name)
    triangles = 0
    for part in prop.parts:
        mesh, uv = part.mesh, np.asarray(part.mesh.visual.uv)
        assert uv.shape == (len(mesh.vertices), 2)
        assert np.isfinite(uv).all()
        assert np.isfinite(mesh.vertices).all()
        assert np.allclose(np.linalg.norm(mesh.vertex_normals, axis=1), 1.0, atol=1e-3)
        assert part.texture.dtype == np.uint8
        assert max(part.texture.shape) <= 1024
        assert part.acoustic in ACOUSTIC_STRENGTH_DB
        triangles += len(mesh.faces)
    budget = {'boulder': 900, 'vegetation': 700}.get(prop.attributes.prop_class, 45_000)
    assert triangles < (45_000 if name == 'rock_arch' else budget)


@pytest.mark.parametrize('name', SIZES)
def test_size(name: str) -> None:
    points = vertices(built(name))
    extent = np.ptp(points[points[:, 2] >= -0.05], axis=0)
    expected, tolerance = SIZES[name]
    assert extent == pytest.approx(np.array(expected), abs=tolerance)


@pytest.mark.parametrize('name', [n for n in BUILDERS if n not in vegetation.VARIANTS])
def test_collisions_cover_what_stands_out_of_the_seabed(name: str) -> None:
    prop = built(name)
    points = vertices(prop)
    points = points[points[:, 2] > 0]
    gap = np.min([distance(primitive, points) for primitive in prop.collisions], axis=0)
    assert gap.max() < 0.65


@pytest.mark.parametrize('name', [n for n in BUILDERS if n not in vegetation.VARIANTS])
def test_collisions_stay_within_the_prop(name: str) -> None:
    prop = built(name)
    points = vertices(prop)
    for primitive in prop.collisions:
        assert (np.array(primitive.pose.position) > points.min(axis=0) - 0.5).all()
        assert (np.array(primitive.pose.position) < points.max(axis=0) + 0.5).all()


@pytest.mark.parametrize('name', BUILDERS)
def test_attributes(name: str) -> None:
    attributes = built(name).attributes
    if name in LABELS:
        assert attributes.label == LABELS[name]
    natural = attributes.prop_class in ('boulder', 'vegetation')
    assert attributes.structure is not natural
    assert attributes.description.endswith('.')
    if attributes.prop_class == 'vegetation':
        assert built(name).collisions == ()


def test_debris_of_the_aircraft_lies_within_12_m() -> None:
    points = vertices(built('aircraft'))
    assert np.hypot(points[:, 0], points[:, 1]).max() < 12.0


def test_ship_lists_and_is_shorter_than_35_m() -> None:
    prop = built('sunken_ship')
    assert np.ptp(vertices(prop)[:, 0]) < 35.0
    deck = next(part.mesh for part in prop.parts if part.name == 'transom')
    assert 12.0 <= abs(sunken_ship.LIST_DEG) <= 18.0
    assert deck.vertices[:, 2].max() < 10.0


def test_platform_deck_is_flat_octagonal_and_solid() -> None:
    prop = built('landing_platform')
    deck = next(part.mesh for part in prop.parts if part.name == 'deck')
    assert np.allclose(deck.vertices[:, 2], landing_platform.DECK_Z)
    assert np.ptp(deck.vertices[:, 0]) == pytest.approx(landing_platform.FLATS)
    assert np.ptp(deck.vertices[:, 1]) == pytest.approx(landing_platform.FLATS)
    # Vertically above the deck, the distance to the collision solids is the height above it.
    x, y = np.meshgrid(np.linspace(-2.7, 2.7, 13), np.linspace(-2.7, 2.7, 13))
    above = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, landing_platform.DECK_Z + 0.3)])
    gap = np.min([distance(primitive, above) for primitive in prop.collisions], axis=0)
    assert gap == pytest.approx(0.3)


def test_platform_h_reads_upright_from_above() -> None:
    deck = next(part for part in built('landing_platform').parts if part.name == 'deck')
    uv, points = np.asarray(deck.mesh.visual.uv), np.asarray(deck.mesh.vertices)
    assert np.allclose(uv, points[:, :2] / landing_platform.FLATS + 0.5)
    green = np.median(deck.texture[600:620, 500:524].reshape(-1, 3), axis=0)
    white = np.median(deck.texture[502:522, 500:524].reshape(-1, 3), axis=0)
    assert green[1] > 1.5 * green[0]
    assert white.min() > 200


@pytest.mark.parametrize('name', ['boulder_b', 'kelp', 'sea_fan'])
def test_same_seed_same_prop_and_other_seed_another(name: str) -> None:
    first, again, other = built(name), BUILDERS[name](seed=0), BUILDERS[name](seed=1)
    for a, b in zip(first.parts, again.parts, strict=True):
        assert np.array_equal(a.mesh.vertices, b.mesh.vertices)
        assert np.array_equal(a.mesh.faces, b.mesh.faces)
        assert np.array_equal(a.texture, b.texture)
    assert any(
        a.texture.shape != b.texture.shape or (a.texture != b.texture).any()
        for a, b in zip(first.parts, other.parts, strict=True)
    )


def test_planking_is_torn_alike_for_the_same_seed() -> None:
    first, again, other = (ship_hull.planking(seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(first.vertices, again.vertices)
    assert len(first.vertices) != len(other.vertices)


def test_files_are_small(tmp_path) -> None:
    root = write_model(built('sunken_ship'), tmp_path)
    sizes = [path.stat().st_size for path in root.rglob('*') if path.is_file()]
    assert max(sizes) < 1.5e6


@pytest.mark.parametrize(
    ('module', 'variant', 'meant'),
    [(boulders, 'boulder_e', 'boulder_'), (vegetation, 'kelb', 'kelp')],
)
def test_unknown_variant_is_refused(module, variant: str, meant: str) -> None:
    with pytest.raises(OceanGymError, match=f'Did you mean .{meant}'):
        module.build(seed=0, variant=variant)


@pytest.mark.parametrize(
    'texture',
    [
        texture_kit.painted_metal(3, (200, 40, 30), size=128),
        texture_kit.rock(3, size=128),
        texture_kit.growth(texture_kit.concrete(3, size=128), 3, 0.4),
        texture_kit.hazard_stripes(3, size=128),
    ],
)
def test_textures_are_seamless(texture: NDArray[np.uint8]) -> None:
    # The step over the seam is no larger than the steps between other rows and columns.
    image = texture.astype(float)
    for axis in (0, 1):
        steps = np.abs(np.diff(image, axis=axis)).mean(axis=(1 - axis, 2))
        seam = np.abs(image.take(0, axis=axis) - image.take(-1, axis=axis)).mean()
        assert seam <= steps.max() * 1.05


@pytest.mark.parametrize('amount', [0.1, 0.4])
def test_growth_covers_about_the_amount(amount: float) -> None:
    bare = texture_kit.plain((250, 250, 250), 256)
    grown = texture_kit.growth(bare, 5, amount)
    assert ((grown < 240).any(axis=2)).mean() == pytest.approx(amount, abs=0.08)


def test_noise_is_periodic_and_centred() -> None:
    field = noise_kit.fbm(1, 256, 4, 5)
    assert field.mean() == pytest.approx(0.5, abs=0.06)
    assert np.abs(field[:, 0] - field[:, -1]).max() < 0.2


def test_letters_have_the_height_asked_for() -> None:
    mask = stroke_font.text_mask('H', 60)
    assert mask.shape[0] == 60
    assert (mask[0] > 0.5).any()
    assert (mask[-1] > 0.5).any()
    assert mask[30, mask.shape[1] // 2] == pytest.approx(1.0)
    assert mask[15, mask.shape[1] // 2] == pytest.approx(0.0)


def test_thickened_sheet_is_closed() -> None:
    points = np.zeros((3, 3, 3))
    points[..., 0], points[..., 1] = np.meshgrid(range(3), range(3), indexing='ij')
    outer, inner = thicken(grid(points, points[..., :2]), 0.1)
    assert outer.area == pytest.approx(4.0 + 8.0 * 0.1)
    assert inner.area == pytest.approx(4.0)
    assert inner.vertices[:, 2].max() == pytest.approx(-0.1)
