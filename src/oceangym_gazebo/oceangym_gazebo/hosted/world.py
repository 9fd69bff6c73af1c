"""Makes of a world and a vehicle the one file that a hosted Gazebo server loads.

World files hold no vehicle, and their vehicle is made for a server of its own: what a host does
itself (thrust, navigation sensors, pacing) is left out here, and every rendered sensor may fire on
any step, since the host alone decides when an image is taken.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from xml.etree import ElementTree

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import euler_from_quaternion, Pose
from oceangym_core.world.sdf import included_model, parse_xml, pose_of, resolve_uri
from oceangym_core.world.world import world_search_path
from oceangym_gazebo.rays.ray_cloud import lidar_rows
from oceangym_sim.dynamics.vehicle import load_vehicle

VEHICLE_NAME = 'auv'
SCENERY_NAME = 'scenery'
_FILES = ('uri', 'albedo_map')
RENDERED = ('rgbd_camera', 'gpu_lidar')
_RENDERING = 'gz::sim::systems::Sensors'
# Systems whose work the host does: its navigation sensors are those of every backend.
_HOSTED_WORLD_SYSTEMS = frozenset(
    f'gz::sim::systems::{name}'
    for name in ('Imu', 'Altimeter', 'DopplerVelocityLogSystem', 'Contact')
)
_HOSTED_MODEL_SYSTEMS = frozenset(
    f'gz::sim::systems::{name}' for name in ('Thruster', 'OdometryPublisher', 'PosePublisher')
)
_PREFIXES = {'oceangym': 'urn:oceangym:sdf:1', 'gz': 'http://gazebosim.org/schema'}


def hosted_world(
    *, world: Path, vehicle: Path, start: Pose, step: float, rendered: bool
) -> ElementTree.Element:
    """Return the ``<sdf>`` that a hosted server loads.

    Args:
        world: World file, without a vehicle.
        vehicle: Model file of the vehicle; it becomes the model ``auv``.
        start: Of the vehicle, in map.
        step: Of the physics [s]; the server runs as fast as it can.
        rendered: Whether cameras and lidars are wanted.

    Raises:
        OceanGymError: A file is not what it should be.
    """
    for prefix, uri in _PREFIXES.items():
        ElementTree.register_namespace(prefix, uri)
    root = parse_xml(world)
    scene = root.find('world')
    if scene is None:
        raise OceanGymError(f'{world}: holds no <world>')
    model = parse_xml(vehicle).find('model')
    if model is None:
        raise OceanGymError(f'{vehicle}: holds no <model>')
    _set_pace(scene, step)
    _drop_plugins(scene, _HOSTED_WORLD_SYSTEMS | (frozenset() if rendered else {_RENDERING}))
    _put_lights_out(scene)
    _merge_scenery(scene, world)
    scene.append(_hosted_vehicle(vehicle, model, start, step, rendered))
    return root


def _set_pace(scene: ElementTree.Element, step: float) -> None:
    physics = scene.find('physics')
    if physics is None:
        physics = ElementTree.SubElement(scene, 'physics', name='hosted', type='dart')
    _set(physics, 'max_step_size', f'{step:g}')
    _set(physics, 'real_time_factor', '0')


def _put_lights_out(scene: ElementTree.Element) -> None:
    """Leave nothing but what surfaces give off: sun and water are added to pictures afterwards."""
    for light in scene.findall('light'):
        scene.remove(light)
    look = scene.find('scene')
    if look is None:
        look = ElementTree.SubElement(scene, 'scene')
    _set(look, 'ambient', '0 0 0 1')
    _set(look, 'shadows', 'false')


def _merge_scenery(scene: ElementTree.Element, world: Path) -> None:
    """Put everything that does not move into one model.

    Gazebo visits each model and link on every step: with the ocean's 770 a step takes sixty times
    as long, and reading them one by one takes half a minute.
    """
    search = world_search_path(world)
    models: dict[Path, ElementTree.Element] = {}
    scenery = ElementTree.Element('model', name=SCENERY_NAME)
    ElementTree.SubElement(scenery, 'static').text = 'true'
    link = ElementTree.SubElement(scenery, 'link', name='link')
    for include in scene.findall('include'):
        directory = included_model(world, include, search)
        path = directory / 'model.sdf'
        if directory not in models:
            found = parse_xml(path).find('model')
            if found is None:
                raise OceanGymError(f'{path}: holds no <model>')
            _make_absolute(found, path, search)
            models[directory] = found
        name = include.findtext('name', models[directory].get('name', '')).strip()
        placed = pose_of(world, include)
        for part in models[directory].findall('link'):
            frame = placed @ pose_of(path, part)
            for shape in (*part.findall('visual'), *part.findall('collision')):
                copied = deepcopy(shape)
                _show_albedo(copied)
                copied.set('name', f'{name}_{part.get("name")}_{shape.get("name")}')
                _set(copied, 'pose', _pose_text(frame @ pose_of(path, shape)))
                link.append(copied)
        scene.remove(include)
    scene.append(scenery)


def _show_albedo(shape: ElementTree.Element) -> None:
    """Let a surface give off its own colour, so that pictures show reflectance and no shading."""
    for material in shape.iter('material'):
        _set(material, 'emissive', material.findtext('diffuse', '1 1 1 1'))
        for metal in material.iter('metal'):
            albedo = metal.findtext('albedo_map')
            if albedo:
                _set(metal, 'emissive_map', albedo)


def _make_absolute(model: ElementTree.Element, path: Path, search: tuple[Path, ...]) -> None:
    """Name meshes and textures by their files: their model is not theirs any more."""
    for element in model.iter():
        if element.tag in _FILES and element.text:
            element.text = str(resolve_uri(path, element.text.strip(), search).resolve())


def _pose_text(pose: Pose) -> str:
    numbers = (*pose.position, *euler_from_quaternion(pose.quaternion))
    return ' '.join(f'{number:.9g}' for number in numbers)


def _hosted_vehicle(
    vehicle: Path, model: ElementTree.Element, start: Pose, step: float, rendered: bool
) -> ElementTree.Element:
    model.set('name', VEHICLE_NAME)
    _set(model, 'pose', _pose_text(start))
    sonars = {f'sonar_{spec.direction}': spec for spec in load_vehicle(vehicle).sonars}
    _drop_plugins(model, _HOSTED_MODEL_SYSTEMS)
    for link in model.findall('link'):
        for lamp in link.findall('light'):
            link.remove(lamp)
        for sensor in link.findall('sensor'):
            if rendered and sensor.get('type') in RENDERED:
                _set(sensor, 'update_rate', f'{1.0 / step:g}')
                if sensor.get('name') in sonars:
                    _widen(sensor, sonars[sensor.get('name', '')])
            else:
                link.remove(sensor)
    for joint in model.findall('joint'):
        # Rotors do not turn here: thrust acts on the hull.
        joint.set('type', 'fixed')
        for axis in joint.findall('axis'):
            joint.remove(axis)
    return model


def _widen(sensor: ElementTree.Element, spec: SonarSpec) -> None:
    """Let a lidar see all that its sonar hears, side lobes included."""
    scan = sensor.find('lidar/scan/vertical')
    if scan is not None:
        rows = lidar_rows(spec, skirts=True)
        _set(scan, 'samples', str(len(rows)))
        _set(scan, 'min_angle', f'{rows[0]:.9g}')
        _set(scan, 'max_angle', f'{rows[-1]:.9g}')


def _drop_plugins(parent: ElementTree.Element, names: frozenset[str]) -> None:
    for plugin in parent.findall('plugin'):
        if plugin.get('name') in names:
            parent.remove(plugin)


def _set(parent: ElementTree.Element, tag: str, text: str) -> None:
    child = parent.find(tag)
    if child is None:
        child = ElementTree.Element(tag)
        parent.insert(0, child)
    child.text = text
