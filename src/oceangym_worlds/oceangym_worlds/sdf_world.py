"""Writes a world file (SDF 1.11) for Gazebo Harmonic and for the embedded simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from oceangym_core.geometry import Pose
from oceangym_worlds.modelling.model import pose_text
from oceangym_worlds.plan.config import BoundsConfig
from oceangym_worlds.plan.layout import PlacedAnchor


@dataclass(frozen=True, kw_only=True)
class Include:
    """A model's instance in the world."""

    name: str
    model: str
    pose: Pose


# gz-sim 8 systems: (library, class, inner XML lines).
_SYSTEMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        'gz-sim-physics-system',
        'gz::sim::systems::Physics',
        ('<contacts><include_entity_names>false</include_entity_names></contacts>',),
    ),
    ('gz-sim-user-commands-system', 'gz::sim::systems::UserCommands', ()),
    ('gz-sim-scene-broadcaster-system', 'gz::sim::systems::SceneBroadcaster', ()),
    (
        'gz-sim-sensors-system',
        'gz::sim::systems::Sensors',
        (
            '<render_engine>ogre2</render_engine>',
            '<background_color>0.02 0.10 0.14</background_color>',
        ),
    ),
    ('gz-sim-imu-system', 'gz::sim::systems::Imu', ()),
    ('gz-sim-altimeter-system', 'gz::sim::systems::Altimeter', ()),
    ('gz-sim-dvl-system', 'gz::sim::systems::DopplerVelocityLogSystem', ()),
    ('gz-sim-contact-system', 'gz::sim::systems::Contact', ()),
    (
        'gz-sim-buoyancy-system',
        'gz::sim::systems::Buoyancy',
        (
            '<graded_buoyancy>',
            '  <default_density>1025</default_density>',
            '  <density_change>',
            '    <above_depth>0</above_depth>',
            '    <density>1.2</density>',
            '  </density_change>',
            '</graded_buoyancy>',
            # Else every step looks at every model.
            '<enable>auv</enable>',
        ),
    ),
)


def world_sdf(
    *,
    name: str,
    world_seed: int,
    bounds: BoundsConfig,
    anchors: Sequence[PlacedAnchor],
    includes: Sequence[Include],
) -> str:
    """Return the text of a world file.

    Args:
        name: Of the world.
        world_seed: The seed that it was generated from.
        bounds: Operating volume.
        anchors: Targets; every instance that they name is among `includes`.
        includes: Instances in the order of the file.
    """
    lines = [
        '<?xml version="1.0"?>',
        '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"'
        ' xmlns:gz="http://gazebosim.org/schema">',
        f'  <world name="{name}">',
        '    <gz:policies><parallel_postupdates>false</parallel_postupdates></gz:policies>',
        '    <physics name="4ms" type="dart">',
        '      <max_step_size>0.004</max_step_size>',
        '      <real_time_factor>1.0</real_time_factor>',
        # Five times as fast as ODE among a thousand shapes.
        '      <dart><collision_detector>bullet</collision_detector></dart>',
        '    </physics>',
    ]
    for library, system, inner in _SYSTEMS:
        if not inner:
            lines.append(f'    <plugin filename="{library}" name="{system}"/>')
            continue
        lines.append(f'    <plugin filename="{library}" name="{system}">')
        lines += [f'      {line}' for line in inner]
        lines.append('    </plugin>')
    lines += [
        '    <gravity>0 0 -9.81</gravity>',
        '    <magnetic_field>1.9e-05 0 -4.4e-05</magnetic_field>',
        '    <spherical_coordinates>',
        '      <surface_model>EARTH_WGS84</surface_model>',
        '      <world_frame_orientation>ENU</world_frame_orientation>',
        '      <latitude_deg>30.0</latitude_deg>',
        '      <longitude_deg>124.0</longitude_deg>',
        '      <elevation>0</elevation>',
        '      <heading_deg>0</heading_deg>',
        '    </spherical_coordinates>',
        '    <scene>',
        '      <ambient>0.35 0.45 0.48 1</ambient>',
        '      <background>0.02 0.10 0.14 1</background>',
        '      <shadows>true</shadows>',
        '      <grid>false</grid>',
        '    </scene>',
        '    <light name="sun" type="directional">',
        '      <cast_shadows>true</cast_shadows>',
        '      <pose>0 0 50 0 0 0</pose>',
        '      <diffuse>0.8 0.9 0.9 1</diffuse>',
        '      <specular>0.1 0.1 0.1 1</specular>',
        '      <direction>-0.25 0.2 -0.95</direction>',
        '    </light>',
        f'    <oceangym:bounds><min>{_words(bounds.min)}</min><max>{_words(bounds.max)}</max>'
        '</oceangym:bounds>',
        f'    <oceangym:world_seed>{world_seed}</oceangym:world_seed>',
    ]
    # In a group of their own: libsdformat wants the names of one element's children to differ, and
    # an anchor is often named as the instance that it is.
    lines.append('    <oceangym:anchors>')
    lines += [_anchor(anchor) for anchor in anchors]
    lines.append('    </oceangym:anchors>')
    lines += [_include(include) for include in includes]
    lines += ['  </world>', '</sdf>', '']
    return '\n'.join(lines)


def _words(values: Sequence[float]) -> str:
    return ' '.join(f'{value:g}' for value in values)


def _anchor(anchor: PlacedAnchor) -> str:
    radius = '' if anchor.radius is None else f' radius="{anchor.radius:g}"'
    return (
        f'      <oceangym:anchor name="{anchor.name}" label={quoteattr(anchor.label)}'
        f' instances="{" ".join(anchor.instances)}"{radius}>'
        f'<point>{_words(anchor.point)}</point></oceangym:anchor>'
    )


def _include(include: Include) -> str:
    return (
        f'    <include><uri>model://{include.model}</uri><name>{include.name}</name>'
        f'<pose>{pose_text(include.pose)}</pose></include>'
    )
