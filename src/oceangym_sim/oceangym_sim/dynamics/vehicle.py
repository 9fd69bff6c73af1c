"""Reads a vehicle's numbers from its SDF model; refuses what cannot be honoured."""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np

from oceangym_core.config.sonars import DECISION_SONAR
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation, sonar_orientation
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.sdf import number_attribute, numbers, own, parse_xml, pose_of, SdfError
from oceangym_sim.dynamics.parameters import Battery, Lamp, Thruster, VehicleParameters

__all__ = ['Battery', 'Lamp', 'Thruster', 'VehicleParameters', 'load_vehicle']

_AXES = 'xyzpqr'
_DAMPING_AXES = (('x', 'U'), ('y', 'V'), ('z', 'W'), ('k', 'P'), ('m', 'Q'), ('n', 'R'))
_CAMERA_TYPES = ('camera', 'rgbd_camera')  # Gazebo has to be asked for the depth
_STANDARD_DENSITY = 1025.0  # kg/m3, sea water
_STANDARD_GRAVITY = 9.81  # m/s2


def load_vehicle(sdf_path: Path) -> VehicleParameters:
    """Read a vehicle from its model.sdf.

    Raises:
        OceanGymError: The file cannot be read, or holds what the simulator cannot honour.
    """
    path = Path(sdf_path)
    model = parse_xml(path).find('model')
    if model is None:
        raise SdfError(path, 'sdf', 'holds no <model>')
    links = {link.get('name', ''): link for link in model.findall('link')}
    if 'base_link' not in links:
        raise SdfError(path, 'link', f'no link named base_link; links: {", ".join(links)}')
    base = links['base_link']
    mass, gravity, inertia = _lumped_inertia(path, list(links.values()))
    volume, buoyancy = _displacement(path, base)
    linear, quadratic = _damping(path, model)
    hull = _required(path, model, own('hull'), 'oceangym:hull')
    hull_size = _vector(path, hull, 'size')
    sensors = base.findall('sensor')
    try:
        return VehicleParameters(
            name=model.get('name', path.parent.name),
            parameter_set=(model.findtext(own('parameter_set')) or 'unnamed').strip(),
            mass=mass,
            centre_of_gravity=gravity,
            inertia=inertia,
            volume=volume,
            centre_of_buoyancy=buoyancy,
            hull_size=hull_size,
            added_mass=_added_mass(path, base),
            linear_damping=linear,
            quadratic_damping=quadratic,
            thrusters=_thrusters(path, model, links),
            cameras=tuple(_camera(path, s) for s in sensors if s.get('type') in _CAMERA_TYPES),
            sonars=tuple(_sonar(path, s) for s in sensors if s.get('type') == 'gpu_lidar'),
            lamps=tuple(_lamp(path, e) for e in base.iter(own('lamp'))),
            battery=_battery(path, model),
            warnings=_trim_warnings(path, mass, volume),
        )
    except SdfError:
        raise
    except OceanGymError as error:
        raise SdfError(path, 'model', str(error)) from error


def _required(path: Path, parent: ElementTree.Element, tag: str, name: str) -> ElementTree.Element:
    element = parent.find(tag)
    if element is None:
        raise SdfError(path, name, 'is missing')
    return element


def _vector(path: Path, element: ElementTree.Element, name: str) -> tuple[float, float, float]:
    text = ElementTree.Element(name)
    text.text = element.get(name, '')
    x, y, z = numbers(path, text, 3, name)
    return x, y, z


