/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sluice events: transitions of jobs and nodes, a line each. What was printed is acknowledged with
 * the next request, so that an event comes twice rather than never.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cli/cmd.h"
#include "cluster/transition.h"
#include "cmd/sluice/sluice.h"
#include "control/event.h"
#include "proto/event.pb-c.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/show.h"

#define AGAIN_SEC 1                     /* between two attempts to reach a controller */
#define WAIT_MS (EVENT_WAIT_MS + 30000) /* for an answer that waits for an event */

/* --- words -------------------------------------------------------------------------------------
 */

static const char *find_word(const char *const *words, size_t count, uint32_t i)
{
    return i < count && words[i] ? words[i] : "UNKNOWN";
}

static const char *cause_word(uint32_t cause)
{
    static const char *const words[] = {
#define CAUSE(id) [CAUSE_##id] = #id,
#include "cluster/transition.def"
#undef CAUSE
    };
    return find_word(words, sizeof(words) / sizeof(words[0]), cause);
}

static const char *kind_word(uint32_t kind)
{
    static const char *const words[] = {
#define KIND(id, bit) [bit] = #id,
#include "cluster/transition.def"
#undef KIND
    };
    return find_word(words, sizeof(words) / sizeof(words[0]),
                     kind ? (uint32_t)__builtin_ctz(kind) : UINT32_MAX);
}

static const char *state_word(enum _Pb__JobState state)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&pb__job_state__descriptor, state);
    return value ? value->name : "UNKNOWN";
}

static void put_lower(const char *word, struct str *out)
{
    for (; *word; word++)
        str_putc(out, *word == '_' ? '-' : tolower((unsigned char)*word));
}

/* "UP", "DOWN+DRAIN" */
static void put_flags(uint32_t flags, struct str *out)
{
    static const char *const words[] = {"DOWN", "DRAIN", "FAIL", "FUTURE"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (flags >> i & 1)
            str_printf(out, "%s%s", count++ ? "+" : "", words[i]);
    if (!count)
        str_puts(out, "UP");
}

/* --- text --------------------------------------------------------------------------------------
 */

static void put_value(const char *key, const char *text, struct str *out)
{
    if (!text || !*text)
        return;
    bool quoted = strpbrk(text, " \t\n\"") != NULL;
    str_printf(out, " %s=%s", key, quoted ? "\"" : "");
    text_escape(text, out);
    str_puts(out, quoted ? "\"" : "");
}

static void put_job(const Pb__JobTransition *j, struct str *out)
{
    str_puts(out, " job ");
    if (j->has_array_id && j->has_task)
        str_printf(out, "%u_%u(%u)", j->array_id, j->task, j->job_id);
    else if (j->has_array_id)
        str_printf(out, "%u_[%s]", j->array_id, j->array_tasks ? j->array_tasks : "");
    else
        str_printf(out, "%u", j->job_id);
    if (j->kind != TRANSITION_SUBMITTED)
        str_printf(out, " %s ->", state_word(j->from));
    str_printf(out, " %s cause=", state_word(j->to));
    put_lower(cause_word(j->cause), out);
    put_value("user", names_user(j->uid), out);
    if (j->attempt)
        str_printf(out, " attempt=%u", j->attempt);
    put_value("partition", j->partition, out);
    put_value("nodes", j->nodes, out);
    if (j->has_exit_status) {
        str_puts(out, " exit=");
        job_state_put_exit(j->exit_status, out);
    }
    put_value("reason", j->reason, out);
    put_value("detail", j->detail, out);
}

static void put_text(const Pb__Event *e, struct str *out)
{
    char date[TIME_TEXT_MAX];
    str_printf(out, "%" PRIu64 " %s", e->number, time_format_date(e->at_ms / 1000, "", date));
    if (e->job) {
        put_job(e->job, out);
    } else {
        str_printf(out, " node %s ", e->node->name);
        put_flags(e->node->from, out);
        str_puts(out, " -> ");
        put_flags(e->node->to, out);
        put_value("reason", e->node->reason, out);
    }
    str_putc(out, '\n');
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_out_text(text) : json_null();
}

static json_t *lower_case(const char *word)
{
    _cleanup_str_ struct str out = STR_INIT;
    put_lower(word, &out);
    return json_string(str_cstr(&out));
}

static json_t *flags_list(uint32_t flags)
{
    _cleanup_str_ struct str out = STR_INIT;
    put_flags(flags, &out);
    for (char *p = out.data; (p = strchr(p, '+'));)
        *p = ',';
    return json_out_list(str_cstr(&out));
}

static json_t *job_object(const Pb__JobTransition *j)
{
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:I, s:s, s:I, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
        "job_id", (json_int_t)j->job_id, "array_job_id",
        json_out_number(j->has_array_id, false, j->array_id), "array_task_id",
        json_out_number(j->has_task, false, j->task), "array_tasks", text_or_null(j->array_tasks),
        "user_id", (json_int_t)j->uid, "user_name", names_user(j->uid), "attempt",
        (json_int_t)j->attempt, "event", lower_case(kind_word(j->kind)), "from",
        state_word(j->from), "to", state_word(j->to), "cause", lower_case(cause_word(j->cause)),
        "partition", text_or_null(j->partition), "nodes", text_or_null(j->nodes), "exit_code",
        j->has_exit_status ? show_exit_code_json(j->exit_status) : json_null(), "reason",
        text_or_null(j->reason), "detail", text_or_null(j->detail));
}

