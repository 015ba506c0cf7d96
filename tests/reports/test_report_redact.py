"""Redaction: two hundred planted secrets, and none in any format."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from report_makers import made

from diagnostics.model.findings import Query
from diagnostics.model.report import Diagnosis, InputSummary
from diagnostics.reports import html, json, junit, markdown, text
from diagnostics.reports.redact import is_public_model, redact
from diagnostics.reports.redact_shapes import Names, scrub


def planted() -> dict[str, list[str]]:
    """Secrets by the sentence they stand in; ``{}`` is the secret. Two hundred in all."""
    rng = random.Random(4711)

    def word(n: int = 6) -> str:
        return "".join(rng.choice("bcdfghjklmnpqrstvwxz") for _ in range(n))

    def key(n: int) -> str:
        return "".join(
            rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789") for _ in range(n)
        )

    return {
        "could not reach {} in time": [f"{word()}.{word()}.corp.example" for _ in range(15)]
        + [f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(10, 256)}:8000" for _ in range(15)]
        + [f"fd00:{rng.randrange(4096, 65536):x}::{rng.randrange(4096, 65536):x}" for _ in range(5)]
        + [f"https://{word()}.example:9090/{word()}?token={word()}" for _ in range(10)]
        + [f"{word()}-{word()}-{rng.randrange(10, 99)}" for _ in range(10)]
        + [f"chat-{rng.randrange(16**9, 16**10 - 1):x}-{word(5)}" for _ in range(10)],
        "file {} ends early": [f"/home/{word()}/{word()}/{word()}.log" for _ in range(15)]
        + [f"C:\\Users\\{word()}\\{word()}.log" for _ in range(5)]
        + [f"~/{word()}/{word()}" for _ in range(5)],
        "asked by user={} twice": [word(8) for _ in range(10)],
        "mail to {} bounced": [f"{word()}.{word()}@{word()}.example" for _ in range(10)],
        "header Authorization: Bearer {} was refused": [key(24) for _ in range(10)],
        "HF_TOKEN={} is in the log": [f"hf_{key(30)}" for _ in range(10)],
        "api_key: {}": [key(16) for _ in range(10)],
        "request id {} failed": [
            f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4abc-8def-{rng.getrandbits(48):012x}"
            for _ in range(10)
        ],
        "line 7, prompt: '{}', was cut": [
            f"please tell {word()} about {word()} and {word()}" for _ in range(20)
        ],
        'line 9 says "{}" and is no metric': [f"dear {word()} your {word()} is {word()}" for _ in range(10)],
        "key {} in the environment": [f"sk-{key(24)}" for _ in range(10)],
        "the pair {} too": [key(40) for _ in range(10)],
    }


def warnings() -> Iterator[tuple[str, str]]:
    for sentence, secrets in planted().items():
        for secret in secrets:
            yield sentence.format(secret), secret


HOST, DEPLOYMENT, FOLDER = "gpu-17.rack4.corp.example", "chat-for-acme", "acme-incident-4711"


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> tuple[Diagnosis, list[str]]:
    """A diagnosis with secrets in labels, names of files, warnings, queries, remedies and commands."""
    folder = tmp_path_factory.mktemp("x") / FOLDER
    base = made(
        folder, {f"{HOST}:8000": True, "gpu-18.rack4.corp.example:8000": False},
        {"namespace": "acme-prod", "user": "alice.smith"}, model=f"/srv/models/{DEPLOYMENT}",
        select='namespace="acme-prod",pod="chat-5d4f8b7c9d-x2k4z"', runbook_base="https://wiki.acme.example/runbooks",
    )  # fmt: skip
    found = list(warnings())
    extra = InputSummary(
        f"/home/alice/{FOLDER}/engine.log", "log", "vllm", "0.9.2+alice", 1, 5,
        "read 5 lines of /home/alice/engine.log", tuple(text for text, _ in found),
    )  # fmt: skip
    finding = base.report.findings[0]
    remedy = replace(
        finding.remedies[0], current="/srv/models/private-drafter", suggested="http://10.9.8.7/x"
    )
    finding = replace(
        finding,
        verify=(Query('max(vllm:num_requests_running{namespace="acme-prod",instance=~"gpu-17.*"})'),),
        remedies=(remedy, *finding.remedies[1:]),
        summary=f"{finding.summary}, seen on {HOST}:8000",
    )
    report = replace(
        base.report,
        inputs=(*base.report.inputs, extra),
        findings=(finding, *base.report.findings[1:]),
        collect_next=(
            "curl -H 'Authorization: Bearer abcdefgh' http://gpu-17.rack4.corp.example:8000/metrics",
        ),
    )
    secrets = [s for _, s in found]
    secrets += [
        HOST,
        "gpu-17",
        "gpu-18",
        "rack4",
        DEPLOYMENT,
        FOLDER,
        "acme",
        "alice",
        "private-drafter",
        "10.9.8.7",
    ]
    secrets += ["abcdefgh", "x2k4z", "/srv/models"]
    return replace(base, report=report), secrets


def test_two_hundred_are_planted() -> None:
    assert len(list(warnings())) == 200


@pytest.mark.parametrize("name", ["json", "text", "markdown", "html", "junit"])
def test_none_survives_in_any_format(name: str, secret: tuple[Diagnosis, list[str]]) -> None:
    diagnosis, secrets = secret
    clean = redact(diagnosis)
    shown = {
        "json": lambda: json.render(clean.report),
        "text": lambda: text.render(clean.report, width=100_000),
        "markdown": lambda: markdown.render(clean.report),
        "html": lambda: html.render(clean).rsplit("<script>", 2)[0],
        "junit": lambda: junit.render(clean.report),
    }[name]()
    assert "concurrency cap" in shown
    left = [s for s in secrets if s in shown or s.replace("'", "&#x27;") in shown]
    assert left == []
    parts = {p for s in secrets for p in s.replace("/", " ").replace("@", " ").replace("\\", " ").split()}
    words = {p for p in parts if len(p) >= 6} - {"please", "metrics", "models", "github"}
    assert [w for w in sorted(words) if w in shown and not w.startswith("http")] == []


def test_names_stay_the_same_throughout(secret: tuple[Diagnosis, list[str]]) -> None:
    clean = redact(secret[0])
    replicas = {r.replica for r in clean.report.regimes}
    assert replicas == {"replica-1", "replica-2"}
    assert {s.replica for s in clean.series} == replicas
    first = clean.report.findings[0]
    assert first.scope.replicas == ("replica-1",)
    assert "replica-1" in first.summary
    assert first.scope.deployment == clean.report.deployments[0].name == "deployment-1"
    assert first.runbook == "diagnose explain cap-throttled"


def test_sentences_of_the_product_are_left_alone(capped: Diagnosis) -> None:
    before, after = capped.report.findings[0], redact(capped).report.findings[0]
    assert after.explanation == before.explanation.replace("pod-0:8000", "replica-1").replace(
        "pod-1:8000", "replica-2"
    )
    assert after.remedies == before.remedies
    assert after.verify == before.verify
    assert after.evidence[0].value == before.evidence[0].value
    assert redact(capped).report.not_evaluated == capped.report.not_evaluated


def test_public_models_keep_their_names(tmp_path: Path) -> None:
    clean = redact(made(tmp_path, model="meta-llama/Llama-3.1-8B-Instruct"))
    assert clean.report.deployments[0].model == "meta-llama/Llama-3.1-8B-Instruct"
    assert is_public_model("Qwen/Qwen3-8B")
    assert not is_public_model("acme/Qwen3-8B")
    assert not is_public_model("/models/Qwen/Qwen3-8B")


def test_names_that_are_words_of_the_product_break_no_sentence(tmp_path: Path) -> None:
    clean = redact(made(tmp_path / "vllm" / "running", model="vllm"))
    assert "vllm:num_requests_running" in clean.report.findings[0].verify[0].promql


@pytest.mark.parametrize(
    "harmless",
    [
        "log times without zone, assumed UTC; year not printed, assumed 2026; 17:16:03 to 17:18:00",
        "43 known sample names in 231 series; 31 metric families not used",
        "increase(vllm:prompt_tokens_total[5m]) / increase(vllm:request_success_total[5m])",
        "sum by (le, instance, pod) (rate(vllm:inter_token_latency_seconds_bucket[5m]))",
        "--max-num-seqs 4 -> 8; 1.5 tokens/s at p99, vLLM 0.32.0 (S26), e.g. EAGLE-3",
        "Running stays at 4 (from the start-up line 'non-default args') while 46.5 requests wait",
        "give the text of a /metrics page",
    ],
)
def test_harmless_text_is_left_alone(harmless: str) -> None:
    assert scrub(harmless, Names()) == harmless


def test_redaction_twice_changes_nothing(capped: Diagnosis) -> None:
    once = redact(capped)
    assert redact(once).report == once.report
