"""Agents of the user's in benchmark files: Python classes that fly in the runner's process."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from types import ModuleType

from oceangym_agent.agent import Agent
from oceangym_bench.matrix.benchmark_file import OwnAgent
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path


def make_own_agent(spec: OwnAgent) -> Agent:
    """Return a new agent.

    Raises:
        OceanGymError: The module or class does not exist, cannot be built, does not have the methods
            of an `Agent`, or asks for the truth.
    """
    place, _, name = spec.agent.rpartition(':')
    module = _module(spec, place)
    if not hasattr(module, name):
        raise OceanGymError(f'agent {spec.name}: {place} has no class {name}')
    try:
        agent: Agent = getattr(module, name)(**spec.options)
    except Exception as error:
        raise _failed(spec, f'{name}({_listed(spec)})', error) from error
    lacking = [part for part in ('begin', 'decide') if not callable(getattr(agent, part, None))]
    if lacking:
        raise OceanGymError(
            f'agent {spec.name}: {spec.agent} has no method {" and ".join(lacking)}; an agent has '
            'begin(goal, privilege) and decide(observation, status, truth), see '
            'oceangym_agent.agent.Agent'
        )
    if getattr(agent, 'privileged', None) is not False:
        raise OceanGymError(
            f'agent {spec.name}: {spec.agent} must have privileged = False; the truth is for '
            'agents of the benchmark alone'
        )
    return agent


def _module(spec: OwnAgent, place: str) -> ModuleType:
    try:
        if not place.endswith('.py'):
            return importlib.import_module(place)
        path = user_path(place).resolve()
        # Files of one name in two folders are two modules.
        name = f'own_agent_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}'
        if name in sys.modules:
            return sys.modules[name]
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module
        try:
            found.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
    except Exception as error:
        raise _failed(spec, f'import of {place}', error) from error


def _failed(spec: OwnAgent, what: str, error: Exception) -> OceanGymError:
    return OceanGymError(f'agent {spec.name}: {what} failed: {type(error).__name__}: {error}')


def _listed(spec: OwnAgent) -> str:
    return ', '.join(f'{key}={value!r}' for key, value in spec.options.items())