static json_t *node_object(const Pb__NodeTransition *n)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", json_out_text(n->name), "from",
                     flags_list(n->from), "to", flags_list(n->to), "reason",
                     text_or_null(n->reason));
}

/* An object in a line. */
static void put_json(const Pb__Event *e, struct str *out)
{
    json_t *o = json_pack("{s:I, s:I, s:o}", "number", (json_int_t)e->number, "time_ms",
                          (json_int_t)e->at_ms, e->job ? "job" : "node",
                          e->job ? job_object(e->job) : node_object(e->node));
    _cleanup_free_ char *line = json_dumps(o, JSON_COMPACT);
    str_printf(out, "%s\n", line ? line : "");
    json_decref(o);
}

/* --- the stream --------------------------------------------------------------------------------
 */

struct stream {
    const struct sluice_options *options;
    bool placed;    /* 'since' is known */
    uint64_t since; /* all up to this number was printed */
    bool incomplete, unreachable;
};

static void note_missing(struct stream *s, uint64_t from, uint64_t to)
{
    s->incomplete = true;
    cmd_error("events %" PRIu64 " to %" PRIu64
              " are not there any more: acknowledged by an earlier 'sluice events', or more than "
              "the controller keeps",
              from, to);
}

/* Where the caller may not see all events, a missing number need not be a loss. */
static void look_for_gap(struct stream *s, const Pb__EventList *list, uint64_t last,
                         uint64_t number)
{
    bool dropped = list->has_first && list->first > last + 1 && number >= list->first;
    uint64_t upto = list->has_all && list->all ? number - 1 : dropped ? list->first - 1 : last;
    if (upto > last)
        note_missing(s, last + 1, upto);
}

static int print_part(struct stream *s, const Pb__EventList *list, struct arena *arena)
{
    struct str *out = cmd_out();
    uint64_t last = list->since;
    for (size_t i = 0; i < list->n_events; i++) {
        const Pb__Event *e =
            arena_unpack(arena, &pb__event__descriptor, list->events[i].data, list->events[i].len);
        if (!e || !e->job == !e->node) {
            cmd_error("the controller's answer is malformed");
            return -1;
        }
        look_for_gap(s, list, last, e->number);
        last = e->number;
        if (s->options->json)
            put_json(e, out);
        else
            put_text(e, out);
    }
    look_for_gap(s, list, last, list->next + 1);
    int r = out->len ? path_write_all(STDOUT_FILENO, out->data, out->len) : 0;
    str_clear(out);
    if (r && r != -EPIPE)
        cmd_error("standard output cannot be written: %s", strerror(-r));
    return r;
}

static bool is_passing(int code)
{
    return code == -ERR_CONNECT || code == -ERR_CLOSED || code == -ERR_TIMEOUT ||
           code == -ERR_STANDBY || code == -ERR_SHUTDOWN || code == -ERR_STORE;
}

/* 0, 1: there is more, 2: to be asked again, negative: it is over */
static int request_events(struct stream *s, bool wait)
{
    const struct sluice_options *o = s->options;
    _cleanup_arena_ struct arena arena;
    Pb__EventRequest request = PB__EVENT_REQUEST__INIT;
    Pb__EventList *list = NULL;
    struct err err = {0};
    arena_init(&arena, 0);
    request.consumer = (char *)o->consumer;
    request.has_wait = request.wait = wait;
    request.has_since = s->placed;
    request.since = s->since;
    int rc = rpc_call(cmd_client(), RPC_EVENTS, &request.base, WAIT_MS, &arena, &list, &err);
    if (rc && o->follow && is_passing(rc)) {
        if (!s->unreachable)
            cmd_say("%s; trying again", err.text);
        s->unreachable = true;
        sleep(AGAIN_SEC);
        return 2;
    }
    if (rc) {
        cmd_error("%s", err.text);
        return -1;
    }
    s->unreachable = false;
    if (list->created && !o->follow)
        cmd_say("events are recorded from now on; 'sluice events --forget' ends it");
    if (print_part(s, list, &arena))
        return -1;
    s->since = list->next;
    s->placed = true;
    return list->has_more && list->more;
}

static int forget_consumer(const struct sluice_options *o)
{
    Pb__EventRequest request = PB__EVENT_REQUEST__INIT;
    Pb__EventList *list = NULL;
    struct err err = {0};
    request.consumer = (char *)o->consumer;
    request.has_forget = request.forget = true;
    int rc = cmd_call(RPC_EVENTS, &request.base, &list, &err);
    if (rc)
        cmd_error("%s", err.text);
    return rc ? 1 : 0;
}

int sluice_events(const struct sluice_options *o)
{
    struct stream s = {.options = o, .placed = o->since_given, .since = o->since};
    int rc;
    sluice_choose(o);
    if (o->forget)
        return forget_consumer(o);
    do
        rc = request_events(&s, o->follow);
    while (rc > 0 || (rc == 0 && o->follow));
    if (rc == 0) /* what was printed is acknowledged */
        rc = request_events(&s, false);
    return rc < 0 || s.incomplete ? 1 : 0;
}
