/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for the tests of reservations: a cluster of five nodes, requests as words, and their
 * results. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"
#include "control/internal.h"
#include "control/life/depend.h"

#define RESV_TEST_NODES                                                                            \
    "NodeName=n[1-4] CPUs=4 RealMemory=4000 Feature=x\nNodeName=n5 CPUs=4 Feature=y\n"
#define RESV_TEST_PARTS                                                                            \
    "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=600 DefaultTime=10\n"                        \
    "PartitionName=b Nodes=n[3-5]\n"
#define RESV_TEST_CONF                                                                             \
    RESV_TEST_NODES RESV_TEST_PARTS                                                                \
        "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nMinJobAge=2\nLicenses=lic:4,one\n"
#define RESV_TEST_START_SEC 1700000000

static inline void resv_test_register_nodes(struct fixture *f)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    for (size_t i = 0; i < 5; i++)
        fixture_register(f, names[i], "i1");
}

static inline struct fixture *resv_test_new(void)
{
    struct fixture *f = fixture_new(RESV_TEST_CONF);
    resv_test_register_nodes(f);
    return f;
}

/* --- requests as words --- */

static inline void resv_test_set_time(const struct fixture *f, const char *value, int64_t *out)
{
    long long n = strtoll(value, NULL, 10);
    *out = *value == '+' || *value == '-' ? f->wall_ms / 1000 + n : n;
}

static inline void resv_test_set_word(const struct fixture *f, Pb__ResvUpdate *m, const char *key,
                                      char *value)
{
    Pb__ResvRecord *s = m->set;
#define TEXT(word, member)                                                                         \
    if (str_eq(key, word)) {                                                                       \
        s->member = value;                                                                         \
        return;                                                                                    \
    }
#define NUMBER(word, member, expr)                                                                 \
    if (str_eq(key, word)) {                                                                       \
        s->has_##member = true;                                                                    \
        expr;                                                                                      \
        return;                                                                                    \
    }
    TEXT("name", name)
    TEXT("nodes", nodes)
    TEXT("users", users)
    TEXT("accounts", accounts)
    TEXT("groups", groups)
    TEXT("allowed", allowed_partitions)
    TEXT("flags", flags)
    TEXT("cores", core_count)
    TEXT("features", features)
    TEXT("part", partition)
    TEXT("licenses", licenses)
    NUMBER("start", start_at, resv_test_set_time(f, value, &s->start_at))
    NUMBER("end", end_at, resv_test_set_time(f, value, &s->end_at))
    NUMBER("length", duration_sec, s->duration_sec = strtoll(value, NULL, 10))
    NUMBER("count", node_count, s->node_count = (uint32_t)strtoul(value, NULL, 10))
    NUMBER("delay", max_start_delay_sec, s->max_start_delay_sec = strtoll(value, NULL, 10))
#undef TEXT
#undef NUMBER
    if (str_eq(key, "add"))
        m->add = value;
    else if (str_eq(key, "take"))
        m->take = value;
    else
        fail_msg("a test asks for '%s'", key);
}

static inline int resv_test_delete(struct fixture *f, const struct caller *who, char *name)
{
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    m.name = name;
    control_resv_delete(f->control, ++f->last_call, who, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* Sends a request given as words, and returns the code of the reply. */
static inline int resv_test_request(struct fixture *f, const char *words)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    bool removes = false;
    set.name = (char *)"";
    m.set = &set;
    for (char *at = arena_strdup(&arena, words); *at;) {
        size_t len = strcspn(at, " "), key = strcspn(at, "= ");
        char *word = at;
        at += len + (at[len] != 0);
        word[len] = 0;
        if (key == len) {
            m.has_create = m.create = m.create || str_eq(word, "create");
            removes = removes || str_eq(word, "remove");
            m.has_skip = m.skip = m.skip || str_eq(word, "skip");
            continue;
        }
        word[key] = 0;
        resv_test_set_word(f, &m, word, word + key + 1);
    }
    if (removes)
        return resv_test_delete(f, &root, set.name);
    control_resv_update(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* Sends a request that must succeed. */
static inline void resv_test_apply(struct fixture *f, const char *words)
{
    int code = resv_test_request(f, words);
    if (code)
        fail_msg("%s: %s", words, fixture_text(f, f->last_call));
}

/* Returns the record from a listing; NULL: the reservation does not exist. */
static inline const Pb__ResvRecord *resv_test_find(struct fixture *f, struct arena *arena,
                                                   const char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvFilter filter = PB__RESV_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    filter.name = (char **)&name;
    filter.n_name = 1;
    arena_init(arena, 0);
    while (control_list_resvs(f->control, &root, &filter, &cursor, 1 << 20, &out))
        ;
    const Pb__ResvList *list = arena_unpack(arena, &pb__resv_list__descriptor, out.data, out.len);
    return list->n_resvs ? list->resvs[0] : NULL;
}

static inline bool resv_test_exists(struct fixture *f, const char *name)
{
    _cleanup_arena_ struct arena arena;
    return resv_test_find(f, &arena, name) != NULL;
}

/* Checks the listing of the reservation; NULL: any value. */
static inline void resv_test_check(struct fixture *f, const char *name, const char *nodes,
                                   const char *flags, const char *users)
{
    _cleanup_arena_ struct arena arena;
    const Pb__ResvRecord *r = resv_test_find(f, &arena, name);
    assert_non_null(r);
    if (nodes)
        assert_string_equal(r->nodes, nodes);
    if (flags)
        assert_string_equal(r->flags, flags);
    if (users)
        assert_string_equal(r->users, users);
}

/* Checks the cores that the reservation has on each node: "n3:1 n4:2". */
static inline void resv_test_check_cores(struct fixture *f, const char *name, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str text = STR_INIT;
    const Pb__ResvRecord *r = resv_test_find(f, &arena, name);
    assert_non_null(r);
    for (size_t i = 0; i < r->n_cores; i++)
        str_printf(&text, "%s%s:%u", i ? " " : "", r->cores[i]->node, r->cores[i]->count);
    assert_string_equal(str_cstr(&text), expected);
}

/* Submits a batch job in the reservation with a limit in minutes. Returns its id, or the negative
 * code. */
static inline int64_t resv_test_submit(struct fixture *f, const struct caller *who,
                                       const char *resv, int minutes, const char *nodes)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)resv;
    spec.has_time_limit_sec = minutes > 0;
    spec.time_limit_sec = minutes * 60;
    spec.req_nodes = (char *)nodes;
    return fixture_submit(f, who, &spec);
}

static inline void resv_test_check_waits(struct fixture *f, int64_t id, const char *reason)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(live->state, PB__JOB_STATE__PENDING);
    assert_string_equal(live->reason_detail ? live->reason_detail : live->reason, reason);
}

static inline void resv_test_check_runs(struct fixture *f, int64_t id, const char *nodes,
                                        const char *resv)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    if (live->state != PB__JOB_STATE__RUNNING)
        fail_msg("job %u waits: %s %s", live->job_id, live->reason, live->reason_detail);
    assert_string_equal(live->nodes, nodes);
    if (resv)
        assert_string_equal(live->reservation, resv);
    else
        assert_null(live->reservation);
}

static inline void resv_test_end_job(struct fixture *f, int64_t id, const char *node)
{
    fixture_batch_ended(f, node, (uint32_t)id, 0, 0);
    fixture_gone(f, node, (uint32_t)id, 0);
}

static inline void resv_test_set_nodes(struct fixture *f, const char *name, const char *nodes)
{
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)name;
    set.nodes = (char *)nodes;
    assert_int_equal(fixture_update_part(f, &set), 0);
}
