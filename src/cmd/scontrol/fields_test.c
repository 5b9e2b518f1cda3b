/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/pb.h"
#include "base/timefmt.h"
#include "cmd/scontrol/fields.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"

static void test_invalid_field_values_are_refused(void **state)
{
    static const struct {
        const struct field *table;
        const char *key, *value;
    } v[] = {
        {fields_job, "TimeMin", "soon"},     {fields_job, "SiteFactor", "x"},
        {fields_job, "NumTasks", "-1"},      {fields_job, "Contiguous", "maybe"},
        {fields_job, "MinMemoryNode", "4Z"}, {fields_job, "StartTime", "never"},
        {fields_job, "ReqNodeList", "n[1-"}, {fields_part, "MaxNodes", "-2"},
        {fields_part, "MaxTime", "1:2:3:4"}, {fields_node, "Weight", "heavy"},
        {fields_job, "ReqSwitch", "-1"},     {fields_resv, "BurstBuffer", "1G"},
        {fields_job, "ReqCores", "-1"},      {fields_job, "ReqThreads", "x"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_arena_ struct arena arena;
        struct err err = {0};
        union {
            Pb__JobSpec job;
            Pb__PartRecord part;
            Pb__NodeUpdate node;
        } message;
        arena_init(&arena, 0);
        memset(&message, 0, sizeof(message));
        const struct field *f = field_find(v[i].table, v[i].key, strlen(v[i].key));
        assert_non_null(f);
        assert_true(field_set(f, v[i].value, &message, &arena, &err) < 0);
        assert_non_null(strstr(err.text, v[i].key));
        assert_non_null(strstr(err.text, v[i].value));
    }
}

/* A planned option is rejected unless it changes nothing. */
static void test_planned_option_is_refused_unless_it_changes_nothing(void **state)
{
    static const char *const keys[] = {"AllowQos", "DenyQos"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        _cleanup_arena_ struct arena arena;
        Pb__PartRecord part = PB__PART_RECORD__INIT;
        struct err err = {0};
        const struct field *f = field_find(fields_part, keys[i], strlen(keys[i]));
        arena_init(&arena, 0);
        assert_int_equal(field_set(f, "none", &part, &arena, &err), 0);
        assert_true(field_set(f, "a", &part, &arena, &err) < 0);
        assert_non_null(strstr(err.text, "planned"));
    }
}

static void test_keys_are_matched_case_insensitively(void **state)
{
    static const struct {
        const struct field *table;
        const char *key, *found;
    } v[] = {
        {fields_job, "jobname", "JobName"},
        {fields_job, "name", "Name"},
        {fields_job, "TIMELIMIT", "TimeLimit"},
        {fields_job, "time", "TimeLimit"},
        {fields_job, "NodeList", "NodeList"},
        {fields_job, "numc", "NumCPUs"},
        {fields_job, "wait-for", "wait-for-switch"},
        {fields_job, "Frob", NULL},
        {fields_job, "UserId", NULL},
        {fields_job, "N", NULL},
        {fields_job, "", NULL},
        {fields_node, "RealMemory", NULL},
        {fields_node, "state", "State"},
        {fields_node, "CPUs", NULL},
        {fields_part, "maxtime", "MaxTime"},
        {fields_part, "TotalNodes", NULL},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        const struct field *f = field_find(v[i].table, v[i].key, strlen(v[i].key));
        if (v[i].found)
            assert_string_equal(f->key, v[i].found);
        else
            assert_null(f);
    }
}

static void set_table_field(const struct field *table, const char *key, const char *value,
                            void *message, struct arena *arena)
{
    assert_int_equal(field_set(field_find(table, key, strlen(key)), value, message, arena, NULL),
                     0);
}

static void test_values_fill_the_message(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec job = PB__JOB_SPEC__INIT;
    Pb__PartRecord part = PB__PART_RECORD__INIT;
    Pb__NodeUpdate node = PB__NODE_UPDATE__INIT;
    arena_init(&arena, 0);
    set_table_field(fields_job, "JobName", "a b", &job, &arena);
    set_table_field(fields_job, "SiteFactor", "-5", &job, &arena);
    set_table_field(fields_job, "TimeMin", "5", &job, &arena);
    set_table_field(fields_job, "BurstBuffer", "", &job, &arena);
    set_table_field(fields_job, "Reboot", "yes", &job,
                    &arena); /* has no effect, and prints a note */
    set_table_field(fields_job, "ReservationName", "", &job, &arena);
    set_table_field(fields_job, "ReservationName", "none", &job, &arena);
    set_table_field(fields_job, "Licenses", "a:1", &job, &arena);
    set_table_field(fields_job, "MinMemoryNode", "2G", &job, &arena);
    assert_string_equal(job.name, "a b");
    assert_true(job.has_site_factor && job.site_factor == -5);
    assert_true(job.has_time_min_sec && job.time_min_sec == 300);
    assert_true(job.has_mem_per_node_mib && job.mem_per_node_mib == 2048);
    assert_false(job.has_hold || job.has_contiguous);
    assert_string_equal(job.licenses, "a:1");
    assert_string_equal(job.reservation, "none");
    set_table_field(fields_part, "MaxTime", "UNLIMITED", &part, &arena);
    set_table_field(fields_part, "MaxNodes", "INFINITE", &part, &arena);
    set_table_field(fields_part, "Default", "yes", &part, &arena);
    set_table_field(fields_part, "State", "drain", &part, &arena);
    assert_true(part.has_max_time_sec && part.max_time_sec == TIME_UNLIMITED);
    assert_true(part.has_max_nodes && part.max_nodes == UINT32_MAX);
    assert_true(part.has_is_default && part.is_default);
    assert_string_equal(part.state, "DRAIN");
    set_table_field(fields_node, "State", "resume", &node, &arena);
    set_table_field(fields_node, "Weight", "7", &node, &arena);
    assert_string_equal(node.state, "RESUME");
    assert_true(node.has_weight && node.weight == 7);
}

/* --- the tables of fields ----------------------------------------------------------------------
 */

#define NEVER NULL, false
#define FIXED(key) key, false
#define PENDING(key) key, true
#define ALWAYS(key) key, true
struct row {
    const char *member, *key; /* key NULL: no key sets it */
    bool may_change;          /* otherwise the controller rejects the key by its name */
};
static const struct row job_rows[] = {
#define JOB_LIVE(...)
#define JOB_SPEC(member, options, update, ...) {#member, update},
#include "proto/job_field.def"
    {NULL, NULL, false}};
#define FIELD(member, update, ...) {#member, update},
static const struct row node_rows[] = {
#include "proto/node_field.def"
    {NULL, NULL, false}};
static const struct row part_rows[] = {
#include "proto/part_field.def"
    {NULL, NULL, false}};
static const struct row resv_rows[] = {
#include "proto/resv_field.def"
    {NULL, NULL, false}};
#undef FIELD

static const ProtobufCFieldDescriptor *find_member(const ProtobufCMessageDescriptor *type,
                                                   const struct field *f)
{
    pb_each_field (type, m)
        if (m->offset == f->offset)
            return m;
    return NULL;
}

static const char *find_key(const struct row *rows, const char *member)
{
    for (; rows->member; rows++)
        if (strcmp(rows->member, member) == 0)
            return rows->key;
    return NULL;
}

/* Each key that sets a member belongs to a field that may change, and each such field has a key. */
static int check_keys(const struct row *rows, const struct field *table,
                      const ProtobufCMessageDescriptor *type, const char *besides)
{
    int wrong = 0;
    for (const struct field *f = table; f->key; f++) {
        if (f->type >= FIELD_SPECIAL)
            continue;
        const ProtobufCFieldDescriptor *m = find_member(type, f);
        assert_non_null(m);
        const char *member = strcmp(m->name, "resume_after_sec") ? m->name : "resume_at";
        if (find_key(rows, member))
            continue;
        print_error("%s sets %s, whose row says NEVER\n", f->key, member);
        wrong++;
    }
    for (; rows->member; rows++) {
        if (!rows->may_change || strstr(besides, rows->key))
            continue;
        const struct field *f = field_find(table, rows->key, strlen(rows->key));
        if (f && strcmp(f->key, rows->key) == 0 && f->type != FIELD_PLANNED &&
            f->type != FIELD_REFUSED && f->type != FIELD_NO_EFFECT)
            continue;
        print_error("%s: scontrol has no key %s\n", rows->member, rows->key);
        wrong++;
    }
    return wrong;
}

static void test_fields_have_keys(void **state)
{
    const ProtobufCMessageDescriptor *node = &pb__node_update__descriptor;
    /* No command sends these three, and names of entities are separate words. */
    int wrong =
        check_keys(job_rows, fields_job, &pb__job_spec__descriptor, "Exclusive NoKill Overcommit") +
        check_keys(node_rows, fields_node, node, "") +
        check_keys(part_rows, fields_part, &pb__part_record__descriptor, "PartitionName") +
        check_keys(resv_rows, fields_resv, &pb__resv_record__descriptor, "");
    assert_int_equal(wrong, 0);
    pb_each_field (node, m) { /* a nested message */
        bool found = strstr("nodes create remove refused_field reboot_asap reboot_force next_state",
                            m->name) != NULL;
        for (const struct field *f = fields_node; f->key; f++)
            found = found || (f->type < FIELD_SPECIAL && f->offset == m->offset);
        if (!found)
            fail_msg("NodeUpdate.%s has no key", m->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_field_values_are_refused),
        cmocka_unit_test(test_planned_option_is_refused_unless_it_changes_nothing),
        cmocka_unit_test(test_keys_are_matched_case_insensitively),
        cmocka_unit_test(test_values_fill_the_message),
        cmocka_unit_test(test_fields_have_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
