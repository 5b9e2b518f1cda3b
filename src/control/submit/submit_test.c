/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests as texts, with the reply to each and the resulting job: see tests/submissions/README.md.
 * The argument is the directory; with a second argument "record" the replies are written into the
 * files.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/pb.h"
#include "control/fixture.h"

#define TURNS_MOST 1000 /* until a query about a start is answered */

static const char *directory;
static bool is_recording;

struct play {
    struct fixture *f;
    const char *file;
    struct str out;
    struct arena arena; /* for the present line */
    uint32_t last;      /* id in the last reply to a submission; "last" in a line */
};

static void fail_line(const struct play *p, const char *what, const char *line)
{
    fail_msg("%s: %s: '%s'", p->file, what, line);
}

/* --- messages as texts -------------------------------------------------------------------------
 */

static void set_value(const struct play *p, const ProtobufCFieldDescriptor *field, void *at,
                      char *text)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)at = text;
        break;
    case PROTOBUF_C_TYPE_BYTES:
        *(ProtobufCBinaryData *)at = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = text[0] == '1';
        break;
    case PROTOBUF_C_TYPE_INT32:
        *(int32_t *)at = (int32_t)strtol(text, NULL, 10);
        break;
    case PROTOBUF_C_TYPE_UINT32:
        *(uint32_t *)at = (uint32_t)strtoul(text, NULL, 10);
        break;
    case PROTOBUF_C_TYPE_INT64:
        *(int64_t *)at = strtoll(text, NULL, 10);
        break;
    case PROTOBUF_C_TYPE_UINT64:
        *(uint64_t *)at = strtoull(text, NULL, 10);
        break;
    default:
        fail_line(p, "a field of another type", field->name);
    }
}

static void append_text(struct play *p, void *at, size_t *count, char *text)
{
    char ***list = at;
    char **more = arena_alloc(&p->arena, (*count + 1) * sizeof *more);
    if (*count)
        memcpy(more, *list, *count * sizeof *more);
    more[*count] = text;
    *list = more;
    ++*count;
}

/* Sets NAME=VALUE; false: the message has no such field. */
static bool set_field(struct play *p, ProtobufCMessage *m, const char *word)
{
    char *name = arena_strdup(&p->arena, word), *value = strchr(name, '=');
    if (!value)
        fail_line(p, "no NAME=VALUE", word);
    *value++ = 0;
    for (char *s = value; *s; s++) /* blanks separate words */
        *s = *s == '~' ? ' ' : *s;
    const ProtobufCFieldDescriptor *field = pb_find_field(m->descriptor, name);
    if (!field)
        return false;
    char *at = (char *)m + field->offset, *count = (char *)m + field->quantifier_offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        append_text(p, at, (size_t *)(void *)count, value);
        return true;
    }
    set_value(p, field, at, value);
    if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->type != PROTOBUF_C_TYPE_STRING)
        *(protobuf_c_boolean *)(void *)count = true;
    return true;
}

static void show_text(struct play *p, const char *text)
{
    for (; *text; text++)
        str_printf(&p->out, *text == '\n' ? "\\n" : "%c", *text);
}

