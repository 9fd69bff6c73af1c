"""Sensor values to messages. Pure functions; frames are named in `frames.py`."""

from __future__ import annotations

from collections.abc import Sequence
import math

import cv2
from geometry_msgs.msg import TransformStamped, TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from oceangym_msgs.msg import SonarInfo
from sensor_msgs.msg import (
    BatteryState,
    CameraInfo,
    CompressedImage,
    FluidPressure,
    Image,
    Imu,
    JointState,
    Range,
)

from oceangym_core.contract.observation import (
    CameraSpec,
    NavigationState,
    SMALLEST_SIGMA_M,
    SonarSpec,
)
from oceangym_core.geometry import Pose
from oceangym_core.nodes.conversions import (
    header_of,
    pose_message,
    quaternion_message,
    transform_message,
    vector_message,
)

JPEG_QUALITY = 90


def camera_frame(direction: str) -> str:
    """Return the frame of a camera: z forward, x right, y down."""
    return f'camera_{direction}_optical_frame'


def sonar_frame(direction: str) -> str:
    """Return the frame of a sonar: z forward, x up, y starboard."""
    return f'sonar_{direction}_frame'


# Where altitude is measured: at base_link's origin, along +x of a frame that looks down (REP 117's
# Range has its beam on x).
ALTITUDE_FRAME = 'altitude_link'
ALTITUDE_MOUNT = Pose.of((0.0, 0.0, 0.0), (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)))


def rgb_message(image: NDArray[np.uint8], *, stamp: float, frame: str) -> Image:
    """Return an (H, W, 3) RGB image."""
    height, width = image.shape[:2]
    message = Image(
        header=header_of(stamp, frame),
        height=height,
        width=width,
        encoding='rgb8',
        step=3 * width,
    )
    # bytes go through the generated setter in 0.05 ms; an array would be taken element by element.
    message.data = image.tobytes()
    return message


def jpeg_message(image: NDArray[np.uint8], *, stamp: float, frame: str) -> CompressedImage:
    """Return an (H, W, 3) RGB image compressed."""
    encoded = cv2.imencode(
        '.jpg', cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )[1]
    message = CompressedImage(header=header_of(stamp, frame), format='rgb8; jpeg compressed bgr8')
    message.data = encoded.tobytes()
    return message


def polar_message(polar: NDArray[np.float32], *, stamp: float, frame: str) -> Image:
    """Return a (range_bins, beams) intensity image, nearest row first, port-most beam first."""
    bins, beams = polar.shape
    message = Image(
        header=header_of(stamp, frame),
        height=bins,
        width=beams,
        encoding='32FC1',
        step=4 * beams,
    )
    message.data = np.ascontiguousarray(polar, dtype='<f4').tobytes()
    return message


def mono_message(image: NDArray[np.uint8], *, stamp: float, frame: str) -> Image:
    """Return an (H, W) gray image."""
    height, width = image.shape
    message = Image(
        header=header_of(stamp, frame),
        height=height,
        width=width,
        encoding='mono8',
        step=width,
    )
    message.data = image.tobytes()
    return message


