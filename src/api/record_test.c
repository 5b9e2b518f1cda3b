/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables api/..._members.def, the structures of include/sluice/sluice.h and the messages: the
 * rows cover each structure, and a row names exactly the fields that change its member.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/record.h"
#include "base/pb_test_util.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define ROWS_MOST 64
#define PADDING_MOST 4 /* bytes */

struct row {
    const char *member;
    size_t offset, size;
    bool is_text;
    const char *fields, *live_fields; /* of JobLive */
};
#define ROW(type, member, fields, live)                                                            \
    {#member,                                                                                      \
     offsetof(struct type, member),                                                                \
     sizeof(((struct type *)0)->member),                                                           \
     _Generic(((struct type *)0)->member, const char *: true, default: false),                     \
     fields,                                                                                       \
     live},

#define MEMBER(member, value, spec, live) ROW(sluice_job, member, spec, live)
static const struct row job_rows[] = {
#include "api/job_members.def"
};
#undef MEMBER
#define MEMBER(member, value, fields) ROW(sluice_step, member, fields, "")
static const struct row step_rows[] = {
#include "api/step_members.def"
};
#undef MEMBER
#define MEMBER(member, value, fields) ROW(sluice_node, member, fields, "")
static const struct row node_rows[] = {
#include "api/node_members.def"
};
#undef MEMBER
#define TEXT(member, field) ROW(sluice_submit, member, #field, "")
#define NUMBER(member, field) ROW(sluice_submit, member, #field, "")
#define OTHER(member, fields) ROW(sluice_submit, member, fields, "")
static const struct row submit_rows[] = {
#include "api/submit_members.def"
};

/* The source of a structure: one message, or both messages of a job. */
struct source {
    Pb__JobSpec spec;
    Pb__JobLive live;
    Pb__StepRecord step;
    Pb__NodeRecord node;
    struct str full_id;
};
union structure {
    struct sluice_job job;
    struct sluice_step step;
    struct sluice_node node;
};
typedef void fill_fn(struct source *s, union structure *out);

static void fill_job(struct source *s, union structure *out)
{
    str_clear(&s->full_id);
    api_fill_job(&s->spec, &s->live, &s->full_id, &out->job);
}

static void fill_step(struct source *s, union structure *out)
{
    api_fill_step(&s->step, &out->step);
}

static void fill_node(struct source *s, union structure *out)
{
    api_fill_node(&s->node, &out->node);
}

static void init_source(struct source *s)
{
    *s = (struct source){.full_id = STR_INIT};
    pb__job_spec__init(&s->spec);
    pb__job_live__init(&s->live);
    pb__step_record__init(&s->step);
    pb__node_record__init(&s->node);
    s->node.name = (char *)"n1";
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
            return true;
    return false;
}

/* The size of the row's member that lies at this byte; 0: none. */
static size_t find_member(const struct row *rows, size_t count, size_t at)
{
    for (size_t i = 0; i < count; i++)
        if (at >= rows[i].offset && at < rows[i].offset + rows[i].size)
            return rows[i].size;
    return 0;
}

/* Bytes without a row are padding: fewer than the size of the next member, or at the end. */
static void check_whole(const char *type, size_t size, const struct row *rows, size_t count)
{
    assert_true(count <= ROWS_MOST);
    for (size_t at = 0, gap = 0; at < size; at++) {
        size_t member = find_member(rows, count, at);
        if (member ? gap >= member : gap >= PADDING_MOST)
            fail_msg("%s: no row has the member at byte %zu", type, at - gap);
        gap = member ? 0 : gap + 1;
    }
}

/* 0: the message has every field of a list. */
static int check_names(const ProtobufCMessageDescriptor *type, const char *names)
{
    int wrong = 0;
    for (const char *at = names; *at; at += strcspn(at, " "), at += *at == ' ') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        if (pb_find_field(type, name))
            continue;
        print_error("%s has no field %s\n", type->name, name);
        wrong++;
    }
    return wrong;
}

