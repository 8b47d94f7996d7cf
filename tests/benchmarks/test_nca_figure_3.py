import numpy as np
import pytest

from benchmarks.papers.nca_figure_3 import Linear, Polar
from benchmarks.papers.turned_faces import (
    HEIGHTS,
    LARGEST_ANGLE,
    NOISE,
    SIDE,
    Faces,
    pairs_of,
    posed,
    poses,
    upright,
)


def bar() -> np.ndarray:
    """Return one upright picture: a bright bar, three quarters high."""
    picture = np.zeros((1, 32, 32), dtype=np.float32)
    picture[:, 4:28, 14:18] = 1
    return picture


@pytest.mark.parametrize("angle", [-40.0, 0.0, 25.0])
def test_a_face_is_rotated_and_scaled_by_its_pose(angle: float) -> None:
    height = 30.0
    image = posed(bar(), np.array([[angle, height]])).reshape(SIDE, SIDE)
    place = np.arange(SIDE) - (SIDE - 1) / 2
    weights = image / image.sum()
    up, right = -weights.sum(axis=1) @ place, weights.sum(axis=0) @ place
    assert abs(up) < 0.05
    assert abs(right) < 0.05
    # The second moments are those of an even bar of three quarters of the height.
    y, x = -place[:, None], place[None, :]
    t = np.deg2rad(angle)
    along = -np.sin(t) * x + np.cos(t) * y
    across = np.cos(t) * x + np.sin(t) * y
    assert (weights * along**2).sum() == pytest.approx(
        (0.75 * height) ** 2 / 12, rel=0.02
    )
    assert (weights * across**2).sum() < 2


def test_pairs_are_of_different_persons_in_nearly_the_same_pose() -> None:
    rng = np.random.default_rng(0)
    persons = np.repeat([0, 1, 2], 4)
    # A picture that is nothing but its person's number.
    faces = Faces(
        np.broadcast_to(persons[:, None, None] + 1, (12, 32, 32)).astype(np.float32),
        persons,
    )
    n = 500
    X, pose, weights = pairs_of(faces, n, rng)
    who = X[:, SIDE**2 // 2].round()
    assert X.shape == (2 * n, SIDE**2)
    assert (who[:n] != who[n:]).all()
    off = (pose[n:] - pose[:n]) / NOISE
    assert off.std(axis=0) == pytest.approx(np.ones(2), abs=0.1)
    assert weights == pytest.approx(np.exp(-0.5 * (off**2).sum(axis=1)), rel=1e-5)
    assert np.abs(pose[:n, 0]).max() <= LARGEST_ANGLE
    assert pose[:n, 1].min() >= HEIGHTS[0]
    assert pose[:n, 1].max() <= HEIGHTS[1]


def test_faces_are_ovals_without_brightness_or_contrast() -> None:
    faces = upright("digits")
    corners = faces.pictures[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert (corners == 0).all()
    assert faces.pictures.mean(axis=(1, 2)) == pytest.approx(0.0, abs=1e-6)


def test_only_the_polar_read_out_unrolls_a_ring() -> None:
    rng = np.random.default_rng(0)
    pose = poses(1000, rng)
    # Most of a ring: rotation around, height outwards.
    around = np.deg2rad(pose[:, 0] * 3.6)
    radius = pose[:, 1] / 5
    Z = np.column_stack([3 + radius * np.cos(around), radius * np.sin(around) - 1])
    polar = Polar().fit(Z[:500], pose[:500]).predict(Z[500:])
    assert np.abs(polar - pose[500:]).max(axis=0) == pytest.approx([0, 0], abs=2)
    linear = Linear().fit(Z[:500], pose[:500]).predict(Z[500:])
    assert np.abs(linear - pose[500:]).max() > 10
