"""Studio pictures of props: clear air, neutral sky, a key light and a ground plane."""

from __future__ import annotations

from collections.abc import Sequence
import math
import os
from typing import Any

import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import unknown_name
from oceangym_core.world.textures import linear_to_srgb
from oceangym_worlds.modelling.mesh import uv_of
from oceangym_worlds.modelling.model import Part, Primitive, PropModel

# Viewing directions: azimuth from +x [deg] and elevation [deg] of the camera.
VIEWS: dict[str, tuple[float, float]] = {
    'three_quarter': (-50.0, 24.0),
    'side': (-90.0, 6.0),
    'front': (0.0, 8.0),
    'rear_quarter': (140.0, 28.0),
    'top': (-90.0, 89.0),
}
_FIELD_OF_VIEW_DEG = 30.0
_MARGIN = 1.2  # m around the collision primitives that is framed
_GROUND = (0.55, 0.53, 0.48)


def render_prop(
    prop: PropModel, *, view: str = 'three_quarter', size: int = 512, samples: int = 64
) -> NDArray[np.uint8]:
    """Return a picture (size, size, 3) of a prop filling the frame.

    What reaches far beyond the collision primitives, such as cables, may leave the frame.

    Args:
        prop: What to show; its part below z = 0 is in the ground.
        view: One of `VIEWS`.
        size: Side of the picture [px].
        samples: Rays per pixel.

    Raises:
        OceanGymError: The view is unknown.
    """
    if view not in VIEWS:
        raise unknown_name('view', view, VIEWS)
    azimuth, elevation = VIEWS[view]
    return render_parts(
        prop.parts,
        azimuth_deg=azimuth,
        elevation_deg=elevation,
        size=size,
        samples=samples,
        framed=_body(prop),
    )


def render_parts(
    parts: Sequence[Part],
    *,
    azimuth_deg: float,
    elevation_deg: float,
    size: int = 512,
    samples: int = 64,
    zoom: float = 1.0,
    centre: tuple[float, float, float] | None = None,
    framed: NDArray[np.float64] | None = None,
) -> NDArray[np.uint8]:
    """Return a picture (size, size, 3) of parts from a direction.

    Args:
        parts: Meshes in one frame, z up, ground at z = 0.
        azimuth_deg: Camera direction from +x towards +y.
        elevation_deg: Camera direction above the ground.
        size: Side of the picture [px].
        samples: Rays per pixel.
        zoom: 1 fits the whole in the frame.
        centre: Point looked at [m]; by default the middle of what is framed.
        framed: Points (N, 3) to fit; by default all vertices, those in the ground raised to it.
    """
    points = _vertices(parts) if framed is None else framed
    points = np.column_stack([points[:, :2], np.maximum(points[:, 2], 0.0)])
    low, high = points.min(axis=0), points.max(axis=0)
    target = (low + high) / 2.0 if centre is None else np.asarray(centre, dtype=float)
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    away = np.array(
        [
            math.cos(elevation) * math.cos(azimuth),
            math.cos(elevation) * math.sin(azimuth),
            math.sin(elevation),
        ]
    )
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    distance = _fit_distance(points - target, away, right) * 1.06 / zoom
    reach = float(np.linalg.norm(high - low)) + distance
    key = -(0.45 * away + 0.45 * right + np.array([0.0, 0.0, 0.9]))
    # LLVM is several times faster but has to be found; the scalar variant runs anywhere.
    mi.set_variant('llvm_ad_rgb' if 'DRJIT_LIBLLVM_PATH' in os.environ else 'scalar_rgb')
    to_world = mi.ScalarTransform4f().look_at(
        origin=(target + away * distance).tolist(),
        target=target.tolist(),
        up=np.cross(away, right).tolist(),
    )
    scene: dict[str, Any] = {
        'type': 'scene',
        'integrator': {'type': 'path', 'max_depth': 4},
        'sensor': {
            'type': 'perspective',
            'fov': _FIELD_OF_VIEW_DEG,
            'near_clip': distance / 100.0,
            'far_clip': 20.0 * reach,
            'to_world': to_world,
            'film': {
                'type': 'hdrfilm',
                'width': size,
                'height': size,
                'pixel_format': 'rgb',
                'rfilter': {'type': 'gaussian'},
            },
            'sampler': {'type': 'multijitter', 'sample_count': samples, 'seed': 0},
        },
        'sky': {'type': 'constant', 'radiance': {'type': 'rgb', 'value': [0.62, 0.66, 0.70]}},
        'key': {
            'type': 'directional',
            'direction': key.tolist(),
            'irradiance': {'type': 'rgb', 'value': [2.1, 2.0, 1.85]},
        },
        'ground': {
            'type': 'disk',
            'to_world': mi.ScalarTransform4f()
            .translate([*target[:2].tolist(), 0.0])
            .scale(6.0 * reach),
            'bsdf': {'type': 'diffuse', 'reflectance': {'type': 'rgb', 'value': _GROUND}},
        },
    }
    for index, part in enumerate(parts):
        scene[f'part_{index}'] = _shape(part)
    picture = np.asarray(mi.render(mi.load_dict(scene)), dtype=float)
    return linear_to_srgb(picture)


