/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps that cannot start yet: the missing resource, and the waiting requests. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pb.h"
#include "base/step_id.h"
#include "control/core/named.h"
#include "control/internal.h"
#include "control/step/step.h"
#include "control/step/step_layout.h"

/* --- busy ----------------------------------------------------------------------------------------
 * What keeps a step from starting now: the resource, its node, the steps that hold it, and the
 * option that helps. */

#define HOLDERS_MOST 3 /* maximum steps that are named */

enum lack { LACK_CPUS, LACK_MEMORY, LACK_GRES };

static uint32_t idle_cpus(const struct alloc_node *a)
{
    return a->cpus > a->step_cpus ? a->cpus - a->step_cpus : 0;
}

static enum lack find_lack(const struct step_layout *l, size_t at)
{
    const struct alloc_node *a = &attempt_of(l->j)->alloc.data[at];
    uint32_t room = a->cpus / l->cpus_per_task; /* in tasks, if nothing else runs */
    uint64_t one = step_layout_memory(l, a, 1), left = alloc_memory_mib(a) - a->step_mem_mib;

    room = room > l->num_tasks ? l->num_tasks : room;
    if (!l->overlap && step_layout_is_whole(l) && a->step_cpus)
        return LACK_CPUS;
    if (!l->overlap && !l->overcommit && idle_cpus(a) / l->cpus_per_task < room)
        return LACK_CPUS;
    return one > left ? LACK_MEMORY : LACK_GRES;
}

static bool holds_lacking(const struct step *s, size_t at, enum lack lack)
{
    vec_foreach (&s->nodes, n)
        if (n->at == at)
            return lack == LACK_CPUS ? n->cpus : lack == LACK_MEMORY ? n->mem_mib : n->gres.len;
    return false;
}

static void put_holders(const struct job *j, size_t at, enum lack lack, struct str *out)
{
    size_t count = 0;

    vec_foreach (&attempt_of(j)->steps, s) {
        if (s->overlap || !holds_lacking(s, at, lack))
            continue;
        if (count++ < HOLDERS_MOST)
            str_printf(out, "%sStepId=%s%s", count > 1 ? ", " : "", JOB_ID_TEXT(j),
                       strchr(STEP_ID_TEXT(j->id, s->id), '.'));
    }
    if (count > HOLDERS_MOST)
        str_printf(out, " and %zu more", count - HOLDERS_MOST);
}

static void put_amount(const struct alloc_node *a, enum lack lack, struct str *out)
{
    if (lack == LACK_CPUS)
        str_printf(out, "%u of %u CPUs are held by ", a->cpus - idle_cpus(a), a->cpus);
    else if (lack == LACK_MEMORY)
        str_printf(out, "%llu of %llu MiB of memory are held by ",
                   (unsigned long long)a->step_mem_mib, (unsigned long long)alloc_memory_mib(a));
    else
        str_puts(out, "generic resources are held by ");
}

/* Returns the option that would let the step start. */
static const char *find_help(const struct step_layout *l, const struct alloc_node *a,
                             enum lack lack)
{
    if (lack == LACK_MEMORY)
        return "--mem leaves each step a part";
    if (lack == LACK_CPUS && step_layout_is_whole(l) && idle_cpus(a))
        return "--exact is enough with the idle ones, --overlap shares all";
    if (lack == LACK_CPUS)
        return "--overlap shares them; steps with --exact hold only the CPUs that they ask for";
    return "--overlap shares them";
}

int step_layout_busy(const struct control *c, const struct step_layout *l, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        const struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
        if (!l->usable[i] || l->cap[i] >= l->by_gres[i])
            continue;
        enum lack lack = find_lack(l, i);
        str_printf(&text, "%s: ", c->cluster->nodes.data[a->node]->name);
        put_amount(a, lack, &text);
        put_holders(l->j, i, lack, &text);
        return err_set(err, -ERR_NODES_BUSY, "%s: %s; %s", err_text(ERR_NODES_BUSY),
                       str_cstr(&text), find_help(l, a, lack));
    }
    return err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
}

/* --- waiting -------------------------------------------------------------------------------------
 * Step requests that wait for resources of their job: limited per set and per user. */

#define STEPS_OF_SET 256 /* of all components together */
#define BYTES_OF_USER (16u << 20)
#define BYTES_BESIDE 256 /* for each request, in addition to its packed specification */

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

/* The end of a step in any component of a set is checked for all of them. */
static size_t count_waiting(const struct job *j)
{
    size_t count = 0;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        count += component ? attempt_of(component)->waiting_steps.len : 0;
    }
    return count;
}

static int check_step_room(const struct control *c, const struct job *j, size_t bytes,
                           struct err *err)
{
    const struct waiting_user *u = find_user(c, j->uid);
    size_t held = u ? u->bytes : 0;
    if (count_waiting(j) >= STEPS_OF_SET)
        return err_set(err, -ERR_BUSY, "%s: %u steps of job %s wait, which is the most",
                       err_text(ERR_BUSY), STEPS_OF_SET, NAMED_SET_TEXT(j));
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
    int rc = check_step_room(c, j, bytes, err);
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
