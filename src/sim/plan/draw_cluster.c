/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster of a plan: configuration, nodes, partitions. */
#include "sim/plan/draw.h"

void sim_draw_priorities(struct draw *d)
{
    if (!draw_chance(d, 30))
        return;
    add_conf(d, "PriorityType=priority/multifactor");
    add_conf(d, "PriorityCalcPeriod=1");
    add_conf(d, "PriorityWeightAge=%lld", (long long)ONE_OF(d, 0, 10, 1000, 1000000));
    add_conf(d, "PriorityMaxAge=%lld", (long long)ONE_OF(d, 1, 5, 600));
    add_conf(d, "PriorityWeightJobSize=%lld", (long long)ONE_OF(d, 0, 10, 1000));
    if (draw_chance(d, 30))
        add_conf(d, "PriorityWeightTRES=cpu=%lld,mem=%lld", (long long)draw_between(d, -1000, 1000),
                 (long long)draw_between(d, -1000, 1000));
    if (draw_chance(d, 30))
        add_conf(d, "PriorityFlags=%s",
                 WORD(d, "ACCRUE_ALWAYS", "INCR_ONLY", "SMALL_RELATIVE_TO_TIME", "NO_NORMAL_ALL"));
}

void sim_draw_conf(struct draw *d)
{
    add_conf(d, "SelectTypeParameters=%s",
             WORD(d, "CR_Core_Memory", "CR_CPU_Memory", "CR_Core_Memory", "CR_Core", "CR_CPU"));
    add_conf(d, "ReturnToService=%lld", (long long)draw_between(d, d->storm ? 1 : 0, 2));
    add_conf(d, "SlurmdTimeout=%lld",
             (long long)(d->storm ? ONE_OF(d, 2, 3, 5) : ONE_OF(d, 5, 10, 30, 60, 300)));
    add_conf(d, "KillWait=%lld", (long long)ONE_OF(d, 1, 2, 5, 30));
    add_conf(d, "SchedulerType=%s", WORD(d, "sched/backfill", "sched/builtin"));
    if (draw_chance(d, 30))
        add_conf(d, "JobRequeue=0");
    if (draw_chance(d, 20))
        add_conf(d, "OverTimeLimit=%lld", (long long)draw_between(d, 1, 3));
    if (draw_chance(d, 30))
        add_conf(d, "SlurmdParameters=config_overrides");
    if (draw_chance(d, 30))
        add_conf(d, "EnforcePartLimits=%s", WORD(d, "ALL", "ANY", "NO"));
    if (draw_chance(d, 20))
        add_conf(d, "DefMemPerCPU=%lld", (long long)draw_between(d, 10, 200));
    if (draw_chance(d, 20))
        add_conf(d, "Epilog=/bin/true");
    if (draw_chance(d, 30))
        add_conf(d, "BatchStartTimeout=%lld", (long long)ONE_OF(d, 5, 10, 60));
}

/* The versions of the file that have the item: all of them, or some. The first version has the most
 * items. */
static int64_t some_files(struct draw *d, unsigned percent_first)
{
    if (!d->files_differ || draw_chance(d, 60))
        return SIM_ALL_FILES;
    int64_t files = draw_between(d, 0, SIM_ALL_FILES);
    return draw_chance(d, percent_first) ? files | 1 : files & ~INT64_C(1);
}

static void draw_node_row(struct draw *d, int64_t first, int64_t count, int64_t files)
{
    struct sim_item *n = add_item(d, SIM_ITEM_NODE);
    n->id = first;
    n->count = count;
    n->files = files;
    n->sockets = ONE_OF(d, 1, 1, 2);
    n->cores = draw_skewed(d, 1, 8);
    n->threads = ONE_OF(d, 1, 1, 2);
    n->mem_mib = ONE_OF(d, 500, 1000, 2000, 8000);
    n->weight = ONE_OF(d, 1, 1, 2, 5);
    if (draw_chance(d, 50))
        PUT(n->features, "%s", WORD(d, "red", "blue", "red,blue"));
}

/* Dynamic nodes: created by scontrol, or by their own registration. */
static int64_t draw_made_nodes(struct draw *d, int64_t first)
{
    int64_t last = d->first_dynamic = first;
    for (int64_t more = draw_skewed(d, 1, 3); more > 0; more--) {
        int64_t count = draw_skewed(d, 1, 3);
        draw_node_row(d, last, count,
                      d->files_differ && draw_chance(d, 20) ? some_files(d, 20) & ~INT64_C(1) : 0);
        vec_last(&d->plan->items).dynamic = draw_chance(d, 40);
        last += count;
    }
    add_conf(d, "MaxNodeCount=%lld", (long long)last + (long long)draw_between(d, -2, 1));
    vec_last(&d->plan->items).files = some_files(d, 90);
    return last;
}

void sim_draw_nodes(struct draw *d)
{
    int64_t total = draw_skewed(d, 1, draw_chance(d, 10) ? 64 : 16), first = 1;
    while (first <= total) {
        int64_t count = draw_between(d, 1, total - first + 1);
        draw_node_row(d, first, count, first == 1 ? SIM_ALL_FILES : some_files(d, 80));
        first += count;
    }
    if (d->files_differ && draw_chance(d, 50)) {
        int64_t more = draw_skewed(d, 1, 4);
        draw_node_row(d, first, more, draw_between(d, 1, SIM_ALL_FILES) & ~INT64_C(1));
        first += more;
    }
    if (draw_chance(d, 20))
        first = draw_made_nodes(d, first);
    d->nodes = first - 1;
}

