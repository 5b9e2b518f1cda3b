/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of newer versions: they are rejected, or their unknown fields are preserved whenever the
 * record is written again. */
#include <string.h>

#include "control/fixture.h"

#define NODES "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"
#define LINES NODES "PartitionName=a Nodes=ALL Default=YES"

/* Field 1000, a number, and field 1001, bytes. */
#define NEWER "\xc0\x3e\x2a\xca\x3e\x03new"
#define NEWER_LEN (sizeof(NEWER) - 1)

static struct fixture_record *find_record(struct fixture *f, enum record_kind kind)
{
    vec_foreach (&f->records, r)
        if (r->kind == kind)
            return r;
    fail_msg("no record of kind %d", (int)kind);
    return NULL;
}

static void add_newer(struct fixture *f, enum record_kind kind)
{
    str_append(&find_record(f, kind)->data, NEWER, NEWER_LEN);
}

/* Counts the occurrences in the record. */
static size_t count_newer(struct fixture *f, enum record_kind kind)
{
    const struct str *data = &find_record(f, kind)->data;
    size_t count = 0;
    for (size_t i = 0; i + NEWER_LEN <= data->len; i++)
        count += memcmp(data->data + i, NEWER, NEWER_LEN) == 0;
    return count;
}

/* Appends to the fields of a message within the record. */
static void add_newer_within(struct fixture *f, enum record_kind kind, unsigned field,
                             const ProtobufCMessage *message)
{
    struct str inner = STR_INIT, *data = &find_record(f, kind)->data;
    pb_pack(message, &inner);
    str_append(&inner, NEWER, NEWER_LEN);
    pb_pack_field(field, inner.data, inner.len, data);
    str_done(&inner);
}

static struct fixture *make_full_fixture(uint32_t *job)
{
    struct fixture *f = fixture_new(LINES);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)"a";
    set.has_max_nodes = true;
    set.max_nodes = 1;
    assert_int_equal(fixture_update_part(f, &set), 0);
    assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "broken"), 0);
    *job = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    return f;
}

static void a_newer_format_is_refused(void **state)
{
    static const struct {
        const char *program;
        uint32_t format;
        const char *says;
    } cases[] = {{"9.8.7", RECORD_FORMAT + 1, "9.8.7"}, {NULL, UINT32_MAX, "4294967295"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Pb__StoreMeta m = PB__STORE_META__INIT;
        struct str packed = STR_INIT;
        struct err err = {0};
        m.program = (char *)cases[i].program;
        m.has_format = true;
        m.format = cases[i].format;
        pb_pack(&m.base, &packed);
        assert_int_equal(control_check_format(packed.data, packed.len, &err), -ERR_VERSION);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_non_null(strstr(err.text, "start that version"));
        str_done(&packed);
    }
}

static void older_formats_are_read(void **state)
{
    (void)state;
    for (uint32_t format = 0; format <= RECORD_FORMAT; format++) {
        Pb__StoreMeta m = PB__STORE_META__INIT;
        struct str packed = STR_INIT;
        struct err err = {0};
        m.has_format = format > 0;
        m.format = format;
        pb_pack(&m.base, &packed);
        assert_int_equal(control_check_format(packed.data, packed.len, &err), 0);
        str_done(&packed);
    }
}

/* Read, and written again by a change, a reconfiguration and a restart. */
static void unknown_fields_are_kept(void **state)
{
    uint32_t job;
    struct fixture *f = make_full_fixture(&job);
    Pb__PartRecord configured = PB__PART_RECORD__INIT, set = PB__PART_RECORD__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
    (void)state;
    configured.name = set.name = (char *)"a";
    live.job_id = job;
    add_newer(f, RECORD_META);
    add_newer(f, RECORD_NODE);
    add_newer(f, RECORD_JOB);
    add_newer_within(f, RECORD_JOB, 1, &spec.base);
    add_newer_within(f, RECORD_JOB, 2, &live.base);
    add_newer(f, RECORD_PART);
    add_newer_within(f, RECORD_PART, 1, &set.base);
    add_newer_within(f, RECORD_PART, 2, &configured.base);
    for (int life = 0; life < 3; life++) {
        fixture_restart(f);
        update.job_id = job;
        update.has_priority = true;
        update.priority = 100 + (uint32_t)life;
        assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &update), 0);
        assert_int_equal(fixture_update_node(f, "n2", "DRAIN", life ? "again" : "more"), 0);
        set.has_max_nodes = true;
        set.max_nodes = 2;
        assert_int_equal(fixture_update_part(f, &set), 0);
        if (life == 1)
            fixture_reconfigure(f, NODES "PartitionName=a Nodes=ALL Default=YES\nPartitionName=b");
        if (life == 1)
            assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "once more"), 0);
        if (life == 1)
            assert_int_equal(fixture_update_part(f, &set), 0);
        assert_int_equal(count_newer(f, RECORD_META), 1);
        assert_int_equal(count_newer(f, RECORD_NODE), 1);
        assert_int_equal(count_newer(f, RECORD_JOB), 3);
        assert_int_equal(count_newer(f, RECORD_PART), 3);
    }
    fixture_free(f);
}

