"""The reports in a real browser: clicked through, without an error, a request or a broken picture."""

from __future__ import annotations

import base64
from collections.abc import Iterator
import json
import os
from pathlib import Path
import shutil
from typing import Any

import pytest

from oceangym_bench.analysis.results import read_rows
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_bench.report import write_benchmark_report, write_run_report
from oceangym_bench.report.testing import write_sample_run

BROWSER = next(
    filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None
)
DRIVER = next(
    filter(None, map(shutil.which, ('chromedriver', '/usr/lib/chromium/chromedriver'))), None
)
INSTALL = 'sudo apt-get install chromium chromium-driver'
if BROWSER is None or DRIVER is None:
    pytest.skip(f'no Chromium with its driver: {INSTALL}', allow_module_level=True)
webdriver = pytest.importorskip('selenium.webdriver', reason='selenium is not installed')

from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

HOSTILE = (
    '</script><script>document.title = "taken"</script><img src=x onerror="document.title=1">'
)
REPLIES = [
    '{"action": "forward", "reason": "the pipe runs on ahead"}',
    HOSTILE,
    'x' * 100_000,
    'nul \x00 and \u2028 and \u202e and {{ 7 * 7 }}',
    '<svg onload=alert(1)>',
    '{"action": "stop"}',
]


@pytest.fixture(scope='module')
def browser() -> Iterator[Any]:
    options = Options()
    options.binary_location = BROWSER
    for flag in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'):
        options.add_argument(flag)
    options.add_argument('--window-size=1400,1000')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    # The ROS environment puts libraries before the system's; the browser must not see them.
    plain = {k: v for k, v in os.environ.items() if k not in ('LD_LIBRARY_PATH', 'PYTHONPATH')}
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=plain))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope='module')
def pages(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp('reports') / 'sample benchmark'
    runs = {
        'model': write_sample_run(root / 'runs' / 'a model', decisions=5, replies=REPLIES),
        'survey': write_sample_run(root / 'runs' / 'b survey', decisions=4),
        'killed': write_sample_run(
            root / 'runs' / 'c killed', decisions=3, bag=False, ending=None
        ),
    }
    made = {name: write_run_report(run) for name, run in runs.items()}
    rows = read_rows(root)
    # No table may mix tracks: the model's version makes these two.
    tables = benchmark_tables([row for row in rows if not row.version])
    return made | {'benchmark': write_benchmark_report(root, rows, tables)}


@pytest.fixture(autouse=True)
def fresh(browser) -> Iterator[None]:
    size(browser, 1400)
    browser.get_log('browser')
    browser.get_log('performance')
    yield
    assert browser.get_log('browser') == []
    asked = [json.loads(entry['message'])['message'] for entry in browser.get_log('performance')]
    urls = [
        m['params']['request']['url'] for m in asked if m['method'] == 'Network.requestWillBeSent'
    ]
    assert urls and all(url.startswith(('file:', 'data:')) for url in urls), urls


def size(browser, width: int, *, phone: bool = False) -> None:
    metrics = {'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': phone}
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)


def media(browser, **features: str) -> None:
    wanted = [{'name': name.replace('_', '-'), 'value': value} for name, value in features.items()]
    browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': wanted})


def open_page(browser, page: Path) -> None:
    browser.get('about:blank')
    browser.get(page.as_uri())


def by_id(browser, name: str) -> Any:
    return browser.find_element(By.ID, name)


def decision(browser) -> str:
    return by_id(browser, 'step-title').text


