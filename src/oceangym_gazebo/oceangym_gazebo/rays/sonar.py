"""Pings from Gazebo's lidars, through the sonar formation of the embedded simulator."""

from __future__ import annotations

import numpy as np

from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.rng import generator
from oceangym_gazebo.rays.ray_cloud import lidar_texels, PointCloud, ray_grid
from oceangym_sim.sonar.fan import FanProjector
from oceangym_sim.sonar.formation import footprint, PingFormer
from oceangym_sim.sonar.sound import Grid, NOMINAL_WATER, SeaWater


class LidarSonar:
    """One imaging sonar whose rays Gazebo traces. There is no second bounce.

    Args:
        spec: The sonar.
        seed: Of speckle and noise.
        water: What absorbs the sound.
        hosted: Whether the lidar is that of a hosted server: it sees all that the sonar hears,
            outside the nominal aperture too, and its renderer is known.
    """

    def __init__(
        self,
        spec: SonarSpec,
        *,
        seed: int,
        water: SeaWater = NOMINAL_WATER,
        hosted: bool = False,
    ) -> None:
        self.spec = spec
        self._seed = seed
        self._hosted = hosted
        self._cube = lidar_texels(spec, skirts=True) if hosted else None
        self._former = PingFormer(spec, water, skirts=hosted)
        self._up, self._port = self._former.edges()
        self._projector = FanProjector(spec)

    def mean(self, cloud: PointCloud) -> Grid:
        """Return the noise-free echo image of a cloud, (range_bins, beams), full scale 1.

        Raises:
            OceanGymError: The cloud is not one of this sonar's lidar.
        """
        grid = ray_grid(cloud, self.spec, skirts=self._hosted, cube=self._cube)
        power = self._former.echo_power(grid.distance, grid.cosine, grid.strength)
        lean = np.abs((grid.normal * self._up).sum(axis=-1))
        lean += np.abs((grid.normal * self._port).sum(axis=-1))
        near, far = footprint(grid.distance, grid.cosine, lean.astype(np.float32))
        return self._former.noise_free(near, far, power)

    def ping(self, cloud: PointCloud, index: int, *, self_noise: float = 0.0) -> SonarPing:
        """Return the ping of a cloud.

        Args:
            cloud: Of the lidar.
            index: Of the observation; with the seed it fixes every noise bit.
            self_noise: See `PingFormer.ping`.
        """
        rng = generator(self._seed, f'sonar/{self.spec.direction}', index)
        polar = self._former.ping(self.mean(cloud), rng, self_noise=self_noise)
        return SonarPing(polar=polar, fan=self._projector.render(polar))
