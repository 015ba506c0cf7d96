"""The rules as Prometheus' own tools see them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnostics.alerts import (
    AlertOptions,
    alerting_rules,
    alerts_table,
    as_manifest,
    as_rules,
    as_unit_tests,
    covered,
    not_covered,
)
from diagnostics.alerts.fixtures import healthy
from diagnostics.alerts.measures import expand
from diagnostics.alerts.rules import alerts
from diagnostics.alerts.unit_tests import cases
from diagnostics.cli.alerts_command import parse
from diagnostics.evaluate.registry import all_rules
from diagnostics.model.errors import OptionError
from diagnostics.rules.low_acceptance import LOW_RATE
from diagnostics.signals.regimes import KV_FULL

LINKS = AlertOptions(runbook_base="https://runbooks.example/llm/", dashboard_base="https://diagnose.example")


def _promtool(*arguments: str) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _expressions(options: AlertOptions) -> dict[str, str]:
    return {r.get("alert", r.get("record")): r["expr"] for g in alerting_rules(options) for r in g["rules"]}


@pytest.mark.parametrize(
    "options",
    [
        LINKS,
        AlertOptions(select='job="llm",model_name=~"llama.*"', scale=0.2, cap=64, token_budget=2048),
        AlertOptions(
            engines=("vllm", "sglang", "tgi", "trtllm", "llamacpp", "lmdeploy"), slo={"ttft_p99": 2.0}
        ),
        AlertOptions(engines=("tgi",), keep=0),
    ],
    ids=["links", "select and limits", "all engines and targets", "an engine that lacks most"],
)
def test_promtool_accepts_the_rules(options: AlertOptions, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(as_rules(options))
    answer = _promtool("check", "rules", str(file))
    assert "SUCCESS" in answer
    assert "duplicate" not in answer


def test_each_alert_fires_on_its_series_and_not_on_others(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(as_rules())
    (tmp_path / "tests.yml").write_text(as_unit_tests("rules.yml"))
    _promtool("test", "rules", str(tmp_path / "tests.yml"))


def test_each_alert_has_a_firing_and_a_silent_case() -> None:
    have = {(c.alert, c.severity, c.fires) for c in cases()}
    for alert in alerts(AlertOptions()):
        assert {(alert.name, alert.severity.value, True), (alert.name, alert.severity.value, False)} <= have


def test_a_notification_carries_links_with_labels_and_time(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(as_rules(LINKS))
    replica = healthy("vllm 0:8000").ends(10, up="1+0x10 0+0x60")
    base = "https://diagnose.example/?select=job%3D%22chat+bot%22&replica=vllm+0%3A8000"
    test: dict[str, Any] = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "30s",
        "tests": [
            {
                "interval": "60s",
                "input_series": replica.lines(80, "chat bot"),
                "alert_rule_test": [
                    {
                        "eval_time": "13m",
                        "alertname": "LLMReplicaDown",
                        "exp_alerts": [
                            {
                                "exp_labels": {
                                    "severity": "critical", "rule": "replica-down-or-restarting", "code": "RTE004",
                                    "role": "cause", "namespace": "prod", "job": "chat bot", "instance": "vllm 0:8000",
                                },
                                "exp_annotations": {
                                    "summary": "vllm 0:8000 does not answer",
                                    "description": "A replica that served a model within the last day does not answer"
                                    " its scrapes. Now: Take the replica out of the router, and read the end of its log"
                                    " and the reason of its last exit. Do not restart the remaining replicas: they"
                                    " carry all traffic.",
                                    "runbook_url": "https://runbooks.example/llm/replica-down-or-restarting",
                                    "dashboard_url": f"{base}&from={13 * 60 - 3600}&to={13 * 60}",
                                },
                            }
                        ],
                    }
                ],
            }
        ],
    }  # fmt: skip
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(test))
    _promtool("test", "rules", str(tmp_path / "tests.yml"))


def test_older_names_are_read_where_the_newer_are_absent(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(as_rules())
    labels = 'job="old",instance="a:1",model_name="m"'
    values = {
        "vllm:num_requests_running": "7+0x60",
        "vllm:num_requests_waiting": "9+0x60",
        "vllm:gpu_cache_usage_perc": "0.95+0x60",
    }
    query = 'count(ALERTS{alertname="LLMMemoryBound",alertstate="firing"})'
    test = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "30s",
        "tests": [
            {
                "interval": "30s",
                "input_series": [{"series": f"{n}{{{labels}}}", "values": v} for n, v in values.items()],
                "promql_expr_test": [
                    {"expr": query, "eval_time": "20m", "exp_samples": [{"labels": "{}", "value": 1}]}
                ],
            }
        ],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(test))
    _promtool("test", "rules", str(tmp_path / "tests.yml"))


def test_alerts_that_could_never_fire_are_left_out() -> None:
    found = _expressions(AlertOptions(engines=("tgi",)))
    assert "LLMCapThrottled" in found
    assert not {"LLMLowAcceptance", "LLMAdapterThrash"} & found.keys()


def test_a_broken_target_makes_a_limit_critical() -> None:
    found = alerting_rules(AlertOptions(slo={"ttft_p99": 2.0}, only=("cap-throttled",)))
    critical = next(r for r in found[1]["rules"] if r["labels"]["severity"] == "critical")
    assert "diagnose:slo_broken" in critical["expr"]
    slo = next(r["expr"] for r in found[0]["rules"] if r["record"] == "diagnose:slo_broken")
    assert slo.startswith("(histogram_quantile(0.99,") and slo.endswith("> 2")


def test_shares_are_compared_with_shares() -> None:
    found = _expressions(AlertOptions())
    assert f">= {KV_FULL:g}" in found["LLMMemoryBound"]
    assert f"< {LOW_RATE:g}" in found["LLMLowAcceptance"]
    assert "gpu_cache_usage_perc" in found["diagnose:kv_usage"]


def test_matchers_reach_every_selector_and_those_of_the_model_not_up() -> None:
    found = _expressions(AlertOptions(select='job="llm",model_name="m"'))
    assert 'up{job="llm"} == 0' in found["LLMReplicaDown"]
    for name, expression in found.items():
        assert expression.count("vllm:") <= expression.count('job="llm",model_name="m"') * 8, name
        assert not expression.count("vllm:") or 'job="llm",model_name="m"' in expression, name


def test_only_measures_that_are_read_are_recorded() -> None:
    measures, chosen = alerting_rules(AlertOptions(only=("preemption-storm",)))
    assert {r["record"] for r in measures["rules"]} == {
        "diagnose:preempted", "diagnose:finished", "diagnose:storm",
    }  # fmt: skip
    assert [r["alert"] for r in chosen["rules"]] == ["LLMPreemptionStorm"]


def test_scale_moves_ranges_for_and_interval_and_stretch_only_limits_by_the_second() -> None:
    plain, scaled, slow = (
        _expressions(o) for o in (AlertOptions(), AlertOptions(scale=10), AlertOptions(stretch=10))
    )
    assert "[5m]" in plain["diagnose:backlog"]
    assert "[50m]" in scaled["diagnose:backlog"]
    assert "diagnose:prefill_busy >= 0.085" in slow["diagnose:prefill_bound"]
    assert {n for n in plain if plain[n] != slow[n]} == {"diagnose:prefill_bound"}


def test_the_manifest_holds_the_same_groups() -> None:
    made = yaml.safe_load(as_manifest(AlertOptions(labels={"release": "prometheus"})))
    assert made["kind"] == "PrometheusRule"
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert made["spec"]["groups"] == yaml.safe_load(as_rules())["groups"]


def test_output_is_stable() -> None:
    assert as_rules(LINKS) == as_rules(LINKS)


def test_every_rule_has_alerts_or_is_named_as_having_none() -> None:
    assert {*covered(), *not_covered()} == {r.slug for r in all_rules()}
    assert all(f"`{a.name}`" in alerts_table() for a in alerts(AlertOptions()))


def test_expand_puts_definitions_in_place() -> None:
    defined = {"a:x": "m", "a:y": "a:x > 1", "a:xy": "n"}
    assert expand("avg_over_time(a:y[5m]) + a:xy", defined) == "avg_over_time(((m) > 1)[5m:30s]) + (n)"
    assert expand('a:x{job="j"} + b:a:x', defined) == 'a:x{job="j"} + b:a:x'


def test_wrong_options_say_what_is_right() -> None:
    with pytest.raises(OptionError, match="no such rule"):
        alerting_rules(AlertOptions(only=("nothing",)))
    with pytest.raises(OptionError, match="no alert of these engines"):
        alerting_rules(AlertOptions(only=("does-not-fit",)))
    for arguments in (
        ["--engine", "x"],
        ["--scale", "0"],
        ["--slo", "ttft"],
        ["--slo", "nonsense_p99=1s"],
        ["--incidents"],
    ):
        command = parse(["alerts", *arguments])
        with pytest.raises(OptionError):
            command.action(command)


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "out.yml"
    command = parse(["alerts", "--rule", "memory-bound", "--format", "manifest", "--output", str(file)])
    assert command.action(command) == 0
    assert yaml.safe_load(file.read_text())["spec"]["groups"][1]["rules"][0]["alert"] == "LLMMemoryBound"