def _lumped_inertia(
    path: Path, links: list[ElementTree.Element]
) -> tuple[float, tuple[float, float, float], Array]:
    """Return mass, centre of gravity and inertia of all links as one rigid body."""
    masses: list[float] = []
    centres: list[Array] = []
    inertias: list[Array] = []
    for link in links:
        inertial = _required(path, link, 'inertial', 'inertial')
        mass = numbers(path, inertial.find('mass'), 1, 'mass')[0]
        if mass <= 0:
            raise SdfError(path, 'mass', f'{mass} of link {link.get("name")!r} must be positive')
        pose = pose_of(path, link) @ pose_of(path, inertial)
        block = _required(path, inertial, 'inertia', 'inertia')
        value = {
            key: numbers(path, block.find(key), 1, key)[0] if block.find(key) is not None else 0.0
            for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        }
        own_inertia = np.array(
            [
                [value['ixx'], value['ixy'], value['ixz']],
                [value['ixy'], value['iyy'], value['iyz']],
                [value['ixz'], value['iyz'], value['izz']],
            ]
        )
        masses.append(mass)
        centres.append(np.asarray(pose.position))
        inertias.append(pose.rotation @ own_inertia @ pose.rotation.T)
    total = float(sum(masses))
    centre = sum((m * c for m, c in zip(masses, centres)), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for m, c, i in zip(masses, centres, inertias):
        arm = c - centre
        inertia += i + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    x, y, z = (round(float(v), 9) + 0.0 for v in centre)
    return round(total, 9), (x, y, z), np.round(inertia, 9) + 0.0


def _displacement(
    path: Path, base: ElementTree.Element
) -> tuple[float, tuple[float, float, float]]:
    """Return volume and centre of buoyancy, from the collision boxes that Gazebo weighs."""
    volume, moment = 0.0, np.zeros(3)
    for collision in base.findall('collision'):
        size = collision.find('geometry/box/size')
        if size is None:
            raise SdfError(
                path, 'collision', f'{collision.get("name")!r} of base_link must be a <box>'
            )
        x, y, z = numbers(path, size, 3, 'size')
        if min(x, y, z) <= 0:
            raise SdfError(path, 'size', f'{(x, y, z)} must be positive')
        volume += x * y * z
        moment += x * y * z * np.asarray(pose_of(path, collision).position)
    if volume <= 0:
        raise SdfError(path, 'collision', 'base_link needs a <box> that displaces water')
    cx, cy, cz = (float(v) for v in moment / volume)
    return volume, (cx, cy, cz)


def _added_mass(path: Path, base: ElementTree.Element) -> Array:
    matrix = np.zeros((6, 6))
    element = base.find('inertial/fluid_added_mass')
    if element is None:
        return matrix
    for child in element:
        if len(child.tag) != 2 or any(letter not in _AXES for letter in child.tag):
            raise SdfError(path, f'fluid_added_mass/{child.tag}', 'allowed: xx xy .. rr')
        row, column = (_AXES.index(letter) for letter in child.tag)
        matrix[row, column] = matrix[column, row] = numbers(path, child, 1, child.tag)[0]
    return matrix


def _damping(path: Path, model: ElementTree.Element) -> tuple[Array, Array]:
    linear, quadratic = np.zeros((6, 6)), np.zeros(6)
    allowed = {'link_name', 'namespace', 'disable_added_mass', 'water_density'}
    for plugin in model.findall('plugin'):
        if plugin.get('name') != 'gz::sim::systems::Hydrodynamics':
            continue
        if (plugin.findtext('disable_added_mass') or '').strip() not in ('true', '1'):
            raise SdfError(
                path, 'disable_added_mass', 'must be true: added mass belongs in fluid_added_mass'
            )
        terms = {
            f'{force}{speed}': ('linear', i, j)
            for i, (force, _) in enumerate(_DAMPING_AXES)
            for j, (_, speed) in enumerate(_DAMPING_AXES)
        }
        terms |= {f'{f}{v}abs{v}': ('quadratic', i, i) for i, (f, v) in enumerate(_DAMPING_AXES)}
        for child in plugin:
            if child.tag in allowed:
                continue
            if child.tag not in terms:
                raise SdfError(path, child.tag, str(unknown_name('coefficient', child.tag, terms)))
            kind, i, j = terms[child.tag]
            value = -numbers(path, child, 1, child.tag)[0]
            if kind == 'linear':
                linear[i, j] = value
            else:
                quadratic[i] = value
            if i == j and value < 0:
                raise SdfError(path, child.tag, f'{-value} adds energy; it must be negative')
    return linear, quadratic + 0.0


def _thrusters(
    path: Path, model: ElementTree.Element, links: dict[str, ElementTree.Element]
) -> tuple[Thruster, ...]:
    joints = {joint.get('name', ''): joint for joint in model.findall('joint')}
    thrusters: list[Thruster] = []
    for plugin in model.findall('plugin'):
        if plugin.get('name') != 'gz::sim::systems::Thruster':
            continue
        name = (plugin.findtext('joint_name') or '').strip()
        if name not in joints:
            raise SdfError(path, 'joint_name', str(unknown_name('joint', name, joints)))
        child = (joints[name].findtext('child') or '').strip()
        if child not in links:
            raise SdfError(path, 'child', str(unknown_name('link', child, links)))
        axis = numbers(path, joints[name].find('axis/xyz'), 3, 'xyz')
        pose = pose_of(path, links[child])
        direction = pose.rotation @ (np.array(axis) / max(float(np.linalg.norm(axis)), 1e-12))
        if abs(float(np.linalg.norm(direction)) - 1.0) > 1e-6:
            raise SdfError(path, 'xyz', f'{axis} is not an axis')
        dx, dy, dz = (float(v) for v in direction)
        own_element = plugin.find(own('thruster'))
        lag = 0.0 if own_element is None else number_attribute(path, own_element, 'lag')
        if lag < 0:
            raise SdfError(path, 'oceangym:thruster', f'lag {lag} must not be negative')
        thrusters.append(
            Thruster(
                name=child, joint=name, position=pose.position, direction=(dx, dy, dz), lag=lag
            )
        )
    return tuple(thrusters)


def _direction(path: Path, sensor: ElementTree.Element, prefix: str) -> str:
    name = sensor.get('name', '')
    direction = name[len(prefix) :] if name.startswith(prefix) else name
    if direction not in DIRECTIONS:
        allowed = [prefix + d for d in DIRECTIONS]
        raise SdfError(path, 'sensor', str(unknown_name('sensor', name, allowed)))
    return direction


def _camera(path: Path, sensor: ElementTree.Element) -> CameraSpec:
    direction = _direction(path, sensor, 'camera_')
    camera = _required(path, sensor, 'camera', 'camera')
    width = int(numbers(path, camera.find('image/width'), 1, 'width')[0])
    height = int(numbers(path, camera.find('image/height'), 1, 'height')[0])
    fov = numbers(path, camera.find('horizontal_fov'), 1, 'horizontal_fov')[0]
    if not (0 < width <= 8192 and 0 < height <= 8192):
        raise SdfError(path, 'image', f'{width} x {height} is outside 1..8192')
    if not 0.02 <= fov <= 3.0:
        raise SdfError(path, 'horizontal_fov', f'{fov} rad is outside 0.02..3 (a pinhole)')
    pose = pose_of(path, sensor)
    return CameraSpec(
        direction=direction,
        mount=pose @ Pose.of((0, 0, 0), optical_orientation('front')),
        width=width,
        height=height,
        horizontal_fov=fov,
        near=numbers(path, camera.find('clip/near'), 1, 'near')[0],
        far=numbers(path, camera.find('clip/far'), 1, 'far')[0],
        distortion=_distortion(path, camera),
    )


def _distortion(
    path: Path, camera: ElementTree.Element
) -> tuple[float, float, float, float, float]:
    """Return k1, k2, p1, p2, k3 of a camera's lens; zero without a ``distortion`` element."""

    def number(name: str) -> float:
        element = camera.find(f'distortion/{name}')
        return 0.0 if element is None else numbers(path, element, 1, name)[0]

    return number('k1'), number('k2'), number('p1'), number('p2'), number('k3')


def _sonar(path: Path, sensor: ElementTree.Element) -> SonarSpec:
    direction = _direction(path, sensor, 'sonar_')
    lidar = _required(path, sensor, 'lidar', 'lidar')
    extra = _required(path, sensor, own('sonar'), 'oceangym:sonar')

    def number(name: str) -> float:
        return numbers(path, lidar.find(name), 1, name)[0]

    def given(name: str, otherwise: float) -> float:
        return number_attribute(path, extra, name) if extra.get(name) else otherwise

    beams, rays = int(number('scan/horizontal/samples')), int(number('scan/vertical/samples'))
    # Gazebo's rays go further than the image shows, and each stands for a cell about it.
    nearest, traced = number('range/min'), number('range/max')
    farthest = given('range_max', traced)
    elevation = number('scan/vertical/max_angle') - number('scan/vertical/min_angle')
    bins = int(number_attribute(path, extra, 'range_bins'))
    if not (2 <= beams <= 4096 and 1 <= rays <= 1024 and 2 <= bins <= 8192):
        raise SdfError(
            path, 'oceangym:sonar', f'{beams} beams, {rays} rays, {bins} bins: too few or too many'
        )
    if not 0 <= nearest < farthest <= traced <= 1150:
        raise SdfError(
            path, 'range', f'{nearest}..{farthest} m, traced to {traced} m, is not a sonar range'
        )
    pose = pose_of(path, sensor)
    return SonarSpec(
        direction=direction,
        mount=pose @ Pose.of((0, 0, 0), sonar_orientation('front')),
        range_min=nearest,
        range_max=farthest,
        range_bins=bins,
        beams=beams,
        azimuth_aperture=number('scan/horizontal/max_angle') - number('scan/horizontal/min_angle'),
        elevation_aperture=given('elevation_aperture', elevation),
        elevation_rays=rays,
        frequency=number_attribute(path, extra, 'frequency'),
        sound_speed=number_attribute(path, extra, 'sound_speed'),
        preset=extra.get('preset', DECISION_SONAR),
    )


def _lamp(path: Path, element: ElementTree.Element) -> Lamp:
    direction = np.array(_vector(path, element, 'direction'))
    norm = float(np.linalg.norm(direction))
    beam, lumens = (number_attribute(path, element, n) for n in ('beam_width', 'lumens'))
    if norm < 1e-6 or not 0 < beam < 2 * np.pi or lumens < 0:
        raise SdfError(path, 'oceangym:lamp', f'{element.attrib} is not a lamp')
    dx, dy, dz = (float(v) for v in direction / norm)
    return Lamp(
        name=element.get('name', 'lamp'),
        position=_vector(path, element, 'position'),
        direction=(dx, dy, dz),
        beam_width=beam,
        lumens=lumens,
    )


def _battery(path: Path, model: ElementTree.Element) -> Battery:
    element = model.find(own('battery'))
    if element is None:
        return Battery()
    capacity, cells, resistance, hotel = (
        number_attribute(path, element, n)
        for n in ('capacity_wh', 'cells', 'resistance', 'hotel_power')
    )
    if capacity <= 0 or cells < 1 or resistance < 0 or hotel < 0:
        raise SdfError(path, 'oceangym:battery', f'{element.attrib} is not a battery')
    return Battery(
        capacity=capacity * 3600.0, cells=int(cells), resistance=resistance, hotel_power=hotel
    )


def _trim_warnings(path: Path, mass: float, volume: float) -> tuple[str, ...]:
    weight = mass * _STANDARD_GRAVITY
    buoyancy = _STANDARD_DENSITY * volume * _STANDARD_GRAVITY
    if abs(buoyancy - weight) <= 0.05 * weight:
        return ()
    return (
        f'{path}: weight {weight:.1f} N and buoyancy {buoyancy:.1f} N (1025 kg/m3) differ by '
        f'{100 * (buoyancy / weight - 1):+.0f} %: check mass (dry, without flooded water) and the '
        'collision box',
    )
