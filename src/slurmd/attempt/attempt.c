/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/attempt.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

struct attempt *attempt_find(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct attempt_key key = {id, restarts};
    struct attempt *a;

    HASH_FIND(hh, d->attempts, &key, sizeof(key), a);
    return a;
}

struct attempt *attempt_add(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct attempt *a = mem_new(struct attempt);

    assert(!attempt_find(d, id, restarts)); /* otherwise a job would run twice */
    a->d = d;
    a->key = (struct attempt_key){id, restarts};
    HASH_ADD(hh, d->attempts, key, sizeof(a->key), a);
    return a;
}

struct attempt *attempt_new_unnoted(struct slurmd *d, const Pb__NodeAttempt *about)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct attempt *a = attempt_add(d, about->job_id, about->restarts);

    pb_pack(&about->base, &bytes);
    a->note.about = pb_unpack(&pb__node_attempt__descriptor, bytes.data, bytes.len);
    return a;
}

int attempt_new(struct slurmd *d, const Pb__NodeAttempt *about, const char *line,
                struct attempt **out, struct err *err)
{
    Pb__NodeAttempt own = *about;
    int rc;

    own.has_known_at_ms = true;
    own.known_at_ms = loop_wall_ms();
    rc = note_create(d->spool, &own, line, err);
    if (rc)
        return rc;
    *out = attempt_new_unnoted(d, &own);
    (*out)->note.single_node = !strcmp(line, NOTE_SINGLE);
    return 0;
}

static int append_note_line(struct attempt *a, const char *fmt, va_list ap, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_vprintf(&line, fmt, ap);
    return note_append(a->d->spool, a->key.id, a->key.restarts, str_cstr(&line), err);
}

int attempt_note_first(struct attempt *a, struct err *err, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = append_note_line(a, fmt, ap, err);
    va_end(ap);
    return rc;
}

void attempt_note(struct attempt *a, const char *fmt, ...)
{
    struct err err = {0};
    va_list ap;

    va_start(ap, fmt);
    if (append_note_line(a, fmt, ap, &err))
        log_error("job %u: a restart of this daemon may do things twice: %s", a->key.id, err.text);
    va_end(ap);
}

bool attempt_is_ending(const struct attempt *a)
{
    return attempt_phase_is_ending(a->phase);
}

bool attempt_of_job_exists(const struct slurmd *d, uint32_t id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->key.id == id)
            return true;
    return false;
}
