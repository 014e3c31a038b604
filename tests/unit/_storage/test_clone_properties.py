# SPDX-License-Identifier: Apache-2.0
"""What holds of every prediction, whatever is known."""

from __future__ import annotations

from dataclasses import fields, replace

from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.clone import HANG, predict_clone
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.clone_facts import (
    COPY,
    CSI_CLONE,
    SNAPSHOT,
    UNKNOWN,
    CloneQuestion,
    CloneSource,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Meta
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.settings import CdiConfig, SnapshotClass
from hypothesis import given
from hypothesis import strategies as st

from .test_clone import GI, LINSTOR, OTHER, named, override, profile, storage_class

sizes = st.sampled_from([5 * GI, 6 * GI, 6 * GI + 1, 20 * GI])
classes_named = st.sampled_from(["replicated", "local", "ebs", "gone", ""])
questions = st.builds(
    CloneQuestion,
    st.builds(
        CloneSource,
        class_name=st.sampled_from(["replicated", "local", "ebs"]),
        size=sizes,
        request=sizes,
        capacity=sizes,
        mode=st.sampled_from(["Block", "Filesystem"]),
        driver=st.none(),
        ready=st.booleans(),
    ),
    sizes,
    classes_named,
    st.builds(
        named,
        st.builds(storage_class, st.just("replicated"), expandable=st.booleans()),
        st.builds(storage_class, st.just("local"), st.sampled_from([LINSTOR, OTHER]), st.booleans()),
        st.builds(storage_class, st.just("ebs"), st.just(OTHER), st.booleans()),
    ),
    st.builds(
        named,
        *(
            st.builds(
                profile,
                st.just(name),
                st.sampled_from(["Block", "Filesystem"]),
                st.sampled_from(["", COPY, SNAPSHOT, CSI_CLONE]),
                st.sampled_from([True, True, True, False]),
                st.sampled_from(["", "", "a", "b", "gone"]),
                st.sampled_from(["", "", "8Gi"]),
            )
            for name in ("replicated", "local", "ebs")
        ),
    ),
    st.lists(
        st.builds(SnapshotClass, st.builds(Meta, st.sampled_from(["a", "b"])), st.sampled_from([LINSTOR, OTHER])),
        max_size=2,
        unique_by=lambda item: item.meta.name,
    ).map(tuple),
    st.frozensets(st.sampled_from([LINSTOR, OTHER])),
    st.builds(override, st.sampled_from(["", COPY, SNAPSHOT, CSI_CLONE])),
    st.builds(CdiConfig, st.just(Meta("config")), st.sampled_from(["0", "0.06", "0.5"])),
    st.sampled_from(["", "", "true", "false"]),
)
OPTIONAL = [item.name for item in fields(CloneQuestion) if item.default is None]
OF_SOURCE = [item.name for item in fields(CloneSource) if item.default is None]


@given(questions)
def test_what_is_fully_known_is_never_unknown(question):
    found = predict_clone(question)
    assert found.method != UNKNOWN
    assert not found.unknown


@given(questions, st.sets(st.sampled_from(OPTIONAL)), st.sets(st.sampled_from(OF_SOURCE)))
def test_knowing_more_never_contradicts_what_was_said(question, hidden, hidden_of_source):
    whole = predict_clone(question)
    source = replace(question.source, **dict.fromkeys(hidden_of_source))
    partial = predict_clone(replace(question, source=source, **dict.fromkeys(hidden)))
    assert partial.method in (UNKNOWN, whole.method)
    assert partial.fallback in ("", whole.fallback)
    if whole.strategy != COPY:  # what is set to copy has no obstacles to its copies
        assert {item for item in partial.obstacles if item.sure} <= set(whole.obstacles)
    if not partial.unknown:
        assert (partial.method, partial.fallback) == (whole.method, whole.fallback)


@given(questions, st.sets(st.sampled_from(OPTIONAL)))
def test_a_hang_is_predicted_for_clones_between_classes_of_one_driver_only(question, hidden):
    found = predict_clone(replace(question, **dict.fromkeys(hidden)))
    if HANG in found.risks:
        assert found.method in (CSI_CLONE, SNAPSHOT)
        assert question.source.class_name != question.class_name
        drivers = {question.classes[name].provisioner for name in (question.source.class_name, question.class_name)}
        assert len(drivers) == 1
    if found.method == COPY:
        assert HANG not in found.risks
