from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
import pytest
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import find_llvm, gpu_count, select_variant
from oceangym_sim.rays.scene import RayScene, SURFACE_STRENGTH

select_variant('cpu')

import drjit as dr  # noqa: E402
import mitsuba as mi  # noqa: E402


def point(x: float, y: float, z: float) -> Any:
    return mi.Point3f(*(dr.opaque(mi.Float, v) for v in (x, y, z)))


def vector(x: float, y: float, z: float) -> Any:
    return dr.normalize(mi.Vector3f(*(dr.opaque(mi.Float, v) for v in (x, y, z))))


@pytest.fixture(scope='module')
def tank(build_world: Callable[..., Path], sphere: Any, box: Any) -> RayScene:
    things = [
        sphere('ball', '10 0 -20 0 0 0', 1.0, colour='0.5 0.25 0.1', strength_db=-3.0),
        box('wall', '0 30 -20 0 0 0', '20 2 20', colour='0.2 0.2 0.2', strength_db=-20.0),
    ]
    return RayScene(load_world(build_world(things)), device='cpu')


def test_hit_on_a_sphere(tank: RayScene) -> None:
    hits = tank.trace(point(0, 0, -20), vector(1, 0, 0), reach=50.0, pixel_angle=0.002)
    # The icosphere lies within 1 % of its radius inside the sphere.
    assert hits.distance.numpy()[0] == pytest.approx(9.0, abs=0.03)
    assert np.asarray(hits.normal).ravel() == pytest.approx([-1, 0, 0], abs=0.05)
    assert np.asarray(hits.position).ravel() == pytest.approx([9, 0, -20], abs=0.03)
    assert np.asarray(hits.albedo).ravel() == pytest.approx([0.5, 0.25, 0.1], abs=0.005)
    assert tank.instance_names[int(hits.instance.numpy()[0])] == 'ball'
    assert hits.strength.numpy()[0] == pytest.approx(10**-0.3, rel=1e-4)


def test_miss_is_infinite_and_belongs_to_nothing(tank: RayScene) -> None:
    hits = tank.trace(point(0, 0, -20), vector(-1, 0, 0), reach=50.0)
    assert not hits.valid.numpy()[0]
    assert np.isinf(hits.distance.numpy()[0])
    assert int(hits.instance.numpy()[0]) == tank.nothing_index
    near_only = tank.trace(point(0, 0, -20), vector(1, 0, 0), reach=8.0)
    assert not near_only.valid.numpy()[0]


def test_surface_is_hit_from_below(tank: RayScene) -> None:
    hits = tank.trace(point(0, 0, -20), vector(0, 1, 2), reach=50.0)
    assert hits.surface.numpy()[0]
    assert hits.distance.numpy()[0] == pytest.approx(20 * np.sqrt(1.25), rel=1e-5)
    assert np.asarray(hits.normal).ravel() == pytest.approx([0, 0, -1])
    assert hits.strength.numpy()[0] == pytest.approx(SURFACE_STRENGTH)
    assert tank.instance_names[int(hits.instance.numpy()[0])] == 'surface'


def test_box_normals_are_flat_and_face_the_viewer(tank: RayScene) -> None:
    for x in (-9.0, 0.0, 7.0):
        hits = tank.trace(point(x, 0, -20), vector(0, 1, 0.1), reach=50.0)
        assert np.asarray(hits.normal).ravel() == pytest.approx([0, -1, 0], abs=1e-3)


def test_occlusion(tank: RayScene) -> None:
    start, up = point(0, 0, -20), vector(0, 0, 1)
    active = mi.Mask(True)
    assert tank.occluded(start, up, vector(1, 0, 0), 20.0, active).numpy()[0]
    assert not tank.occluded(start, up, vector(1, 0, 0), 8.0, active).numpy()[0]
    assert not tank.occluded(start, up, vector(0, -1, 0), 50.0, active).numpy()[0]


def test_distances_for_an_altimeter(tank: RayScene) -> None:
    ranges = tank.distances(
        np.array([[0.0, 0, -20], [0, 0, -20]]), np.array([[1.0, 0, 0], [0, 0, 1]]), reach=100.0
    )
    assert ranges[0] == pytest.approx(9.0, abs=0.03)
    assert np.isinf(ranges[1])


