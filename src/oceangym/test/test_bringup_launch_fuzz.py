"""Any text in any argument of any launch file makes a plan or one refusal, and no litter."""

from __future__ import annotations

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from oceangym.launches import LAUNCHES
from oceangym.processes import parameter_file, ros_arguments
from oceangym_core.config.options import ARGUMENTS
from oceangym_core.errors import OceanGymError

# Gazebo's launch needs its packages.
EVERYWHERE = [launch for launch in LAUNCHES if launch.name != 'gazebo']
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            '', ' ', 'nan', 'inf', '-1', '1e999', '0x10', 'true', 'True', 'None', '[]', '{}', '~',
            '$(env HOME)', '$(var task)', '${HOME}', '../..', '/dev/null', '/proc/self/mem', ':',
            ':=', 'a:=b', '\udc80', '☃', '144,-114,-63,0', 'random', 'deep', 'task9', 'hard', '5',
        ]
    ),
)  # fmt: skip
# A layout of its own would be generated, which takes minutes.
NAMES = [argument.name for argument in ARGUMENTS if argument.name != 'world_seed']


@pytest.mark.parametrize('launch', EVERYWHERE, ids=lambda each: each.name)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=4))
def test_any_text_in_any_argument(launch, tmp_path, monkeypatch, changes):
    monkeypatch.chdir(tmp_path)
    known = [argument.name for argument in launch.arguments]
    values = {argument.name: argument.default for argument in launch.arguments}
    values |= {'agent': 'idle'} if 'agent' in launch.required else {}
    values |= {name: text for name, text in changes.items() if name in known}
    if 'results_dir' in known:
        values['results_dir'] = str(tmp_path / 'runs')
    runs = tmp_path / 'runs'
    before = len(list(runs.iterdir())) if runs.exists() else 0
    try:
        plan = launch.plan(values)
    except OceanGymError as error:
        assert (len(list(runs.iterdir())) if runs.exists() else 0) == before
        assert len(str(error)) < 4000
        return
    for spec in plan.specs:
        assert parameter_file(spec)
        assert all('\0' not in word for word in ros_arguments(spec, tmp_path / 'p.yaml'))
