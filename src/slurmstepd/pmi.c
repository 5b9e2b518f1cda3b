/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/pmi.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define WORDS_MAX 16 /* of a line */

struct entry {
    char *key, *value;
    bool fresh; /* put here since the last barrier */
    UT_hash_handle hh;
};

struct peer {
    struct str in; /* an unfinished line */
    bool initialised, in_barrier, in_mcmd;
    bool aborted; /* says nothing more that counts */
};

struct pmi {
    struct pmi_events events;
    char *kvs_name, *mapping;
    uint32_t size, universe_size, local_count, waiting, round, fresh;
    size_t space, fresh_bytes;
    struct entry *entries;
    struct peer *peers;
};

struct word {
    const char *name, *value;
};

struct line {
    struct word words[WORDS_MAX];
    size_t count;
};

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events)
{
    struct pmi *p = mem_new(struct pmi);

    p->events = *events;
    p->kvs_name = mem_strdup(options->kvs_name);
    p->mapping = mem_strdup(options->mapping);
    p->size = options->size;
    p->universe_size = options->universe_size;
    p->local_count = options->local_count;
    p->peers = mem_new_array(struct peer, p->local_count);
    for (uint32_t i = 0; i < p->local_count; i++)
        p->peers[i].in = STR_INIT_CAP(PMI_LINE_MAX);
    return p;
}

void pmi_free(struct pmi *p)
{
    struct entry *e, *next;

    if (!p)
        return;
    HASH_ITER (hh, p->entries, e, next) {
        HASH_DEL(p->entries, e);
        free(e->key);
        free(e->value);
        free(e);
    }
    for (uint32_t i = 0; i < p->local_count; i++)
        str_done(&p->peers[i].in);
    free(p->peers);
    free(p->kvs_name);
    free(p->mapping);
    free(p);
}

/* Stores a pair; a later put of the same key wins. */
static int put(struct pmi *p, const char *key, const char *value, bool fresh, struct err *err)
{
    struct entry *e;
    size_t key_len = strlen(key), value_len = strlen(value);

    HASH_FIND(hh, p->entries, key, key_len, e);
    if (p->space + key_len + value_len > PMI_SPACE_MAX || (fresh && p->fresh >= PMI_ROUND_PUTS_MAX))
        return err_set(err, -ERR_LIMIT, "the step's MPI key-value space is full (%u bytes)",
                       PMI_SPACE_MAX);
    if (e) {
        p->space -= strlen(e->value);
        free(e->value);
    } else {
        e = mem_new(struct entry);
        e->key = mem_strdup(key);
        HASH_ADD_KEYPTR(hh, p->entries, e->key, key_len, e);
        p->space += key_len;
    }
    e->value = mem_strdup(value);
    p->space += value_len;
    if (fresh && !e->fresh)
        p->fresh++;
    e->fresh = fresh;
    return 0;
}

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
static int split(char *text, struct line *l, struct err *err)
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

static void fence(struct pmi *p)
{
    struct pmi_pair *pairs = mem_new_array(struct pmi_pair, p->fresh ? p->fresh : 1);
    struct entry *e, *next;
    size_t count = 0;

    HASH_ITER (hh, p->entries, e, next) {
        if (e->fresh)
            pairs[count++] = (struct pmi_pair){e->key, e->value};
        e->fresh = false;
    }
    p->fresh = 0;
    p->fresh_bytes = 0;
    p->events.fence(p->events.ctx, p->round, pairs, count);
    free(pairs);
}

int pmi_fence_done(struct pmi *p, uint32_t round, const struct pmi_pair *pairs, size_t count,
                   struct err *err)
{
    if (round != p->round || p->waiting < p->local_count)
        return 0;
    for (size_t i = 0; i < count; i++) {
        int rc = put(p, pairs[i].key, pairs[i].value, false, err);

        if (rc)
            return rc;
    }
    p->round++;
    p->waiting = 0;
    for (uint32_t i = 0; i < p->local_count; i++) {
        p->peers[i].in_barrier = false;
        say(p, i, "cmd=barrier_out rc=0");
    }
    return 0;
}

