/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which communication ports a step gets (srun --resv-ports). They are counted anew at each request
 * out of what running steps have, so that there is nothing that a restart could forget. Steps of
 * all jobs share them: who waits for some is asked again when any come free, also another job's.
 */
#include "cluster/job/step_ports.h"
#include "control/internal.h"
#include "control/step/step_layout.h"

int step_ports_check(const struct control *c, const Pb__StepSpec *spec, struct err *err)
{
    const struct conf *conf = c->conf;
    uint32_t room = conf->mpi_port_high - conf->mpi_port_low + 1;
    if (!spec->has_resv_ports || spec->resv_ports == 0)
        return 0;
    if (!conf->mpi_port_low)
        return control_set_error(err, ERR_STEP_CONFIG,
                                 "--resv-ports needs MpiParams=ports=LOW-HIGH in slurm.conf");
    if (spec->resv_ports == STEP_PORTS_EACH || spec->resv_ports <= room)
        return 0;
    return err_set(err, -ERR_STEP_CONFIG,
                   "%s: --resv-ports=%u asks for more ports than MpiParams=%s has, which is %u",
                   err_text(ERR_STEP_CONFIG), spec->resv_ports, conf->mpi_params, room);
}

static uint32_t most_tasks(const struct step_layout *l)
{
    uint32_t most = 0;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        most = l->tasks[i] > most ? l->tasks[i] : most;
    return most;
}

static struct bitset *used_ports(const struct control *c, const struct step_layout *l)
{
    struct bitset *used = bitset_new(c->conf->mpi_port_high + 1);
    _cleanup_bitset_ struct bitset *nodes = bitset_new(c->cluster->nodes.len);
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        if (l->tasks[i])
            bitset_set(nodes, attempt_of(l->j)->alloc.data[i].node);
    step_ports_used(c->cluster, nodes, used);
    return used;
}

int step_ports_find(const struct control *c, struct step_layout *l, struct arena *arena,
                    struct err *err)
{
    const struct conf *conf = c->conf;
    uint32_t wanted = l->spec->has_resv_ports ? l->spec->resv_ports : 0;
    Pb__StepSpec counted = *l->spec;
    if (wanted == STEP_PORTS_EACH)
        counted.resv_ports = wanted = most_tasks(l);
    int rc = step_ports_check(c, &counted, err);
    if (rc != 0 || wanted == 0)
        return rc;
    _cleanup_bitset_ struct bitset *used = used_ports(c, l);
    l->ports = arena_alloc(arena, sizeof(*l->ports) * wanted);
    l->port_count = 0;
    for (uint32_t p = conf->mpi_port_low; p <= conf->mpi_port_high && l->port_count < wanted; p++)
        if (!bitset_test(used, p))
            l->ports[l->port_count++] = p;
    if (l->port_count == wanted)
        return 0;
    return err_set(err, -ERR_NODES_BUSY,
                   "%s: %u %s asked for, and %zu of MpiParams=%s %s free on its nodes; "
                   "other steps have the rest",
                   err_text(ERR_NODES_BUSY), wanted, wanted == 1 ? "port is" : "ports are",
                   l->port_count, conf->mpi_params, l->port_count == 1 ? "is" : "are");
}

void step_ports_take(const struct step_layout *l, struct step *s)
{
    for (size_t i = 0; i < l->port_count; i++)
        vec_push(&s->ports, (uint16_t)l->ports[i]);
}

void step_ports_over(struct control *c, struct job *j, const struct step *s)
{
    if (!s->ports.len)
        return;
    if (!job_is_final(j)) {
        c->ports_freed = true;
        return;
    }
    vec_foreach (&s->ports, p)
        vec_push(&attempt_make(j)->late_ports, *p);
}

void step_ports_job_clean(struct control *c, struct job *j)
{
    if (!attempt_of(j)->late_ports.len)
        return;
    vec_clear(&j->attempt->late_ports);
    c->ports_freed = true;
}

/* Once, though its steps are tried again whenever another one of the job ends. */
void step_ports_await(struct control *c, const struct job *j)
{
    vec_foreach (&c->ports_awaited, id)
        if (*id == j->id)
            return;
    vec_push(&c->ports_awaited, j->id);
}

void step_ports_turn(struct control *c)
{
    if (!c->ports_freed)
        return;
    c->ports_freed = false;
    for (size_t left = c->ports_awaited.len; left-- > 0;) {
        uint32_t id = c->ports_awaited.data[0];
        vec_remove(&c->ports_awaited, 0);
        struct job *j = cluster_find_job(c->cluster, id);
        if (j && j->attempt)
            step_retry_waiting(c, j);
    }
}
