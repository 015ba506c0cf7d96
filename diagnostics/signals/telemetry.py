"""Which replica the GPU series of an exporter speak of: by pod, else by the host where exactly one replica lives.

An exporter of GPUs runs beside the engines, so its own pod and address name nobody. What belongs to no replica for certain
is set apart: a clock that is held down on another machine would else explain a slow server that it has nothing to do with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from diagnostics.engines import registry
from diagnostics.model.samples import Capture

Labels = dict[str, str]

POD_LABELS = ("pod", "kubernetes_pod_name", "pod_name")
_HOST_LABELS = ("Hostname", "hostname", "host", "node", "nodename", "kubernetes_node")
# How pods of GPU exporters are called, of NVIDIA and of AMD.
_EXPORTER = re.compile(r"exporter|dcgm")
_PORT = re.compile(r":\d{1,5}$")
_ADDRESS = re.compile(r"[\d.]+|.*:.*")


class Places(Struct):
    """Where replicas live, as far as their own series say.

    Attributes:
        replicas: numbers of all of them.
        pods: pod -> namespace ("" where unknown) and replica.
        hosts: host -> replicas on it.
        allotted: hosts whose exporter says which pod holds a GPU; its other GPUs are held by nobody.
        gpu_hosts: hosts that GPU series name.
    """

    replicas: set[int] = field(default_factory=set)
    instances: dict[str, set[int]] = field(default_factory=dict)
    pods: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    hosts: dict[str, set[int]] = field(default_factory=dict)
    allotted: set[str] = field(default_factory=set)
    gpu_hosts: set[frozenset[str]] = field(default_factory=set)

    def add_engine(self, labels: Labels, replica: int) -> None:
        """Take what the labels of an engine's series say of where it lives."""
        self.replicas.add(replica)
        pod = _first(labels, POD_LABELS)
        if pod:
            self.pods.setdefault(pod, set()).add((labels.get("namespace", ""), replica))
        if labels.get("instance"):
            self.instances.setdefault(labels["instance"], set()).add(replica)
        for host in _hosts(labels):
            self.hosts.setdefault(host, set()).add(replica)

    def add_gpus(self, every: Iterable[Labels]) -> None:
        """Take note of the hosts on which the exporter knows the pods of GPUs."""
        for labels in every:
            hosts = _hosts(labels)
            self.gpu_hosts.add(hosts)
            if _workload(labels)[0]:
                self.allotted |= hosts

    def replica_of(self, labels: Labels) -> int | None:
        """The one replica that has the GPU of these labels, or None where that is not certain."""
        pod, namespace = _workload(labels)
        if pod:
            holders = self.pods.get(pod, set())
            return _only({r for space, r in holders if not space or not namespace or space == namespace})
        same = _only(self.instances.get(labels.get("instance", ""), set()))
        if same is not None:
            return same
        hosts = _hosts(labels)
        if hosts & self.allotted:
            return None
        found = {r for host in hosts for r in self.hosts.get(host, ())}
        if not found and not self.hosts and len(self.gpu_hosts) == 1:
            found = self.replicas  # neither says where the engine lives, and there is one of each
        return _only(found)


class Gpus(Struct):
    """Where the GPU series of all captures belong.

    Attributes:
        seats: (capture, identity of the labels) -> number of the replica, -1 for none.
        places: (capture, place) -> whether all GPUs of that place have their replica.
    """

    seats: dict[tuple[int, int], int] = field(default_factory=dict)
    places: dict[tuple[int, str], bool] = field(default_factory=dict)

    def apart(self) -> dict[int, list[str]]:
        """For each capture the places whose GPUs belong to no replica for certain."""
        found: dict[int, list[str]] = {}
        for (capture, place), has_replica in self.places.items():
            if not has_replica:
                found.setdefault(capture, []).append(place)
        return found


def seat(captures: list[Capture], root_of: Callable[[int, Labels], int]) -> Gpus:
    """Give every GPU series its replica.

    Args:
        captures: as read.
        root_of: the number of the replica of an engine's series, by capture and labels.
    """
    places, every = Places(), []
    for number, capture in enumerate(captures):
        seen: set[tuple[int, bool]] = set()
        for series in capture.series:
            labels, is_gpu = series.labels, registry.is_of_gpu(series.name)
            if (id(labels), is_gpu) in seen:
                continue
            if is_gpu:
                every.append((number, labels))
            elif registry.engine_of(series.name) and not registry.is_of_router(series.name, labels):
                places.add_engine(labels, root_of(number, labels))
            else:
                continue  # what every exporter has says nothing of an engine
            seen.add((id(labels), is_gpu))
    places.add_gpus(labels for _, labels in every)
    gpus = Gpus()
    for number, labels in every:
        replica = places.replica_of(labels)
        gpus.seats[(number, id(labels))] = -1 if replica is None else replica
        place = (number, place_of(labels))
        gpus.places[place] = gpus.places.get(place, True) and replica is not None
    return gpus


def place_of(labels: Labels) -> str:
    """What to call the place of a GPU series that is set apart."""
    return (
        _workload(labels)[0]
        or _first(labels, _HOST_LABELS)
        or labels.get("instance", "")
        or "one without a name"
    )


def _workload(labels: Labels) -> tuple[str, str]:
    """The pod that holds a GPU, with its namespace; Prometheus renames both where the exporter's own stand in the way."""
    moved = labels.get("exported_pod", "")
    if moved:
        return moved, labels.get("exported_namespace", "")
    pod = _first(labels, POD_LABELS)
    return ("", "") if _EXPORTER.search(pod) else (pod, labels.get("namespace", ""))


def _hosts(labels: Labels) -> frozenset[str]:
    """Names of the host of a series: in full and, of names with a domain, the first part."""
    names = {labels[name].lower() for name in _HOST_LABELS if labels.get(name)}
    if labels.get("instance"):
        names.add(_PORT.sub("", labels["instance"].lower()))
    return frozenset(names | {name.partition(".")[0] for name in names if not _ADDRESS.fullmatch(name)})


def _first(labels: Labels, names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _only(found: set[int]) -> int | None:
    return next(iter(found)) if len(found) == 1 else None
