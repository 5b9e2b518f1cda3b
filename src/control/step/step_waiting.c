/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests for steps that wait for room in their job: bounded for each job and for each user. */
#include "base/hash.h"
#include "control/internal.h"
#include "control/step/step.h"

#define STEPS_OF_JOB 256
#define BYTES_OF_USER (16u << 20)
#define BYTES_BESIDE 256 /* for each request, beside its packed specification */

struct waiting_user {
    uint32_t uid;
    size_t bytes;
    UT_hash_handle hh;
};

static struct waiting_user *find_user(const struct control *c, uint32_t uid)
{
    struct waiting_user *u;
    HASH_FIND(hh, c->waiting_users, &uid, sizeof(uid), u);
    return u;
}

static struct waiting_user *make_user(struct control *c, uint32_t uid)
{
    struct waiting_user *u = find_user(c, uid);
    if (u)
        return u;
    u = mem_new(struct waiting_user);
    u->uid = uid;
    HASH_ADD(hh, c->waiting_users, uid, sizeof(u->uid), u);
    return u;
}

static int check_room(const struct control *c, const struct job *j, size_t bytes, struct err *err)
{
    const struct waiting_user *u = find_user(c, j->uid);
    size_t held = u ? u->bytes : 0;
    if (attempt_of(j)->waiting_steps.len >= STEPS_OF_JOB)
        return err_set(err, -ERR_BUSY, "%s: %u steps of job %u wait, which is the most",
                       err_text(ERR_BUSY), STEPS_OF_JOB, j->id);
    if (held + bytes > BYTES_OF_USER)
        return err_set(err, -ERR_BUSY,
                       "%s: the waiting steps of user %u hold %zu KiB, and %u KiB are the most: "
                       "start fewer steps at a time",
                       err_text(ERR_BUSY), j->uid, held >> 10, BYTES_OF_USER >> 10);
    return 0;
}

int step_waiting_add(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *spec,
                     struct err *err)
{
    struct waiting_step w = {.call = call};
    size_t bytes = pb__step_spec__get_packed_size(spec) + BYTES_BESIDE;
    int rc = check_room(c, j, bytes, err);
    if (rc)
        return rc;
    pb_pack(&spec->base, &w.spec);
    make_user(c, j->uid)->bytes += w.spec.len + BYTES_BESIDE;
    vec_push(&attempt_make(j)->waiting_steps, w);
    return 0;
}

struct waiting_step step_waiting_take(struct control *c, struct job *j, size_t at)
{
    struct waiting_step w = j->attempt->waiting_steps.data[at];
    struct waiting_user *u = find_user(c, j->uid);
    vec_remove(&j->attempt->waiting_steps, at);
    if (!u)
        return w;
    u->bytes -= w.spec.len + BYTES_BESIDE;
    if (!u->bytes) {
        HASH_DEL(c->waiting_users, u);
        free(u);
    }
    return w;
}

void step_waiting_done(struct control *c)
{
    struct waiting_user *u, *next;
    HASH_ITER (hh, c->waiting_users, u, next) {
        HASH_DEL(c->waiting_users, u);
        free(u);
    }
}
