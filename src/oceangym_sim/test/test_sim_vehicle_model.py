"""The BlueROV2 Heavy model: its numbers, its sensors, and refusal of what cannot be honoured."""

from dataclasses import replace
from pathlib import Path
import random
import re

import numpy as np
import pytest

from oceangym_core.contract.actions import DIRECTIONS, SENSOR_AXES
from oceangym_core.errors import OceanGymError
from oceangym_sim.dynamics.vehicle import load_vehicle

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'
TEXT = MODEL.read_text(encoding='utf-8')
VEHICLE = load_vehicle(MODEL)


def load(tmp_path, text):
    path = tmp_path / 'model.sdf'
    path.write_text(text, encoding='utf-8')
    return load_vehicle(path)


def test_is_the_von_benzon_set_whole():
    assert VEHICLE.parameter_set == 'von Benzon 2022'
    assert VEHICLE.mass == pytest.approx(13.5)
    np.testing.assert_allclose(VEHICLE.inertia, np.diag([0.26, 0.23, 0.37]), atol=1e-7)
    np.testing.assert_allclose(VEHICLE.centre_of_gravity, 0, atol=1e-7)
    assert VEHICLE.volume == pytest.approx(0.0134)
    np.testing.assert_allclose(VEHICLE.centre_of_buoyancy, (0, 0, 0.01))
    np.testing.assert_allclose(
        VEHICLE.added_mass, np.diag([6.36, 7.12, 18.68, 0.189, 0.135, 0.222])
    )
    np.testing.assert_allclose(VEHICLE.linear_damping, np.diag([13.7, 0, 33, 0, 0.8, 0]))
    np.testing.assert_allclose(VEHICLE.quadratic_damping, [141, 217, 190, 1.19, 0.47, 1.5])
    assert VEHICLE.warnings == ()


def test_thruster_matrix_is_that_of_the_paper():
    s = np.sqrt(0.5)
    matrix = VEHICLE.thruster_matrix
    # Von Benzon, table A1, is in axes ahead, starboard, down: y, z and their moments change sign.
    np.testing.assert_allclose(matrix[0, :4], [-s, -s, s, s], atol=1e-9)
    np.testing.assert_allclose(-matrix[1, :4], [s, -s, s, -s], atol=1e-9)
    np.testing.assert_allclose(-matrix[5, :4], [0.1888, -0.1888, -0.1888, 0.1888], atol=1e-4)
    np.testing.assert_allclose(np.abs(matrix[3, 4:]), 0.218, atol=1e-4)
    np.testing.assert_allclose(np.abs(matrix[4, 4:]), 0.12, atol=1e-9)
    # 129 N of full surge make 11 N m of pitch, nose up.
    surge = np.array([-1, -1, 1, 1, 0, 0, 0, 0]) * 129 / (4 * s)
    assert (matrix @ surge)[4] == pytest.approx(-11.0, abs=0.05)


def test_six_cameras_and_six_sonars_look_where_they_should():
    assert [c.direction for c in VEHICLE.cameras] == list(DIRECTIONS)
    assert [s.direction for s in VEHICLE.sonars] == list(DIRECTIONS)
    for camera in VEHICLE.cameras:
        forward, up = SENSOR_AXES[camera.direction]
        rotation = camera.mount.rotation
        np.testing.assert_allclose(rotation[:, 2], forward, atol=1e-7)
        np.testing.assert_allclose(-rotation[:, 1], up, atol=1e-7)
        assert (camera.width, camera.height) == (512, 512)
        assert camera.horizontal_fov == pytest.approx(np.pi / 2)
    for sonar in VEHICLE.sonars:
        forward, up = SENSOR_AXES[sonar.direction]
        np.testing.assert_allclose(sonar.mount.rotation[:, 2], forward, atol=1e-7)
        np.testing.assert_allclose(sonar.mount.rotation[:, 0], up, atol=1e-7)
        assert (sonar.beams, sonar.range_bins, sonar.elevation_rays) == (512, 512, 64)
        # OceanGym_sonar.json, the setting of its decision tasks.
        assert sonar.preset == 'oceangym_decision'
        assert (sonar.range_min, sonar.range_max) == (1.0, 40.0)
        assert np.rad2deg(sonar.azimuth_aperture) == pytest.approx(120)
        assert np.rad2deg(sonar.elevation_aperture) == pytest.approx(20)


def test_tilted_only_the_forward_sonar_looks_down_with_its_upper_edge_level():
    tilted = load_vehicle(MODEL.with_name('model_tilted.sdf'))
    for level, other in zip(VEHICLE.sonars, tilted.sonars, strict=True):
        if level.direction != 'front':
            assert level == other
            continue
        boresight, up = other.mount.rotation[:, 2], other.mount.rotation[:, 0]
        half = other.elevation_aperture / 2
        edges = [np.cos(a) * boresight + np.sin(a) * up for a in (half, -half)]
        np.testing.assert_allclose(edges[0], (1.0, 0.0, 0.0), atol=1e-6)
        # The lower edge meets the bottom at 1 / tan 20 deg of the altitude, not 1 / tan 10 deg.
        assert -edges[1][0] / edges[1][2] == pytest.approx(2.747, abs=1e-3)
        np.testing.assert_allclose(other.mount.position, level.mount.position)
    assert tilted.cameras == VEHICLE.cameras


def test_sensors_stand_outside_the_hull():
    half = np.array(VEHICLE.hull_size) / 2
    for spec in (*VEHICLE.cameras, *VEHICLE.sonars):
        assert np.any(np.abs(spec.mount.position) > half)


