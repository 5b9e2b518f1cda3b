/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "slurmstepd/mpi/pmi_peer.h"

#define WORDS_MAX 32 /* words per command; further words occur in spawn requests only */

/* Codes of MPICH's pmi2.h. */
enum { PMI2_ERR_INVALID_ARG = 3, PMI2_ERR_OTHER = 14 };

struct word {
    const char *name, *value;
};

struct command {
    struct word words[WORDS_MAX];
    size_t count;
    const char *name, *thread;
    struct pmi_spawn *spawn; /* receives all words; NULL: not a spawn request */
};

/* Splits "a=b;c=d;;e;" in place; two semicolons stand for one in a value. */
static void split_pairs(char *text, struct command *c)
{
    c->count = 0;
    while (*text) {
        char *name = text, *to = text, *value = NULL;

        for (; *text && (*text != ';' || text[1] == ';'); text++) {
            if (*text == ';')
                text++;
            if (*text == '=' && !value) {
                *to++ = '\0';
                value = to;
            } else {
                *to++ = *text;
            }
        }
        if (*text)
            text++;
        *to = '\0';
        if (value && c->count < WORDS_MAX)
            c->words[c->count++] = (struct word){name, value};
        if (value && c->spawn)
            pmi_spawn_word(c->spawn, name, value);
    }
}

static const char *value_of(const struct command *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->words[i].name, name))
            return c->words[i].value;
    return NULL;
}

static void put_pmi2_value(struct str *s, const char *name, const char *value)
{
    str_printf(s, "%s=", name);
    for (; *value; value++) {
        if (*value == ';')
            str_putc(s, ';');
        str_putc(s, *value);
    }
    str_putc(s, ';');
}

/* Sends the response to a command: its name, the asking thread, the code, and pairs up to a NULL.
 * A pair with a NULL value is left out. */
static void send_response(struct pmi *p, uint32_t local, const char *command, const char *thread,
                          int code, ...)
{
    _cleanup_str_ struct str body = STR_INIT, whole = STR_INIT;
    const char *name, *value;
    va_list ap;

    str_printf(&body, "cmd=%s-response;", command);
    if (*thread)
        put_pmi2_value(&body, "thrid", thread);
    str_printf(&body, "rc=%d;", code);
    va_start(ap, code);
    while ((name = va_arg(ap, const char *)) != NULL) {
        value = va_arg(ap, const char *);
        if (value)
            put_pmi2_value(&body, name, value);
    }
    va_end(ap);
    str_printf(&whole, "%6zu%s", body.len, str_cstr(&body));
    p->events.send(p->events.ctx, local, whole.data, whole.len);
}

static void refuse_command(struct pmi *p, uint32_t local, const struct command *c, int code,
                           const char *why)
{
    send_response(p, local, c->name, c->thread, code, "errmsg", why, NULL);
}

void pmi2_welcome(struct pmi *p, uint32_t local)
{
    static const char line[] = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";
    struct pmi_peer *peer = &p->peers[local];

    peer->version = 2;
    peer->in.cap = PMI_COMMAND_MAX + PMI_LINE_MAX;
    p->events.send(p->events.ctx, local, line, sizeof(line) - 1);
}

static int on_fullinit(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    char rank[12], size[12], app[12];

    snprintf(app, sizeof(app), "%u", pmi_appnum(p, local));
    snprintf(rank, sizeof(rank), "%u", p->rank[local]);
    snprintf(size, sizeof(size), "%u", p->size);
    send_response(p, local, c->name, c->thread, 0, "pmi-version", "2", "pmi-subversion", "0",
                  "rank", rank, "size", size, "appnum", app, "spawner-jobid", p->spawner,
                  "debugged", "FALSE", "pmiverbose", "FALSE", NULL);
    pmi_begun(p, local);
    return 0;
}

static int on_finalize(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    p->peers[local].initialised = false;
    send_response(p, local, c->name, c->thread, 0, NULL);
    return 0;
}

static int on_pmi2_abort(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    pmi_aborted(p, local, value_of(c, "exitcode"), value_of(c, "msg"));
    return 0;
}

static int on_getid(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    send_response(p, local, c->name, c->thread, 0, "jobid", p->kvs_name, NULL);
    return 0;
}

