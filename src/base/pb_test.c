/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "proto/job.pb-c.h"

static const ProtobufCMessageDescriptor *const type = &pb__job_spec__descriptor;

static void unknown_fields_are_not_found(void **state)
{
    assert_null(pb_find_field(type, "no_such_field"));
    assert_null(pb_find_field(type, ""));
    assert_string_equal(pb_find_field(type, "work_dir")->name, "work_dir");
}

/* One field of every supported kind. */
static const char *const kinds[] = {"name",         "min_nodes", "mem_per_node_mib", "exclusive",
                                    "begin_at_sec", "nice",      "request_id"};

static Pb__JobSpec make_job_spec(void)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.name = (char *)"x";
    s.has_min_nodes = s.has_mem_per_node_mib = s.has_exclusive = s.has_begin_at_sec = s.has_nice =
        s.has_request_id = true;
    s.min_nodes = 7;
    s.mem_per_node_mib = UINT64_MAX - 1;
    s.exclusive = true;
    s.begin_at_sec = INT64_MIN + 1;
    s.nice = -5;
    s.request_id = (ProtobufCBinaryData){3, (uint8_t *)"abc"};
    return s;
}

static void fields_are_found_copied_and_compared(void **state)
{
    Pb__JobSpec from = make_job_spec(), to = PB__JOB_SPEC__INIT, none = PB__JOB_SPEC__INIT;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const ProtobufCFieldDescriptor *f = pb_find_field(type, kinds[i]);
        assert_true(pb_has(&from.base, f));
        assert_false(pb_has(&to.base, f));
        assert_false(pb_same_field(&from.base, &to.base, f));
        assert_true(pb_same_field(&none.base, &to.base, f));
        pb_copy_field(&to.base, &from.base, f);
        assert_true(pb_has(&to.base, f));
        assert_true(pb_same_field(&from.base, &to.base, f));
    }
    assert_int_equal(to.min_nodes, 7);
    assert_true(to.mem_per_node_mib == UINT64_MAX - 1);
    assert_true(to.begin_at_sec == INT64_MIN + 1);
    assert_int_equal(to.nice, -5);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const ProtobufCFieldDescriptor *f = pb_find_field(type, kinds[i]);
        pb_copy_field(&to.base, &none.base, f); /* absent again */
        assert_false(pb_has(&to.base, f));
    }
}

static void different_values_compare_as_different(void **state)
{
    Pb__JobSpec a = make_job_spec(), b = make_job_spec();
    b.name = (char *)"y";
    b.min_nodes = 8;
    b.mem_per_node_mib = 1;
    b.exclusive = false;
    b.begin_at_sec = 0;
    b.nice = 5;
    b.request_id.data = (uint8_t *)"abd";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assert_false(pb_same_field(&a.base, &b.base, pb_find_field(type, kinds[i])));
}

static void every_field_is_walked_once(void **state)
{
    size_t count = 0, found = 0;
    Pb__JobSpec s = make_job_spec();
    pb_each_field (type, field) {
        count++;
        found += pb_has(&s.base, field);
    }
    assert_int_equal(count, type->n_fields);
    pb_each_field (&pb__empty__descriptor, field)
        fail_msg("a field of nothing: %s", field->name);
    assert_int_equal(found, sizeof kinds / sizeof kinds[0]);
}

static void oversized_field_is_found_at_any_depth(void **state)
{
    Pb__JobSignal m = PB__JOB_SIGNAL__INIT;
    Pb__JobFilter f = PB__JOB_FILTER__INIT;
    char *names[] = {(char *)"a", (char *)"bcd", (char *)"e"};
    assert_null(pb_find_oversized(&m.base, 0, 0));
    m.filter = &f;
    f.name = names;
    f.n_name = 3;
    f.nodes = (char *)"12345";
    assert_null(pb_find_oversized(&m.base, 3, 5));
    assert_string_equal(pb_find_oversized(&m.base, 2, 5)->name, "name");
    assert_string_equal(pb_find_oversized(&m.base, 3, 4)->name, "nodes");
    assert_string_equal(pb_find_oversized(&m.base, 3, 2)->name, "name");
    Pb__JobSpec s = make_job_spec();
    assert_null(pb_find_oversized(&s.base, 1, 3));
    assert_string_equal(pb_find_oversized(&s.base, 1, 2)->name, "request_id");
}

