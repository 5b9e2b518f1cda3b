/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "slurmstepd/mpi/pmi_peer.h"

#define WORDS_MAX 16 /* words per line */

struct word {
    const char *name, *value;
};

struct line {
    struct word words[WORDS_MAX];
    size_t count;
};

static __attribute__((format(printf, 3, 4))) void say(struct pmi *p, uint32_t local,
                                                      const char *fmt, ...)
{
    _cleanup_str_ struct str s = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&s, fmt, ap);
    va_end(ap);
    str_putc(&s, '\n');
    p->events.send(p->events.ctx, local, s.data, s.len);
}

static const char *value_of(const struct line *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->words[i].name, name))
            return l->words[i].value;
    return NULL;
}

/* Splits "a=b c=d value=the rest" in place. */
static int split_pairs(char *text, struct line *l, struct err *err)
{
    l->count = 0;
    while (*(text += strspn(text, " \t"))) {
        char *end, *eq;
        bool rest = str_starts(text, "value=") || str_starts(text, "error_msg=");

        end = rest ? text + strlen(text) : text + strcspn(text, " \t");
        if (l->count == WORDS_MAX)
            return err_set(err, -ERR_PROTOCOL, "PMI: a line of more than %d words", WORDS_MAX);
        eq = memchr(text, '=', (size_t)(end - text));
        if (*end)
            *end++ = '\0';
        if (eq)
            *eq = '\0';
        l->words[l->count++] = (struct word){text, eq ? eq + 1 : ""};
        text = end;
    }
    return l->count ? 0 : err_set(err, -ERR_PROTOCOL, "PMI: an empty line");
}

static int on_init(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *version = value_of(l, "pmi_version");

    if (version && !strcmp(version, "2") && !p->peers[local].initialised) {
        pmi2_welcome(p, local);
        return 0;
    }
    if (!version || strcmp(version, "1") != 0) {
        say(p, local, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
        return 0;
    }
    p->peers[local].version = 1;
    say(p, local, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    pmi_begun(p, local);
    return 0;
}

static int on_maxes(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d", PMI_KVSNAME_MAX,
        PMI_KEY_MAX, PMI_VALUE_MAX);
    return 0;
}

static int on_appnum(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=appnum rc=0 appnum=%u", pmi_appnum(p, local));
    return 0;
}

static int on_kvsname(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=my_kvsname rc=0 kvsname=%s", p->kvs_name);
    return 0;
}

static int on_universe(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=universe_size rc=0 size=%u", p->universe_size);
    return 0;
}

static int on_put(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *key = value_of(l, "key"), *value = value_of(l, "value");
    int rc;

    if (!pmi_is_pair(key, value)) {
        say(p, local, "cmd=put_result rc=-1 msg=invalid_key_or_value");
        return 0;
    }
    rc = pmi_put(p, key, value, err);
    if (rc == -ERR_LIMIT)
        return rc;
    if (rc)
        say(p, local, "cmd=put_result rc=-1 msg=key_value_space_full");
    else
        say(p, local, "cmd=put_result rc=0 msg=success");
    return 0;
}

static int on_pmi1_get(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *key = value_of(l, "key"), *value = key ? pmi_get(p, key) : NULL;

    if (value)
        say(p, local, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        say(p, local, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    return 0;
}

static int on_barrier(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    return pmi_fence(p, local, err);
}

void pmi1_barrier_out(struct pmi *p, uint32_t local)
{
    say(p, local, "cmd=barrier_out rc=0");
}

static int on_finalize(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    p->peers[local].initialised = false;
    say(p, local, "cmd=finalize_ack rc=0");
    return 0;
}

static int on_pmi1_abort(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    pmi_aborted(p, local, value_of(l, "exitcode"), value_of(l, "error_msg"));
    return 0;
}

static const char *const name_answers[] = {[PMI_NAME_PUBLISH] = "publish_result",
                                           [PMI_NAME_UNPUBLISH] = "unpublish_result",
                                           [PMI_NAME_LOOKUP] = "lookup_result"};

static void reply_name(struct pmi *p, uint32_t local, enum pmi_name_op op, const char *why,
                       const char *value)
{
    if (why)
        say(p, local, "cmd=%s rc=-1 info=%s", name_answers[op], why);
    else if (op == PMI_NAME_LOOKUP)
        say(p, local, "cmd=%s rc=0 info=ok port=%s", name_answers[op], value);
    else
        say(p, local, "cmd=%s rc=0 info=ok", name_answers[op]);
}

void pmi1_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value)
{
    static const char *const refusals[] = {[PMI_NAME_PUBLISH] = "name_is_taken",
                                           [PMI_NAME_UNPUBLISH] = "name_not_found",
                                           [PMI_NAME_LOOKUP] = "name_not_found"};

    reply_name(p, local, w->op, done ? NULL : refusals[w->op], value);
}

static int send_name_request(struct pmi *p, uint32_t local, enum pmi_name_op op,
                             const struct line *l)
{
    const char *name = value_of(l, "service"), *port = value_of(l, "port");

    if (!pmi_is_pair(name, op == PMI_NAME_PUBLISH ? port : ""))
        reply_name(p, local, op, "invalid_service_or_port", NULL);
    else if (pmi_ask_name(p, local, "", op, name, port))
        reply_name(p, local, op, "too_many_questions", NULL);
    return 0;
}

static int on_publish(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_PUBLISH, l);
}

static int on_unpublish(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_UNPUBLISH, l);
}