/* Bytes or texts of a member before and after. */
static bool is_same(const struct row *row, const void *a, const void *b)
{
    const char *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
    if (!row->is_text)
        return memcmp(x, y, row->size) == 0;
    const char *text = *(const char *const *)x, *other = *(const char *const *)y;
    return text == other || (text && other && strcmp(text, other) == 0);
}

/* The texts of a structure that would not outlive the next one. */
static void keep_texts(void *out, const struct row *rows, size_t count, struct arena *a)
{
    for (size_t i = 0; i < count; i++) {
        const char **text = (const char **)((char *)out + rows[i].offset);
        if (rows[i].is_text && *text)
            *text = arena_strdup(a, *text);
    }
}

/* Records the members that change with one of the candidate values of a field of m, a part of
   s. */
static void find_changes(struct source *s, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                         fill_fn *fill, const struct row *rows, size_t count, bool *changed)
{
    _cleanup_arena_ struct arena a;
    union structure before, after;
    arena_init(&a, 0);
    void *kept = arena_alloc(&a, m->descriptor->sizeof_message);
    memcpy(kept, m, m->descriptor->sizeof_message);
    fill(s, &before);
    keep_texts(&before, rows, count, &a);
    for (size_t k = 0; pb_test_set(m, f, k, &a); k++) {
        fill(s, &after);
        for (size_t i = 0; i < count; i++)
            changed[i] = changed[i] || !is_same(&rows[i], &before, &after);
        memcpy(m, kept, m->descriptor->sizeof_message);
    }
    memcpy(m, kept, m->descriptor->sizeof_message);
}

/* Returns 0 if the rows name the field exactly where it changes their members. */
static int check_rows(const ProtobufCFieldDescriptor *f, const bool *changed, bool is_live,
                      const struct row *rows, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_named = has_word(is_live ? rows[i].live_fields : rows[i].fields, f->name);
        if (is_named == changed[i])
            continue;
        print_error("%s: the row must %sname %s\n", rows[i].member, is_named ? "not " : "",
                    f->name);
        wrong++;
    }
    return wrong;
}

/* Checks each field of a message at this offset in the sources. */
static int check_fields(struct source *sources, size_t n, size_t offset, fill_fn *fill,
                        const struct row *rows, size_t count)
{
    int wrong = 0;
    bool is_live = offset == offsetof(struct source, live);
    const ProtobufCMessage *first = (void *)((char *)sources + offset);
    for (size_t i = 0; i < count; i++)
        wrong += check_names(first->descriptor, is_live ? rows[i].live_fields : rows[i].fields);
    pb_each_field (first->descriptor, f) {
        bool changed[ROWS_MOST] = {false};
        for (size_t i = 0; i < n; i++)
            find_changes(&sources[i], (void *)((char *)&sources[i] + offset), f, fill, rows, count,
                         changed);
        wrong += check_rows(f, changed, is_live, rows, count);
    }
    return wrong;
}

static void members_of_a_job_are_made_of_the_fields_that_rows_name(void **state)
{
    struct source s[3];
    for (size_t i = 0; i < LEN(s); i++) {
        init_source(&s[i]);
        s[i].live.job_id = 7;
        if (i == 1)
            SET(&s[i].live, array_job_id, 5);
        if (i == 2)
            SET(&s[i].live, set_id, 5);
    }
    check_whole("sluice_job", sizeof(struct sluice_job), job_rows, LEN(job_rows));
    assert_int_equal(
        check_fields(s, LEN(s), offsetof(struct source, spec), fill_job, job_rows, LEN(job_rows)) +
            check_fields(s, LEN(s), offsetof(struct source, live), fill_job, job_rows,
                         LEN(job_rows)),
        0);
    for (size_t i = 0; i < LEN(s); i++)
        str_done(&s[i].full_id);
}

