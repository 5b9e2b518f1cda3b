/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts a slurmstepd for a launch whose job is ready. */
#include <assert.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/step_id.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/prepare.h"
#include "slurmd/job/receive.h"
#include "slurmd/job/step_life.h"
#include "slurmd/node/cpus.h"
#include "slurmd/node/debug.h"
#include "slurmd/node/devices.h"
#include "slurmd/node/plugins.h"
#include "slurmd/node/users.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/usage/memory.h"

#define HELLO_MESSAGES 3 /* times MessageTimeout, for srun's answer to its shepherd */

#define LOG_ROOM "slurmd"
#include "base/log.h"

static struct launch *find_launch(struct slurmd *d, uint64_t number, struct attempt **job,
                                  size_t *place)
{
    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        for (size_t i = 0; i < a->waiting.len; i++)
            if (a->waiting.data[i]->number == number) {
                *job = a;
                *place = i;
                return a->waiting.data[i];
            }
    return NULL;
}

static void fill_start(struct slurmd *d, const struct launch *l, const struct user *user,
                       Pb__StepdStart *m, uint32_t *gids)
{
    ProtobufCBinaryData bytes = {l->message.len, (uint8_t *)l->message.data};

    m->node = d->name;
    m->spool_dir = d->spool;
    m->kill_wait_sec = (uint32_t)d->conf->kill_wait_sec;
    m->has_hello_sec = true;
    m->hello_sec = HELLO_MESSAGES * (uint32_t)d->conf->message_timeout_sec;
    m->has_unkillable_sec = m->has_slurmd_uid = true;
    m->has_plain_network = true;
    m->plain_network = !conf_encrypts(d->conf);
    m->unkillable_sec = (uint32_t)d->conf->unkillable_step_timeout_sec;
    m->slurmd_uid = geteuid();
    m->has_batch = l->kind == LAUNCH_BATCH;
    m->has_launch = l->kind == LAUNCH_TASKS;
    m->has_is_extern = m->is_extern = l->kind == LAUNCH_EXTERN;
    m->batch = m->launch = bytes;
    m->cred = (ProtobufCBinaryData){l->cred.len, (uint8_t *)l->cred.data};
    m->node_index = l->node_index;
    for (size_t i = 0; i < user->group_count; i++)
        gids[i] = user->groups[i];
    m->gids = gids;
    m->n_gids = user->group_count;
    m->user_name = user->name;
    m->home = user->home;
    m->shell = user->shell;
    m->conf_path = (char *)d->conf->path;
    m->cluster = (char *)d->conf->cluster_name;
    m->node_addr = (char *)d->node->addr;
    m->node_host = (char *)d->node->hostname;
    m->topology_addr = d->topology_addr;
    m->topology_pattern = d->topology_pattern;
    m->log_file = d->log_file;
    m->has_file_append = true;
    m->file_append = d->conf->job_file_append != 0;
    m->has_user_env_sec = true;
    m->user_env_sec = (uint32_t)d->conf->get_env_timeout_sec;
    m->has_memlock = true;
    m->memlock = conf_list_has(d->conf->launch_parameters, "slurmstepd_memlock_all") ? 2
                 : conf_list_has(d->conf->launch_parameters, "slurmstepd_memlock")   ? 1
                                                                                     : 0;
    m->task_prolog = (char *)d->conf->task_prolog;
    m->task_epilog = (char *)d->conf->task_epilog;
}

/* The part that only steps with tasks need. */
static int fill_tasks(struct slurmd *d, const struct launch *l, const Pb__Cred *cred,
                      Pb__StepdStart *m, struct plugstack *plugins, struct arena *arena,
                      struct err *err)
{
    if (cred)
        devices_fill(d->conf, d->name, cred, l->node_index, m, arena);
    m->has_pam = m->pam = d->conf->use_pam != 0;
    cpus_fill(d, m, arena);
    freq_fill(d, m, arena);
    return plugins_fill(d, m, plugins, err);
}

/* Only the extern step may be started again: without this line it would be taken for one that ends.
 */
static void note_extern_not_started(struct attempt *a, const struct launch *l)
{
    struct note_step *known = note_find_step(&a->note, l->step_id);

    if (l->kind != LAUNCH_EXTERN || !known)
        return;
    known->over = true;
    attempt_note(a, NOTE_STEP_OVER, l->step_id);
}