static int on_lookup(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    return send_name_request(p, local, PMI_NAME_LOOKUP, l);
}

static const struct {
    const char *name;
    int (*run)(struct pmi *p, uint32_t local, const struct line *l, struct err *err);
    bool before_init;
} commands[] = {
    {"init", on_init, true},
    {"get_maxes", on_maxes},
    {"get_appnum", on_appnum},
    {"get_my_kvsname", on_kvsname},
    {"get_universe_size", on_universe},
    {"put", on_put},
    {"get", on_pmi1_get},
    {"barrier_in", on_barrier},
    {"finalize", on_finalize, true},
    {"abort", on_pmi1_abort, true},
    {"publish_name", on_publish},
    {"unpublish_name", on_unpublish},
    {"lookup_name", on_lookup},
};

/* Either all processes have started or none, so there are no errors of single processes. */
void pmi1_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done)
{
    if (done)
        say(p, local, "cmd=spawn_result rc=0");
    else
        say(p, local, "cmd=spawn_result rc=-1 status=spawn_failed");
}

static void handle_spawn(struct pmi *p, uint32_t local)
{
    struct pmi_peer *peer = &p->peers[local];

    if (pmi_ask_spawn(p, local, "", peer->spawn, NULL))
        say(p, local, "cmd=spawn_result rc=-1 status=spawn_refused");
    pmi_spawn_free(take_ptr(peer->spawn));
}

/* A spawn request is "mcmd=spawn", one word per line, "endcmd"; repeated for each command. */
static bool in_spawn(struct pmi *p, uint32_t local, char *text)
{
    struct pmi_peer *peer = &p->peers[local];
    char *eq = strchr(text, '=');

    if (!peer->in_mcmd && (!peer->initialised || strcmp(text, "mcmd=spawn") != 0))
        return false;
    if (!peer->spawn)
        peer->spawn = pmi_spawn_new();
    peer->in_mcmd = strcmp(text, "endcmd") != 0;
    if (!peer->in_mcmd) {
        if (pmi_spawn_is_whole(peer->spawn))
            handle_spawn(p, local);
        return true;
    }
    if (eq)
        *eq++ = '\0';
    pmi_spawn_word(peer->spawn, text, eq);
    return true;
}

int pmi1_handle(struct pmi *p, uint32_t local, char *text, struct err *err)
{
    struct line l;
    int rc;

    if (in_spawn(p, local, text))
        return 0;
    rc = split_pairs(text, &l, err);
    if (rc)
        return rc;
    if (strcmp(l.words[0].name, "cmd") != 0)
        return err_set(err, -ERR_PROTOCOL, "PMI: a line that does not begin with cmd=");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(l.words[0].value, commands[i].name) != 0)
            continue;
        if (!commands[i].before_init && !p->peers[local].initialised)
            return err_set(err, -ERR_PROTOCOL, "PMI: %s before init", commands[i].name);
        return commands[i].run(p, local, &l, err);
    }
    return err_set(err, -ERR_PROTOCOL, "PMI: unknown command \"%.40s\"", l.words[0].value);
}
