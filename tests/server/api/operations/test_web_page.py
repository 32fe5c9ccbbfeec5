"""The page at `/`, as it is served; `page` has what people do with it in a browser."""

import re

from server.api.operations.web_page import FILES
from tests.server.api.conftest import RunningServer

HTML = {"accept": "text/html,application/xhtml+xml"}
UNSAFE = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|cookie|sendBeacon|WebSocket"


def test_programs_get_json_and_people_the_page(server: RunningServer) -> None:
    with server.client() as client:
        assert client.get("/").json()["translate"] == "/v1/translate"
        page = client.get("/", headers=HTML)
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["vary"] == "Accept"
        assert client.get("/page/nothing.js").status_code == 404
        assert client.get("/page/..%2fpage.py").status_code == 404


def test_the_page_is_strict_and_whole(server: RunningServer) -> None:
    """It loads and names nothing from elsewhere, runs nothing inline, and makes no text HTML."""
    with server.client() as client:
        page = client.get("/", headers=HTML)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"\son\w+=|\sstyle=|<style|<script>", page.text)
        named = set(re.findall(r'(?:src|href)="/page/([^"]+)"', page.text))
        for name in FILES:
            text = client.get(f"/page/{name}").text if name != "index.html" else page.text
            assert not re.search(r"https?://|//[a-z]+\.", text), name
            assert not re.search(UNSAFE, text), name
            named |= set(re.findall(r'from "\./([^"]+)"', text))
    assert named | {"index.html"} == set(FILES)


def test_every_element_that_the_scripts_name_is_on_the_page() -> None:
    page = FILES["index.html"].decode()
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    scripts = {name: text.decode() for name, text in FILES.items() if name.endswith(".js")}
    for name, script in scripts.items():
        assert set(re.findall(r'\$\("([^"]+)"\)', script)) <= ids, name
    named = re.findall(r'(?:aria-controls|aria-labelledby|aria-describedby|for)="([^"]+)"', page)
    assert set(named) <= ids
