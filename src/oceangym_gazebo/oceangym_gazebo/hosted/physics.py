"""A vehicle whose rigid body, water and collisions are Gazebo's, with our thrusters and battery."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.geometry import Array, Pose
from oceangym_gazebo.hosted.server import Flow, GazeboServer
from oceangym_sim.dynamics import kernel as kernel
from oceangym_sim.dynamics import thrusters
from oceangym_sim.dynamics.contact import tangent_planes
from oceangym_sim.dynamics.rigid_body import Dynamics

# Gazebo's solver leaves bodies this far from each other, or lets them overlap by as much [m].
_TOUCH_M = 0.01


class GazeboPlant(Dynamics):
    """`Dynamics` of one vehicle, with Gazebo's step.

    The T200s' curve, lag and supply are those of the embedded simulator; their thrust acts as a
    wrench on base_link and fades where a rotor comes out of the water. Touches are found with the
    hull and the distance field of the embedded simulator, so that both backends count the same.
    """

    def __init__(self, *, server: GazeboServer, **arguments: Any) -> None:
        """Fly the vehicle of `server`; the other arguments are those of `Dynamics`."""
        super().__init__(**arguments)
        self._server = server
        lag = np.array([t.lag for t in self.parameters.thrusters])
        ratio = server.step / np.maximum(lag, 1e-9)
        self._decay, self._mean = np.exp(-ratio), -np.expm1(-ratio) / ratio
        self._place = tuple(t.position for t in self.parameters.thrusters)
        self._wrench: Array = np.zeros(6)

    @property
    def wrench(self) -> Array:
        """(6,) Of the thrusters on base_link during the last step [N], [N m]."""
        return self._wrench

    def reset(self, poses: Any, velocity: ArrayLike = 0.0, *, time: float = 0.0) -> None:
        """Put the vehicle at rest at a pose."""
        super().reset(poses, velocity, time=time)
        self._server.place(poses, self.parameters.mass_matrix)
        self._wrench = np.zeros(6)
        self._take_state()

    def step(
        self, command: ArrayLike, dt: float, substeps: int = 1, *, newtons: bool = False
    ) -> None:
        """Advance time by ``substeps * dt``, in Gazebo's own steps; see `Dynamics.step`."""
        count = max(1, round(dt * substeps / self._server.step))
        voltage = float(self.voltage[0])
        commands = np.nan_to_num(np.asarray(command, dtype=float), posinf=0.0, neginf=0.0)
        if voltage <= 0.0:
            target = np.zeros(len(self._place))
        elif newtons:
            target = np.clip(commands, *thrusters.thrust_limits(voltage))
        else:
            target = thrusters.steady_thrust(commands, voltage)
        wrenches = np.empty((count, 6))
        power = 0.0
        submerged = thrusters.submergence(self._server.state.pose, self._place)
        for k in range(count):
            before = self.thrust[0]
            # Mean of the first-order lag over the step: its impulse is exact.
            thrust = target + (before - target) * self._mean
            self.thrust[0] = target + (before - target) * self._decay
            power += float(thrusters.electrical_power(thrust).sum())
            wrenches[k] = self.parameters.thruster_matrix @ (thrust * submerged)
        self.state[0, kernel.ENERGY] += (
            (power / count + self.parameters.battery.hotel_power) * count * self._server.step
        )
        self._server.advance(wrenches, self._flow())
        self._wrench = wrenches[-1]
        self._take_state()
        self.time += dt * substeps
        self._find_touches(dt * substeps)

    def _flow(self) -> Flow | None:
        """Return what a current changes of the forces that Gazebo takes in water at rest.

        Gazebo knows currents, too, but not what they do to the added mass: its Coriolis moments
        stay those of the velocity over ground (the correction of gz-sim 8.14 asks for a component
        that links do not have yet), and 0.25 m/s then tilt a rising vehicle by ten degrees.
        """
        if self.environment.current.speed == 0.0:
            return None
        current = self.environment.current.velocity(float(self.state[0, 2]), self.time)
        added, linear = self.parameters.added_mass, self.parameters.linear_damping
        quadratic = self.parameters.quadratic_damping

        def resistance(velocity: Array) -> Array:
            damping: Array = linear @ velocity + quadratic * np.abs(velocity) * velocity
            return damping + coriolis(added, velocity)

        def flow(rotation: Array, velocity: Array) -> Array:
            drift = np.concatenate([rotation.T @ current, np.zeros(3)])
            # The water's velocity turns in body axes: d(R^T c)/dt = -w x (R^T c).
            turning = np.concatenate([-np.cross(velocity[3:], drift[:3]), np.zeros(3)])
            change: Array = resistance(velocity) - resistance(velocity - drift) + added @ turning
            return change

        return flow

    def _take_state(self) -> None:
        state = self._server.state
        self.state[0, 0:3] = state.pose.position
        self.state[0, 3:7] = state.pose.quaternion
        self.state[0, 7:13] = state.velocity

    def _find_touches(self, period: float) -> None:
        self._closing[:] = -1.0
        self._touched = False
        if self._field is None:
            return
        reach = 0.5 + 3.0 * period
        if not tangent_planes(
            self.state, self._spheres, reach, self._planes, self._owners, self._field
        ):
            return
        pose = Pose.of(self.state[0, 0:3], self.state[0, 3:7])
        rotation = pose.rotation
        centres = pose.apply(self._spheres[:, :3])
        normals, offsets = self._planes[0, :, :3], self._planes[0, :, 3]
        gap = (normals * centres).sum(axis=1) + offsets - self._spheres[:, 3]
        speed = self.state[0, 7:10] + np.cross(self.state[0, 10:13], self._spheres[:, :3])
        closing = -(normals * (speed @ rotation.T)).sum(axis=1)
        touching = gap < _TOUCH_M
        self._closing[0, touching] = np.maximum(closing[touching], 0.0)
        self._touched = bool(touching.any())


def coriolis(mass: Array, velocity: Array) -> Array:
    """Return C(v) v (6,) of a mass matrix (6, 6) at a velocity (6,) (Fossen 2011, theorem 3.2)."""
    linear, angular = np.split(mass @ velocity, 2)
    return np.concatenate(
        [
            -np.cross(linear, velocity[3:]),
            -np.cross(linear, velocity[:3]) - np.cross(angular, velocity[3:]),
        ]
    )