/* Records whose unknown content could not be preserved are rejected individually. */
static void records_with_unpreservable_content_are_refused(void **state)
{
    uint32_t job;
    struct fixture *f = make_full_fixture(&job);
    Pb__JobLive running = PB__JOB_LIVE__INIT;
    Pb__NodeAlloc part = PB__NODE_ALLOC__INIT;
    Pb__Presence lost = PB__PRESENCE__INIT;
    Pb__NodeMade made = PB__NODE_MADE__INIT;
    struct str live = STR_INIT, node = STR_INIT, all = STR_INIT, inner = STR_INIT;
    struct err err = {0};
    (void)state;
    fixture_register(f, "n1", "1");
    assert_int_equal(fixture_state(f, job), PB__JOB_STATE__RUNNING);
    running.job_id = job;
    running.state = PB__JOB_STATE__RUNNING;
    pb_pack(&running.base, &live);
    part.node = (char *)"n2";
    part.cpus = 1;
    pb_pack(&part.base, &inner);
    str_append(&inner, NEWER, NEWER_LEN);
    pb_pack_field(21, inner.data, inner.len, &live);
    pb_pack_field(2, live.data, live.len, &find_record(f, RECORD_JOB)->data);
    struct fixture_record *r = find_record(f, RECORD_JOB);
    assert_int_equal(
        control_restore(f->control, r->kind, job, NULL, r->data.data, r->data.len, &err),
        -ERR_VERSION);
    assert_non_null(strstr(err.text, "1000"));

    str_clear(&inner);
    pb_pack(&lost.base, &inner);
    str_append(&inner, NEWER, NEWER_LEN);
    str_append(&node, find_record(f, RECORD_NODE)->data.data,
               find_record(f, RECORD_NODE)->data.len);
    pb_pack_field(54, inner.data, inner.len, &node);
    assert_int_equal(control_restore(f->control, RECORD_NODE, 0, "n2", node.data, node.len, &err),
                     -ERR_VERSION);

    made.name = made.keys = (char *)"";
    str_clear(&inner);
    pb_pack(&made.base, &inner);
    str_append(&inner, NEWER, NEWER_LEN);
    pb_pack_field(1, inner.data, inner.len, &all);
    assert_int_equal(control_restore(f->control, RECORD_MADE, 0, NULL, all.data, all.len, &err),
                     -ERR_VERSION);
    assert_int_equal(control_restore(f->control, (enum record_kind)99, 1, NULL, "", 0, &err),
                     -ERR_VERSION);
    str_done(&live);
    str_done(&node);
    str_done(&all);
    str_done(&inner);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_format_is_refused),
        cmocka_unit_test(older_formats_are_read),
        cmocka_unit_test(unknown_fields_are_kept),
        cmocka_unit_test(records_with_unpreservable_content_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
