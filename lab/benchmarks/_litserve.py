"""A model behind LitServe, for `serve.py`: run by an interpreter that has LitServe, whose workers import this file.

PYTHON lab/benchmarks/_litserve.py MODEL --port PORT
"""

from __future__ import annotations

import argparse
from typing import Any

import litserve

import unruly


class Api(litserve.LitAPI):  # type: ignore[misc]  # untyped
    """Texts in, ranked classes out, as `unruly serve` answers in Hugging Face's form."""

    path = ""

    def setup(self, device: str) -> None:
        """Load the model, in a worker."""
        self.model = unruly.load(self.path)

    def decode_request(self, request: dict[str, str]) -> str:
        """The text."""
        return request["inputs"]

    def batch(self, inputs: list[str]) -> list[str]:
        """Texts are predicted as a list."""
        return inputs

    def predict(self, texts: list[str]) -> list[list[float]]:
        """The probabilities of every class."""
        found: list[list[float]] = self.model.predictions(texts, cached=False).proba.tolist()
        return found

    def unbatch(self, output: list[list[float]]) -> list[list[float]]:
        """One answer a text."""
        return output

    def encode_response(self, output: list[float]) -> list[dict[str, Any]]:
        """The likeliest class first."""
        ranked = sorted(zip(output, self.model.class_names, strict=True), reverse=True)
        return [{"label": name, "score": share} for share, name in ranked]


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, required=True)
    args = parser.parse_args()
    api = Api(max_batch_size=64, batch_timeout=0.005)
    api.path = args.model
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(
        host="127.0.0.1",
        port=args.port,
        num_api_servers=1,
        generate_client_file=False,
        log_level="error",
        access_log=False,
    )


if __name__ == "__main__":
    main()
