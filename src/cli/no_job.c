/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/no_job.h"

#include "cli/cmd.h"
#include "cluster/job/job_set_text.h"
#include "proto/job.pb-c.h"
#include "show/job_ids.h"

struct count {
    uint32_t job_id; /* the requested id */
    bool is_known;
    uint32_t components; /* 0: not the leader of a job set */
    uint32_t leader_id;  /* leader of the set of which it is a component; 0: none */
};

static int note_listed_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct count *c = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live)
            continue;
        c->is_known = true;
        if (live->has_set_id && live->set_id == c->job_id)
            c->components = live->set_count;
        else if (live->has_set_id)
            c->leader_id = live->set_id;
    }
    return 0;
}

static int count_jobs(struct count *c)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.job_id = &c->job_id;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    return rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, note_listed_jobs, c, NULL);
}

bool no_job_is_known(const Pb__StepId *id)
{
    struct count c = {.job_id = id->job_id};
    return count_jobs(&c) < 0 || c.is_known;
}

int no_job_refuse(const Pb__StepId *id, struct err *err)
{
    struct count c = {.job_id = id->job_id};
    Pb__StepId job = *id;
    _cleanup_str_ struct str name = STR_INIT;
    job.has_set_offset = job.has_step_id = false;
    job_ids_put_asked(&job, &name);
    if (id->has_set_offset)
        (void)count_jobs(&c);
    if (c.components)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_OFFSETS, err_text(ERR_NO_JOB),
                       str_cstr(&name), c.components - 1);
    if (c.leader_id)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_MEMBER, err_text(ERR_NO_JOB),
                       str_cstr(&name), c.leader_id);
    if (c.is_known)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_ORDINARY, err_text(ERR_NO_JOB),
                       str_cstr(&name));
    return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
}

bool no_job_explain(const Pb__StepId *id, struct err *err)
{
    return id->has_set_offset && no_job_refuse(id, err) < 0;
}
