from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
from numpy.typing import NDArray
import pytest
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling.model import ACOUSTIC_STRENGTH_DB, Primitive, PropModel
from oceangym_worlds.props import electrical_box, mining_robot, oil_drums, pipeline, wind_turbine

LABELS = {
    'mining_robot': 'MINING ROBOT',
    'oil_drums': 'OIL DRUM',
    'electrical_box': 'ELECTRICAL BOX',
    'wind_turbine': 'WIND POWER STATION',
}
BUILDERS: dict[str, Callable[[int], PropModel]] = {
    'mining_robot': lambda seed: mining_robot.build(seed=seed),
    'oil_drums': lambda seed: oil_drums.build(seed=seed),
    'electrical_box': lambda seed: electrical_box.build(seed=seed),
    'wind_turbine': lambda seed: wind_turbine.build(seed=seed, water_depth=66.0),
}
PATH = np.array([(x, 6.0 * math.sin(x / 30.0), -50.0) for x in np.arange(0.0, 121.0, 10.0)])


@pytest.fixture(scope='module')
def props() -> dict[str, PropModel]:
    return {name: build(0) for name, build in BUILDERS.items()}


@pytest.fixture(scope='module')
def chunks() -> list[pipeline.PlacedModel]:
    return pipeline.build(
        path=PATH,
        seed=0,
        damaged=((52.0, 66.0),),
        buried=((8.0, 24.0),),
        spans=((84.0, 112.0, 1.5),),
    )


def everything(
    props: dict[str, PropModel], chunks: list[pipeline.PlacedModel]
) -> dict[str, PropModel]:
    return {**props, **{c.prop.name: c.prop for c in chunks}}


def distance(points: NDArray[np.float64], primitive: Primitive) -> NDArray[np.float64]:
    """Return the signed distance (N,) of points to a primitive."""
    local = primitive.pose.inverse().apply(points)
    if primitive.shape == 'box':
        q = np.abs(local) - np.asarray(primitive.size) / 2.0
    elif primitive.shape == 'cylinder':
        radius, length = primitive.size
        q = np.column_stack(
            [np.linalg.norm(local[:, :2], axis=1) - radius, np.abs(local[:, 2]) - length / 2.0]
        )
    else:
        radius, length = primitive.size
        local[:, 2] -= np.clip(local[:, 2], -length / 2.0, length / 2.0)
        return np.asarray(np.linalg.norm(local, axis=1) - radius)
    outside = np.linalg.norm(np.maximum(q, 0.0), axis=1)
    return np.asarray(outside + np.minimum(q.max(axis=1), 0.0))


@pytest.mark.parametrize(
    ('mesh', 'volume'),
    [
        (kit.box((1.0, 2.0, 3.0)), 6.0),
        (kit.cylinder(1.0, 2.0, sections=96), 2.0 * math.pi),
        (kit.cylinder(1.0, 3.0, radius_top=0.0, sections=96), math.pi),
        (kit.tube(1.0, 0.5, 2.0, sections=96), 1.5 * math.pi),
        (kit.sphere(1.0, sections=96, rings=48), 4.0 / 3.0 * math.pi),
        (kit.torus(1.0, 0.2, sections=96, around=48), 2.0 * math.pi**2 * 0.04),
        (kit.extrude([(0, 0), (1, 0), (1, 1), (0.5, 0.5), (0, 1)], 2.0), 1.5),
        (kit.sweep([(0, 0, 0), (1, 1, 1), (2, 2, 2)], 0.1, sections=64), math.pi * 0.01 * 12**0.5),
        (kit.strut((0, 0, 0), (0, 3, 4), 0.1, 0.2), 0.1),
        (ops.mirror(kit.box((1.0, 2.0, 3.0), (3.0, 2.0, 1.0))), 6.0),
        (ops.box_uv(kit.box((1.0, 2.0, 3.0), bevel=0.0), scale=2.0), 6.0),
    ],
)
def test_primitives_are_closed_and_face_outward(mesh: trimesh.Trimesh, volume: float) -> None:
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=True)
    solid.merge_vertices(merge_norm=True, merge_tex=True)
    assert solid.is_watertight
    assert solid.volume == pytest.approx(volume, rel=0.01)
    shading = np.asarray(mesh.vertex_normals)[mesh.faces].mean(axis=1)
    assert (np.einsum('ij,ij->i', shading, mesh.face_normals) > 0.5).all()


def test_flat_and_smooth_shading_differ_only_in_normals() -> None:
    ball = kit.sphere(1.0)
    flat = ops.shade(ball, crease_deg=0.0)
    assert len(flat.vertices) > len(ball.vertices)
    assert flat.volume == pytest.approx(ball.volume)
    radial = np.asarray(ball.vertices)
    assert np.einsum('ij,ij->i', radial, ball.vertex_normals).min() > 0.98


def test_texture_scale_is_metres_per_tile() -> None:
    uv = ops.uv_of(kit.box((4.0, 4.0, 4.0), scale=2.0))
    assert np.ptp(uv, axis=0) == pytest.approx([2.0, 2.0])
    along = ops.uv_of(kit.sweep([(0, 0, 0), (9, 0, 0)], 0.5, scale=3.0, caps=False))
    assert np.ptp(along[:, 1]) == pytest.approx(3.0)