def test_texture_is_upright_and_not_mirrored(tmp_path: Path) -> None:
    # A square facing -x, seen from -x with z up: its left half (seen) is y > 0.
    folder = tmp_path / 'models' / 'sign'
    folder.mkdir(parents=True)
    vertices = [[0, 1, -1], [0, -1, -1], [0, -1, 1], [0, 1, 1]]
    mesh = trimesh.Trimesh(
        vertices,
        [[0, 1, 2], [0, 2, 3]],
        process=False,
        visual=trimesh.visual.TextureVisuals(uv=[[0, 0], [1, 0], [1, 1], [0, 1]]),
    )
    mesh.export(folder / 'sign.glb')
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:32, :32] = (255, 0, 0)
    picture[:32, 32:] = (0, 255, 0)
    picture[32:, :32] = (0, 0, 255)
    picture[32:, 32:] = (188, 188, 188)
    Image.fromarray(picture).save(folder / 'sign.png')
    head = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'
    (folder / 'model.sdf').write_text(
        f'{head}<model name="sign"><link name="l"><visual name="v"><geometry><mesh>'
        '<uri>model://sign/sign.glb</uri></mesh></geometry><material>'
        '<diffuse>1 1 1 1</diffuse><pbr><metal>'
        '<albedo_map>model://sign/sign.png</albedo_map></metal></pbr></material></visual></link>'
        '</model></sdf>'
    )
    (tmp_path / 'w.sdf').write_text(
        f'{head}<world name="w"><oceangym:bounds><min>-9 -9 -90</min><max>9 9 5</max>'
        '</oceangym:bounds><include><uri>model://sign</uri><name>sign</name>'
        '<pose>5 0 -20 0 0 0</pose></include></world></sdf>'
    )
    scene = RayScene(load_world(tmp_path / 'w.sdf'), device='cpu')

    def colour(y: float, z: float) -> np.ndarray:
        hits = scene.trace(point(0, y, z - 20), vector(1, 0, 0), reach=50.0, pixel_angle=0.001)
        return np.asarray(hits.albedo).ravel()

    assert colour(0.5, 0.5) == pytest.approx([1, 0, 0], abs=0.01)
    assert colour(-0.5, 0.5) == pytest.approx([0, 1, 0], abs=0.01)
    assert colour(0.5, -0.5) == pytest.approx([0, 0, 1], abs=0.01)
    # sRGB 188 is half the light (IEC 61966-2-1: 0.503).
    assert colour(-0.5, -0.5) == pytest.approx([0.503] * 3, abs=0.01)
    # From afar one pixel covers the whole sign: the mip level is the mean in linear light.
    far = scene.trace(point(0, 0.5, -19.5), vector(1, 0, 0), reach=50.0, pixel_angle=0.4)
    assert np.asarray(far.albedo).ravel() == pytest.approx([0.376] * 3, abs=0.02)
    (folder / 'sign.png').write_bytes(b'no picture')
    with pytest.raises(OceanGymError, match=r'sign.png: cannot be read as a texture'):
        RayScene(load_world(tmp_path / 'w.sdf'), device='cpu')


def test_backend_refuses_what_would_abort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'cuda'"):
        select_variant('cudda')
    library = find_llvm()
    monkeypatch.setenv('DRJIT_LIBLLVM_PATH', str(tmp_path / 'libLLVM.so'))
    with pytest.raises(OceanGymError, match=r'is not a file.*libllvm19'):
        select_variant('cpu')
    (tmp_path / 'libLLVM.so').write_bytes(b'\x7fELF')
    with pytest.raises(OceanGymError, match='cannot be loaded'):
        select_variant('cpu')
    monkeypatch.setenv('DRJIT_LIBLLVM_PATH', str(library))
    assert select_variant('cpu') == 'llvm_ad_rgb'


@pytest.mark.skipif(gpu_count() > 0, reason='a GPU is there')
def test_missing_gpu_is_said() -> None:
    with pytest.raises(OceanGymError, match='no NVIDIA GPU'):
        select_variant('cuda')