def press(browser, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def shown_calls(browser) -> list[Any]:
    """Return the calls to the model; a fold opens a moment after it was clicked."""
    place = (By.CSS_SELECTOR, '#step-texts .call')
    return WebDriverWait(browser, 20).until(lambda b: b.find_elements(*place))


def loaded_pictures(browser) -> list[int]:
    """Return the natural width of every picture, once all have been decoded."""
    return browser.execute_async_script(
        'const done = arguments[0]; const images = [...document.querySelectorAll("main img")];'
        'Promise.allSettled(images.map((i) => i.decode())).then('
        '() => done(images.map((i) => i.naturalWidth)));'
    )


def test_slider_buttons_and_keys_choose_a_decision(browser, pages) -> None:
    open_page(browser, pages['model'])
    assert decision(browser) == 'Decision 0 of 5'
    by_id(browser, 'next').click()
    assert decision(browser) == 'Decision 1 of 5'
    by_id(browser, 'slider').send_keys(Keys.ARROW_RIGHT)
    assert decision(browser) == 'Decision 2 of 5'
    browser.execute_script('document.activeElement.blur()')
    press(browser, Keys.ARROW_RIGHT)
    assert decision(browser) == 'Decision 3 of 5'
    press(browser, Keys.END)
    assert decision(browser) == 'Decision 5 of 5'
    assert not by_id(browser, 'next').is_enabled()
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert decision(browser) == 'Decision 4 of 5'
    press(browser, Keys.HOME)
    assert decision(browser) == 'Decision 0 of 5' and not by_id(browser, 'previous').is_enabled()


def test_a_slider_that_is_dragged_fast_is_followed(browser, pages) -> None:
    open_page(browser, pages['model'])
    browser.execute_script(
        'const slider = document.getElementById("slider");'
        'for (let k = 0; k < 400; k += 1) {'
        '  slider.value = k % 6; slider.dispatchEvent(new Event("input")); }'
    )
    assert decision(browser) == f'Decision {399 % 6} of 5'
    WebDriverWait(browser, 20).until(lambda b: b.current_url.endswith(f'#step-{399 % 6}'))


def test_a_click_on_the_map_or_a_curve_chooses_a_decision(browser, pages) -> None:
    open_page(browser, pages['model'])
    arrow = browser.find_element(By.CSS_SELECTOR, '#map .arrow[data-i="3"]')
    ActionChains(browser).move_to_element(arrow).click().perform()
    assert decision(browser) == 'Decision 3 of 5'
    curve = browser.find_element(By.CSS_SELECTOR, '#depth-curve svg')
    browser.execute_script('arguments[0].scrollIntoView({block: "center"})', curve)
    width = curve.size['width']
    ActionChains(browser).move_to_element_with_offset(
        curve, int(width / 2 - 14), 0
    ).click().perform()
    assert decision(browser) == 'Decision 5 of 5'


def test_the_map_zooms_and_moves_without_choosing(browser, pages) -> None:
    open_page(browser, pages['model'])
    chart = by_id(browser, 'map')
    near = chart.get_dom_attribute('viewBox')
    by_id(browser, 'zoom-whole').click()
    whole = chart.get_dom_attribute('viewBox')
    assert float(whole.split()[2]) == pytest.approx(880) and whole != near
    by_id(browser, 'zoom-in').click()
    assert float(chart.get_dom_attribute('viewBox').split()[2]) == pytest.approx(
        880 / 1.5, rel=1e-3
    )
    before = chart.get_dom_attribute('viewBox')
    ActionChains(browser).click_and_hold(chart).move_by_offset(60, 30).release().perform()
    assert chart.get_dom_attribute('viewBox') != before and decision(browser) == 'Decision 0 of 5'
    by_id(browser, 'zoom-near').click()
    assert [float(v) for v in chart.get_dom_attribute('viewBox').split()] == pytest.approx(
        [float(v) for v in near.split()], abs=0.2
    )


@pytest.mark.parametrize('name', ['model', 'survey'])
def test_every_picture_of_every_decision_is_there(browser, pages, name) -> None:
    open_page(browser, pages[name])
    while True:
        widths = loaded_pictures(browser)
        assert len(widths) == 12 and all(width > 0 for width in widths), decision(browser)
        if not by_id(browser, 'next').is_enabled():
            break
        by_id(browser, 'next').click()


def test_what_the_model_was_told_and_wrote_is_shown_as_text(browser, pages) -> None:
    open_page(browser, pages['model'])
    by_id(browser, 'next').click()
    assert HOSTILE in by_id(browser, 'step-texts').get_attribute('textContent')
    by_id(browser, 'next').click()
    browser.find_element(By.CSS_SELECTOR, '#step-texts summary').click()
    calls = shown_calls(browser)
    assert len(calls) == 2
    assert 'Step: 2' in calls[0].text and 'You pilot a vehicle.' in calls[0].text
    assert 'begins as call 1' in calls[1].text
    widths = loaded_pictures(browser)
    assert len(widths) == 18 and all(widths)
    # It stays open from one decision to the next.
    press(browser, Keys.ARROW_RIGHT)
    assert len(shown_calls(browser)) == 1
    for _ in range(5):
        assert browser.title == 'Inspect the oil pipe – sample-model'
        press(browser, Keys.ARROW_RIGHT)


def test_a_picture_is_enlarged_and_closed_by_keys(browser, pages) -> None:
    open_page(browser, pages['survey'])
    browser.find_element(By.CSS_SELECTOR, '#cameras button').send_keys(Keys.ENTER)
    dialog = by_id(browser, 'large')
    assert dialog.is_displayed()
    assert by_id(browser, 'large-caption').text == 'left camera, decision 0'
    press(browser, Keys.ARROW_RIGHT)
    assert by_id(browser, 'large-caption').text == 'camera left, decision 1'
    press(browser, Keys.ESCAPE)
    assert not dialog.is_displayed() and decision(browser) == 'Decision 1 of 4'


def test_a_link_names_a_decision(browser, pages) -> None:
    browser.get('about:blank')
    browser.get(f'{pages["survey"].as_uri()}#step-2')
    assert decision(browser) == 'Decision 2 of 4'
    link = browser.find_element(By.CSS_SELECTOR, 'a.to-step[href="#step-1"]')
    browser.execute_script('arguments[0].scrollIntoView({block: "center"})', link)
    link.click()
    assert decision(browser) == 'Decision 1 of 4'


def test_a_killed_run_without_pictures_opens(browser, pages) -> None:
    open_page(browser, pages['killed'])
    assert by_id(browser, 'no-pictures').is_displayed()
    press(browser, Keys.END)
    assert decision(browser) == 'Observation 3, no decision'


@pytest.mark.parametrize('name', ['model', 'benchmark'])
def test_a_phone_needs_no_sideways_scrolling(browser, pages, name) -> None:
    size(browser, 360, phone=True)
    open_page(browser, pages[name])
    wide = browser.execute_script('return document.documentElement.scrollWidth')
    assert wide <= 360


@pytest.mark.parametrize('name', ['model', 'benchmark'])
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_text_stands_out_in_light_and_dark(browser, pages, name, scheme) -> None:
    media(browser, prefers_color_scheme=scheme)
    open_page(browser, pages[name])
    pairs = browser.execute_script(CONTRAST)
    assert len(pairs) > 30
    worst = min(pairs, key=lambda pair: pair[0])
    assert worst[0] >= 4.4, worst
    media(browser, prefers_color_scheme='light')


# The ratio of WCAG 2 between each HTML text and the first opaque background behind it.
CONTRAST = """
const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgb = (css) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const found = [];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || node.closest('svg, script, .sr') || !node.checkVisibility()) continue;
  if (node.matches(':disabled')) continue;
  let back = node;
  while (back && rgb(getComputedStyle(back).backgroundColor)[3] < 255) back = back.parentElement;
  const [a, b] = [light(rgb(getComputedStyle(node).color)),
    light(rgb(getComputedStyle(back || document.documentElement).backgroundColor))];
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.textContent.trim().slice(0, 60), node.className]);
}
return found;
"""


def test_it_prints_with_everything_unfolded(browser, pages) -> None:
    open_page(browser, pages['survey'])
    paper = base64.b64decode(browser.execute_cdp_cmd('Page.printToPDF', {})['data'])
    assert paper.startswith(b'%PDF')
    browser.execute_script('window.dispatchEvent(new Event("beforeprint"))')
    assert not browser.find_elements(By.CSS_SELECTOR, 'details:not([open])')
    browser.execute_script('window.dispatchEvent(new Event("afterprint"))')
    assert browser.find_elements(By.CSS_SELECTOR, 'details:not([open])')


def test_a_benchmark_s_page_shows_scorers_sorts_and_leads_to_its_runs(browser, pages) -> None:
    open_page(browser, pages['benchmark'])
    shown = [e for e in browser.find_elements(By.CLASS_NAME, 'heat-paper') if e.is_displayed()]
    assert shown == []
    by_id(browser, 'scorer-paper').click()
    assert all(e.is_displayed() for e in browser.find_elements(By.CLASS_NAME, 'heat-paper'))
    assert not any(e.is_displayed() for e in browser.find_elements(By.CLASS_NAME, 'heat-verified'))
    ending = browser.find_element(By.XPATH, '//table[@class="sortable"]//button[.="ending"]')
    browser.execute_script('arguments[0].scrollIntoView({block: "center"})', ending)
    for order in (['interrupted', 'stop', 'stop'], ['stop', 'stop', 'interrupted']):
        ending.click()
        cells = browser.find_elements(By.CSS_SELECTOR, 'table.sortable tbody td:last-child')
        assert [cell.text.split()[0] for cell in cells] == order
    browser.find_element(By.LINK_TEXT, 'test_run').click()
    assert browser.find_element(By.CLASS_NAME, 'kicker').text.lower() == 'oceangym run report'