static void fields_are_picked_from_packed_bytes(void **state)
{
    Pb__JobSpec s = make_job_spec();
    struct str packed = STR_INIT, some = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    pb_pack(&s.base, &packed);
    static const struct pb_fields two = {{1u << 1 | 1u << 17}}; /* name, memory per node */
    pb_pick_fields(packed.data, packed.len, &two, &some);
    const Pb__JobSpec *t = arena_unpack(&arena, type, some.data, some.len);
    assert_non_null(t);
    assert_string_equal(t->name, "x");
    assert_true(t->mem_per_node_mib == UINT64_MAX - 1);
    assert_false(t->has_min_nodes || t->has_exclusive || t->has_nice || t->has_request_id);
    str_clear(&some);
    pb_pick_fields(packed.data, packed.len, &PB_ALL_FIELDS, &some);
    assert_int_equal(some.len, packed.len);
    assert_memory_equal(some.data, packed.data, packed.len);
    for (size_t len = 0; len < packed.len; len++) { /* truncated anywhere: only complete fields */
        str_clear(&some);
        pb_pick_fields(packed.data, len, &PB_ALL_FIELDS, &some);
        assert_true(some.len <= len);
    }
    static const uint8_t bad[][3] = {
        {0x80, 0x80, 0x80}, {0x0a, 0xff, 0x01}, {0x0b, 0, 0}, {0x09, 1, 2}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        str_clear(&some);
        pb_pick_fields(bad[i], sizeof(bad[i]), &PB_ALL_FIELDS, &some);
        assert_int_equal(some.len, 0);
    }
    str_done(&packed);
    str_done(&some);
}

/* Every field of a record that is listed can be named, whatever its number. */
static void every_field_can_be_named(void **state)
{
    static const ProtobufCMessageDescriptor *const types[] = {&pb__job_spec__descriptor,
                                                              &pb__job_live__descriptor};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        pb_each_field (types[i], field) {
            struct pb_fields one = {0};
            pb_fields_add(&one, types[i], field->name);
            assert_true(pb_fields_have(&one, field->id));
            assert_false(pb_fields_have(&one, field->id + 1));
            pb_fields_put(&one, field->id, false);
            assert_false(pb_fields_have(&one, field->id));
        }
    Pb__JobSpec s = make_job_spec();
    _cleanup_str_ struct str packed = STR_INIT, some = STR_INIT;
    _cleanup_arena_ struct arena arena;
    struct pb_fields component = {0};
    arena_init(&arena, 0);
    s.component = "io";
    pb_pack(&s.base, &packed);
    pb_fields_add(&component, type, "component");
    pb_pick_fields(packed.data, packed.len, &component, &some);
    const Pb__JobSpec *t = arena_unpack(&arena, type, some.data, some.len);
    assert_string_equal(t->component, "io");
    assert_null(t->name);
}

static void unknown_fields_are_found_and_picked(void **state)
{
    /* Number 70000 as a varint, as bytes, as 8 and as 4 bytes. */
    static const char newer[] = "\x80\x97\x22\x01"
                                "\x82\x97\x22\x02zz"
                                "\x81\x97\x22\x01\x02\x03\x04\x05\x06\x07\x08"
                                "\x85\x97\x22\x01\x02\x03\x04";
    Pb__JobSpec s = make_job_spec();
    struct str packed = STR_INIT, spec = STR_INIT, picked = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    pb_pack(&s.base, &spec);
    pb_pack_field(1, spec.data, spec.len, &packed);
    const Pb__JobRecord *r =
        arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    pb_pick_unknown(&r->base, &picked);
    assert_int_equal(picked.len, 0);
    assert_null(pb_find_unknown(&r->base));

    str_append(&spec, newer, sizeof(newer) - 1);
    str_clear(&packed);
    pb_pack_field(1, spec.data, spec.len, &packed);
    r = arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    pb_pick_unknown(&r->base, &picked);
    assert_int_equal(picked.len, 0);
    assert_ptr_equal(pb_find_unknown(&r->base), &r->spec->base);
    pb_pick_unknown(&r->spec->base, &picked);
    assert_int_equal(picked.len, sizeof(newer) - 1);
    assert_memory_equal(picked.data, newer, picked.len);
    str_done(&packed);
    str_done(&spec);
    str_done(&picked);
}

