from pathlib import Path
import re

from oceangym.readme_tables import filled, topic_table
from oceangym_core.assets import assets_root
from oceangym_core.contract.actions import DIRECTIONS

README = Path(assets_root() / 'README.md')


def test_generated_parts_are_up_to_date() -> None:
    text = README.read_text(encoding='utf-8')
    assert filled(text) == text, 'run: python -m oceangym.readme_tables'


def test_the_six_directions_share_a_row() -> None:
    table = topic_table()
    assert '`camera/<dir>/image_raw`' in table
    assert not any(f'/{direction}/' in table for direction in DIRECTIONS)


def test_quick_start_is_exactly_two_commands() -> None:
    text = README.read_text(encoding='utf-8')
    section = text.split('## Quick start')[1].split('##')[0]
    first = re.search(r'```bash\n(.*?)```', section, re.DOTALL)
    assert first is not None
    assert first.group(1).split('\n')[:-1] == [
        './scripts/oceangym run task:=inspect_pipe',
        './scripts/oceangym test',
    ]


def test_every_file_that_the_readme_shows_exists() -> None:
    text = README.read_text(encoding='utf-8')
    for link in re.findall(r'\]\(([^)#]+)\)', text):
        if '://' not in link:
            assert (README.parent / link).exists(), link
