"""Draw report.png anew: ``python docs/images/report.py``; it needs Chromium."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

from vicinal import compare

HERE = Path(__file__).parent


def main() -> None:
    """Compare metrics on wines, open the report, and photograph its top."""
    wine = load_wine(as_frame=True)
    wines = wine.frame.assign(target=wine.target_names[wine.target])
    result = compare(wines, "target", name="wine")
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "report.html"
        result.to_html(path)
        # Inside a container, root has no sandbox to put it in.
        opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": 1280, "height": 960})
        page.goto(path.as_uri())
        page.click("#surprise")
        page.screenshot(path=HERE / "report.png")
        opened.close()


if __name__ == "__main__":
    main()