void sim_draw_some_nodes(struct draw *d, char *to, size_t size)
{
    int64_t first = draw_between(d, 1, d->nodes), last = draw_between(d, first, d->nodes);
    *to = 0;
    if (first == last)
        put_text(to, size, "n%lld", (long long)first);
    else
        put_text(to, size, "n[%lld-%lld]", (long long)first, (long long)last);
}

const char *sim_draw_share(struct draw *d)
{
    if (d->shares && draw_chance(d, 80))
        return WORD(d, "FORCE:2", "FORCE:2", "FORCE:3", "FORCE:4");
    return WORD(d, "EXCLUSIVE", "NO", "FORCE:1", "FORCE:2", "FORCE:3", "YES:2", "YES:4");
}

static void draw_part_options(struct draw *d, char text[static SIM_TEXT])
{
    if (draw_chance(d, 40))
        put_text(text, SIM_TEXT, ";MaxTime=%lld", (long long)ONE_OF(d, 1, 2, 10));
    if (draw_chance(d, 20))
        put_text(text, SIM_TEXT, ";MaxNodes=%lld", (long long)draw_skewed(d, 1, 8));
    if (draw_chance(d, 30))
        put_text(text, SIM_TEXT, ";MaxCPUsPerNode=%lld", (long long)draw_skewed(d, 1, 8));
    if (draw_chance(d, d->preempts ? 80 : 30))
        put_text(text, SIM_TEXT, ";PriorityTier=%lld", (long long)draw_between(d, 1, 5));
    if (d->preempts && draw_chance(d, 30))
        put_text(text, SIM_TEXT, ";PreemptMode=%s", WORD(d, "OFF", "CANCEL", "REQUEUE", "SUSPEND"));
    if (d->preempts && draw_chance(d, 30))
        put_text(text, SIM_TEXT, ";GraceTime=%lld", (long long)ONE_OF(d, 1, 10));
    if (draw_chance(d, 20))
        put_text(text, SIM_TEXT, ";OverTimeLimit=%lld", (long long)draw_between(d, 0, 2));
    if (draw_chance(d, d->shares ? 90 : 25))
        put_text(text, SIM_TEXT, ";OverSubscribe=%s", sim_draw_share(d));
    if (draw_chance(d, 10))
        put_text(text, SIM_TEXT, ";DefMemPerNode=%lld", (long long)ONE_OF(d, 100, 400));
}

/* The same partition with other options in some versions of the file. */
static void draw_other_part(struct draw *d, struct sim_item *p)
{
    struct sim_item other = *p;
    other.files = p->files & draw_between(d, 1, SIM_ALL_FILES - 1);
    p->files &= ~other.files;
    other.text[strcspn(other.text, ";")] = 0;
    draw_part_options(d, other.text);
    vec_push(&d->plan->items, other);
}

void sim_draw_parts(struct draw *d)
{
    d->parts = draw_skewed(d, 1, 4);
    for (int64_t i = 1; i <= d->parts; i++) {
        struct sim_item *p = add_item(d, SIM_ITEM_PART);
        PUT(p->name, "p%lld", (long long)i);
        if (i == 1) {
            PUT(p->text, "Default=YES");
            PUT(p->nodes, "ALL");
        } else {
            PUT(p->text, "Default=NO");
            sim_draw_some_nodes(d, p->nodes, sizeof p->nodes);
            p->files = some_files(d, 80);
        }
        if (i > 1 || draw_chance(d, 30))
            draw_part_options(d, p->text);
        if (d->files_differ && draw_chance(d, 30))
            draw_other_part(d, p);
    }
}

void sim_draw_hooks(struct draw *d)
{
    if (draw_chance(d, 30))
        add_conf(d, "PrologSlurmctld=/bin/true");
    if (draw_chance(d, 20)) {
        add_conf(d, "Prolog=/bin/true");
        add_conf(d, "PrologFlags=Alloc");
    }
    if (draw_chance(d, 30))
        add_conf(d, "EpilogSlurmctld=/bin/true");
}

struct sim_item *sim_draw_find_conf(struct draw *d, const char *key)
{
    vec_foreach (&d->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, strlen(key)) == 0)
            return item;
    return NULL;
}

/* Whole nodes or sockets instead of cores and CPUs. */
void sim_draw_select(struct draw *d)
{
    struct sim_item *parameters = sim_draw_find_conf(d, "SelectTypeParameters=");
    if (!parameters || !draw_chance(d, 25))
        return;
    bool linear = draw_chance(d, 60);
    *parameters->text = 0;
    PUT(parameters->text, "SelectTypeParameters=%s",
        linear ? WORD(d, "CR_Memory", "CR_Memory", "NONE")
               : WORD(d, "CR_Socket_Memory", "CR_Socket"));
    if (linear)
        add_conf(d, "SelectType=select/linear");
}

void sim_draw_requeue_delay(struct draw *d)
{
    if (draw_chance(d, 30))
        add_conf(d, "SchedulerParameters=requeue_delay=%lld", (long long)ONE_OF(d, 1, 10, 120));
}

/* Partitions that allocate whole sockets. */
void sim_draw_part_sockets(struct draw *d)
{
    vec_foreach (&d->plan->items, item)
        if (item->kind == SIM_ITEM_PART && draw_chance(d, 10))
            put_text(item->text, SIM_TEXT, ";SelectTypeParameters=%s",
                     WORD(d, "CR_Socket", "CR_Socket_Memory"));
}
