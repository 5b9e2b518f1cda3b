/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/ask.h"

static void put_part(const struct part *p, struct env_part *out)
{
    *out = (struct env_part){
        .name = p->conf.name,
        .nodes = p->conf.nodes,
        .is_default = p->conf.is_default,
        .is_up = p->conf.state == CONF_PART_UP,
        .priority_tier = p->conf.priority_tier,
        .priority_job_factor = p->conf.priority_job_factor,
        .min_nodes = p->conf.min_nodes,
        .max_nodes = p->conf.max_nodes,
        .max_time_sec = p->conf.max_time_sec,
        .default_time_sec = p->conf.default_time_sec,
    };
}

/* Those that the caller may use, also those for jobs of reservations: he may be given one. */
static size_t list_parts(struct control *c, const struct caller *who, struct env_part **out,
                         struct arena *arena)
{
    size_t count = 0;
    *out = arena_alloc(arena, (c->cluster->parts.len + 1) * sizeof(**out));
    vec_foreach (&c->cluster->parts, p) {
        Pb__JobSpec in = PB__JOB_SPEC__INIT;
        struct part *found;
        in.partition = (char *)(*p)->conf.name;
        in.reservation = (char *)"any";
        if (access_find_part(c, who, NULL, &in, &found, NULL) == 0)
            put_part(*p, &(*out)[count++]);
    }
    return count;
}

static int ask(struct control *c, const struct caller *who, struct env_submit *q, struct err *err)
{
    struct env_part *parts;
    str_clear(&c->said);
    q->n_parts = list_parts(c, who, &parts, q->arena);
    q->parts = parts;
    q->uid = who->uid;
    q->message = &c->said;
    return c->env->submit(c->env->ctx, q, err);
}

static bool is_asked(struct control *c)
{
    str_clear(&c->said);
    return c->env->asks_submit && c->env->asks_submit(c->env->ctx);
}

int ask_submit(struct control *c, const struct caller *who, const Pb__JobPayload *payload,
               Pb__JobSpec *spec, struct arena *arena, struct err *err)
{
    struct env_submit q = {.spec = spec, .payload = payload, .arena = arena};
    return is_asked(c) ? ask(c, who, &q, err) : 0;
}

int ask_modify(struct control *c, const struct caller *who, const struct job *j, Pb__JobSpec *set,
               struct arena *arena, struct err *err)
{
    if (!is_asked(c))
        return 0;
    struct env_submit q = {
        .spec = set, .before = job_unpack_spec(j, arena), .job_id = j->id, .arena = arena};
    return ask(c, who, &q, err);
}
