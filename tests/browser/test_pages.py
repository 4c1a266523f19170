"""Penstock's pages in a real browser: every page, live, dark, narrow, and with jobs that mean harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.job.document import LOG_FILE
from penstock.server.access import Access
from penstock.server.app import PAGES, create_app
from penstock.server.job_views import EndedView
from penstock.server.serving import HttpServer, Place, login_link
from penstock.tokens import Role
from tests.browser.chromium import WAIT_MS, picture
from tests.browser.conftest import Served, ShownJobs
from tests.browser.shown_jobs import HOSTILE, LONG_NAME, ending, start_wide

pytestmark = pytest.mark.slow

OpenPage = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}}


def texts(page: Any, selector: str) -> list[str]:
    page.locator(selector).first.wait_for()
    return list(page.locator(selector).all_inner_texts())


def until(page: Any, condition: str, argument: Any = None) -> None:
    page.wait_for_function(condition, arg=argument, timeout=WAIT_MS)


def has_name(page: Any, name: str) -> None:
    until(page, "(name) => document.querySelector('.job-name')?.textContent === name", name)


def is_live(page: Any) -> None:
    until(page, "() => document.body.dataset.link === 'live'")


def test_the_list_tells_how_every_job_is_doing(open_page: OpenPage, served: Served) -> None:
    page = open_page("")
    is_live(page)
    running = texts(page, "[aria-label='Running jobs'] tbody tr")
    assert any(row.startswith("orders\trunning\trunning as it should") for row in running)
    assert any(row.startswith("clicks\trunning\tsources give more than the job can take") for row in running)
    ended = texts(page, "[aria-label='Ended jobs'] tbody tr")
    assert any(row.startswith("invoices\tfailed\tfailed: KeyError: 'vat_rate'") for row in ended)
    assert "need" in page.locator(".health-line").inner_text()
    page.get_by_role("link", name="orders", exact=True).click()
    has_name(page, "orders")


def test_where_sparks_own_pages_are_off_it_says_what_to_set(open_page: OpenPage, served: Served) -> None:
    [kafka] = [view for view in served.jobs.views() if view.job_id == served.kafka]
    document = {**kafka.document(), "id": "e" * 32, "name": "quiet"}
    worker = {"id": "driver", "host": "h:1", "cores": 2, "active_tasks": 0, "memory_bytes": 1}
    document["cluster"] = {**document["cluster"], "web_url": None, "workers": [worker]}
    served.jobs.show(EndedView(document))
    try:
        page = open_page(f"#/jobs/{document['id']}")
        has_name(page, "quiet")
        assert page.get_by_text("Spark's UI is off; set spark.ui.enabled=true").is_visible()
        assert not page.get_by_role("link", name="Spark UI").is_visible()
        page.goto("about:blank")  # or it would ask for a job that is gone
    finally:
        served.jobs.hide(document["id"])
    page = open_page(f"#/jobs/{served.kafka}")
    has_name(page, "clicks")
    assert page.get_by_role("link", name="Spark UI").is_visible()
    assert not page.get_by_text("Spark's UI is off").is_visible()


def test_an_input_that_holds_event_time_back_is_named(open_page: OpenPage, served: Served) -> None:
    [kafka] = [view for view in served.jobs.views() if view.job_id == served.kafka]
    document = {**kafka.document(), "id": "d" * 32, "name": "waits"}
    texts_told = [
        "event time of 'sales by city' has not begun after 42 s: split clicks-1 (and 2 more) of source 'clicks' (uid "
        "'clicks') has never had a record; if it may stay empty, add .with_idleness(...) to the watermark strategy",
        f"event time of {HOSTILE} has stood still at 2026-11-19T02:00:00Z for 3 min: split page-views-0 of source "
        "'views' (uid 'views') has had no record since 2026-11-19T02:00:04Z; no record waits for it",
    ]
    held = [{"text": text, "is_quiet": is_quiet} for text, is_quiet in zip(texts_told, (False, True), strict=True)]
    document["progress"] = {**document["progress"], "pace": None, "event_time_holders": held}
    served.jobs.show(EndedView(document))
    try:
        page = open_page(f"#/jobs/{document['id']}/sources")
        has_name(page, "waits")
        assert texts(page, "[aria-label='What holds event time back'] li") == texts_told
        assert texts_told[0] in page.locator(".job-head + .health-line").inner_text()
        page.goto("about:blank")  # or it would ask for a job that is gone
    finally:
        served.jobs.hide(document["id"])
    page = open_page(f"#/jobs/{served.kafka}/sources")
    has_name(page, "clicks")
    assert not page.get_by_text("What holds event time back").is_visible()


def test_the_graph_is_live(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}")
    names = texts(page, ".card-name b")
    assert names[0] == "Source: orders → check prices" and len(names) == 5
    assert {"keyed", "rebalance", "rejected"} <= set(page.locator(".flow-label").all_text_contents())
    until(page, "() => /\\d.*\\/s/.test(document.querySelector('.card [data-figure=in]').textContent)")
    until(page, "() => /busy (<1|\\d+) %/.test(document.querySelector('.card-load em').textContent)")
    before = page.locator(".tile").nth(3).inner_text()
    until(page, "(before) => document.querySelectorAll('.tile')[3].innerText !== before", before)
    picture(page, "graph")


def test_a_chosen_operator_shows_its_subtasks(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}")
    row = page.locator("[aria-label=Operators] tbody tr", has_text="spending by customer")
    row.focus()
    page.keyboard.press("Enter")
    assert len(texts(page, "[aria-label=Subtasks] tbody tr")) == 4
    assert "orders.large" in page.locator("[aria-label='Metrics of the operators']").inner_text()
    assert row.get_attribute("aria-selected") == "true"
    assert page.locator(".card[aria-pressed=true]").count() == 1
    picture(page, "subtasks", full_page=True)
    page.get_by_role("button", name="Close").click()
    page.locator("[aria-label=Subtasks]").wait_for(state="hidden")


def test_the_timeline_says_where_the_time_went(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/timeline")
    page.locator(".bars rect.phase-work").first.wait_for()
    first = page.locator("[aria-label=Checkpoints] tbody tr").first.locator("th").inner_text()
    until(page, "(first) => document.querySelector('[aria-label=Checkpoints] tbody th').textContent !== first", first)
    page.locator("[aria-label=Checkpoints] tbody tr").nth(2).click()
    assert any("spending" in row for row in texts(page, "[aria-label='What the operators wrote'] tbody tr"))
    picture(page, "timeline")


def test_failures_begin_with_the_traceback_and_have_the_record(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.failed}/exceptions")
    assert texts(page, ".failure h3") == ["KeyError: 'vat_rate'"]
    assert texts(page, ".traceback")[0].startswith("Traceback (most recent call last):\n  File ")
    assert "'customer':" in page.locator(".record pre").inner_text()
    assert page.locator(".actions").is_hidden()  # the job is over
    picture(page, "exceptions")


@pytest.mark.parametrize("tab", ["", "graph", "timeline", "exceptions", "metrics", "sources", "savepoints", "settings"])
def test_texts_of_jobs_are_never_markup(open_page: OpenPage, served: Served, tab: str) -> None:
    page = open_page(f"#/jobs/{served.hostile}/{tab}" if tab else "")
    page.get_by_text(HOSTILE[:20]).first.wait_for()
    is_live(page)
    assert page.locator("main img, main script, .crumbs img").count() == 0
    assert "taken over" not in page.title() or HOSTILE in page.title()


def test_late_records_and_side_outputs_are_counted(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/metrics")
    rows = texts(page, "[aria-label='Late records and side outputs'] tbody tr")
    [rejected] = [row.split("\t") for row in rows if row.startswith("check prices")]
    assert int(rejected[3].replace(",", "")) > 0 and rejected[4] == "rejected"
    page.get_by_label("Filter metrics").fill("orders.large")
    until(page, "() => document.querySelectorAll('[aria-label=\"All metrics\"] tbody tr').length === 1")


def test_lag_is_shown_per_partition_the_largest_first(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.kafka}/sources")
    shown = texts(page, "[aria-label='Lag per partition'] tbody tr")
    rows = [[cell.strip() for cell in row.split("\t")[:3]] for row in shown]
    assert rows == [["clicks", "1", "98,765"], ["clicks", "0", "12"], ["page-views", "0", "0"]]
    assert "98,777" in page.locator(".facts").inner_text()
    assert page.get_by_role("link", name="Spark UI").get_attribute("href") == "http://127.0.0.1:4040"
    picture(page, "sources")


def test_a_savepoint_is_one_button(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/savepoints")
    page.get_by_role("button", name="Take a savepoint").click()
    assert page.get_by_label("Directory").input_value() == str(served.folder / "savepoints")
    page.get_by_role("button", name="Take the savepoint").click()
    [path] = texts(page, "[aria-label=Savepoints] tbody code")
    assert Path(path).is_dir()


def test_buttons_that_ask_the_job_wait_until_it_is_known(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/savepoints")
    made = "new (await import('./scripts/savepoints_view.js')).SavepointsView(() => {}, {role: 'operate'})"
    assert page.evaluate(f"async () => ({made}).buttons.hidden")


def test_a_cancel_asks_first(open_page: OpenPage, served: Served) -> None:
    client = start_wide("to be cancelled", 5)
    with ending(client):
        served.jobs.add(client)
        page = open_page(f"#/jobs/{client.get_job_id()}")
        page.get_by_role("button", name="Cancel").click()
        assert "to be cancelled" in page.get_by_role("dialog").inner_text()
        assert page.evaluate("document.activeElement.textContent") == "Go back"
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for(state="detached")
        assert page.locator(".job-title .status").inner_text() == "running"
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Cancel the job").click()
        until(page, "() => document.querySelector('.job-title .status').textContent === 'canceled'")


def test_the_log_is_followed_and_filtered(
    open_page: OpenPage, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"line {number} \x1b[31mred\x1b[0m <b>\n" for number in range(200)))
    monkeypatch.setenv(LOG_FILE, str(log))
    page = open_page(f"#/jobs/{served.orders_id}/log")
    page.locator(".log").wait_for()
    until(page, "() => document.querySelector('.log').textContent.endsWith('line 199 red <b>\\n')")
    with log.open("a") as stream:
        stream.write("the last line\n")
    until(page, "() => document.querySelector('.log').textContent.endsWith('the last line\\n')")
    page.get_by_label("Filter lines").fill("LAST")
    until(page, "() => document.querySelector('.log').textContent === 'the last line'")
    monkeypatch.delenv(LOG_FILE)
    page = open_page(f"#/jobs/{served.failed}/log")
    assert "penstock run --detached" in texts(page, ".empty")[0]


def test_state_is_found_by_operator_and_key(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/state")
    page.get_by_label("Operator and state").wait_for()
    page.get_by_label("Operator and state").select_option(label="spending by customer · spent (value)")
    until(page, "() => document.querySelectorAll('[aria-label=Keys] tbody tr').length > 3")
    page.locator("[aria-label=Keys] tbody tr").first.click()
    assert int(texts(page, ".answer pre")[0]) > 0
    assert "As of version" in page.locator(".tab-content").inner_text()
    page.get_by_label("Key", exact=True).fill("4999")
    page.get_by_role("button", name="Look up").click()
    until(page, "() => document.querySelector('.answer').innerText.includes('key \"4999\"')")


def test_settings_hide_secrets(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}/settings")
    assert "db.password\t******" in texts(page, "[aria-label=Settings] tbody tr")
    assert "Level 1" in page.locator(".plan").inner_text()
    page.get_by_label("Filter settings").fill("checkpointing.interval")
    until(page, "() => document.querySelectorAll('[aria-label=Settings] tbody tr').length === 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["list", "graph", "timeline", "exceptions", "savepoints", "wide"])
def test_a_phone_has_all_of_it(open_page: OpenPage, served: Served, kind: str, scheme: str) -> None:
    place = {"list": "", "wide": f"#/jobs/{served.wide}"}.get(kind, f"#/jobs/{served.orders_id}/{kind}")
    page = open_page(place, color_scheme=scheme, **PHONE)
    is_live(page)
    overflow = page.evaluate("document.scrollingElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(246, 248, 249)", "dark": "rgb(15, 21, 24)"}[scheme]
    if scheme == "dark" and kind in ("list", "graph"):
        picture(page, f"phone_{kind}")


def test_a_large_graph_and_a_long_name_fit(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.wide}", color_scheme="dark")
    has_name(page, LONG_NAME)
    assert len(texts(page, ".card")) == 19
    boxes = [page.locator(".card").nth(number).bounding_box() for number in range(19)]
    apart = all(
        one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
        for index, one in enumerate(boxes) for other in boxes[:index]
    )  # fmt: skip
    assert apart, "cards lie over one another"
    assert page.evaluate("document.scrollingElement.scrollWidth") == 1400
    picture(page, "large_dark")


def test_the_theme_can_be_chosen_and_stays(open_page: OpenPage, served: Served) -> None:
    page = open_page("", color_scheme="light")
    switch = page.get_by_role("button", name="Theme: auto. Change")
    switch.click()
    page.get_by_role("button", name="Theme: light. Change").click()
    page.get_by_role("button", name="Theme: dark. Change").wait_for()
    page.reload()
    page.get_by_role("button", name="Theme: dark. Change").wait_for()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(15, 21, 24)"


def test_a_lost_connection_is_told_and_found_again(browser: Any, served: Served) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{served.url}/#/jobs/{served.orders_id}")
        is_live(page)
        page.route("**/v1/**", lambda route: route.abort())
        page.get_by_text("the server does not answer · next try in").wait_for(timeout=WAIT_MS)
        page.unroute("**/v1/**")
        is_live(page)
    finally:
        context.close()


def test_nothing_is_asked_while_nobody_looks(open_page: OpenPage, served: Served) -> None:
    page = open_page(f"#/jobs/{served.orders_id}")
    is_live(page)
    hide = """(isHidden) => {
        Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    until(page, "() => document.body.dataset.link === 'paused'")
    page.evaluate("performance.clearResourceTimings()")
    # Two rounds of the page's own timer pass; a poll would have asked twice.
    page.evaluate("new Promise((done) => setTimeout(done, 2200))")
    asked = page.evaluate(
        "performance.getEntriesByType('resource').filter((each) => each.name.includes('/live')).length"
    )
    assert asked <= 1  # one may have been under way
    page.evaluate(hide, False)
    is_live(page)


def test_a_link_logs_in_at_the_job_and_readers_only_look(open_page: OpenPage, served: Served) -> None:
    access = Access({"operate-" + "o" * 20: Role.OPERATE, "read-" + "r" * 20: Role.READ})
    server = HttpServer(create_app(served.jobs, access, pages=PAGES), Place())
    server.start()
    try:
        for role in (Role.READ, Role.OPERATE):
            place = login_link(server.url, access, role).removeprefix(f"{server.url}/")
            page = open_page(f"{place}#/jobs/{served.orders_id}", base=server.url)
            has_name(page, "orders")
            assert page.locator(".actions").is_visible() is (role is Role.OPERATE)
            page.get_by_role("button", name="Log out").click()
            page.get_by_label("Token").wait_for()
    finally:
        server.stop()


def test_a_job_that_is_not_there(browser: Any, served: Served) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{served.url}/#/jobs/{'0' * 32}")
        page.get_by_text("This job is not known here.").wait_for(timeout=WAIT_MS)
        page.get_by_role("link", name="All jobs").click()
        page.get_by_role("heading", name="Jobs").wait_for(timeout=WAIT_MS)
    finally:
        context.close()


def test_only_the_jobs_of_the_server_are_listed(open_page: OpenPage, served: Served) -> None:
    jobs = ShownJobs()
    for job_id in (served.orders_id, served.kafka, served.wide, served.failed):
        jobs.show(served.jobs.view(job_id))
    server = HttpServer(create_app(jobs, Access(), pages=PAGES), Place())
    server.start()
    try:
        page = open_page("", base=server.url, viewport={"width": 1400, "height": 480})
        assert len(texts(page, "main tbody tr")) == 4
        picture(page, "jobs")
    finally:
        server.stop()