def test_merging_keeps_normals_and_texture_coordinates() -> None:
    a, b = kit.sphere(1.0), kit.box((1, 1, 1))
    both = ops.merge([a, b])
    assert np.allclose(both.vertex_normals, np.vstack([a.vertex_normals, b.vertex_normals]))
    assert np.allclose(ops.uv_of(both), np.vstack([ops.uv_of(a), ops.uv_of(b)]))


def test_dents_and_displacement_open_no_seams() -> None:
    can = ops.dent(
        kit.cylinder(1.0, 2.0), (1.0, 0.0, 1.0), (-1.0, 0.0, 0.0), radius=0.8, depth=0.2
    )
    bumpy = ops.displace(can, lambda p: 0.05 * ops.noise(p, seed=3))
    solid = trimesh.Trimesh(bumpy.vertices, bumpy.faces, process=True)
    solid.merge_vertices(merge_norm=True, merge_tex=True)
    assert solid.is_watertight
    assert np.abs(np.asarray(bumpy.vertices) - can.centroid).max() > 0.9


def test_finer_mesh_keeps_its_surface() -> None:
    fine = ops.subdivide(kit.box((1, 2, 3)), 0.3)
    assert fine.edges_unique_length.max() <= 0.3
    assert fine.area == pytest.approx(22.0)


def test_props_are_sound(props: dict[str, PropModel], chunks: list[pipeline.PlacedModel]) -> None:
    for name, prop in everything(props, chunks).items():
        assert sum(len(p.mesh.faces) for p in prop.parts) < 40_000, name
        assert len({p.name for p in prop.parts}) == len(prop.parts)
        for part in prop.parts:
            uv = ops.uv_of(part.mesh)
            assert uv.shape == (len(part.mesh.vertices), 2)
            assert np.isfinite(uv).all() and np.isfinite(part.mesh.vertices).all(), name
            assert np.allclose(np.linalg.norm(part.mesh.vertex_normals, axis=1), 1.0, atol=1e-3)
            assert max(part.texture.shape[:2]) <= 1024 and part.texture.dtype == np.uint8
            assert part.acoustic in ACOUSTIC_STRENGTH_DB
            shading = np.asarray(part.mesh.vertex_normals)[part.mesh.faces].mean(axis=1)
            assert np.mean(np.einsum('ij,ij->i', shading, part.mesh.face_normals) > 0.0) > 0.99


def test_props_carry_the_benchmarks_labels(
    props: dict[str, PropModel], chunks: list[pipeline.PlacedModel]
) -> None:
    assert {name: p.attributes.label for name, p in props.items()} == LABELS
    assert {c.prop.attributes.label for c in chunks} == {'OIL PIPELINE'}
    for prop in everything(props, chunks).values():
        assert prop.attributes.structure
        assert len(prop.attributes.description) > 60


def test_collision_primitives_cover_what_can_be_hit(
    props: dict[str, PropModel], chunks: list[pipeline.PlacedModel]
) -> None:
    for name, prop in everything(props, chunks).items():
        solid = [
            p
            for p in prop.parts
            if p.acoustic not in ('sand', 'gravel', 'silt') and 'cable' not in p.name
        ]
        points = np.vstack([p.mesh.vertices for p in solid])
        points = points[points[:, 2] > 0.0] if not name.startswith('pipeline') else points
        nearest = np.min([distance(points, c) for c in prop.collisions], axis=0)
        worst = points[np.argmax(nearest)].round(2)
        assert nearest.max() < 0.5, f'{name}: {nearest.max():.2f} m at {worst}'


def test_same_seed_same_prop_other_seed_other_prop(props: dict[str, PropModel]) -> None:
    for name in ('mining_robot',):
        again, other = BUILDERS[name](0), BUILDERS[name](1)
        for a, b in zip(props[name].parts, again.parts, strict=True):
            assert np.array_equal(a.mesh.vertices, b.mesh.vertices)
            assert np.array_equal(a.texture, b.texture)
        assert any(
            not np.array_equal(a.texture, b.texture)
            for a, b in zip(props[name].parts, other.parts, strict=True)
        ), name


