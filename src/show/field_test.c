/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the tables proto/..._field.def with the output. Each field of a message has a row; a
 * change of the field changes exactly the text, JSON and columns that the row names; and each JSON
 * member and working column depends on some field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "base/pb.h"
#include "base/pb_test_util.h"
#include "base/vec.h"
#include "show/job_columns.h"
#include "show/node_rows.h"
#include "show/show.h"
#include "show/usage_columns.h"

#define NOW 2000000

struct row {
    const char *name, *text, *json, *columns, *why;
    bool is_seen;
    const char *sstat; /* only of steps */
};
struct name { /* name of a member or a column */
    const char *name;
    bool works;
};
static json_t *seen; /* names that some field changes: "json NAME" */

#define NEVER
#define FIXED(key)
#define PENDING(key)
#define ALWAYS(key)
#define JOB_LIVE(member, text, json, columns, why)
#define JOB_SPEC(member, options, update, lua, lua_name, alike, text, json, columns, why)          \
    {#member, text, json, columns, why, false},
static struct row spec_rows[] = {
#include "proto/job_field.def"
    {0}};
#undef JOB_SPEC
#undef JOB_LIVE
#define JOB_SPEC(member, options, update, lua, lua_name, alike, text, json, columns, why)
#define JOB_LIVE(member, text, json, columns, why) {#member, text, json, columns, why, false},
static struct row live_rows[] = {
#include "proto/job_field.def"
    {0}};
#define FIELD(member, update, text, json, columns, why) {#member, text, json, columns, why, false},
static struct row node_rows[] = {
#include "proto/node_field.def"
    {0}};
static struct row part_rows[] = {
#include "proto/part_field.def"
    {0}};
static struct row resv_rows[] = {
#include "proto/resv_field.def"
    {0}};
#undef FIELD
#define USAGE(member, json, sstat, why)
#define STEP(member, text, json, columns, sstat, why)                                              \
    {#member, text, json, columns, why, false, sstat},
static struct row step_rows[] = {
#include "proto/step_field.def"
    {0}};
#undef USAGE
#undef STEP
#define STEP(member, text, json, columns, sstat, why)
#define USAGE(member, json, sstat, why) {#member, "", json, "", why, false, sstat},
static struct row usage_rows[] = {
#include "proto/step_field.def"
    {0}};
#undef USAGE
#undef STEP

#define MEMBER(name, status, value) {name, status == WORKS},
#define FIELD(id, name, letter, title, status, a, b, value, help) {name, status == WORKS},
enum { EMPTY, PLANNED, WORKS };
static const struct name job_members[] =
    {
#include "show/job_members.def"
        {0}},
                         job_names[] =
                             {
#include "show/job_columns.def"
                                 {0}},
                         node_members[] =
                             {
#include "show/node_members.def"
                                 {0}},
                         node_names[] =
                             {
#undef FIELD
#define FIELD(id, name, letter, title, status, class, needs, value, help) {name, status == WORKS},
#include "show/node_columns.def"
                                 {0}},
                         part_members[] =
                             {
#include "show/part_members.def"
                                 {0}},
                         resv_members[] =
                             {
#include "show/resv_members.def"
                                 {0}},
                         step_members[] =
                             {
#include "show/step_members.def"
                                 {0}},
                         step_names[] =
                             {
#undef FIELD
#define FIELD(id, name, letter, title, status, value, help) {name, status == WORKS},
#include "show/step_columns.def"
                                 {0}},
                         usage_names[] = {
#undef FIELD
#define FIELD(id, name, letter, width, value, help) {name, true},
#include "show/usage_columns.def"
                             {0}};
#undef FIELD

/* --- the output of a record, as an object ------------------------------------------------------
 */

/* Adds "text KEY" for "KEY=value KEY=value"; a repeated key has all of its values. */
static void add_text(json_t *out, const struct str *text)
{
    _cleanup_arena_ struct arena a;
    char *rest = NULL;
    arena_init(&a, 0);
    char *copy = arena_strdup(&a, str_cstr(text));
    for (char *word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (!strchr(word, '='))
            continue;
        const char *key = arena_printf(&a, "text %.*s", (int)strcspn(word, "="), word);
        const char *before = json_string_value(json_object_get(out, key));
        json_object_set_new(out, key,
                            json_string(arena_printf(&a, "%s %s", before ? before : "", word)));
    }
}

static void add_json(json_t *out, json_t *record)
{
    const char *name;
    json_t *value;
    json_object_foreach(record, name, value)
    {
        char key[128];
        snprintf(key, sizeof key, "json %s", name);
        json_object_set(out, key, value);
    }
    json_decref(record);
}

static void add_columns(json_t *out, const struct listing_table *table, struct listing *l,
                        const void *record)
{
    for (size_t i = 0; i < table->count; i++) {
        _cleanup_str_ struct str value = STR_INIT;
        char key[128];
        if (!*table->fields[i].name)
            continue;
        listing_put_value(l, &table->fields[i], record, &value);
        snprintf(key, sizeof key, "column %s", table->fields[i].name);
        json_object_set_new(out, key, json_string(str_cstr(&value)));
    }
}

static json_t *print_job(const void *record)
{
    const Pb__JobRecord *job = record;
    _cleanup_str_ struct str text = STR_INIT;
    struct job_columns_view view = {.job = job, .now = NOW, .cluster = "c"};
    struct listing l;
    json_t *out = json_object();
    show_job_text(job, NOW, (struct show_style){.details = true}, &text);
    add_text(out, &text);
    add_json(out, show_job_json(job, "c"));
    listing_init(&l, &job_columns);
    add_columns(out, &job_columns, &l, &view);
    listing_done(&l);
    return out;
}

static void add_line(json_t *out, const Pb__NodeRecord *node, const Pb__PartRecord *part)
{
    struct listing l;
    struct node_rows rows = {.by_node = true, .hosts = true, .listing = &l};
    struct node_rows_unit unit = {.node = node, .count = 1};
    listing_init(&l, &node_columns);
    listing_set_names(&l, "all");
    node_rows_add(&rows, part, 0, &unit);
    add_columns(out, &node_columns, &l, rows.list.data[0]);
    vec_done(&unit.in);
    node_rows_done(&rows);
    listing_done(&l);
}

static json_t *print_node(const void *record)
{
    const Pb__NodeRecord *node = record;
    _cleanup_str_ struct str text = STR_INIT;
    Pb__PartRecord part = PB__PART_RECORD__INIT;
    json_t *out = json_object();
    part.name = (char *)"p";
    show_node_text(node, (struct show_style){.details = true}, &text);
    add_text(out, &text);
    add_json(out, show_node_json(node, "c"));
    add_line(out, node, &part);
    return out;
}

static json_t *print_part(const void *record)
{
    const Pb__PartRecord *part = record;
    _cleanup_str_ struct str text = STR_INIT;
    Pb__NodeRecord node = PB__NODE_RECORD__INIT;
    json_t *out = json_object();
    node.name = (char *)"n1";
    show_part_text(part, (struct show_style){.details = true}, &text);
    add_text(out, &text);
    add_json(out, show_part_json(part, "c"));
    add_line(out, &node, part);
    return out;
}

static json_t *print_resv(const void *record)
{
    _cleanup_str_ struct str text = STR_INIT;
    json_t *out = json_object();
    show_resv_text(record, (struct show_style){.details = true}, &text);
    add_text(out, &text);
    add_json(out, show_resv_json(record));
    return out;
}

/* A step with the usage that its nodes report. */
struct step_view {
    const Pb__StepRecord *step;
    const Pb__Usage *usage;
};

static void add_sstat(json_t *out, const struct step_view *v)
{
    const struct usage_columns_view view = {
        .step = v->step, .usage = v->usage, .nodes = "", .pids = "", .first_node = "n1"};
    for (const struct name *n = usage_names; n->name; n++) {
        _cleanup_str_ struct str value = STR_INIT;
        struct usage_columns column = {.divided = true};
        char key[128];
        snprintf(key, sizeof key, "sstat %s", n->name);
        assert_int_equal(usage_columns_add(&column, n->name, NULL), 0);
        usage_columns_print(&column, &view, &value);
        json_object_set_new(out, key, json_string(str_cstr(&value)));
        usage_columns_done(&column);
    }
}

static json_t *print_step(const void *record)
{
    const struct step_view *v = record;
    _cleanup_str_ struct str text = STR_INIT;
    struct job_columns_view view = {.step = v->step, .now = NOW, .cluster = "c"};
    struct listing l;
    json_t *out = json_object();
    show_step_text(v->step, (struct show_style){.details = true}, &text);
    add_text(out, &text);
    add_json(out, show_step_json(v->step, "c", NOW));
    listing_init(&l, &step_columns);
    add_columns(out, &step_columns, &l, &view);
    listing_done(&l);
    add_sstat(out, v);
    return out;
}

/* --- fields -------------------------------------------------------------------------------------
 */

/* Adds the differences to 'found'. */
static void compare_outputs(json_t *before, json_t *after, json_t *found)
{
    const char *key;
    json_t *value;
    json_object_foreach(after, key, value)
    {
        if (!json_equal(value, json_object_get(before, key)))
            json_object_set_new(found, key, json_true());
    }
    json_object_foreach(before, key, value)
    {
        if (!json_object_get(after, key))
            json_object_set_new(found, key, json_true());
    }
}

struct record {
    const void *whole;   /* the printed object */
    ProtobufCMessage *m; /* 'whole', or the part of it whose fields are changed */
    json_t *(*print)(const void *whole);
};

/* Finds what changes in one of the records with one of the candidate values. */
static json_t *find_changes(const struct record *records, size_t count,
                            const ProtobufCFieldDescriptor *f, struct arena *a)
{
    json_t *found = json_object();
    for (size_t r = 0; r < count; r++) {
        ProtobufCMessage *m = records[r].m;
        void *kept = arena_alloc(a, m->descriptor->sizeof_message);
        memcpy(kept, m, m->descriptor->sizeof_message);
        json_t *before = records[r].print(records[r].whole);
        for (size_t i = 0; pb_test_set(m, f, i, a); i++) {
            json_t *after = records[r].print(records[r].whole);
            compare_outputs(before, after, found);
            json_decref(after);
            memcpy(m, kept, m->descriptor->sizeof_message);
        }
        memcpy(m, kept, m->descriptor->sizeof_message);
        json_decref(before);
    }
    json_object_update(seen, found);
    return found;
}

/* The names of one kind, separated by blanks. */
static const char *list_names(json_t *found, const char *kind, struct arena *a)
{
    const char *key, *list = "";
    json_t *value;
    json_object_foreach(found, key, value)
    {
        if (str_starts(key, kind))
            list = arena_printf(a, "%s%s%s", list, *list ? " " : "", key + strlen(kind));
    }
    return list;
}

static void sort_changes(json_t **found)
{
    char *text = json_dumps(*found, JSON_SORT_KEYS);
    json_decref(*found);
    *found = json_loads(text, 0, NULL);
    free(text);
}

static struct row *find_row(struct row *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

/* Returns 0 if each field has a row that names what the field changes. */
static int check_fields(struct row *rows, const char *table, const struct record *records,
                        size_t count)
{
    int wrong = 0;
    const ProtobufCMessageDescriptor *type = records[0].m->descriptor;
    pb_each_field (type, f) {
        _cleanup_arena_ struct arena a;
        arena_init(&a, 0);
        json_t *found = find_changes(records, count, f, &a);
        sort_changes(&found);
        const char *text = list_names(found, "text ", &a), *json = list_names(found, "json ", &a),
                   *columns = list_names(found, "column ", &a),
                   *sstat = list_names(found, "sstat ", &a);
        struct row *row = find_row(rows, f->name);
        bool is_shown = *text || *json || *columns || *sstat;
        if (!row || strcmp(row->text, text) || strcmp(row->json, json) ||
            strcmp(row->columns, columns) || (row->sstat && strcmp(row->sstat, sstat)) ||
            (!is_shown && !*row->why)) {
            print_error("%s: %s: the row must have \"%s\", \"%s\", \"%s\"%s%s%s%s\n", table,
                        f->name, text, json, columns, *sstat ? ", \"" : "", sstat,
                        *sstat ? "\"" : "", is_shown ? "" : ", and say why it is not shown");
            wrong++;
        }
        if (row)
            row->is_seen = true;
        json_decref(found);
    }
    for (; rows->name; rows++)
        if (!rows->is_seen) {
            print_error("%s: %s is no field of %s\n", table, rows->name, type->name);
            wrong++;
        }
    return wrong;
}

/* Returns 0 if each working name is changed by some field, except the name 'besides'. */
static int check_names(const struct name *names, const char *kind, const char *besides)
{
    int wrong = 0;
    for (; names->name; names++) {
        char key[128];
        snprintf(key, sizeof key, "%s %s", kind, names->name);
        if (!names->works || !*names->name || json_object_get(seen, key) ||
            strcmp(names->name, besides) == 0)
            continue;
        print_error("%s works, and no field changes it\n", key);
        wrong++;
    }
    return wrong;
}

static int make_seen(void **state)
{
    seen = json_object();
    return 0;
}

static int free_seen(void **state)
{
    json_decref(seen);
    return 0;
}

static void test_each_job_field_is_printed(void **state)
{
    struct job {
        Pb__JobRecord whole;
        Pb__JobSpec spec;
        Pb__JobLive live;
    } jobs[5];
    static const Pb__JobState states[] = {PB__JOB_STATE__PENDING, PB__JOB_STATE__RUNNING,
                                          PB__JOB_STATE__COMPLETED, PB__JOB_STATE__SUSPENDED,
                                          PB__JOB_STATE__RUNNING};
    struct record specs[5], lives[5];
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < 5; i++) {
        struct job *j = &jobs[i];
        pb__job_record__init(&j->whole);
        pb__job_spec__init(&j->spec);
        pb__job_live__init(&j->live);
        j->whole.spec = &j->spec;
        j->whole.live = &j->live;
        j->live.job_id = 7;
        j->live.state = states[i];
        SET(&j->spec, min_nodes, 1);
        if (!i)
            j->spec.partition = (char *)"a,b";
        if (i) {
            SET(&j->live, start_at, 1900000);
            if (i < 4)
                SET(&j->live, array_job_id, 7);
            else
                SET(&j->live, set_id, 7);
            SET(&j->live, suspended_at, i == 3 ? 1999990 : 0);
            SET(&j->spec, batch, true);
            SET(&j->spec, req_switches, 1);
            SET(&j->live, end_at, i == 2 ? 1999990 : 2000900);
            j->live.nodes = (char *)"n1";
            SET(&j->live, num_nodes, 1);
            SET(&j->live, num_cpus, 4);
            SET(&j->live, time_limit_sec, 1000);
        }
        specs[i] = (struct record){&j->whole, &j->spec.base, print_job};
        lives[i] = (struct record){&j->whole, &j->live.base, print_job};
    }
    int wrong = check_fields(spec_rows, "proto/job_field.def: JOB_SPEC", specs, 5) +
                check_fields(live_rows, "proto/job_field.def: JOB_LIVE", lives, 5) +
                check_names(job_members, "json", "cluster") +
                check_names(job_names, "column", "Cluster");
    assert_int_equal(wrong, 0);
}

static void test_each_node_field_is_printed(void **state)
{
    Pb__NodeRecord nodes[2] = {PB__NODE_RECORD__INIT, PB__NODE_RECORD__INIT};
    struct record records[2];
    for (size_t i = 0; i < 2; i++) {
        nodes[i].name = (char *)"n1";
        if (i) {
            SET(&nodes[i], cpus, 8);
            SET(&nodes[i], reason_at, 1900000);
            nodes[i].reason = (char *)"broken";
        }
        records[i] = (struct record){&nodes[i], &nodes[i].base, print_node};
    }
    assert_int_equal(check_fields(node_rows, "proto/node_field.def", records, 2), 0);
    assert_int_equal(check_names(node_members, "json", "cluster_name"), 0);
}

static void test_each_partition_field_is_printed(void **state)
{
    Pb__PartRecord part = PB__PART_RECORD__INIT;
    struct record record = {&part, &part.base, print_part};
    part.name = (char *)"p";
    assert_int_equal(check_fields(part_rows, "proto/part_field.def", &record, 1), 0);
    assert_int_equal(check_names(part_members, "json", "cluster"), 0);
    /* Depends on the list, not on a record. */
    json_object_set_new(seen, "column PartitionOrder", json_true());
    assert_int_equal(check_names(node_names, "column", "Nodes"), 0);
}

static void test_each_reservation_field_is_printed(void **state)
{
    Pb__ResvRecord resv = PB__RESV_RECORD__INIT;
    struct record record = {&resv, &resv.base, print_resv};
    resv.name = (char *)"r";
    assert_int_equal(check_fields(resv_rows, "proto/resv_field.def", &record, 1), 0);
    assert_int_equal(check_names(resv_members, "json", ""), 0);
}

/* Sets a value of each kind. */
static void set_marks(Pb__Usage *usage, struct arena *a)
{
    size_t count = pb__usage_kind__descriptor.n_values;
    Pb__UsageMark **marks = arena_alloc(a, count * sizeof *marks);
    for (size_t i = 0; i < count; i++) {
        marks[i] = arena_alloc(a, sizeof *marks[i]);
        pb__usage_mark__init(marks[i]);
        marks[i]->kind = (Pb__UsageKind)i;
        marks[i]->value = 5000000;
        SET(marks[i], task, 7);
        marks[i]->node = (char *)"n9";
    }
    usage->most = usage->least = marks;
    usage->n_most = usage->n_least = count;
}

static void test_each_step_field_is_printed(void **state)
{
    static const Pb__Usage none = PB__USAGE__INIT;
    Pb__StepRecord steps[3];
    Pb__Usage usages[2] = {none, none};
    struct step_view of_step[3], of_usage[2];
    struct record records[3], parts[2];
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    json_object_clear(seen); /* removes the names of other records */
    for (size_t i = 0; i < 3; i++) {
        pb__step_record__init(&steps[i]);
        steps[i].job_id = 7;
        of_step[i] = (struct step_view){&steps[i], &none};
        records[i] = (struct record){&of_step[i], &steps[i].base, print_step};
        if (!i)
            continue;
        SET(&steps[i], state, PB__STEP_STATE__STEP_RUNNING);
        SET(&steps[i], start_at, 1900000);
        SET(&steps[i], srun_pid, 5);
        SET(&steps[i], num_nodes, 1);
        SET(&steps[i], num_cpus, 4);
        SET(&steps[i], num_tasks, 2);
        if (i < 2)
            continue;
        SET(&steps[i], end_at, 1999990);
        SET(&steps[i], array_job_id, 7);
        SET(&steps[i], array_task_id, 1);
        SET(&steps[i], set_id, 7);
    }
    int wrong = check_fields(step_rows, "proto/step_field.def: STEP", records, 3);
    set_marks(&usages[1], &a);
    for (size_t i = 0; i < 2; i++) {
        SET(&usages[i], tasks, 2);
        steps[i].usage = &usages[i];
        of_usage[i] = (struct step_view){&steps[i], &usages[i]};
        parts[i] = (struct record){&of_usage[i], &usages[i].base, print_step};
    }
    wrong += check_fields(usage_rows, "proto/step_field.def: USAGE", parts, 2) +
             check_names(step_members, "json", "cluster") +
             check_names(step_names, "column", "Cluster");
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_job_field_is_printed),
        cmocka_unit_test(test_each_node_field_is_printed),
        cmocka_unit_test(test_each_partition_field_is_printed),
        cmocka_unit_test(test_each_reservation_field_is_printed),
        cmocka_unit_test(test_each_step_field_is_printed),
    };
    return cmocka_run_group_tests(tests, make_seen, free_seen);
}
