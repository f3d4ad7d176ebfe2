"""Calibrate a pendulum from a noisy video track: length, damping, start, and where the camera's origin is.

The track has outliers, which a robust loss bears, and frames without a mark. The same on the command line:

    chasles fit video_track.toml video_track.csv --unknown length=0.1:2 --unknown damping=0:1 --unknown initial.q.pin
        --column u=bodies.mark.position.x --column v=bodies.mark.position.z --bias bodies.mark.position --loss cauchy
"""

import argparse
from pathlib import Path

import chasles as ch

HERE = Path(__file__).parent
TRUE = {"length": 0.62, "damping": 0.012, "initial.q.pin": 0.9}


def main(picture: str | None) -> None:
    camera = ch.fit.Sensor("bodies.mark.position", {"u": "x", "v": "z"}, noise="2 mm", bias=True)
    unknown = {"length": "0.1:2", "damping": "0:1", "initial.q.pin": None}
    fit = ch.fit.to_data(
        HERE / "video_track.toml", HERE / "video_track.csv", unknown, sensors={"camera": camera}, loss="cauchy"
    )
    print(fit)
    off = max(abs(fit[name] - value) / fit.deviations[name] for name, value in TRUE.items())
    print(f"farthest from the truth: {off:.1f} standard deviations")
    print("verdict:", "as good as the noise allows" if off < 4 else "worse than the noise explains")
    if picture:
        fit.plot(file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", help="where to save a picture, for example track.png")
    main(**vars(parser.parse_args()))