def extent(prop: PropModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points = np.vstack([p.mesh.vertices for p in prop.parts if p.acoustic not in ('sand', 'silt')])
    return points.min(axis=0), points.max(axis=0)


def test_sizes_are_true_to_scale(props: dict[str, PropModel]) -> None:
    low, high = extent(props['mining_robot'])
    assert high - np.array([*low[:2], 0.0]) == pytest.approx([6.5, 3.2, 3.2], abs=0.2)
    low, high = extent(props['oil_drums'])
    assert max(high[:2] - low[:2]) < 6.0
    cabinets = [p.mesh.bounds for p in props['electrical_box'].parts if 'cable' not in p.name]
    size = np.max(cabinets, axis=0)[1] - np.min(cabinets, axis=0)[0]
    assert size[:2] == pytest.approx([2.4, 1.4], abs=0.3)
    assert np.max(cabinets, axis=0)[1, 2] == pytest.approx(2.0, abs=0.2)
    cables = np.vstack([p.mesh.vertices for p in props['electrical_box'].parts])
    assert 7.0 < np.linalg.norm(cables[:, :2], axis=1).max() < 9.0


@pytest.mark.parametrize('depth', [20.0, 95.0])
def test_turbine_reaches_from_the_seabed_through_the_surface(depth: float) -> None:
    low, high = extent(wind_turbine.build(seed=0, water_depth=depth))
    assert high[2] == pytest.approx(depth + wind_turbine.ABOVE_SURFACE, abs=0.05)
    assert low[2] < -0.3
    assert max(np.abs([low[:2], high[:2]]).ravel()) < 10.0


@pytest.mark.parametrize('depth', [3.0, -10.0, math.nan, math.inf])
def test_turbine_refuses_impossible_depths(depth: float) -> None:
    with pytest.raises(OceanGymError, match='depth'):
        wind_turbine.build(seed=0, water_depth=depth)


def test_drums_are_blue(props: dict[str, PropModel]) -> None:
    part = next(p for p in props['oil_drums'].parts if p.name == 'blue')
    red, green, blue = np.median(part.texture.reshape(-1, 3), axis=0)
    assert blue > green > red


def test_pipeline_chunks_join_along_the_path(chunks: list[pipeline.PlacedModel]) -> None:
    assert [c.prop.name for c in chunks] == [f'pipeline_{k:02d}' for k in range(1, 5)]
    ends = []
    for chunk in chunks:
        pipes = [c for c in chunk.prop.collisions if c.size[0] == 0.52]
        for pipe in (pipes[0], pipes[-1]):
            reach = np.array([[0, 0, -pipe.size[1] / 2], [0, 0, pipe.size[1] / 2]])
            ends.append(chunk.origin.apply(pipe.pose.apply(reach)))
        length = np.linalg.norm(ends[-1][1] - ends[-2][0])
        assert length < 40.5
    for before, after in zip(ends[1::2], ends[2::2], strict=False):
        assert np.linalg.norm(before[1] - after[0]) < 0.02
    top = PATH[0] + [0.0, 0.0, pipeline.AXIS_HEIGHT]
    assert ends[0][0] == pytest.approx(top, abs=0.01)


def test_pipeline_tells_damaged_from_sound_chunks(chunks: list[pipeline.PlacedModel]) -> None:
    classes = [c.prop.attributes.prop_class for c in chunks]
    assert classes == [
        'normal-pipeline',
        'damaged-pipeline',
        'damaged-pipeline',
        'normal-pipeline',
    ]
    assert 'parted' in chunks[1].prop.attributes.state
    for chunk in chunks:
        rusty = any(p.name == 'spalled' for p in chunk.prop.parts)
        assert rusty == (chunk.prop.attributes.prop_class == 'damaged-pipeline')


def test_free_span_sags_and_stands_on_nothing(chunks: list[pipeline.PlacedModel]) -> None:
    level = pipeline.build(path=PATH[[0, -1]] * [1, 0, 1], seed=0, spans=((40.0, 80.0, 2.0),))
    hanging = level[1]
    centres = [
        hanging.origin.apply(c.pose.position)[2]
        for c in hanging.prop.collisions
        if c.size[0] == 0.52
    ]
    # A parabola of 2 m sag; capsule chords of 4 m lie below its crown by under 0.1 m.
    assert min(centres) == pytest.approx(-50.0 + pipeline.AXIS_HEIGHT - 2.0, abs=0.1)
    assert not any(p.name == 'concrete' for p in hanging.prop.parts)
    assert any(p.name == 'concrete' for p in level[0].prop.parts)


def test_pipeline_lies_in_its_own_frame(chunks: list[pipeline.PlacedModel]) -> None:
    for chunk in chunks:
        points = np.vstack([p.mesh.vertices for p in chunk.prop.parts])
        assert np.abs(points.mean(axis=0)[:2]).max() < 8.0
        assert np.ptp(points[:, 0]) > 25.0
        assert isinstance(chunk.origin, Pose)


@pytest.mark.parametrize('path', [[(0, 0, 0)], [(0, 0), (1, 1)], [(0, 0, 0), (math.nan, 0, 0)]])
def test_pipeline_refuses_paths_it_cannot_follow(path: list[tuple[float, ...]]) -> None:
    with pytest.raises(OceanGymError, match='path'):
        pipeline.build(path=path, seed=0)


def test_studio_shows_a_prop_before_a_plain_ground(props: dict[str, PropModel]) -> None:
    pytest.importorskip('mitsuba')
    from oceangym_worlds.render.studio import render_prop

    picture = render_prop(props['oil_drums'], view='side', size=48, samples=4)
    assert picture.shape == (48, 48, 3) and picture.dtype == np.uint8
    middle = picture[12:36, 4:44].reshape(-1, 3).astype(int)
    assert (middle[:, 2] - middle[:, 0] > 40).any()
    with pytest.raises(OceanGymError, match='view'):
        render_prop(props['oil_drums'], view='sidewise')