static int on_put(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    const char *key = value_of(c, "key"), *value = value_of(c, "value");
    int rc;

    if (!pmi_is_pair(key, value)) {
        refuse_command(p, local, c, PMI2_ERR_INVALID_ARG, "invalid key or value");
        return 0;
    }
    rc = pmi_put(p, key, value, err);
    if (rc == -ERR_LIMIT)
        return rc;
    if (rc)
        refuse_command(p, local, c, PMI2_ERR_OTHER, "the key-value space is full");
    else
        send_response(p, local, c->name, c->thread, 0, NULL);
    return 0;
}

static void send_found(struct pmi *p, uint32_t local, const char *command, const char *thread,
                       const char *value)
{
    send_response(p, local, command, thread, 0, "found", value ? "TRUE" : "FALSE", "value", value,
                  NULL);
}

static int on_get(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    const char *key = value_of(c, "key");

    send_found(p, local, c->name, c->thread, key ? pmi_get(p, key) : NULL);
    return 0;
}

static int on_fence(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];

    if (!peer->in_barrier)
        snprintf(peer->fence_thread, sizeof(peer->fence_thread), "%s", c->thread);
    return pmi_fence(p, local, err);
}

void pmi2_fence_out(struct pmi *p, uint32_t local)
{
    send_response(p, local, "kvs-fence", p->peers[local].fence_thread, 0, NULL);
}

/* Attributes of the job are constant; attributes of a node are set by its tasks. */
static int on_get_job(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    const char *key = value_of(c, "key"), *value = NULL;
    char size[12];

    snprintf(size, sizeof(size), "%u", p->universe_size);
    if (!key)
        value = NULL;
    else if (!strcmp(key, "universeSize"))
        value = size;
    else if (!strcmp(key, "hasNameServ"))
        value = "TRUE";
    else if (!strcmp(key, "PMI_process_mapping"))
        value = p->mapping;
    send_found(p, local, c->name, c->thread, value);
    return 0;
}

static int on_get_node(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    const char *key = value_of(c, "key"), *wait = value_of(c, "wait");
    const char *value = pmi_is_pair(key, "") ? pmi_space_find(&p->node_attrs, key) : NULL;
    struct pmi_wait *w;

    if (value || !pmi_is_pair(key, "") || !wait || strcmp(wait, "TRUE") != 0) {
        send_found(p, local, c->name, c->thread, value);
        return 0;
    }
    w = pmi_wait_new(p, local, PMI_WAIT_NODE_ATTR);
    if (!w) {
        refuse_command(p, local, c, PMI2_ERR_OTHER, "too many questions are not answered yet");
        return 0;
    }
    snprintf(w->key, sizeof(w->key), "%s", key);
    snprintf(w->thread, sizeof(w->thread), "%s", c->thread);
    return 0;
}

static void notify_waiting(struct pmi *p, const char *key, const char *value)
{
    for (uint32_t i = 0; i < p->local_count; i++)
        for (struct pmi_wait *w = p->peers[i].waits, *next; w; w = next) {
            next = w->next;
            if (w->kind != PMI_WAIT_NODE_ATTR || strcmp(w->key, key) != 0)
                continue;
            send_found(p, i, "info-getnodeattr", w->thread, value);
            pmi_wait_done(p, i, w);
        }
}

static int on_put_node(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    const char *key = value_of(c, "key"), *value = value_of(c, "value");

    if (!pmi_is_pair(key, value)) {
        refuse_command(p, local, c, PMI2_ERR_INVALID_ARG, "invalid key or value");
        return 0;
    }
    if (pmi_space_put(&p->node_attrs, key, value, false, NULL)) {
        refuse_command(p, local, c, PMI2_ERR_OTHER, "too many attributes of this node");
        return 0;
    }
    send_response(p, local, c->name, c->thread, 0, NULL);
    notify_waiting(p, key, value);
    return 0;
}

static const char *const name_commands[] = {[PMI_NAME_PUBLISH] = "name-publish",
                                            [PMI_NAME_UNPUBLISH] = "name-unpublish",
                                            [PMI_NAME_LOOKUP] = "name-lookup"};

static int send_name_request(struct pmi *p, uint32_t local, enum pmi_name_op op,
                             const struct command *c)
{
    const char *name = value_of(c, "name"), *port = value_of(c, "port");

    if (!pmi_is_pair(name, op == PMI_NAME_PUBLISH ? port : ""))
        refuse_command(p, local, c, PMI2_ERR_INVALID_ARG, "invalid name or port");
    else if (pmi_ask_name(p, local, c->thread, op, name, port))
        refuse_command(p, local, c, PMI2_ERR_OTHER, "too many questions are not answered yet");
    return 0;
}

