"""The vehicle for rviz: URDF, frames, and markers of bounds and targets. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
import math
from xml.sax.saxutils import quoteattr

from geometry_msgs.msg import Point, PoseStamped, TransformStamped
from nav_msgs.msg import Path
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from oceangym_core.contract.frames import bounds_polygon, FrameShift
from oceangym_core.contract.observation import CameraSpec, NavigationState, SonarSpec
from oceangym_core.geometry import euler_from_quaternion, Pose
from oceangym_core.nodes.conversions import header_of, pose_message
from oceangym_core.world.world import Anchor, Bounds
from oceangym_sim.nodes.conversions import (
    ALTITUDE_FRAME,
    ALTITUDE_MOUNT,
    camera_frame,
    sonar_frame,
    transform_of,
)

# Hull of a BlueROV2 Heavy [m].
HULL_SIZE = (0.457, 0.575, 0.254)


def sensor_mounts(cameras: Sequence[CameraSpec], sonars: Sequence[SonarSpec]) -> dict[str, Pose]:
    """Return the pose in base_link of every sensor frame."""
    mounts = {camera_frame(camera.direction): camera.mount for camera in cameras}
    mounts.update({sonar_frame(sonar.direction): sonar.mount for sonar in sonars})
    mounts[ALTITUDE_FRAME] = ALTITUDE_MOUNT
    return mounts


def static_transforms(mounts: dict[str, Pose]) -> list[TransformStamped]:
    """Return the transforms of the sensor frames, valid at every time."""
    return [
        transform_of(mount, stamp=0.0, parent='base_link', child=frame)
        for frame, mount in mounts.items()
    ]


def robot_description(name: str, mounts: dict[str, Pose]) -> str:
    """Return a URDF: the hull as a box and one fixed link for each sensor frame."""
    size = ' '.join(f'{side:g}' for side in HULL_SIZE)
    lines = [
        '<?xml version="1.0"?>',
        f'<robot name={quoteattr(name)}>',
        '  <link name="base_link">',
        f'    <visual><geometry><box size="{size}"/></geometry>'
        '<material name="hull"><color rgba="0.1 0.3 0.8 1"/></material></visual>',
        f'    <collision><geometry><box size="{size}"/></geometry></collision>',
        '  </link>',
    ]
    for frame, mount in mounts.items():
        xyz = ' '.join(f'{v:.9g}' for v in mount.position)
        rpy = ' '.join(f'{v:.9g}' for v in euler_from_quaternion(mount.quaternion))
        lines += [
            f'  <link name={quoteattr(frame)}/>',
            f'  <joint name={quoteattr(frame + "_joint")} type="fixed">',
            f'    <parent link="base_link"/><child link={quoteattr(frame)}/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/>',
            '  </joint>',
        ]
    return '\n'.join([*lines, '</robot>', ''])


def bounds_marker(bounds: Bounds, shift: FrameShift) -> Marker:
    """Return the edges of the operating volume in odom."""
    corners = bounds_polygon(bounds.lower, bounds.upper, shift)
    low, high = bounds.lower[2], bounds.upper[2]
    points: list[Point] = []
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0])):
        for z in (low, high):
            points += [Point(x=ax, y=ay, z=z), Point(x=bx, y=by, z=z)]
        points += [Point(x=ax, y=ay, z=low), Point(x=ax, y=ay, z=high)]
    marker = Marker(
        header=header_of(0.0, 'odom'),
        ns='bounds',
        type=Marker.LINE_LIST,
        action=Marker.ADD,
        pose=pose_message(Pose()),
        color=ColorRGBA(r=1.0, g=0.8, b=0.0, a=0.6),
        points=points,
    )
    marker.scale.x = 0.5
    return marker


def target_markers(anchors: Sequence[Anchor]) -> MarkerArray:
    """Return the targets in map, each as a sphere with its label; for people, under truth only."""
    markers = []
    for index, anchor in enumerate(anchors):
        for offset, kind in enumerate((Marker.SPHERE, Marker.TEXT_VIEW_FACING)):
            x, y, z = anchor.point
            marker = Marker(
                header=header_of(0.0, 'map'),
                ns='targets',
                id=2 * index + offset,
                type=kind,
                action=Marker.ADD,
                pose=pose_message(Pose.of((x, y, z + 5.0 * offset))),
                color=ColorRGBA(r=1.0, g=0.2, b=0.2, a=0.8),
                text=anchor.label if offset else '',
            )
            marker.scale.x = marker.scale.y = marker.scale.z = 3.0
            markers.append(marker)
    return MarkerArray(markers=markers)


class TrajectoryTrace:
    """The estimated path so far in odom, one pose every few seconds."""

    SPACING_S = 2.0

    def __init__(self) -> None:
        self._path = Path(header=header_of(0.0, 'odom'))
        self._next = -math.inf

    def add(self, navigation: NavigationState) -> None:
        """Take in one estimate."""
        if navigation.stamp >= self._next:
            self._next = navigation.stamp + self.SPACING_S
            self._path.poses.append(
                PoseStamped(
                    header=header_of(navigation.stamp, 'odom'), pose=pose_message(navigation.pose)
                )
            )

    def message(self, stamp: float) -> Path:
        """Return the path as of a time [s]."""
        self._path.header = header_of(stamp, 'odom')
        return self._path