static int on_init(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *version = value_of(l, "pmi_version");

    if (!version || strcmp(version, "1")) {
        say(p, local, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
        return 0;
    }
    p->peers[local].initialised = true;
    say(p, local, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
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
    say(p, local, "cmd=appnum rc=0 appnum=0");
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
    struct err why = {0};

    if (!key || !value || !*key || strlen(key) >= PMI_KEY_MAX || strlen(value) >= PMI_VALUE_MAX) {
        say(p, local, "cmd=put_result rc=-1 msg=invalid_key_or_value");
        return 0;
    }
    p->fresh_bytes += strlen(key) + strlen(value);
    if (p->fresh_bytes > PMI_ROUND_BYTES_MAX)
        return err_set(err, -ERR_LIMIT, "PMI: more than %u bytes put between two barriers",
                       PMI_ROUND_BYTES_MAX);
    if (put(p, key, value, true, &why))
        say(p, local, "cmd=put_result rc=-1 msg=key_value_space_full");
    else
        say(p, local, "cmd=put_result rc=0 msg=success");
    return 0;
}

static int on_get(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *key = value_of(l, "key"), *value = NULL;
    struct entry *e = NULL;

    if (key)
        HASH_FIND(hh, p->entries, key, strlen(key), e);
    if (e)
        value = e->value;
    else if (key && p->mapping && !strcmp(key, "PMI_process_mapping"))
        value = p->mapping;
    if (value)
        say(p, local, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        say(p, local, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    return 0;
}

static int on_barrier(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    if (p->peers[local].in_barrier)
        return err_set(err, -ERR_PROTOCOL, "PMI: task entered the barrier twice");
    p->peers[local].in_barrier = true;
    if (++p->waiting == p->local_count)
        fence(p);
    return 0;
}

static int on_finalize(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    p->peers[local].initialised = false;
    say(p, local, "cmd=finalize_ack rc=0");
    return 0;
}

static int on_abort(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    const char *code = value_of(l, "exitcode"), *text = value_of(l, "error_msg");
    long long number = 1;

    if (code && str_parse_i64(code, INT32_MIN, INT32_MAX, &number))
        number = 1;
    p->peers[local].aborted = true;
    p->events.abort(p->events.ctx, local, (int)number, text);
    return 0;
}

static int on_publish(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=publish_result rc=-1 info=error msg=not_supported");
    return 0;
}

static int on_unpublish(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=unpublish_result rc=-1 info=error msg=not_supported");
    return 0;
}

static int on_lookup(struct pmi *p, uint32_t local, const struct line *l, struct err *err)
{
    say(p, local, "cmd=lookup_result rc=-1 info=error msg=not_supported");
    return 0;
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
    {"get", on_get},
    {"barrier_in", on_barrier},
    {"finalize", on_finalize, true},
    {"abort", on_abort, true},
    {"publish_name", on_publish},
    {"unpublish_name", on_unpublish},
    {"lookup_name", on_lookup},
};

/* Spawning comes as "mcmd=spawn", more lines, "endcmd": refused as a whole. */
static bool in_spawn(struct pmi *p, uint32_t local, const char *text)
{
    struct peer *peer = &p->peers[local];

    if (str_starts(text, "mcmd=")) {
        peer->in_mcmd = true;
        return true;
    }
    if (peer->in_mcmd && !strcmp(text, "endcmd")) {
        peer->in_mcmd = false;
        say(p, local, "cmd=spawn_result rc=-1 status=spawn_not_supported");
        return true;
    }
    return peer->in_mcmd;
}

static int handle(struct pmi *p, uint32_t local, char *text, struct err *err)
{
    struct line l;
    int rc;

    if (in_spawn(p, local, text))
        return 0;
    rc = split(text, &l, err);
    if (rc)
        return rc;
    if (strcmp(l.words[0].name, "cmd"))
        return err_set(err, -ERR_PROTOCOL, "PMI: a line that does not begin with cmd=");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(l.words[0].value, commands[i].name))
            continue;
        if (!commands[i].before_init && !p->peers[local].initialised)
            return err_set(err, -ERR_PROTOCOL, "PMI: %s before init", commands[i].name);
        return commands[i].run(p, local, &l, err);
    }
    return err_set(err, -ERR_PROTOCOL, "PMI: unknown command \"%.40s\"", l.words[0].value);
}

/* A line that goes on beyond its limit: of an abort the beginning is enough. */
static int too_long(struct pmi *p, uint32_t local, const char *at, struct err *err)
{
    struct peer *peer = &p->peers[local];

    peer->in.overflow = false;
    str_append(&peer->in, at, PMI_LINE_MAX - peer->in.len);
    if (!str_starts(str_cstr(&peer->in), "cmd=abort "))
        return err_set(err, -ERR_LIMIT, "PMI: a line of more than %d bytes", PMI_LINE_MAX);
    return handle(p, local, peer->in.data, err);
}

int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err)
{
    struct peer *peer = &p->peers[local];
    const char *at = data;

    while (len && !peer->aborted) {
        const char *end = memchr(at, '\n', len);
        size_t part = end ? (size_t)(end - at) : len;
        int rc;

        if (memchr(at, '\0', part))
            return err_set(err, -ERR_PROTOCOL, "PMI: a NUL byte");
        str_append(&peer->in, at, part);
        if (peer->in.overflow)
            return too_long(p, local, at, err);
        if (!end)
            return 0;
        if (peer->in.len && peer->in.data[peer->in.len - 1] == '\r')
            peer->in.data[--peer->in.len] = '\0';
        rc = peer->in.len ? handle(p, local, peer->in.data, err) : 0;
        str_clear(&peer->in);
        if (rc)
            return rc;
        at = end + 1;
        len -= part + 1;
    }
    return 0;
}
