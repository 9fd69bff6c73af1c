"""The memory window and its text: what is kept, what is said to be left out, never over budget."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from oceangym_agent.memory.experience import EarlierRun, Experience, Relation
from oceangym_agent.memory.tokens import cut_to_tokens, estimate_tokens, one_line
from oceangym_agent.memory.window import (
    command_text,
    ImportantEntry,
    Kind,
    Memory,
    MemoryStep,
    share_out,
)
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.record.memory_files import MemoryEntry


def step(index: int, text: str = 'open water') -> MemoryStep:
    return MemoryStep(
        index=index,
        time=30.0 * index,
        description=text,
        action=Action.FORWARD,
        magnitude=15.0,
        position=(10.0 * index, -5.0, -40.0),
        heading_deg=-0.0,
    )


def find(index: int, text: str, kind: Kind = Kind.FIND) -> ImportantEntry:
    return ImportantEntry(
        kind=kind, index=index, time=30.0 * index, text=text, position=(1.0, 2.0, -40.0)
    )


def experience(count: int = 3) -> Experience:
    entries = tuple(
        MemoryEntry(
            target_info=(f'cliff {i}',), action='move forward', location=(1.0 * i, 0.0, -9)
        )
        for i in range(count)
    )
    run = EarlierRun(
        path='runs/a',
        task_id='dock',
        relation=Relation.CROSS_TASK,
        steps=entries,
        important=(MemoryEntry(target_info=('platform',), location=(7.0, 8.0, -80.0)),),
    )
    return Experience(runs=(run,))


def test_the_window_holds_the_last_k_steps() -> None:
    memory = Memory(window=3)
    for index in range(5):
        memory.remember(step(index))
    assert [s.index for s in memory.steps] == [2, 3, 4]
    text = memory.render(4000)
    assert '(2 entries left out)' in text
    assert '#1 ' not in text
    assert text.index('#2 ') < text.index('#4 ')


def test_a_window_of_nothing_keeps_finds_only() -> None:
    memory = Memory(window=0)
    memory.remember(step(0), [find(0, 'wreck')])
    assert memory.steps == ()
    assert 'wreck' in memory.render(1000)
    with pytest.raises(OceanGymError, match='-1 steps'):
        Memory(window=-1)


def test_a_line_says_what_was_seen_where_and_what_was_done() -> None:
    memory = Memory()
    memory.remember(
        step(2, 'sand\nand  rock\x1b[0m'),
        [
            ImportantEntry(
                kind=Kind.FIND,
                index=2,
                time=60.0,
                text='wreck',
                position=(20.0, -5.0, -40.0),
                place=(31.24, -0.01, -45.0),
            )
        ],
    )
    text = memory.render(1000)
    assert (
        '- #2 at 60 s, [20.0, -5.0, -40.0], heading 0 deg: sand and rock [0m -> forward 15 m'
    ) in text
    assert (
        '- find, #2 at 60 s, vehicle at [20.0, -5.0, -40.0], '
        'itself about at [31.2, 0.0, -45.0]: wreck'
    ) in text


def test_the_same_special_object_is_noted_once_and_finds_always() -> None:
    memory = Memory()
    for index in range(3):
        memory.remember(
            step(index), [find(index, 'Chain', Kind.SPECIAL), find(index, 'chain', Kind.SPECIAL)]
        )
        memory.remember(step(index), [find(index, 'wreck')])
    assert [e.text for e in memory.important if e.kind is Kind.SPECIAL] == ['Chain']
    assert sum(e.kind is Kind.FIND for e in memory.important) == 3


def test_important_memory_is_bounded() -> None:
    memory = Memory()
    for index in range(700):
        memory.remember(step(index), [find(index, f'wreck {index}')])
    assert len(memory.important) == 500
    assert memory.important[-1].text == 'wreck 699'


def test_a_tight_budget_keeps_the_newest_and_counts_the_rest() -> None:
    memory = Memory(window=60)
    for index in range(60):
        memory.remember(step(index, 'open water over sand ' * 4))
    text = memory.render(300)
    kept = [int(line.split()[1][1:]) for line in text.splitlines() if line.startswith('- #')]
    assert kept == list(range(60 - len(kept), 60))
    assert 0 < len(kept) < 15
    assert f'({60 - len(kept)} entries left out)' in text


def test_an_entry_larger_than_the_budget_is_cut_not_dropped() -> None:
    memory = Memory()
    memory.remember(step(0, 'long ' * 500))
    text = memory.render(60)
    assert '#0' in text and text.endswith('…')


def test_no_part_starves_the_others() -> None:
    memory = Memory(window=200, experience=experience(200))
    for index in range(200):
        memory.remember(step(index), [find(index, f'wreck {index}')])
    text = memory.render(1000)
    assert '#199 at' in text
    assert 'wreck 199' in text
    # The find of the earlier dive is worth more than its steps.
    assert 'platform' in text
    assert text.count('left out') == 3


def test_what_one_part_does_not_need_goes_to_the_others() -> None:
    assert share_out(1000, {'important': 0, 'experience': 0, 'steps': 5000})['steps'] == 1000
    granted = share_out(1000, {'important': 100, 'experience': 5000, 'steps': 100})
    assert granted == {'important': 100, 'experience': 800, 'steps': 100}


def test_experience_changes_the_text_and_names_its_origin() -> None:
    plain, taught = Memory(), Memory(experience=experience())
    assert plain.render(1000) == ''
    text = taught.render(1000)
    assert 'earlier dive on dock (another task)' in text
    assert 'find, vehicle at [7.0, 8.0, -80.0]: platform' in text
    assert text.index('cliff 0') < text.index('cliff 2') < text.index('platform')


texts = st.text(max_size=400)


@settings(max_examples=150, deadline=None)
@given(
    budget=st.integers(0, 600),
    steps=st.lists(texts, max_size=12),
    finds=st.lists(texts, max_size=6),
    taught=st.integers(0, 6),
)
def test_the_text_never_exceeds_its_budget(
    budget: int, steps: list[str], finds: list[str], taught: int
) -> None:
    memory = Memory(window=5, experience=experience(taught) if taught else None)
    for index, text in enumerate(steps):
        memory.remember(step(index, text), [find(index, t) for t in finds])
    text = memory.render(budget)
    assert estimate_tokens(text) <= budget
    assert text == memory.render(budget)


@given(text=st.text(max_size=300), budget=st.integers(0, 80))
def test_cutting_keeps_to_the_budget_and_to_the_beginning(text: str, budget: int) -> None:
    cut = cut_to_tokens(text, budget)
    assert estimate_tokens(cut) <= budget
    assert text.startswith(cut.removesuffix('…'))


def test_tokens_are_estimated_on_the_high_side() -> None:
    # 4 characters a token is the usual figure for English prose.
    assert estimate_tokens('a' * 400) > 100
    assert estimate_tokens('深海' * 50) >= 100
    assert estimate_tokens('') == 0


@given(st.text())
def test_one_line_is_one_printable_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert '\n' not in one_line(text)


@pytest.mark.parametrize(
    ('action', 'magnitude', 'expected'),
    [
        (Action.FORWARD, 20.0, 'forward 20 m'),
        (Action.ROTATE_LEFT, 12.34, 'rotate_left 12.3 deg'),
        (Action.HOLD, 5.0, 'hold'),
        (Action.UP, None, 'up'),
    ],
)
def test_commands_in_words(action: Action, magnitude: float | None, expected: str) -> None:
    assert command_text(action, magnitude) == expected
