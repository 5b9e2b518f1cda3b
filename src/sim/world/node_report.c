/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a virtual node says of its jobs. */
#include "sim/world/parts.h"

void sim_report_launched(struct sim *s, unsigned index, struct sim_key key, int code, bool drain)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    m.code = code;
    m.text = code ? (char *)err_text(code) : NULL;
    m.has_drain = m.drain = drain;
    if (code)
        sim_end_not_launched(s, key);
    event.launched = &m;
    sim_node_tell(s, index, &event);
}

void sim_report_gone(struct sim *s, unsigned index, struct sim_key key)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__JobGone m = PB__JOB_GONE__INIT;
    const struct sim_watch *w = sim_watch_find(s, key.job_id);
    m.has_epilog_status =
        !s->quiet && w && w->client != UINT32_MAX && s->clients.data[w->client].item->epilog_fails;
    m.epilog_status = 1 << 8;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    event.job_gone = &m;
    sim_node_tell(s, index, &event);
}

void sim_report_batch_ended(struct sim *s, unsigned index, const struct sim_node_job *j, bool gone)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    m.exit_status = j->status;
    sim_end_of_script(s, j->key, j->status);
    m.has_gone = true;
    m.gone = gone;
    event.batch_ended = &m;
    sim_node_tell(s, index, &event);
}

void sim_report_step_ended(struct sim *s, unsigned index, struct sim_key key, uint32_t step_id,
                           int status)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__StepEnded m = PB__STEP_ENDED__INIT;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    m.step_id = step_id;
    m.exit_status = status;
    sim_end_of_step(s, key, status);
    event.step_ended = &m;
    sim_node_tell(s, index, &event);
}

void sim_report_prepared(struct sim *s, unsigned index, struct sim_node_job *j)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Prepared m = PB__PREPARED__INIT;
    if (!j->tells_prepared)
        return;
    j->tells_prepared = false;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    event.prepared = &m;
    sim_node_tell(s, index, &event);
}

void sim_report_halted(struct sim *s, unsigned index, const struct sim_node_job *j)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Halted m = PB__HALTED__INIT;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    m.number = j->halt_number;
    event.halted = &m;
    sim_node_tell(s, index, &event);
}