/* A value as on the wire: tag, length, bytes. */
static void put_field(unsigned field, size_t len, char fill, struct str *out)
{
    char *bytes = malloc(len + 1);

    memset(bytes, fill, len);
    pb_pack_field(field, bytes, len, out);
    free(bytes);
}

static unsigned find_field_number(const char *field)
{
    return pb_find_field(type, field)->id;
}

/* A lent field is not copied, and everything else is as without lending. */
static void long_field_is_lent_without_a_copy(void **state)
{
    static const struct {
        const char *field[3];
        size_t len[3];
        bool lent;
    } rows[] = {
        {{"request_id"}, {5000}, true},
        {{"name", "request_id", "work_dir"}, {3, 100000, 5}, true},
        {{"request_id", "name"}, {5000, 20}, true},
        {{"request_id"}, {100}, false},
        {{"name"}, {5000}, false},                        /* a text ends with a NUL */
        {{"request_id", "name"}, {5000, 6000}, false},    /* two */
        {{"request_id", "request_id"}, {5000, 3}, false}, /* the last one counts */
        {{"request_id", "request_id"}, {3, 5000}, true},
        {{"request_id", "request_id"}, {5000, 0}, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_arena_ struct arena plain, lends;
        _cleanup_str_ struct str wire = STR_INIT, again = STR_INIT, same = STR_INIT;
        const Pb__JobSpec *a, *b;

        for (size_t k = 0; k < 3 && rows[i].field[k]; k++)
            put_field(find_field_number(rows[i].field[k]), rows[i].len[k], (char)('a' + k), &wire);
        arena_init(&plain, 0);
        arena_init(&lends, 0);
        a = arena_unpack(&plain, type, wire.data, wire.len);
        b = pb_unpack_lent(&lends, type, wire.data, wire.len);
        assert_non_null(a);
        assert_non_null(b);
        pb_pack(&a->base, &same);
        pb_pack(&b->base, &again);
        assert_int_equal(same.len, again.len);
        assert_memory_equal(same.data, again.data, same.len);
        assert_true(rows[i].lent == ((const char *)b->request_id.data >= wire.data &&
                                     (const char *)b->request_id.data < wire.data + wire.len));
    }
}

/* Data truncated anywhere is refused as without lending, and nothing after it is read. */
static void lent_field_beyond_the_bytes_is_refused(void **state)
{
    _cleanup_str_ struct str wire = STR_INIT;

    put_field(find_field_number("name"), 3, 'n', &wire);
    put_field(find_field_number("request_id"), 5000, 'r', &wire);
    put_field(find_field_number("work_dir"), 3, 'w', &wire);
    for (size_t len = 0; len <= wire.len; len += len < 4990 ? 7 : 1) {
        char *cut = len ? mem_dup(wire.data, len) : NULL; /* a sanitizer sees its end */
        _cleanup_arena_ struct arena plain, lends;

        arena_init(&plain, 0);
        arena_init(&lends, 0);
        assert_int_equal(arena_unpack(&plain, type, cut, len) != NULL,
                         pb_unpack_lent(&lends, type, cut, len) != NULL);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_field_is_lent_without_a_copy),
        cmocka_unit_test(lent_field_beyond_the_bytes_is_refused),
        cmocka_unit_test(unknown_fields_are_not_found),
        cmocka_unit_test(fields_are_found_copied_and_compared),
        cmocka_unit_test(different_values_compare_as_different),
        cmocka_unit_test(oversized_field_is_found_at_any_depth),
        cmocka_unit_test(fields_are_picked_from_packed_bytes),
        cmocka_unit_test(every_field_can_be_named),
        cmocka_unit_test(every_field_is_walked_once),
        cmocka_unit_test(unknown_fields_are_found_and_picked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
