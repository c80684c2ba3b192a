"""Draw map.png, hours of a town by PCA and by GBMAP, and the alarm: ``python docs/images/map.py``."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from gbmap import DriftDetector, GBMAPRegressor, demo
from gbmap.datasets import make_demand


def draw():
    """Return the picture of the demonstration."""
    X, y = make_demand(4000, random_state=0)
    X_test, y_test = make_demand(1000, random_state=1)
    later, demand = make_demand(1000, random_state=2)
    model = GBMAPRegressor(random_state=0).fit(X, y)
    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_test, y_cal=y_test)
    return demo.draw(model, X, demo.partly_in_fahrenheit(later), demand, detector)


def save(figure, path):
    """Write a picture of few colours as a small PNG."""
    memory = BytesIO()
    figure.savefig(memory, dpi=120)
    Image.open(memory).convert("RGB").quantize(96).save(path, optimize=True)


if __name__ == "__main__":
    save(draw(), Path(__file__).with_name("map.png"))