def test_two_lamps_light_the_way_ahead():
    assert len(VEHICLE.lamps) == 2
    for lamp in VEHICLE.lamps:
        assert lamp.lumens == 1500 and lamp.direction[0] > 0.9
        assert np.rad2deg(lamp.beam_width) == pytest.approx(135, abs=0.01)


def test_gazebo_finds_what_it_needs():
    assert TEXT.count('gz::sim::systems::Thruster') == 8
    assert TEXT.count('<velocity_control>true</velocity_control>') == 8
    assert re.search(r'<xU>-13\.7</xU>', TEXT) and re.search(r'<xUabsU>-141</xUabsU>', TEXT)
    assert '<disable_added_mass>true</disable_added_mass>' in TEXT
    assert 'xDotU' not in TEXT
    assert len(re.findall(r'<(?:[xyzpqr]{2})>', TEXT.split('fluid_added_mass')[1])) == 21
    assert TEXT.count('<camera_info_topic>') == 6


@pytest.mark.parametrize(
    'old, new, word',
    [
        ('<mass>13.42</mass>', '<mass>-13.42</mass>', 'mass'),
        ('<mass>13.42</mass>', '<mass>nan</mass>', 'mass'),
        ('<mass>13.42</mass>', '', 'mass'),
        ('<xx>6.36</xx>', '<xx>-80</xx>', 'fluid_added_mass|mass matrix'),
        ('<zq>0</zq>', '<zq>1e6</zq>', 'mass matrix|fluid_added_mass'),
        ('<xx>6.36</xx>', '<xw>6.36</xw>', 'xw'),
        ('<xU>-13.7</xU>', '<xU>13.7</xU>', 'xU'),
        ('<xUabsU>-141</xUabsU>', '<xUU>-141</xUU>', 'xUU'),
        ('<xUabsU>-141</xUabsU>', '<xUabsU>141</xUabsU>', 'xUabsU'),
        ('<disable_added_mass>true', '<disable_added_mass>false', 'disable_added_mass'),
        ('<box><size>0.4 0.335 0.1</size></box>', '<sphere><radius>1</radius></sphere>', 'box'),
        ('<joint_name>thruster_3_joint', '<joint_name>thruster_33_joint', 'thruster_33_joint'),
        ('name="camera_front"', 'name="camera_frnt"', 'camera_front'),
        ('<width>512</width>', '<width>0</width>', 'image'),
        ('<horizontal_fov>1.57', '<horizontal_fov>9.57', 'horizontal_fov'),
        ('<max>46</max>', '<max>0.01</max>', 'range'),
        ('range_max="40"', 'range_max="50"', 'range'),
        ('elevation_aperture="0.34', 'elevation_aperture="x', 'elevation_aperture'),
        ('lumens="1500"', 'lumens="bright"', 'lumens'),
        ('capacity_wh="532"', 'capacity_wh="-1"', 'battery'),
        ('lag="0.12"', 'lag="-1"', 'lag'),
        ('<link name="base_link">', '<link name="base">', 'base_link'),
        ('<sdf version', '<sd version', 'sdf'),
        ('hull size="0.457 0.575 0.254"', 'hull size="0.457 0.575"', 'size'),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_file_and_element(tmp_path, old, new, word):
    assert old in TEXT
    with pytest.raises(OceanGymError, match=word) as error:
        load(tmp_path, TEXT.replace(old, new, 1))
    assert 'model.sdf' in str(error.value)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(OceanGymError, match=r'no\.sdf'):
        load_vehicle(tmp_path / 'no.sdf')


def test_bad_trim_is_a_warning(tmp_path):
    heavier = TEXT.replace('<mass>13.42</mass>', '<mass>16.0</mass>', 1)
    (warning,) = load(tmp_path, heavier).warnings
    assert 'weight 157.7 N' in warning and 'buoyancy 134.7 N' in warning


def test_mutated_files_are_read_or_refused_never_a_traceback(tmp_path):
    dice = random.Random(11)
    path = tmp_path / 'model.sdf'
    raw = MODEL.read_bytes()
    refused = 0
    for _ in range(150):
        data = bytearray(raw)
        kind = dice.randrange(4)
        if kind == 0:
            data = data[: dice.randrange(len(data))]
        elif kind == 1:
            for _ in range(dice.randrange(1, 30)):
                data[dice.randrange(len(data))] = dice.randrange(256)
        elif kind == 2:
            numbers = list(re.finditer(rb'>(-?[0-9.]+)<', raw))
            spot = dice.choice(numbers)
            value = dice.choice([b'nan', b'inf', b'-1e300', b'', b'1e999', b'x', b'0', b'1 2'])
            data[spot.start(1) : spot.end(1)] = value
        else:
            start = dice.randrange(len(data))
            del data[start : start + dice.randrange(1, 2000)]
        path.write_bytes(bytes(data))
        try:
            load_vehicle(path)
        except OceanGymError:
            refused += 1
    assert refused > 80


def test_impossible_parameters_are_refused():
    with pytest.raises(OceanGymError, match='inertia'):
        replace(VEHICLE, inertia=np.full((3, 3), np.nan))
    with pytest.raises(OceanGymError, match='singular'):
        replace(VEHICLE, inertia=np.diag([0.0, 0.23, 0.37]))
    with pytest.raises(OceanGymError, match='quadratic'):
        replace(VEHICLE, quadratic_damping=-np.ones(6))
