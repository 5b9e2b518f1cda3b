/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every column shows the same for a record with only the fields that the column needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/pb.h"
#include "show/job_columns.h"

/* Gives each field a unique value: its number. */
static void fill_fields(ProtobufCMessage *m, struct arena *a)
{
    pb_each_field (m->descriptor, field) {
        void *at = (char *)m + field->offset;
        if (field->label == PROTOBUF_C_LABEL_REPEATED || field->type == PROTOBUF_C_TYPE_MESSAGE ||
            field->type == PROTOBUF_C_TYPE_BYTES)
            continue;
        if (field->type == PROTOBUF_C_TYPE_STRING) {
            *(char **)at = arena_printf(a, "/text%u", field->id);
            continue;
        }
        if (field->label == PROTOBUF_C_LABEL_OPTIONAL)
            *(protobuf_c_boolean *)((char *)m + field->quantifier_offset) = 1;
        if (field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_UINT64)
            *(int64_t *)at = 1000000 + field->id;
        else if (field->type != PROTOBUF_C_TYPE_ENUM)
            *(int32_t *)at = field->type == PROTOBUF_C_TYPE_BOOL ? 0 : 1000 + (int32_t)field->id;
    }
}

static void *copy_needed_fields(const ProtobufCMessage *m, const struct pb_fields *wanted,
                                struct arena *a)
{
    _cleanup_str_ struct str whole = STR_INIT, part = STR_INIT;
    pb_pack(m, &whole);
    pb_pick_fields(whole.data, whole.len, wanted, &part);
    void *out = arena_unpack(a, m->descriptor, part.data, part.len);
    assert_non_null(out);
    return out;
}

static void expect_same(struct listing *l, const struct listing_field *field,
                        const Pb__JobRecord *a, const Pb__JobRecord *b)
{
    _cleanup_str_ struct str x = STR_INIT, y = STR_INIT;
    struct job_columns_view of_a = {.job = a, .now = 2000000, .cluster = "c"}, of_b = of_a;
    of_b.job = b;
    listing_put_value(l, field, &of_a, &x);
    listing_put_value(l, field, &of_b, &y);
    assert_string_equal(str_cstr(&x), str_cstr(&y));
}

static unsigned check_letter(const Pb__JobRecord *full, const struct listing_field *field)
{
    _cleanup_arena_ struct arena a;
    char format[] = {'%', field->letter, '\0'};
    struct listing l;
    struct job_needs n;
    arena_init(&a, 0);
    listing_init(&l, &job_columns);
    listing_set_letters(&l, format);
    bool known = job_columns_needs(&l, &n);
    if (known) {
        pb_fields_put(&n.live, 1, true); /* the controller always adds this field */
        pb_fields_put(&n.live, 2, true);
        Pb__JobRecord small = PB__JOB_RECORD__INIT;
        small.spec = copy_needed_fields(&full->spec->base, &n.spec, &a);
        small.live = copy_needed_fields(&full->live->base, &n.live, &a);
        expect_same(&l, field, full, &small);
    }
    listing_done(&l);
    return known;
}

static void test_columns_request_the_fields_they_need(void **state)
{
    static const Pb__JobState states[] = {PB__JOB_STATE__PENDING, PB__JOB_STATE__RUNNING,
                                          PB__JOB_STATE__FAILED};
    _cleanup_arena_ struct arena a;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobRecord full = PB__JOB_RECORD__INIT;
    unsigned known = 0;
    arena_init(&a, 0);
    fill_fields(&spec.base, &a);
    fill_fields(&live.base, &a);
    full.spec = &spec;
    full.live = &live;
    for (size_t s = 0; s < 2 * sizeof(states) / sizeof(states[0]); s++) {
        live.state = states[s / 2];
        live.start_at = s % 2 ? 0 : 1000012;
        live.end_at = s % 2 ? 0 : 1000013;
        for (size_t i = 0; i < job_columns.count; i++)
            if (job_columns.fields[i].letter)
                known += check_letter(&full, &job_columns.fields[i]);
    }
    assert_true(known >= 6 * 30);
}

static void test_sort_keys_and_unknown_columns(void **state)
{
    struct job_needs n;
    struct listing l;
    listing_init(&l, &job_columns);
    listing_set_letters(&l, "%i");
    assert_true(job_columns_needs(&l, &n));
    assert_false(pb_fields_have(&n.live, 7));
    listing_set_sort(&l, "-p");
    assert_true(job_columns_needs(&l, &n));
    assert_true(pb_fields_have(&n.live, 7)); /* the priority */
    listing_set_sort(&l, "m");
    assert_false(job_columns_needs(&l, &n));
    listing_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_request_the_fields_they_need),
        cmocka_unit_test(test_sort_keys_and_unknown_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
