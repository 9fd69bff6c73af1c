"""Where a camera's pixels look: pinhole rays, bent by an optional lens distortion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError

Array = NDArray[np.float64]

# Sub-pixel positions [px]: the centre, which ground truth is taken at, and a triangle about it, no
# two in a row or column. The centre alone is used inside surfaces, where the texture's mip level
# does the filtering; edges get all of them.
SAMPLES = ((0.0, 0.0), (0.36, 0.12), (-0.28, 0.25), (-0.08, -0.37))
_ITERATIONS = 20


def pixel_rays(spec: CameraSpec, offset: tuple[float, float] = (0.0, 0.0)) -> NDArray[np.float32]:
    """Return unit rays through all pixels in base_link, (H W, 3), row by row.

    Args:
        spec: The camera.
        offset: From the pixels' centres, x right and y down [px].
    """
    rays = optical_rays(spec, offset) @ spec.mount.rotation.T
    return np.asarray(rays, dtype=np.float32)


def optical_rays(spec: CameraSpec, offset: tuple[float, float] = (0.0, 0.0)) -> Array:
    """Return unit rays through all pixels in the optical frame (z forward), (H W, 3)."""
    focal = spec.focal_length
    x = (np.arange(spec.width) + 0.5 + offset[0] - spec.width / 2) / focal
    y = (np.arange(spec.height) + 0.5 + offset[1] - spec.height / 2) / focal
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    if any(spec.distortion):
        plane = undistort(plane, spec.distortion)
    rays = np.concatenate([plane, np.ones((len(plane), 1))], axis=1)
    unit: Array = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def distort(points: Array, coefficients: tuple[float, ...]) -> Array:
    """Return where a lens images points of the normalised image plane, (N, 2).

    Brown and Conrady's model, ``plumb_bob`` in ROS.

    Args:
        points: (N, 2), x / z and y / z in the optical frame.
        coefficients: k1, k2, p1, p2, k3.
    """
    k1, k2, p1, p2, k3 = coefficients
    x, y = points[:, 0], points[:, 1]
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    bent: Array = np.stack(
        [
            x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ],
        axis=1,
    )
    return bent


def undistort(points: Array, coefficients: tuple[float, ...]) -> Array:
    """Return the points of the normalised image plane that a lens images at `points`, (N, 2).

    Raises:
        OceanGymError: The lens folds the image: no ray belongs to some pixel.
    """
    found = points.copy()
    step = 1e-6
    right, down = np.array([step, 0.0]), np.array([0.0, step])
    for _ in range(_ITERATIONS):
        error = distort(found, coefficients) - points
        if float(np.abs(error).max()) < 1e-9:
            break
        # Newton's method with a numerical Jacobian, pixel by pixel.
        by_x = (distort(found + right, coefficients) - distort(found, coefficients)) / step
        by_y = (distort(found + down, coefficients) - distort(found, coefficients)) / step
        det = by_x[:, 0] * by_y[:, 1] - by_x[:, 1] * by_y[:, 0]
        det = np.where(np.abs(det) < 1e-9, 1e-9, det)
        found[:, 0] -= (by_y[:, 1] * error[:, 0] - by_y[:, 0] * error[:, 1]) / det
        found[:, 1] -= (by_x[:, 0] * error[:, 1] - by_x[:, 1] * error[:, 0]) / det
    error = distort(found, coefficients) - points
    if not np.isfinite(found).all() or float(np.abs(error).max()) > 1e-6:
        raise OceanGymError(
            f'camera distortion {coefficients} folds the image: some pixels have no ray. '
            'Use smaller coefficients or a narrower field of view.'
        )
    return found
