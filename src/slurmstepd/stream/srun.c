/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/srun.h"

#include "base/mem.h"

bool srun_has_room(const struct step *step)
{
    return !step->srun || rpc_session_backlog(step->srun) < RPC_SESSION_HIGH;
}

static void send_message(struct step *step, enum rpc_number rpc, const ProtobufCMessage *m)
{
    if (step->srun)
        rpc_session_send(step->srun, rpc, m);
}

void srun_send_data(struct step *step, uint32_t task, uint32_t number, const void *data, size_t len)
{
    Pb__IoData m = PB__IO_DATA__INIT;

    m.task = task;
    m.stream = number;
    m.has_data = true;
    m.data.data = (uint8_t *)data;
    m.data.len = len;
    send_message(step, RPC_IO_DATA, &m.base);
}

void srun_tell_started(struct step *step, struct rpc_session *to)
{
    Pb__TasksStarted m = PB__TASKS_STARTED__INIT;
    uint32_t *ids = mem_new_array(uint32_t, step->task_count);
    uint32_t *pids = mem_new_array(uint32_t, step->task_count);

    for (size_t i = 0; i < step->task_count; i++) {
        ids[i] = step->tasks[i].id;
        pids[i] = (uint32_t)(step->tasks[i].pid ? step->tasks[i].pid : step->tasks[i].last_pid);
    }
    m.task = ids;
    m.pid = pids;
    m.n_task = m.n_pid = step->task_count;
    rpc_session_send(to, RPC_TASKS_STARTED, &m.base);
    free(ids);
    free(pids);
}

void srun_tasks_started(struct step *step)
{
    if (step->srun)
        srun_tell_started(step, step->srun);
}

void srun_task_failed(struct step *step, uint32_t task, int code, const char *text)
{
    Pb__TaskFailed m = PB__TASK_FAILED__INIT;

    m.task = task;
    m.code = code;
    m.text = (char *)text;
    send_message(step, RPC_TASK_FAILED, &m.base);
}

void srun_task_exited(struct step *step, const struct task *t)
{
    Pb__TaskExited m = PB__TASK_EXITED__INIT;

    m.task = t->id;
    m.exit_status = t->wait_status;
    send_message(step, RPC_TASK_EXITED, &m.base);
}

void srun_abort(struct step *step, int exit_code, const char *text, bool broken)
{
    Pb__KvsAbort m = PB__KVS_ABORT__INIT;

    m.exit_code = exit_code;
    m.text = (char *)text;
    m.has_broken = m.broken = broken;
    send_message(step, RPC_KVS_ABORT, &m.base);
}

void srun_fence(struct step *step, uint32_t round, const Pb__KvsEntry *pairs, size_t count)
{
    Pb__KvsFence m = PB__KVS_FENCE__INIT;
    Pb__KvsEntry **list = mem_new_array(Pb__KvsEntry *, count ? count : 1);

    for (size_t i = 0; i < count; i++)
        list[i] = (Pb__KvsEntry *)&pairs[i];
    m.round = round;
    m.put = list;
    m.n_put = count;
    send_message(step, RPC_KVS_FENCE, &m.base);
    free(list);
}

void srun_name(struct step *step, const Pb__NameRequest *m)
{
    send_message(step, RPC_NAME_REQUEST, &m->base);
}

void srun_spawn(struct step *step, const Pb__Spawn *m)
{
    send_message(step, RPC_SPAWN, &m->base);
}

void srun_begun(struct step *step)
{
    Pb__Spawned m = PB__SPAWNED__INIT;

    if (step->is_spawned)
        send_message(step, RPC_SPAWNED, &m.base);
}

void srun_tunnel(struct step *step, const Pb__TunnelData *m)
{
    send_message(step, RPC_TUNNEL_DATA, &m->base);
}

void srun_pmix(struct step *step, enum rpc_number rpc, const ProtobufCMessage *m)
{
    send_message(step, rpc, m);
}

void srun_finish(struct step *step, const Pb__Usage *usage)
{
    Pb__StepDone m = PB__STEP_DONE__INIT;

    m.usage = (Pb__Usage *)usage;
    send_message(step, RPC_STEP_DONE, &m.base);
    if (step->srun)
        rpc_session_finish(step->srun);
}