def camera_info_message(camera: CameraSpec, *, stamp: float) -> CameraInfo:
    """Return a camera's intrinsics: its lens's distortion, principal point in the middle.

    Pixel centres have integer coordinates, as in OpenCV and image_geometry: the middle of an image
    W pixels wide is at (W - 1) / 2.
    """
    f = camera.focal_length
    cx, cy = (camera.width - 1) / 2, (camera.height - 1) / 2
    return CameraInfo(
        header=header_of(stamp, camera_frame(camera.direction)),
        height=camera.height,
        width=camera.width,
        distortion_model='plumb_bob',
        d=list(camera.distortion),
        k=[f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[f, 0.0, cx, 0.0, 0.0, f, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def sonar_info_message(sonar: SonarSpec, *, stamp: float) -> SonarInfo:
    """Return a sonar's geometry."""
    return SonarInfo(
        header=header_of(stamp, sonar_frame(sonar.direction)),
        range_min=sonar.range_min,
        range_max=sonar.range_max,
        range_resolution=sonar.range_resolution,
        azimuth=sonar.azimuths.tolist(),
        elevation_aperture=sonar.elevation_aperture,
        frequency=sonar.frequency,
        sound_speed=sonar.sound_speed,
    )


# What is claimed of attitude and velocity beside the position's own sigma, as variances.
_ATTITUDE_VARIANCE = (1e-4, 1e-4, 1e-3)  # roll, pitch, yaw [rad2]
_TWIST_VARIANCE = (1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5)  # [m2/s2], [rad2/s2]


def odometry_message(
    navigation: NavigationState, *, frame: str = 'odom', exact: bool = False
) -> Odometry:
    """Return a navigation state with its covariances; those of an exact one are zero."""
    message = Odometry(header=header_of(navigation.stamp, frame), child_frame_id='base_link')
    message.pose.pose = pose_message(navigation.pose)
    message.twist.twist.linear = vector_message(navigation.linear_velocity)
    message.twist.twist.angular = vector_message(navigation.angular_velocity)
    if not exact:
        sigmas = (max(s, SMALLEST_SIGMA_M) for s in navigation.position_sigma)
        message.pose.covariance = _diagonal([*(s**2 for s in sigmas), *_ATTITUDE_VARIANCE])
        message.twist.covariance = _diagonal(_TWIST_VARIANCE)
    return message


def transform_of(pose: Pose, *, stamp: float, parent: str, child: str) -> TransformStamped:
    """Return one transform."""
    return TransformStamped(
        header=header_of(stamp, parent), child_frame_id=child, transform=transform_message(pose)
    )


def imu_message(
    *,
    stamp: float,
    orientation: Sequence[float],
    angular_velocity: Sequence[float],
    acceleration: Sequence[float],
    orientation_sigma: float,
    gyro_sigma: float,
    acceleration_sigma: float,
) -> Imu:
    """Return an IMU sample: orientation of base_link in odom, rates [rad/s], specific force [m/s2]."""
    return Imu(
        header=header_of(stamp, 'base_link'),
        orientation=quaternion_message(orientation),
        orientation_covariance=_diagonal([orientation_sigma**2] * 3),
        angular_velocity=vector_message(angular_velocity),
        angular_velocity_covariance=_diagonal([gyro_sigma**2] * 3),
        linear_acceleration=vector_message(acceleration),
        linear_acceleration_covariance=_diagonal([acceleration_sigma**2] * 3),
    )


def pressure_message(*, stamp: float, pascal: float, sigma: float) -> FluidPressure:
    """Return an absolute pressure [Pa]."""
    return FluidPressure(
        header=header_of(stamp, 'base_link'), fluid_pressure=pascal, variance=sigma**2
    )


def dvl_message(
    *, stamp: float, velocity: Sequence[float], sigma: float
) -> TwistWithCovarianceStamped:
    """Return a velocity over ground in base_link [m/s]; rotation is not measured (-1)."""
    message = TwistWithCovarianceStamped(header=header_of(stamp, 'base_link'))
    message.twist.twist.linear = vector_message(velocity)
    message.twist.covariance = _diagonal([sigma**2] * 3 + [-1.0] * 3)
    return message


def altitude_message(
    *, stamp: float, altitude: float, range_min: float, range_max: float, beam_width: float
) -> Range:
    """Return the range to the seabed [m]; infinite without a return (REP-117)."""
    return Range(
        header=header_of(stamp, ALTITUDE_FRAME),
        radiation_type=Range.ULTRASOUND,
        field_of_view=beam_width,
        min_range=range_min,
        max_range=range_max,
        range=altitude if math.isfinite(altitude) else math.inf,
    )


def battery_message(*, stamp: float, charge: float, voltage: float) -> BatteryState:
    """Return remaining charge 0..1 and supply voltage [V]; what is not measured is NaN."""
    return BatteryState(
        header=header_of(stamp, 'base_link'),
        voltage=voltage,
        temperature=math.nan,
        current=math.nan,
        charge=math.nan,
        capacity=math.nan,
        design_capacity=math.nan,
        percentage=charge,
        power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LION,
        present=True,
    )


def thrusters_message(
    *, stamp: float, names: Sequence[str], thrust: Sequence[float]
) -> JointState:
    """Return the thrust of each thruster [N] as joint efforts."""
    return JointState(
        header=header_of(stamp, 'base_link'),
        name=list(names),
        effort=[float(value) for value in thrust],
    )


def _diagonal(values: Sequence[float]) -> NDArray[np.float64]:
    return np.diag(np.asarray(values, dtype=np.float64)).ravel()
