"""The BlueROV2 Heavy as an SDF model: its numbers live here and nowhere else.

Hydrodynamics are the set identified by von Benzon et al. 2022 (J. Mar. Sci. Eng. 10(12):1898), taken
whole: public parameter sets differ by 2.8 times in top speed, so they must not be mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.config.sonars import DECISION_SONAR, load_sonar
from oceangym_core.contract.actions import DIRECTIONS, SENSOR_AXES
from oceangym_core.geometry import euler_from_quaternion, quaternion_from_matrix

MODEL_NAME = 'bluerov2_heavy'
NAMESPACE = 'auv'
PARAMETER_SET = 'von Benzon 2022'

MASS = 13.5  # kg
INERTIA = (0.26, 0.23, 0.37)  # kg m2 about the centre of gravity, which is the origin of base_link
VOLUME = 0.0134  # m3
CENTRE_OF_BUOYANCY = (0.0, 0.0, 0.01)  # m
ADDED_MASS = (6.36, 7.12, 18.68, 0.189, 0.135, 0.222)  # kg, kg m2
LINEAR_DAMPING = (13.7, 0.0, 33.0, 0.0, 0.8, 0.0)  # N s/m, N m s/rad
QUADRATIC_DAMPING = (141.0, 217.0, 190.0, 1.19, 0.47, 1.5)  # N s2/m2, N m s2/rad2

HULL_SIZE = (0.457, 0.575, 0.254)  # m, the vendor's outline of the Heavy: what touches things
BUOYANCY_BOX = (0.40, 0.335, 0.1)  # m, 0.0134 m3: the collision box Gazebo's Buoyancy weighs

# Position in base_link [m] and direction of positive thrust, T1..T8. Horizontals: front starboard,
# front port, aft starboard, aft port; verticals in the same order.
_DIAGONAL = float(np.sqrt(0.5))
THRUSTERS: tuple[tuple[tuple[float, float, float], tuple[float, float, float]], ...] = (
    ((0.156, -0.111, -0.085), (-_DIAGONAL, -_DIAGONAL, 0.0)),
    ((0.156, 0.111, -0.085), (-_DIAGONAL, _DIAGONAL, 0.0)),
    ((-0.156, -0.111, -0.085), (_DIAGONAL, -_DIAGONAL, 0.0)),
    ((-0.156, 0.111, -0.085), (_DIAGONAL, _DIAGONAL, 0.0)),
    ((0.12, -0.218, 0.0), (0.0, 0.0, 1.0)),
    ((0.12, 0.218, 0.0), (0.0, 0.0, 1.0)),
    ((-0.12, -0.218, 0.0), (0.0, 0.0, 1.0)),
    ((-0.12, 0.218, 0.0), (0.0, 0.0, 1.0)),
)
THRUSTER_MASS = 0.01  # kg: a rotor only; the motors belong to the hull
THRUSTER_INERTIA = 2e-5  # kg m2
PROPELLER_DIAMETER = 0.076  # m
THRUST_COEFFICIENT = 0.0111  # T = Ct rho D^4 w|w|, from the T200 at 16 V and 3533 rpm
THRUST_LIMITS = (-39.9, 51.4)  # N at 16 V
THRUSTER_LAG = 0.12  # s, first order

BATTERY_WH = 532.0  # two packs of 14.8 V, 18 Ah: what an untethered conversion carries
BATTERY_CELLS = 4
BATTERY_RESISTANCE = 0.015  # ohm
HOTEL_POWER = 25.0  # W: computer, sensors

LAMPS: tuple[tuple[tuple[float, float, float], tuple[float, float, float]], ...] = (
    ((0.26, 0.14, 0.10), (0.995, 0.0, -0.0998)),
    ((0.26, -0.14, 0.10), (0.995, 0.0, -0.0998)),
)
LAMP_LUMENS = 1500.0
LAMP_BEAM_DEG = 135.0

# Sensors stand outside the hull, so that no image shows the vehicle itself.
SENSOR_CLEARANCE = 0.03  # m beyond the outline along the boresight
SONAR_DROP = 0.06  # m below the camera in its own image, so that the two do not coincide

SONAR_RAYS = 64
SONAR_REACH = 1.15  # rays go past the longest range: their footprints reach back into the image


def write_vehicle(directory: Path) -> Path:
    """Write ``directory/bluerov2_heavy/`` and return that folder.

    It holds model.config, model.sdf with level sonars and, for ``sonar_mount:=tilted``,
    model_tilted.sdf.
    """
    root = directory / MODEL_NAME
    root.mkdir(parents=True, exist_ok=True)
    (root / 'model.sdf').write_text(vehicle_sdf(), encoding='utf-8')
    tilted = vehicle_sdf(front_sonar_pitch=load_sonar(DECISION_SONAR).front_tilt)
    (root / 'model_tilted.sdf').write_text(tilted, encoding='utf-8')
    (root / 'model.config').write_text(_CONFIG, encoding='utf-8')
    return root


def vehicle_sdf(*, front_sonar_pitch: float = 0.0) -> str:
    """Return the text of model.sdf, with the forward sonar pitched down [rad]."""
    lines = [
        '<?xml version="1.0"?>',
        '<!-- Written by oceangym_worlds.vehicle_model; change the numbers there. -->',
        '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"'
        ' xmlns:gz="http://gazebosim.org/schema">',
        f'  <model name="{MODEL_NAME}">',
        f'    <oceangym:parameter_set>{PARAMETER_SET}</oceangym:parameter_set>',
        f'    <oceangym:hull size="{_numbers(HULL_SIZE)}"/>',
        f'    <oceangym:battery capacity_wh="{BATTERY_WH:g}" cells="{BATTERY_CELLS}"'
        f' resistance="{BATTERY_RESISTANCE:g}" hotel_power="{HOTEL_POWER:g}"/>',
    ]
    lines += _base_link(front_sonar_pitch)
    for index in range(len(THRUSTERS)):
        lines += _thruster(index)
    lines += _plugins()
    lines += ['  </model>', '</sdf>', '']
    return '\n'.join(lines)


def _base_link(front_sonar_pitch: float) -> list[str]:
    mass, height, inertia = _hull_inertia()
    added = np.diag(ADDED_MASS)
    axes = 'xyzpqr'
    terms = ''.join(
        f'<{axes[i]}{axes[j]}>{added[i, j]:g}</{axes[i]}{axes[j]}>'
        for i in range(6)
        for j in range(i, 6)
    )
    lines = [
        '    <link name="base_link">',
        '      <inertial>',
        f'        <pose>0 0 {height:.9g} 0 0 0</pose>',
        f'        <mass>{mass:.9g}</mass>',
        '        <inertia>'
        f'<ixx>{inertia[0, 0]:.9g}</ixx><ixy>0</ixy><ixz>0</ixz>'
        f'<iyy>{inertia[1, 1]:.9g}</iyy><iyz>0</iyz><izz>{inertia[2, 2]:.9g}</izz>'
        '</inertia>',
        f'        <fluid_added_mass>{terms}</fluid_added_mass>',
        '      </inertial>',
        '      <collision name="buoyancy">',
        f'        <pose>{_numbers(CENTRE_OF_BUOYANCY)} 0 0 0</pose>',
        f'        <geometry><box><size>{_numbers(BUOYANCY_BOX)}</size></box></geometry>',
        '      </collision>',
    ]
    for name, shape, size, pose, colour in _VISUALS:
        lines += _visual(name, shape, size, pose, colour)
    lines += _navigation_sensors()
    lines += [
        '      <sensor name="contact" type="contact">',
        '        <always_on>1</always_on><update_rate>50</update_rate>',
        '        <contact><collision>buoyancy</collision>'
        f'<topic>{NAMESPACE}/gazebo/contact</topic></contact>',
        '      </sensor>',
    ]
    for direction in DIRECTIONS:
        pitch = front_sonar_pitch if direction == 'front' else 0.0
        lines += _camera(direction) + _sonar(direction, pitch)
    for index, (position, beam) in enumerate(LAMPS):
        lines += _lamp(f'lamp_{index + 1}', position, beam)
    return [*lines, '    </link>']


def _hull_inertia() -> tuple[float, float, NDArray[np.float64]]:
    """Return mass, height of the centre of gravity and inertia of the hull without its rotors.

    Hull and rotors together have exactly the identified mass and inertia, with the common centre of
    gravity at the origin of base_link.
    """
    mass = MASS - THRUSTER_MASS * len(THRUSTERS)
    places = np.array([position for position, _ in THRUSTERS])
    height = float(-THRUSTER_MASS * places[:, 2].sum() / mass)
    inertia = np.diag(INERTIA)
    for place in places:
        inertia -= THRUSTER_INERTIA * np.eye(3) + _point_inertia(THRUSTER_MASS, place)
    inertia -= _point_inertia(mass, np.array([0.0, 0.0, height]))
    return mass, height, np.diag(np.diag(inertia))


def _point_inertia(mass: float, place: NDArray[np.float64]) -> NDArray[np.float64]:
    inertia: NDArray[np.float64] = mass * (place @ place * np.eye(3) - np.outer(place, place))
    return inertia


def _thruster(index: int) -> list[str]:
    position, direction = THRUSTERS[index]
    name = f'thruster_{index + 1}'
    inertia = f'{THRUSTER_INERTIA:g}'
    lines = [
        f'    <link name="{name}">',
        f'      <pose>{_numbers(position)} {_numbers(_axis_euler(direction))}</pose>',
        f'      <inertial><mass>{THRUSTER_MASS:g}</mass><inertia><ixx>{inertia}</ixx><ixy>0</ixy>'
        f'<ixz>0</ixz><iyy>{inertia}</iyy><iyz>0</iyz><izz>{inertia}</izz></inertia></inertial>',
    ]
    ring = '0 0 0 0 1.5707963 0'
    lines += _visual('ring', 'cylinder', (0.05, 0.045), ring, 'black')
    lines += _visual('propeller', 'cylinder', (0.038, 0.047), ring, 'blue')
    return [
        *lines,
        '    </link>',
        f'    <joint name="{name}_joint" type="revolute">',
        f'      <parent>base_link</parent><child>{name}</child>',
        '      <axis><xyz>1 0 0</xyz>'
        '<limit><lower>-1e16</lower><upper>1e16</upper></limit></axis>',
        '    </joint>',
    ]


def _plugins() -> list[str]:
    axes = (('x', 'U'), ('y', 'V'), ('z', 'W'), ('k', 'P'), ('m', 'Q'), ('n', 'R'))
    linear = ''.join(
        f'<{f}{v}>{-abs(d):g}</{f}{v}>' for (f, v), d in zip(axes, LINEAR_DAMPING, strict=True)
    )
    quadratic = ''.join(
        f'<{f}{v}abs{v}>{-abs(d):g}</{f}{v}abs{v}>'
        for (f, v), d in zip(axes, QUADRATIC_DAMPING, strict=True)
    )
    lines = [
        '    <!-- Added mass stands in the inertial of base_link: solved implicitly and once. -->',
        '    <plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics">',
        '      <link_name>base_link</link_name>',
        f'      <namespace>{NAMESPACE}</namespace>',
        '      <disable_added_mass>true</disable_added_mass>',
        f'      {linear}',
        f'      {quadratic}',
        '    </plugin>',
    ]
    for index in range(len(THRUSTERS)):
        # Neighbours turn against each other, as on the vehicle, so that torques cancel.
        spin = THRUST_COEFFICIENT * (1 if index in (0, 3, 5, 6) else -1)
        lines += [
            '    <plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">',
            f'      <namespace>{NAMESPACE}</namespace>',
            f'      <joint_name>thruster_{index + 1}_joint</joint_name>',
            f'      <thrust_coefficient>{spin:g}</thrust_coefficient>',
            f'      <propeller_diameter>{PROPELLER_DIAMETER:g}</propeller_diameter>',
            '      <fluid_density>1025</fluid_density>',
            '      <velocity_control>true</velocity_control>',
            f'      <min_thrust_cmd>{THRUST_LIMITS[0]:g}</min_thrust_cmd>',
            f'      <max_thrust_cmd>{THRUST_LIMITS[1]:g}</max_thrust_cmd>',
            f'      <oceangym:thruster model="t200" lag="{THRUSTER_LAG:g}"/>',
            '    </plugin>',
        ]
    return [
        *lines,
        '    <plugin filename="gz-sim-odometry-publisher-system"'
        ' name="gz::sim::systems::OdometryPublisher">',
        '      <odom_frame>map</odom_frame>',
        '      <robot_base_frame>base_link</robot_base_frame>',
        '      <odom_publish_frequency>20</odom_publish_frequency>',
        f'      <odom_topic>/model/{NAMESPACE}/odometry</odom_topic>',
        '      <dimensions>3</dimensions>',
        '    </plugin>',
    ]


def _navigation_sensors() -> list[str]:
    return [
        '      <sensor name="imu" type="imu">',
        f'        <always_on>1</always_on><update_rate>50</update_rate><topic>{NAMESPACE}/gazebo/imu</topic>',
        '        <gz_frame_id>base_link</gz_frame_id>',
        f'        <imu><angular_velocity>{_noise_xyz(1.23e-3)}</angular_velocity>'
        f'<linear_acceleration>{_noise_xyz(2.77e-3)}</linear_acceleration></imu>',
        '      </sensor>',
        '      <sensor name="altimeter" type="altimeter">',
        '        <always_on>1</always_on><update_rate>10</update_rate>'
        f'<topic>{NAMESPACE}/gazebo/altimeter</topic>',
        '      </sensor>',
        '      <sensor name="dvl" type="custom" gz:type="dvl">',
        f'        <pose>0 0 {-(HULL_SIZE[2] / 2 + 0.01):g} 0 0 0</pose>',
        '        <always_on>1</always_on><update_rate>5</update_rate>'
        f'<topic>{NAMESPACE}/gazebo/dvl</topic>',
        '        <gz_frame_id>base_link</gz_frame_id>',
        '        <gz:dvl><type>phased_array</type><arrangement degrees="true">',
        *(
            f'          <beam id="{i + 1}"><aperture>2</aperture><rotation>{rotation}</rotation>'
            '<tilt>22.5</tilt></beam>'
            for i, rotation in enumerate((45, 135, -45, -135))
        ),
        '          </arrangement><tracking><bottom_mode><when>best</when>'
        '<noise type="gaussian"><stddev>0.02626</stddev></noise></bottom_mode></tracking>',
        '          <minimum_range>0.1</minimum_range><maximum_range>50</maximum_range>'
        '<resolution>0.01</resolution></gz:dvl>',
        '      </sensor>',
    ]


def _noise_xyz(sigma: float) -> str:
    noise = f'<noise type="gaussian"><mean>0</mean><stddev>{sigma:g}</stddev></noise>'
    return ''.join(f'<{axis}>{noise}</{axis}>' for axis in 'xyz')


def _camera(direction: str) -> list[str]:
    return [
        f'      <sensor name="camera_{direction}" type="rgbd_camera">',
        f'        <pose>{_mount(direction, 0.0)}</pose>',
        '        <always_on>1</always_on><update_rate>1</update_rate>',
        # Below it come image, depth_image and points; the contract's image is made from them.
        f'        <topic>{NAMESPACE}/gazebo/camera/{direction}</topic>',
        f'        <gz_frame_id>camera_{direction}</gz_frame_id>',
        '        <camera>',
        '          <horizontal_fov>1.5707963267948966</horizontal_fov>',
        '          <image><width>512</width><height>512</height><format>R8G8B8</format></image>',
        '          <clip><near>0.1</near><far>120</far></clip>',
        f'          <camera_info_topic>{NAMESPACE}/gazebo/camera/{direction}/camera_info'
        '</camera_info_topic>',
        f'          <optical_frame_id>camera_{direction}_optical_frame</optical_frame_id>',
        '        </camera>',
        '      </sensor>',
    ]


def _sonar(direction: str, pitch: float) -> list[str]:
    device = load_sonar(DECISION_SONAR)
    half, tall = np.deg2rad([device.azimuth_deg, device.elevation_deg]) / 2
    nearest, farthest = device.range_m
    # A ray stands for a cell of elevation: the outermost lie half a cell inside the aperture.
    outermost = tall * (1 - 1 / SONAR_RAYS)
    return [
        f'      <sensor name="sonar_{direction}" type="gpu_lidar">',
        f'        <pose>{_mount(direction, SONAR_DROP, pitch)}</pose>',
        '        <always_on>1</always_on><update_rate>1</update_rate>',
        f'        <topic>{NAMESPACE}/gazebo/sonar/{direction}</topic>',
        f'        <gz_frame_id>sonar_{direction}</gz_frame_id>',
        '        <lidar>',
        f'          <scan><horizontal><samples>{device.beams}</samples><resolution>1</resolution>'
        f'<min_angle>{-half:.9g}</min_angle><max_angle>{half:.9g}</max_angle></horizontal>',
        f'          <vertical><samples>{SONAR_RAYS}</samples><resolution>1</resolution>'
        f'<min_angle>{-outermost:.9g}</min_angle><max_angle>{outermost:.9g}</max_angle>'
        '</vertical></scan>',
        f'          <range><min>{nearest:g}</min><max>{farthest * SONAR_REACH:g}</max>'
        '<resolution>0.01</resolution></range>',
        '        </lidar>',
        f'        <oceangym:sonar frequency="{device.frequency_khz * 1e3:g}" sound_speed="1480"'
        f' range_bins="{device.range_bins}" range_max="{farthest:g}"'
        f' elevation_aperture="{2 * float(f"{tall:.9g}"):.9g}" preset="{device.id}"/>',
        '      </sensor>',
    ]


def _lamp(name: str, position: Sequence[float], beam: Sequence[float]) -> list[str]:
    outer = float(np.deg2rad(LAMP_BEAM_DEG))
    return [
        f'      <light name="{name}" type="spot">',
        f'        <pose>{_numbers(position)} 0 0 0</pose>',
        '        <diffuse>1 0.97 0.92 1</diffuse><specular>0.2 0.2 0.2 1</specular>',
        '        <attenuation><range>20</range><constant>0.2</constant><linear>0.1</linear>'
        '<quadratic>0.05</quadratic></attenuation>',
        f'        <direction>{_numbers(beam)}</direction><cast_shadows>false</cast_shadows>',
        f'        <spot><inner_angle>{outer / 2:.6g}</inner_angle>'
        f'<outer_angle>{outer:.6g}</outer_angle><falloff>1</falloff></spot>',
        f'        <oceangym:lamp name="{name}" position="{_numbers(position)}"'
        f' direction="{_numbers(beam)}" beam_width="{outer:.6g}" lumens="{LAMP_LUMENS:g}"/>',
        '      </light>',
    ]


def _visual(name: str, shape: str, size: Sequence[float], pose: str, colour: str) -> list[str]:
    if shape == 'box':
        geometry = f'<box><size>{_numbers(size)}</size></box>'
    else:
        geometry = f'<cylinder><radius>{size[0]:g}</radius><length>{size[1]:g}</length></cylinder>'
    rgb = _COLOURS[colour]
    return [
        f'      <visual name="{name}">',
        f'        <pose>{pose}</pose><geometry>{geometry}</geometry>',
        f'        <material><ambient>{rgb}</ambient><diffuse>{rgb}</diffuse>'
        '<specular>0.2 0.2 0.2 1</specular></material>',
        '      </visual>',
    ]


def _mount(direction: str, drop: float, pitch: float = 0.0) -> str:
    """Return the SDF pose of a sensor whose x axis is the boresight and whose z axis is image up.

    Args:
        direction: Of the sensor, level.
        drop: Down the image from the camera's place [m].
        pitch: Of the boresight down the image [rad].
    """
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[direction])
    reach = float(np.abs(forward) @ np.asarray(HULL_SIZE)) / 2 + SENSOR_CLEARANCE
    position = forward * reach - up * drop
    forward, up = (
        np.cos(pitch) * forward - np.sin(pitch) * up,
        np.cos(pitch) * up + np.sin(pitch) * forward,
    )
    matrix = np.stack([forward, np.cross(up, forward), up], axis=1)
    return f'{_numbers(position)} {_numbers(_euler(matrix))}'


def _axis_euler(direction: Sequence[float]) -> tuple[float, float, float]:
    """Return the fixed-axis angles that turn x onto `direction`."""
    x, y, z = direction
    return 0.0, float(-np.arcsin(z)), float(np.arctan2(y, x))


def _euler(matrix: NDArray[np.float64]) -> tuple[float, float, float]:
    return euler_from_quaternion(quaternion_from_matrix(matrix))


def _numbers(values: ArrayLike) -> str:
    return ' '.join(f'{0.0 if abs(v) < 1e-12 else v:.9g}' for v in np.asarray(values, dtype=float))


_COLOURS = {
    'blue': '0.05 0.32 0.72 1',
    'black': '0.04 0.04 0.045 1',
    'grey': '0.55 0.57 0.6 1',
    'glass': '0.12 0.14 0.16 1',
}

_ALONG_X = '0 1.5707963 0'
_VISUALS: tuple[tuple[str, str, tuple[float, ...], str, str], ...] = (
    ('float_port', 'box', (0.42, 0.10, 0.09), '0 0.12 0.075 0 0 0', 'blue'),
    ('float_starboard', 'box', (0.42, 0.10, 0.09), '0 -0.12 0.075 0 0 0', 'blue'),
    ('float_front', 'box', (0.10, 0.14, 0.09), '0.16 0 0.075 0 0 0', 'blue'),
    ('float_back', 'box', (0.10, 0.14, 0.09), '-0.16 0 0.075 0 0 0', 'blue'),
    ('side_port', 'box', (0.44, 0.012, 0.22), '0 0.172 -0.01 0 0 0', 'black'),
    ('side_starboard', 'box', (0.44, 0.012, 0.22), '0 -0.172 -0.01 0 0 0', 'black'),
    ('bottom', 'box', (0.44, 0.33, 0.012), '0 0 -0.112 0 0 0', 'black'),
    ('bracket_port', 'box', (0.34, 0.08, 0.012), '0 0.22 -0.02 0 0 0', 'black'),
    ('bracket_starboard', 'box', (0.34, 0.08, 0.012), '0 -0.22 -0.02 0 0 0', 'black'),
    ('electronics', 'cylinder', (0.057, 0.34), f'0 0 -0.01 {_ALONG_X}', 'grey'),
    ('battery', 'cylinder', (0.042, 0.30), f'0 0 -0.085 {_ALONG_X}', 'grey'),
    ('dome', 'cylinder', (0.055, 0.03), f'0.185 0 -0.01 {_ALONG_X}', 'glass'),
)

_CONFIG = f"""<?xml version="1.0"?>
<model>
  <name>{MODEL_NAME}</name>
  <version>1.0</version>
  <sdf version="1.11">model.sdf</sdf>
  <description>BlueROV2 Heavy with eight thrusters, six cameras and six imaging sonars.
    Hydrodynamics: {PARAMETER_SET} (J. Mar. Sci. Eng. 10(12):1898).</description>
</model>
"""