def _vertices(parts: Sequence[Part]) -> NDArray[np.float64]:
    return np.vstack([np.asarray(p.mesh.vertices, dtype=np.float64) for p in parts])


def _body(prop: PropModel) -> NDArray[np.float64]:
    """Return the vertices (N, 3) within a margin of the box around the collision primitives."""
    vertices = _vertices(prop.parts)
    if not prop.collisions:
        return vertices
    corners = np.vstack([_corners(p) for p in prop.collisions])
    inside = np.all(
        (vertices >= corners.min(axis=0) - _MARGIN) & (vertices <= corners.max(axis=0) + _MARGIN),
        axis=1,
    )
    return np.asarray(vertices[inside])


def _corners(primitive: Primitive) -> NDArray[np.float64]:
    """Return the corners (8, 3) of the box around a primitive."""
    size = primitive.size
    if primitive.shape == 'box':
        half = np.asarray(size) / 2.0
    else:
        tall = 0.0 if primitive.shape == 'sphere' else size[1] / 2.0
        half = np.array([size[0], size[0], max(tall, size[0])])
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0
    corners: NDArray[np.float64] = primitive.pose.apply(signs * half)
    return corners


def _fit_distance(
    points: NDArray[np.float64], away: NDArray[np.float64], right: NDArray[np.float64]
) -> float:
    """Return the least distance at which all points (N, 3) lie in the field of view."""
    slope = math.tan(math.radians(_FIELD_OF_VIEW_DEG / 2.0))
    spread = np.maximum(np.abs(points @ right), np.abs(points @ np.cross(away, right)))
    return float(np.max(spread / slope + points @ away))


def _shape(part: Part) -> Any:
    """Return a part as a Mitsuba mesh with its texture."""
    texture = np.array(part.texture, dtype=np.uint8, order='C')
    bitmap = mi.Bitmap(texture, pixel_format=mi.Bitmap.PixelFormat.RGB)
    bitmap.set_srgb_gamma(True)
    bsdf = mi.load_dict(
        {
            'type': 'twosided',
            'bsdf': {
                'type': 'principled',
                'roughness': part.roughness,
                'metallic': 0.3 * part.metalness,
                'specular': 0.3,
                'base_color': {'type': 'bitmap', 'bitmap': bitmap, 'wrap_mode': 'repeat'},
            },
        }
    )
    properties = mi.Properties()
    properties['bsdf'] = bsdf
    mesh = mi.Mesh(
        part.name,
        len(part.mesh.vertices),
        len(part.mesh.faces),
        props=properties,
        has_vertex_normals=True,
        has_vertex_texcoords=True,
    )
    # Mitsuba's v runs down the image.
    uv = uv_of(part.mesh) * [1.0, -1.0] + [0.0, 1.0]
    values = mi.traverse(mesh)
    values['vertex_positions'] = np.asarray(part.mesh.vertices, dtype=np.float32).ravel()
    values['vertex_normals'] = np.asarray(part.mesh.vertex_normals, dtype=np.float32).ravel()
    values['vertex_texcoords'] = uv.astype(np.float32).ravel()
    values['faces'] = np.asarray(part.mesh.faces, dtype=np.uint32).ravel()
    values.update()
    return mesh