static void full_ids_name_element_and_component(void **state)
{
    struct source s;
    union structure out;
    (void)state;
    init_source(&s);
    s.live.job_id = 9;
    fill_job(&s, &out);
    assert_string_equal(out.job.full_id, "9");
    SET(&s.live, set_id, 8);
    SET(&s.live, set_offset, 1);
    fill_job(&s, &out);
    assert_string_equal(out.job.full_id, "8+1");
    SET(&s.live, array_job_id, 6);
    SET(&s.live, array_task_id, 3);
    fill_job(&s, &out);
    assert_string_equal(out.job.full_id, "6_3+1");
    str_done(&s.full_id);
}

static void members_of_a_step_are_made_of_the_fields_that_rows_name(void **state)
{
    struct source s[2];
    init_source(&s[0]);
    init_source(&s[1]);
    SET(&s[1].step, array_job_id, 5);
    check_whole("sluice_step", sizeof(struct sluice_step), step_rows, LEN(step_rows));
    assert_int_equal(check_fields(s, LEN(s), offsetof(struct source, step), fill_step, step_rows,
                                  LEN(step_rows)),
                     0);
}

static void members_of_a_node_are_made_of_the_fields_that_rows_name(void **state)
{
    struct source s;
    init_source(&s);
    check_whole("sluice_node", sizeof(struct sluice_node), node_rows, LEN(node_rows));
    assert_int_equal(
        check_fields(&s, 1, offsetof(struct source, node), fill_node, node_rows, LEN(node_rows)),
        0);
}

/* Sets a member: a text, or the number 1. */
static void set_member(struct sluice_submit *r, const struct row *row)
{
    static const char *const list[] = {"word", NULL};
    const void *value = row->is_text ? (const void *)list[0] : list;
    uint64_t one = 1; /* little endian: the low bytes come first */
    bool is_pointer =
        row->is_text || strcmp(row->member, "args") == 0 || strcmp(row->member, "env") == 0;
    memcpy((char *)r + row->offset, is_pointer ? (const void *)&value : &one, row->size);
}

/* All rows of a member together: the member sets two fields when it has two. */
static bool is_named(const char *member, const char *field)
{
    for (size_t i = 0; i < LEN(submit_rows); i++)
        if (strcmp(submit_rows[i].member, member) == 0 && has_word(submit_rows[i].fields, field))
            return true;
    return false;
}

static void members_of_a_submission_set_the_fields_that_rows_name(void **state)
{
    int wrong = 0;
    check_whole("sluice_submit", sizeof(struct sluice_submit), submit_rows, LEN(submit_rows));
    for (size_t i = 0; i < LEN(submit_rows); i++) {
        struct sluice_submit plain = {
            .as_user = submit_rows[i].offset == offsetof(struct sluice_submit, uid) ||
                       submit_rows[i].offset == offsetof(struct sluice_submit, gid)};
        struct sluice_submit r = plain;
        Pb__JobSpec before = PB__JOB_SPEC__INIT, after = PB__JOB_SPEC__INIT;
        set_member(&r, &submit_rows[i]);
        api_fill_spec(&plain, "/d", &before);
        api_fill_spec(&r, "/d", &after);
        wrong += check_names(&pb__job_spec__descriptor, submit_rows[i].fields);
        pb_each_field (&pb__job_spec__descriptor, f) {
            bool changed = !pb_same_field(&before.base, &after.base, f);
            if (changed == is_named(submit_rows[i].member, f->name))
                continue;
            print_error("%s: the row must %sname %s\n", submit_rows[i].member,
                        changed ? "" : "not ", f->name);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_a_job_are_made_of_the_fields_that_rows_name),
        cmocka_unit_test(full_ids_name_element_and_component),
        cmocka_unit_test(members_of_a_step_are_made_of_the_fields_that_rows_name),
        cmocka_unit_test(members_of_a_node_are_made_of_the_fields_that_rows_name),
        cmocka_unit_test(members_of_a_submission_set_the_fields_that_rows_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