/* Noted before the start, so that the step is never started twice. */
static int note_launch(struct attempt *a, const struct launch *l, struct err *err)
{
    int rc = l->kind == LAUNCH_BATCH
                 ? attempt_note_first(a, err, NOTE_BATCH)
                 : attempt_note_first(a, err, NOTE_STEP, l->step_id, (unsigned long long)l->key);

    if (rc == 0 && l->kind == LAUNCH_BATCH)
        a->note.batch = NOTE_BATCH_STARTED;
    else if (rc == 0)
        vec_push(&a->note.steps, ((struct note_step){.id = l->step_id, .key = l->key}));
    return rc;
}

/* Devices and CPUs of the step here, by their numbers in the configuration. */
static void debug_step(const struct attempt *a, const struct launch *l, const Pb__Cred *cred)
{
    const Pb__StepNode *here =
        cred && l->node_index < cred->n_nodes ? cred->nodes[l->node_index] : NULL;
    _cleanup_str_ struct str text = STR_INIT;

    if (!here)
        return;
    slurmd_debug(a->d, cpu_bind, "step %s: %u CPUs, %zu tasks",
                 STEP_ID_TEXT(l->attempt.id, l->step_id), here->cpus, here->n_task_ids);
    for (size_t i = 0; i < here->n_gres; i++) {
        const Pb__GresAlloc *g = here->gres[i];

        str_printf(&text, "%s%s%s%s:%llu", i ? "," : "", g->name, g->type ? ":" : "",
                   g->type ? g->type : "", (unsigned long long)g->count);
        for (size_t k = 0; k < g->n_devices; k++)
            str_printf(&text, "%s%u", k ? "," : "(IDX:", g->devices[k]);
        str_puts(&text, g->n_devices ? ")" : "");
    }
    slurmd_debug(a->d, gres, "step %s: %s", STEP_ID_TEXT(l->attempt.id, l->step_id),
                 text.len ? str_cstr(&text) : "none");
}

static void start_launched_step(struct attempt *a, struct launch *l, const struct user *user)
{
    struct slurmd *d = a->d;
    Pb__StepdStart m = PB__STEPD_START__INIT;
    _cleanup_(plugstack_done) struct plugstack plugins = {0};
    _cleanup_free_ uint32_t *gids = mem_new_array(uint32_t, user->group_count + 1);
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    struct step *s;
    int rc;

    arena_init(&arena, 0);
    const Pb__Cred *cred = arena_unpack(&arena, &pb__cred__descriptor, l->cred.data, l->cred.len);
    fill_start(d, l, user, &m, gids);
    debug_step(a, l, cred);
    rc = l->kind == LAUNCH_EXTERN ? 0 : fill_tasks(d, l, cred, &m, &plugins, &arena, &err);
    if (!rc)
        rc = contain_fill(a, cred, l->node_index, &m, &arena, &err);
    if (rc) {
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    m.tmp = jobtmp_order(d, a->key.id, user, &arena);
    m.has_confirms_end = true;
    m.confirms_end = l->kind == LAUNCH_TASKS; /* a script's end may wait for the epilog */
    rc = note_launch(a, l, &err);
    if (!rc)
        rc = step_start(a, l->step_id, &m, &s, &err);
    if (rc) {
        note_extern_not_started(a, l);
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    memory_read_grant(s, cred);
    s->call = l->call;
    s->held_bytes = l->message.len + l->cred.len;
    launch_free(l);
}

static void on_user(void *ctx, uint64_t number, const struct user *user, const struct err *why)
{
    struct slurmd *d = ctx;
    struct launch *l;
    struct attempt *a;
    size_t place;

    l = find_launch(d, number, &a, &place);
    if (!l)
        return;
    if (user && l->awaits_commit) {
        assert(l->phase == LAUNCH_LOOKUP);
        l->phase = LAUNCH_PREPARED;
        log_verbose("step %s is prepared", STEP_ID_TEXT(l->attempt.id, l->step_id));
        prepare_await_commit(a, l);
        rpc_prepared(d->server, l->call);
        return;
    }
    vec_remove(&a->waiting, place);
    if (user && l->kind == LAUNCH_RECEIVER)
        receive_start(a, l, user);
    else if (user)
        start_launched_step(a, l, user);
    else
        launch_fail(d, l, -why->code, why->text, false);
    attempt_check_left(a);
}

void launch_go(struct slurmd *d, struct launch *l)
{
    if (l->phase != LAUNCH_QUEUED)
        return;
    l->phase = LAUNCH_LOOKUP;
    users_ask(d->users, l->uid, l->gid, on_user, d, l->number);
}
