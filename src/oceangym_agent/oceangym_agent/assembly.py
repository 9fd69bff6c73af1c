"""Puts an observation together from streams that arrive in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import NavigationState, Observation, SonarPing, SonarSpec
from oceangym_core.errors import OceanGymError

Key = tuple[str, str]
# Dimensions and type of the arrays of each kind of image.
_LAYOUTS: dict[str, tuple[int, type]] = {
    'camera': (3, np.uint8),
    'polar': (2, np.float32),
    'fan': (2, np.uint8),
}


class ObservationAssembler:
    """Holds the newest of every stream and gives an observation once all show the same instant.

    Args:
        cameras: Directions that have a camera.
        sonars: Directions that have a sonar.
        streams: Further streams that an observation waits for, e.g. ``odometry``.
    """

    def __init__(
        self, *, cameras: Iterable[str], sonars: Iterable[str], streams: Iterable[str]
    ) -> None:
        self.cameras = tuple(cameras)
        self.sonars = tuple(sonars)
        self._expected: set[Key] = {
            *(('camera', d) for d in self.cameras),
            *(('polar', d) for d in self.sonars),
            *(('fan', d) for d in self.sonars),
            *(('stream', name) for name in streams),
        }
        self._stamps: dict[Key, int] = {}
        self._images: dict[Key, NDArray[np.uint8] | NDArray[np.float32]] = {}

    def put(
        self,
        kind: str,
        name: str,
        stamp_ns: int,
        image: NDArray[np.uint8] | NDArray[np.float32] | None = None,
    ) -> None:
        """Take in one message: `kind` is camera, polar, fan or stream; `stamp_ns` its time [ns]."""
        key = (kind, name)
        self._stamps[key] = stamp_ns
        if image is not None:
            self._images[key] = image

    def complete_at(self, newest_ns: int) -> int | None:
        """Return the one time [ns] that every expected stream shows; None while they differ.

        Args:
            newest_ns: The time of the newest navigation, which stands alone where nothing else is
                expected.
        """
        if not self._expected:
            return newest_ns
        stamps = {self._stamps.get(key) for key in self._expected}
        return stamps.pop() if len(stamps) == 1 else None

    def missing(self, stamp_ns: int) -> tuple[str, ...]:
        """Return the streams that do not show an instant, for messages to people."""
        return tuple(
            sorted('/'.join(k) for k in self._expected if self._stamps.get(k) != stamp_ns)
        )

    def observation(
        self,
        *,
        index: int,
        navigation: NavigationState,
        sonar_geometry: Mapping[str, SonarSpec],
    ) -> Observation:
        """Return the observation of the instant that is complete.

        Raises:
            OceanGymError: A topic carries images of another kind of sensor.
        """
        cameras = {d: self._image('camera', d) for d in self.cameras}
        sonars = {
            d: SonarPing(polar=self._image('polar', d), fan=self._image('fan', d))
            for d in self.sonars
        }
        for d, ping in sonars.items():
            spec = sonar_geometry.get(d)
            if spec is not None and ping.polar.shape != (spec.range_bins, spec.beams):
                raise OceanGymError(
                    f'sonar/{d}/polar has {" x ".join(map(str, ping.polar.shape))} cells, '
                    f'sonar/{d}/info describes {spec.range_bins} ranges x {spec.beams} beams: '
                    'does another kind of sonar publish there?'
                )
        return Observation(
            index=index,
            stamp=navigation.stamp,
            navigation=navigation,
            cameras=cameras,
            sonars=sonars,
            sonar_geometry=dict(sonar_geometry),
        )

    def _image(self, kind: str, direction: str) -> NDArray[Any]:
        image = self._images[kind, direction]
        dimensions, dtype = _LAYOUTS[kind]
        if image.ndim != dimensions or image.dtype != dtype:
            raise OceanGymError(
                f'{kind} {direction}: values are {image.dtype} in {image.ndim} dimensions; the '
                f'contract has {np.dtype(dtype)} in {dimensions}. Does another sensor publish there?'
            )
        return image