static int on_publish(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_PUBLISH, c);
}

static int on_unpublish(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_UNPUBLISH, c);
}

static int on_lookup(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_LOOKUP, c);
}

/* Some libraries expect the port as "value", others as "port". */
void pmi2_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value)
{
    const char *command = name_commands[w->op];

    if (w->op == PMI_NAME_LOOKUP && !done)
        send_response(p, local, command, w->thread, 0, "found", "FALSE", NULL);
    else if (w->op == PMI_NAME_LOOKUP)
        send_response(p, local, command, w->thread, 0, "found", "TRUE", "value", value, "port",
                      value, NULL);
    else
        send_response(p, local, command, w->thread, done ? 0 : PMI2_ERR_OTHER, "errmsg",
                      done                        ? NULL
                      : w->op == PMI_NAME_PUBLISH ? "the name is taken"
                                                  : "there is no such name",
                      NULL);
}

static int on_spawn(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    struct err why = {0};

    if (pmi_ask_spawn(p, local, c->thread, c->spawn, &why))
        refuse_command(p, local, c, PMI2_ERR_OTHER, why.text);
    return 0;
}

/* Either all processes have started or none, so there are no errors of single processes. */
void pmi2_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, const char *job,
                  const char *why)
{
    send_response(p, local, "spawn", w->thread, job ? 0 : PMI2_ERR_OTHER, "jobid", job, "nerrs",
                  job ? "0" : NULL, "errmsg", job ? NULL : why, NULL);
}

static int on_join(struct pmi *p, uint32_t local, const struct command *c, struct err *err)
{
    refuse_command(p, local, c, PMI2_ERR_OTHER, "jobs of other steps cannot be joined");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct pmi *p, uint32_t local, const struct command *c, struct err *err);
    bool before_init;
} commands[] = {
    {"fullinit", on_fullinit, true},
    {"finalize", on_finalize, true},
    {"abort", on_pmi2_abort, true},
    {"job-getid", on_getid},
    {"job-connect", on_join},
    {"job-disconnect", on_join},
    {"kvs-put", on_put},
    {"kvs-get", on_get},
    {"kvs-fence", on_fence},
    {"info-getjobattr", on_get_job},
    {"info-getnodeattr", on_get_node},
    {"info-putnodeattr", on_put_node},
    {"name-publish", on_publish},
    {"name-unpublish", on_unpublish},
    {"name-lookup", on_lookup},
    {"spawn", on_spawn},
};

static int run_command(struct pmi *p, uint32_t local, struct command *c, struct err *err)
{
    const char *thread = value_of(c, "thrid");

    if (thread && strlen(thread) >= PMI_THREAD_MAX)
        return err_set(err, -ERR_LIMIT, "PMI-2: the name of a thread has more than %d bytes",
                       PMI_THREAD_MAX - 1);
    if (thread)
        c->thread = thread;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(c->name, commands[i].name) != 0)
            continue;
        if (!commands[i].before_init && !p->peers[local].initialised)
            return err_set(err, -ERR_PROTOCOL, "PMI-2: %s before fullinit", commands[i].name);
        return commands[i].run(p, local, c, err);
    }
    if (!*c->name || strlen(c->name) >= PMI_KEY_MAX)
        return err_set(err, -ERR_PROTOCOL, "PMI-2: unknown command \"%.40s\"", c->name);
    refuse_command(p, local, c, PMI2_ERR_OTHER, "this command is not supported");
    return 0;
}

int pmi2_handle(struct pmi *p, uint32_t local, char *text, struct err *err)
{
    struct command c = {.thread = ""};
    int rc;

    if (str_starts(text, "cmd=spawn"))
        c.spawn = pmi_spawn_new();
    split_pairs(text, &c);
    if (!c.count || strcmp(c.words[0].name, "cmd") != 0) {
        rc = err_set(err, -ERR_PROTOCOL, "PMI-2: a command that does not begin with cmd=");
    } else {
        c.name = c.words[0].value;
        rc = run_command(p, local, &c, err);
    }
    pmi_spawn_free(c.spawn);
    return rc;
}