static void show_field(struct play *p, const ProtobufCMessage *m,
                       const ProtobufCFieldDescriptor *field)
{
    const void *at = (const char *)m + field->offset;
    str_printf(&p->out, " %s=", field->name);
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        show_text(p, *(char *const *)at);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        str_printf(&p->out, "(%zu bytes)", ((const ProtobufCBinaryData *)at)->len);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        str_printf(&p->out, "%d", *(const protobuf_c_boolean *)at);
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        str_printf(&p->out, "%" PRId32, *(const int32_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT32:
        str_printf(&p->out, "%" PRIu32, *(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_INT64:
        str_printf(&p->out, "%" PRId64, *(const int64_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
        str_printf(&p->out, "%" PRIu64, *(const uint64_t *)at);
        break;
    default:
        str_printf(&p->out, "?");
    }
}

/* Writes only the fields that differ from 'before', which may be NULL. */
static void show_message(struct play *p, const ProtobufCMessage *m, const ProtobufCMessage *before)
{
    pb_each_field (m->descriptor, field) {
        if (field->label == PROTOBUF_C_LABEL_REPEATED || field->type == PROTOBUF_C_TYPE_MESSAGE)
            continue;
        bool had = before && pb_has(before, field);
        if (pb_has(m, field) && !(had && pb_same_field(m, before, field)))
            show_field(p, m, field);
        else if (had && !pb_has(m, field))
            str_printf(&p->out, " -%s", field->name);
    }
}

/* --- the site's job_submit ---------------------------------------------------------------------
 */

static struct play *playing;

static bool asks_submit(void *ctx)
{
    return true;
}

/* --extra controls the plugin: "say/TEXT/set/NAME=VALUE/refuse". */
static int run_plugin(void *ctx, struct env_submit *ask, struct err *err)
{
    const char *todo = ask->spec->extra ? ask->spec->extra : "";
    char *save = NULL, *copy = arena_strdup(&playing->arena, todo);
    for (char *word = strtok_r(copy, "/", &save); word; word = strtok_r(NULL, "/", &save)) {
        if (str_eq(word, "say"))
            str_puts(ask->message, strtok_r(NULL, "/", &save));
        else if (str_eq(word, "set"))
            set_field(playing, &ask->spec->base, strtok_r(NULL, "/", &save));
        else if (str_eq(word, "parts"))
            str_printf(ask->message, "%zu partitions", ask->n_parts);
        else if (str_eq(word, "before"))
            str_printf(ask->message, "before: %s",
                       ask->before && ask->before->name ? ask->before->name : "none");
        else if (str_eq(word, "refuse"))
            return err_set(err, -ERR_SCRIPT, "the site refuses %s", ask->spec->name);
    }
    return 0;
}

/* --- requests ----------------------------------------------------------------------------------
 */

static struct caller find_caller(const struct play *p, const char *name)
{
    if (str_eq(name, "root"))
        return FIXTURE_ROOT;
    if (str_eq(name, "ann"))
        return FIXTURE_USER;
    if (!str_eq(name, "bob") && !str_eq(name, "op"))
        fail_line(p, "an unknown caller", name);
    struct caller bob = FIXTURE_OTHER;
    bob.is_operator = str_eq(name, "op");
    return bob;
}

static const struct fixture_reply *find_reply(struct play *p, uint64_t call)
{
    for (unsigned i = 0; i < TURNS_MOST && fixture_code(p->f, call) < 0; i++)
        fixture_turn(p->f);
    vec_foreach (&p->f->replies, r)
        if (r->call == call)
            return r;
    return NULL;
}

/* Writes the state of the job, and of its spec the differences from 'before'. */
static void show_job(struct play *p, uint32_t id, const Pb__JobSpec *before)
{
    const Pb__JobRecord *r = fixture_job(p->f, &p->arena, id);
    if (!r)
        return;
    const Pb__JobLive *l = r->live;
    str_printf(&p->out, "    job %u: %d %s", id, l->state, l->reason ? l->reason : "None");
    if (l->reason_detail)
        str_printf(&p->out, " (%s)", l->reason_detail);
    str_printf(&p->out, " partition=%s priority=%u limit=%" PRId64 " nodes=%u cpus=%u tasks=%u",
               l->partition ? l->partition : "none", l->priority, l->time_limit_sec, l->num_nodes,
               l->num_cpus, l->num_tasks);
    if (l->nodes)
        str_printf(&p->out, " on=%s", l->nodes);
    if (l->dependency)
        str_printf(&p->out, " waits=%s", l->dependency);
    str_puts(&p->out, ";");
    show_message(p, &r->spec->base, before ? &before->base : NULL);
    str_puts(&p->out, "\n");
}

static void show_reply(struct play *p, uint64_t call, const ProtobufCMessageDescriptor *type,
                       const Pb__JobSpec *asked)
{
    const struct fixture_reply *r = find_reply(p, call);
    uint32_t id = 0;
    if (!r) {
        str_puts(&p->out, "    no reply yet\n");
        return;
    }
    if (r->code) {
        str_printf(&p->out, "    %s: ", err_name(r->code));
        show_text(p, str_cstr(&r->text));
        str_puts(&p->out, "\n");
        return;
    }
    const ProtobufCMessage *m = arena_unpack(&p->arena, type, r->data.data, r->data.len);
    if (type == &pb__submit_reply__descriptor)
        id = p->last = ((const Pb__SubmitReply *)(const void *)m)->job_id;
    str_puts(&p->out, "    done:");
    show_message(p, m, NULL);
    str_puts(&p->out, "\n");
    if (id)
        show_job(p, id, asked);
}

/* The words of a line after the verb set fields of the spec or of the request itself. */
static void read_request(struct play *p, char **save, Pb__JobSpec *spec, ProtobufCMessage *request,
                         Pb__JobPayload *payload)
{
    for (char *word; (word = strtok_r(NULL, " ", save));) {
        long bytes = strchr(word, '=') ? atol(strchr(word, '=') + 1) : 0;
        if (str_starts(word, "script=") && payload) {
            payload->has_script = bytes > 0;
            payload->script.len = (size_t)bytes;
            payload->script.data = arena_alloc(&p->arena, (size_t)bytes + 1);
        } else if (str_starts(word, "env=") && payload) {
            char *text = arena_alloc(&p->arena, (size_t)bytes + 1);
            memset(text, 'x', (size_t)bytes);
            append_text(p, &payload->env, &payload->n_env, text);
        } else if (!(request && word[0] == '+' && set_field(p, request, word + 1)) &&
                   !set_field(p, &spec->base, word)) {
            fail_line(p, "an unknown field", word);
        }
    }
}

static void play_submit(struct play *p, const struct caller *who, char **save, bool test)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    uint64_t call = ++p->f->last_call;
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
    r.spec = &spec;
    r.payload = &payload;
    r.has_test_only = r.test_only = test;
    read_request(p, save, &spec, NULL, &payload);
    control_submit(p->f->control, call, who, &r);
    fixture_turn(p->f);
    show_reply(p, call, &pb__submit_reply__descriptor, &spec);
}

static void play_alloc(struct play *p, const struct caller *who, char **save)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    uint64_t call = ++p->f->last_call;
    r.spec = &spec;
    read_request(p, save, &spec, &r.base, NULL);
    control_alloc(p->f->control, call, who, &r);
    fixture_turn(p->f);
    show_reply(p, call, &pb__alloc_reply__descriptor, &spec);
}

static void play_update(struct play *p, const struct caller *who, char **save)
{
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    uint64_t call = ++p->f->last_call;
    const char *id = strtok_r(NULL, " ", save);
    r.job_id = str_eq(id, "last") ? p->last : (uint32_t)strtoul(id, NULL, 10);
    read_request(p, save, &set, &r.base, NULL);
    const Pb__JobRecord *before = fixture_job(p->f, &p->arena, r.job_id);
    pb_each_field (set.base.descriptor, field)
        if (pb_has(&set.base, field))
            r.set = &set;
    control_job_update(p->f->control, call, who, &r);
    fixture_turn(p->f);
    show_reply(p, call, &pb__empty__descriptor, NULL);
    show_job(p, r.job_id, before ? before->spec : NULL);
}

static void play_resv(struct play *p, const struct caller *who, char **save)
{
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    Pb__ResvUpdate r = PB__RESV_UPDATE__INIT;
    uint64_t call = ++p->f->last_call;
    r.set = &set;
    r.has_create = r.create = true;
    for (char *word; (word = strtok_r(NULL, " ", save));)
        set_field(p, &set.base, word);
    control_resv_update(p->f->control, call, who, &r);
    fixture_turn(p->f);
    show_reply(p, call, &pb__resv_reply__descriptor, NULL);
}

static void play_part(struct play *p, char **save)
{
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    for (char *word; (word = strtok_r(NULL, " ", save));)
        set_field(p, &set.base, word);
    assert_int_equal(fixture_update_part(p->f, &set), 0);
}

/* Executes "CALLER VERB FIELD=VALUE...". */
static void play_line(struct play *p, char *line)
{
    char *save = NULL;
    const char *name = strtok_r(line, " ", &save), *verb = strtok_r(NULL, " ", &save);
    struct caller who = find_caller(p, name);
    if (str_eq(verb, "submit") || str_eq(verb, "test"))
        play_submit(p, &who, &save, str_eq(verb, "test"));
    else if (str_eq(verb, "alloc"))
        play_alloc(p, &who, &save);
    else if (str_eq(verb, "update"))
        play_update(p, &who, &save);
    else if (str_eq(verb, "reserve"))
        play_resv(p, &who, &save);
    else if (str_eq(verb, "partition"))
        play_part(p, &save);
    else if (str_eq(verb, "waits"))
        fixture_pass(p->f, 1000 * atol(strtok_r(NULL, " ", &save)));
    else if (str_eq(verb, "restarts"))
        fixture_restart(p->f);
    else
        fail_line(p, "an unknown verb", verb);
}

/* --- files -------------------------------------------------------------------------------------
 */

static void begin_cluster(struct play *p, const char *conf)
{
    if (p->f)
        fixture_free(p->f);
    p->f = fixture_new(conf);
    p->f->env.asks_submit = asks_submit;
    p->f->env.submit = run_plugin;
    for (unsigned i = 1; i <= 4; i++) {
        char node[4];
        snprintf(node, sizeof node, "n%u", i);
        fixture_register(p->f, node, "i1");
    }
}

/* Indented lines below "cluster" are its configuration, all others are replies. */
static void play_text(struct play *p, char *text)
{
    _cleanup_str_ struct str conf = STR_INIT;
    bool in_cluster = false;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        bool indented = line[0] == ' ';
        if (in_cluster && !indented)
            begin_cluster(p, str_cstr(&conf));
        in_cluster = str_eq(line, "cluster") || (in_cluster && indented);
        if (in_cluster && !indented)
            str_clear(&conf);
        if (indented && !in_cluster)
            continue;
        str_printf(&p->out, "%s\n", line);
        if (in_cluster) {
            str_printf(&conf, "%s\n", indented ? line + 4 : "");
        } else if (*line && *line != '#') {
            arena_init(&p->arena, 0);
            play_line(p, line);
            arena_done(&p->arena);
            fixture_clear(p->f);
        }
    }
}

/* Returns the first line that differs, for the message. */
static size_t find_difference(const char *wanted, const char *got)
{
    size_t begin = 0;
    for (size_t i = 0; wanted[i] == got[i]; i++) {
        if (!wanted[i])
            return i;
        if (wanted[i] == '\n')
            begin = i + 1;
    }
    return begin;
}

static void play_file(const char *name)
{
    _cleanup_str_ struct str path = STR_INIT, text = STR_INIT, copy = STR_INIT;
    struct play p = {.file = name};
    struct err err = {0};
    str_printf(&path, "%s/%s", directory, name);
    assert_int_equal(path_read_file(str_cstr(&path), 4 << 20, &text, &err), 0);
    str_puts(&copy, str_cstr(&text));
    playing = &p;
    play_text(&p, copy.data);
    fixture_free(p.f);
    if (is_recording) {
        assert_int_equal(path_write_file(str_cstr(&path), p.out.data, p.out.len, 0644, &err), 0);
    } else if (!str_eq(str_cstr(&text), str_cstr(&p.out))) {
        size_t at = find_difference(str_cstr(&text), str_cstr(&p.out));
        fail_msg("%s: expected\n%.1200s\nand it is\n%.1200s", name, str_cstr(&text) + at,
                 str_cstr(&p.out) + at);
    }
    str_done(&p.out);
}

static void requests_have_the_recorded_replies(void **state)
{
    struct dirent **names;
    int n = scandir(directory, &names, NULL, alphasort), tried = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *end = strrchr(names[i]->d_name, '.');
        if (end && str_eq(end, ".txt")) {
            play_file(names[i]->d_name);
            tried++;
        }
        free(names[i]);
    }
    free(names);
    assert_true(tried > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_have_the_recorded_replies)};
    if (argc < 2) {
        fprintf(stderr, "usage: submit_test DIRECTORY [record]\n");
        return 2;
    }
    directory = argv[1];
    is_recording = argc > 2 && str_eq(argv[2], "record");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
