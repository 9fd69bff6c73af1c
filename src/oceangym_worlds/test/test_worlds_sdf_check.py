"""Every shipped SDF file before libsdformat, and what Gazebo needs of the elements taken out for it."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.contract.actions import DIRECTIONS, SENSOR_AXES
from oceangym_core.world.sdf import NAMESPACE, own, RETRO_SCALE
from oceangym_worlds.modelling.model import ACOUSTIC_STRENGTH_DB
from oceangym_worlds.sdf_check import check, find_library, LATER_ELEMENTS, write_checkable
from oceangym_worlds.vehicle_model import ADDED_MASS, VOLUME

WORLDS = sorted((assets_root() / 'worlds').glob('*/*.sdf'))
MODELS = sorted((assets_root() / 'models').glob('*/model.sdf'))
VEHICLE = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
GZ = '{http://gazebosim.org/schema}'

needs_library = pytest.mark.skipif(
    find_library() is None, reason='libsdformat 12 is not installed (Debian: libsdformat12-12)'
)


@pytest.fixture(scope='module')
def copies(tmp_path_factory):
    folder = tmp_path_factory.mktemp('checkable')
    for model in MODELS:
        for name in ('model.sdf', 'model.config'):
            write_checkable(model.with_name(name), folder / model.parent.name / name)
    for world in WORLDS:
        write_checkable(world, folder / world.name)
    return folder


# ------------------------------------------------------------------ libsdformat


@needs_library
def test_every_world_and_model_passes_libsdformat_without_a_word(copies):
    paths = sorted(copies.rglob('*.sdf'))
    assert len(paths) == len(WORLDS) + len(MODELS) > 30
    problems = check(paths, library=find_library(), models=copies)
    assert {path.name: text for path, text in problems.items() if text} == {}


@needs_library
@pytest.mark.parametrize(
    ('old', 'new', 'word'),
    [
        ('<mass>13.42</mass>', '<mass>heavy</mass>', 'mass'),
        ('<child>thruster_1<', '<child>thruster_x<', 'thruster_x'),
        ('horizontal_fov>', 'horizontal_fovv>', 'horizontal_fovv'),
        ('name="thruster_2"', 'name="thruster_1"', 'thruster_1'),
        ('<sensor name="imu"', '<oceangym:x name="sonar_up"/><sensor name="imu"', 'Non-unique'),
        ('<link name="base_link">', '<link name="base_link"', 'XML'),
        ('version="1.9"', 'version="1.11"', 'convert'),
    ],
)
def test_a_planted_fault_is_found(copies, tmp_path, old, new, word):
    text = (copies / 'bluerov2_heavy' / 'model.sdf').read_text(encoding='utf-8')
    assert old in text
    bad = tmp_path / 'model.sdf'
    bad.write_text(text.replace(old, new), encoding='utf-8')
    assert word in check([bad], library=find_library(), models=copies)[bad]


@needs_library
def test_a_world_that_includes_what_is_not_there_is_found(copies, tmp_path):
    text = (copies / 'ocean.sdf').read_text(encoding='utf-8')
    bad = tmp_path / 'ocean.sdf'
    bad.write_text(text.replace('model://kelp<', 'model://kelpp<'), encoding='utf-8')
    assert 'kelpp' in check([bad], library=find_library(), models=copies)[bad]


def test_only_later_elements_are_taken_out(copies):
    for model in MODELS:
        whole = [e.tag for e in ElementTree.parse(model).iter()]
        kept = [e.tag for e in ElementTree.parse(copies / model.parent.name / 'model.sdf').iter()]
        lost = [tag for tag in set(whole) if whole.count(tag) != kept.count(tag)]
        inside = {e.tag for a in ElementTree.parse(model).iter('fluid_added_mass') for e in a}
        assert set(lost) <= LATER_ELEMENTS | inside


# ------------------------------------------------------------------ what it cannot check

OWN_ELEMENTS: dict[str, tuple[set[str], set[str]]] = {
    # element: (attributes it must have, attributes it may have)
    'bounds': (set(), set()),
    'world_seed': (set(), set()),
    'anchors': (set(), set()),
    'anchor': ({'name', 'label', 'instances'}, {'radius'}),
    'heightfield': (set(), set()),
    'prop': (
        {'class', 'label', 'structure', 'material', 'colour', 'size', 'markings', 'state'},
        set(),
    ),
    'description': (set(), set()),
    'acoustic': ({'material', 'strength_db'}, set()),
    'parameter_set': (set(), set()),
    'hull': ({'size'}, set()),
    'battery': ({'capacity_wh', 'cells', 'resistance', 'hotel_power'}, set()),
    'sonar': (
        {'frequency', 'sound_speed', 'range_bins', 'preset', 'range_max', 'elevation_aperture'},
        set(),
    ),
    'lamp': ({'name', 'position', 'direction', 'beam_width', 'lumens'}, set()),
    'thruster': ({'model', 'lag'}, set()),
}
NUMBERS = {
    'radius', 'strength_db', 'size', 'capacity_wh', 'cells', 'resistance', 'hotel_power', 'lag',
    'frequency', 'sound_speed', 'range_bins', 'range_max', 'elevation_aperture', 'position',
    'direction', 'beam_width', 'lumens',
}  # fmt: skip


@pytest.mark.parametrize('path', [*WORLDS, *MODELS], ids=lambda p: p.parent.name)
def test_our_own_elements_follow_their_schema(path):
    prefix = f'{{{NAMESPACE}}}'
    for element in ElementTree.parse(path).iter():
        if not element.tag.startswith(prefix):
            assert ':' not in element.tag or element.tag.startswith(GZ), element.tag
            continue
        name = element.tag[len(prefix) :]
        assert name in OWN_ELEMENTS
        must, may = OWN_ELEMENTS[name]
        assert must <= set(element.attrib) <= must | may, name
        for key in set(element.attrib) & NUMBERS - ({'size'} if name == 'prop' else set()):
            assert all(math.isfinite(float(word)) for word in element.attrib[key].split()), key


@pytest.mark.parametrize('path', MODELS, ids=lambda p: p.parent.name)
def test_lidars_see_the_strength_that_our_sonar_sees(path):
    for visual in ElementTree.parse(path).iter('visual'):
        acoustic = visual.find(own('acoustic'))
        if acoustic is None:
            assert path == VEHICLE
            continue
        strength = float(acoustic.get('strength_db', ''))
        assert strength == ACOUSTIC_STRENGTH_DB[acoustic.get('material', '')]
        retro = float(visual.findtext('laser_retro', ''))
        assert 10 * math.log10(retro / RETRO_SCALE) == pytest.approx(strength, abs=0.01)
        # 16 bits of 2000: the step is small beside the weakest echo.
        assert 50 * 2000 / 65535 < retro < 2000


def world():
    element = ElementTree.parse(assets_root() / 'worlds' / 'ocean' / 'ocean.sdf').find('world')
    assert element is not None
    return element


def vehicle():
    element = ElementTree.parse(VEHICLE).find('model')
    assert element is not None
    return element


def systems(element):
    return [(p.get('filename'), p.get('name')) for p in element.findall('plugin')]


def test_the_world_loads_the_systems_that_the_vehicle_needs():
    assert systems(world()) == [
        (f'gz-sim-{library}-system', f'gz::sim::systems::{name}')
        for library, name in (
            ('physics', 'Physics'),
            ('user-commands', 'UserCommands'),
            ('scene-broadcaster', 'SceneBroadcaster'),
            ('sensors', 'Sensors'),
            ('imu', 'Imu'),
            ('altimeter', 'Altimeter'),
            ('dvl', 'DopplerVelocityLogSystem'),
            ('contact', 'Contact'),
            ('buoyancy', 'Buoyancy'),
        )
    ]
    plugins = {p.get('name', '').rsplit('::')[-1]: p for p in world().findall('plugin')}
    assert plugins['Sensors'].findtext('render_engine') == 'ogre2'
    assert world().find('physics').get('type') == 'dart'
    graded = plugins['Buoyancy'].find('graded_buoyancy')
    assert plugins['Buoyancy'].find('uniform_fluid_density') is None
    assert float(graded.findtext('default_density')) == 1025
    assert float(graded.findtext('density_change/above_depth')) == 0
    assert world().findtext(f'{GZ}policies/parallel_postupdates') == 'false'
    assert world().find('scene/fog') is None


def test_graded_buoyancy_weighs_one_box_of_the_displaced_volume():
    collisions = vehicle().findall('link/collision')
    assert len(collisions) == 1
    size = [float(word) for word in collisions[0].findtext('geometry/box/size').split()]
    assert math.prod(size) == pytest.approx(VOLUME, rel=1e-9)


def test_added_mass_is_given_once_and_damping_takes_energy():
    added = vehicle().find("link[@name='base_link']/inertial/fluid_added_mass")
    axes = 'xyzpqr'
    upper = [axes[i] + axes[j] for i in range(6) for j in range(i, 6)]
    assert [element.tag for element in added] == upper
    diagonal = [float(added.findtext(axis * 2)) for axis in axes]
    assert diagonal == pytest.approx(ADDED_MASS) and min(diagonal) > 0
    (plugin,) = (p for p in vehicle().findall('plugin') if 'hydrodynamics' in p.get('filename'))
    assert plugin.findtext('disable_added_mass') == 'true'
    terms = [e for e in plugin if e.tag[0] in 'xyzkmn' and e.tag[1] in 'UVWPQR']
    assert len(terms) == 12 and 'Dot' not in ''.join(e.tag for e in terms)
    assert all(float(e.text) <= 0 for e in terms)


def test_eight_thrusters_turn_joints_that_are_there():
    plugins = [p for p in vehicle().findall('plugin') if 'thruster' in p.get('filename')]
    joints = {j.get('name') for j in vehicle().findall('joint')}
    assert {p.findtext('joint_name') for p in plugins} == joints and len(plugins) == 8
    for plugin in plugins:
        assert plugin.findtext('velocity_control') == 'true'
        assert plugin.findtext('namespace') == 'auv'
        assert (
            float(plugin.findtext('min_thrust_cmd')) < 0 < float(plugin.findtext('max_thrust_cmd'))
        )
    spins = [float(p.findtext('thrust_coefficient')) for p in plugins]
    assert sum(spins[:4]) == sum(spins[4:]) == pytest.approx(0)


def test_odometry_is_in_three_dimensions():
    (plugin,) = (p for p in vehicle().findall('plugin') if 'odometry' in p.get('filename'))
    assert plugin.findtext('dimensions') == '3'
    assert plugin.findtext('robot_base_frame') == 'base_link'


def sensors(kind):
    found = [s for s in vehicle().iter('sensor') if s.get('type') == kind]
    return {s.get('name', '').rsplit('_')[-1]: s for s in found}


def boresight(sensor):
    _, _, _, roll, pitch, yaw = (float(word) for word in sensor.findtext('pose').split())
    assert roll == 0
    return (
        math.cos(pitch) * math.cos(yaw),
        math.cos(pitch) * math.sin(yaw),
        -math.sin(pitch),
    )


def test_six_rgbd_cameras_look_where_the_embedded_ones_do():
    cameras = sensors('rgbd_camera')
    assert tuple(cameras) == DIRECTIONS
    for direction, sensor in cameras.items():
        np.testing.assert_allclose(boresight(sensor), SENSOR_AXES[direction][0], atol=1e-7)
        assert float(sensor.findtext('camera/horizontal_fov')) == pytest.approx(math.pi / 2)
        assert sensor.findtext('gz_frame_id') == f'camera_{direction}'
        frame = sensor.findtext('camera/optical_frame_id')
        assert frame == f'camera_{direction}_optical_frame'
    for path in ('topic', 'camera/camera_info_topic'):
        assert len({s.findtext(path) for s in cameras.values()}) == 6


def test_six_lidars_sample_the_sonars_beams_and_cells():
    lidars = sensors('gpu_lidar')
    assert tuple(lidars) == DIRECTIONS
    for direction, sensor in lidars.items():
        np.testing.assert_allclose(boresight(sensor), SENSOR_AXES[direction][0], atol=1e-7)
        assert sensor.findtext('gz_frame_id') == f'sonar_{direction}'
        scan = sensor.find('lidar/scan')
        angles = {}
        for axis in ('horizontal', 'vertical'):
            low, high = (float(scan.findtext(f'{axis}/{end}_angle')) for end in ('min', 'max'))
            angles[axis] = np.linspace(low, high, int(scan.findtext(f'{axis}/samples')))
            # A ray on the edge of a cube face samples the opposite face.
            edge = np.abs(np.abs(angles[axis]) - math.pi / 4).min()
            assert edge > 1e-4, axis
        assert np.rad2deg(angles['horizontal'][-1]) == pytest.approx(60)
        aperture = float(sensor.find(own('sonar')).get('elevation_aperture'))
        assert np.rad2deg(aperture) == pytest.approx(20)
        cells = (np.arange(64) + 0.5) * aperture / 64 - aperture / 2
        np.testing.assert_allclose(angles['vertical'], cells, atol=1e-8)
        shown = float(sensor.find(own('sonar')).get('range_max'))
        assert float(sensor.findtext('lidar/range/max')) == pytest.approx(1.15 * shown)


def test_the_dvl_has_beams_enough_and_names_its_frame():
    (dvl,) = (s for s in vehicle().iter('sensor') if s.get(f'{GZ}type') == 'dvl')
    assert dvl.get('type') == 'custom'
    assert len(dvl.findall(f'{GZ}dvl/arrangement/beam')) >= 3
    assert dvl.findtext('gz_frame_id') == 'base_link'


def test_topics_of_gazebo_are_apart_from_the_contract():
    topics = [t.text for t in vehicle().iter('topic')]
    assert len(topics) == len(set(topics))
    assert all(topic.startswith('auv/gazebo/') for topic in topics)
