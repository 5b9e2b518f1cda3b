/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans drawn from a seed. Small worlds with much happening at once find more than large ones, so
 * counts are skewed to the small; every feature is in some plans and absent from others.
 */
#include "sim/draw.h"

/* --- the cluster --------------------------------------------------------------------------------
 */

static void draw_priorities(struct draw *d)
{
    conf(d, "PriorityType=priority/multifactor");
    conf(d, "PriorityCalcPeriod=1");
    conf(d, "PriorityWeightAge=%lld", (long long)ONE_OF(d, 0, 10, 1000, 1000000));
    conf(d, "PriorityMaxAge=%lld", (long long)ONE_OF(d, 1, 5, 600));
    conf(d, "PriorityWeightJobSize=%lld", (long long)ONE_OF(d, 0, 10, 1000));
    if (chance(d, 30))
        conf(d, "PriorityWeightTRES=cpu=%lld,mem=%lld", (long long)between(d, -1000, 1000),
             (long long)between(d, -1000, 1000));
    if (chance(d, 30))
        conf(d, "PriorityFlags=%s",
             WORD(d, "ACCRUE_ALWAYS", "INCR_ONLY", "SMALL_RELATIVE_TO_TIME", "NO_NORMAL_ALL"));
}

static void draw_conf(struct draw *d)
{
    conf(d, "SelectTypeParameters=%s",
         WORD(d, "CR_Core_Memory", "CR_CPU_Memory", "CR_Core_Memory", "CR_Core", "CR_CPU"));
    conf(d, "ReturnToService=%lld", (long long)between(d, d->storm ? 1 : 0, 2));
    conf(d, "SlurmdTimeout=%lld",
         (long long)(d->storm ? ONE_OF(d, 2, 3, 5) : ONE_OF(d, 5, 10, 30, 60, 300)));
    conf(d, "KillWait=%lld", (long long)ONE_OF(d, 1, 2, 5, 30));
    conf(d, "SchedulerType=%s", WORD(d, "sched/backfill", "sched/builtin"));
    if (chance(d, 30))
        conf(d, "JobRequeue=0");
    if (chance(d, 20))
        conf(d, "OverTimeLimit=%lld", (long long)between(d, 1, 3));
    if (chance(d, 30))
        conf(d, "SlurmdParameters=config_overrides");
    if (chance(d, 30))
        conf(d, "EnforcePartLimits=%s", WORD(d, "ALL", "ANY", "NO"));
    if (chance(d, 20))
        conf(d, "DefMemPerCPU=%lld", (long long)between(d, 10, 200));
    if (chance(d, 20))
        conf(d, "Epilog=/bin/true");
    if (chance(d, 30))
        conf(d, "BatchStartTimeout=%lld", (long long)ONE_OF(d, 5, 10, 60));
}

static void draw_preemption(struct draw *d)
{
    if (!chance(d, 35))
        return;
    d->preempts = true;
    conf(d, "PreemptType=preempt/partition_prio");
    conf(d, "PreemptMode=%s",
         WORD(d, "CANCEL,GANG", "REQUEUE,GANG", "REQUEUE,GANG", "SUSPEND,GANG", "SUSPEND,GANG"));
    if (chance(d, 30))
        conf(d, "PreemptExemptTime=%s", WORD(d, "0:05", "0:30"));
    if (chance(d, 30))
        conf(d, "PreemptParameters=%s", WORD(d, "youngest_first", "strict_order"));
}

/* In which versions of the file it is: all, but for some. The first version has most. */
static int64_t some_files(struct draw *d, unsigned percent_first)
{
    if (!d->files_differ || chance(d, 60))
        return SIM_ALL_FILES;
    int64_t files = between(d, 0, SIM_ALL_FILES);
    return chance(d, percent_first) ? files | 1 : files & ~INT64_C(1);
}

static void draw_node_row(struct draw *d, int64_t first, int64_t count, int64_t files)
{
    struct sim_item *n = add(d, SIM_ITEM_NODE);
    n->id = first;
    n->count = count;
    n->files = files;
    n->sockets = ONE_OF(d, 1, 1, 2);
    n->cores = skewed(d, 1, 8);
    n->threads = ONE_OF(d, 1, 1, 2);
    n->mem_mib = ONE_OF(d, 500, 1000, 2000, 8000);
    n->weight = ONE_OF(d, 1, 1, 2, 5);
    if (chance(d, 50))
        PUT(n->features, "%s", WORD(d, "red", "blue", "red,blue"));
}

/* By scontrol, or by their own registration. */
static int64_t draw_made_nodes(struct draw *d, int64_t first)
{
    int64_t last = d->made = first;
    for (int64_t more = skewed(d, 1, 3); more > 0; more--) {
        int64_t count = skewed(d, 1, 3);
        draw_node_row(d, last, count,
                      d->files_differ && chance(d, 20) ? some_files(d, 20) & ~INT64_C(1) : 0);
        vec_last(&d->plan->items).dynamic = chance(d, 40);
        last += count;
    }
    conf(d, "MaxNodeCount=%lld", (long long)(last - 1 + between(d, -1, 2)));
    vec_last(&d->plan->items).files = some_files(d, 90);
    return last;
}

static void draw_nodes(struct draw *d)
{
    int64_t total = skewed(d, 1, chance(d, 10) ? 64 : 16), first = 1;
    while (first <= total) {
        int64_t count = between(d, 1, total - first + 1);
        draw_node_row(d, first, count, first == 1 ? SIM_ALL_FILES : some_files(d, 80));
        first += count;
    }
    if (d->files_differ && chance(d, 50)) {
        int64_t more = skewed(d, 1, 4);
        draw_node_row(d, first, more, between(d, 1, SIM_ALL_FILES) & ~INT64_C(1));
        first += more;
    }
    if (chance(d, 20))
        first = draw_made_nodes(d, first);
    d->nodes = first - 1;
}

static void some_nodes(struct draw *d, char *to, size_t size)
{
    int64_t first = between(d, 1, d->nodes), last = between(d, first, d->nodes);
    *to = 0;
    if (first == last)
        put(to, size, "n%lld", (long long)first);
    else
        put(to, size, "n[%lld-%lld]", (long long)first, (long long)last);
}

static const char *share(struct draw *d)
{
    return WORD(d, "EXCLUSIVE", "NO", "FORCE:1", "FORCE:2", "FORCE:3", "YES:2", "YES:4");
}

static void draw_part_options(struct draw *d, char text[static SIM_TEXT])
{
    if (chance(d, 40))
        put(text, SIM_TEXT, ";MaxTime=%lld", (long long)ONE_OF(d, 1, 2, 10));
    if (chance(d, 20))
        put(text, SIM_TEXT, ";MaxNodes=%lld", (long long)skewed(d, 1, 8));
    if (chance(d, 30))
        put(text, SIM_TEXT, ";MaxCPUsPerNode=%lld", (long long)skewed(d, 1, 8));
    if (chance(d, d->preempts ? 80 : 30))
        put(text, SIM_TEXT, ";PriorityTier=%lld", (long long)between(d, 1, 5));
    if (d->preempts && chance(d, 30))
        put(text, SIM_TEXT, ";PreemptMode=%s", WORD(d, "OFF", "CANCEL", "REQUEUE", "SUSPEND"));
    if (d->preempts && chance(d, 30))
        put(text, SIM_TEXT, ";GraceTime=%lld", (long long)ONE_OF(d, 1, 10));
    if (chance(d, 20))
        put(text, SIM_TEXT, ";OverTimeLimit=%lld", (long long)between(d, 0, 2));
    if (chance(d, 25))
        put(text, SIM_TEXT, ";OverSubscribe=%s", share(d));
    if (chance(d, 10))
        put(text, SIM_TEXT, ";DefMemPerNode=%lld", (long long)ONE_OF(d, 100, 400));
}

/* The same partition with other options in some versions of the file. */
static void draw_other_part(struct draw *d, struct sim_item *p)
{
    struct sim_item other = *p;
    other.files = p->files & between(d, 1, SIM_ALL_FILES - 1);
    p->files &= ~other.files;
    other.text[strcspn(other.text, ";")] = 0;
    draw_part_options(d, other.text);
    vec_push(&d->plan->items, other);
}

static void draw_parts(struct draw *d)
{
    d->parts = skewed(d, 1, 4);
    for (int64_t i = 1; i <= d->parts; i++) {
        struct sim_item *p = add(d, SIM_ITEM_PART);
        PUT(p->name, "p%lld", (long long)i);
        if (i == 1) {
            PUT(p->text, "Default=YES");
            PUT(p->nodes, "ALL");
        } else {
            PUT(p->text, "Default=NO");
            some_nodes(d, p->nodes, sizeof p->nodes);
            p->files = some_files(d, 80);
        }
        if (i > 1 || chance(d, 30))
            draw_part_options(d, p->text);
        if (d->files_differ && chance(d, 30))
            draw_other_part(d, p);
    }
}

/* --- jobs ---------------------------------------------------------------------------------------
 */

static void draw_shape(struct draw *d, struct sim_item *j)
{
    if (chance(d, 60))
        j->tasks = skewed(d, 1, 12);
    if (chance(d, 40))
        j->min_nodes = skewed(d, 1, d->nodes < 6 ? d->nodes : 6);
    if (chance(d, 15) && j->min_nodes)
        j->max_nodes = j->min_nodes + skewed(d, 0, 4);
    if (chance(d, 20))
        j->cpus_per_task = skewed(d, 1, 4);
    if (chance(d, 40))
        j->mem_cpu_mib = skewed(d, 1, 300);
    else if (chance(d, 30))
        j->mem_node_mib = skewed(d, 1, 1000);
    j->exclusive = chance(d, 8);
    j->shares = chance(d, 30);
    j->contiguous = chance(d, 5);
    if (chance(d, 10))
        PUT(j->features, "%s", WORD(d, "red", "blue"));
    if (chance(d, 6))
        some_nodes(d, j->required, sizeof j->required);
    if (chance(d, 6))
        some_nodes(d, j->excluded, sizeof j->excluded);
    if (d->parts > 1 && chance(d, 50))
        PUT(j->name, "p%lld", (long long)between(d, 1, d->parts));
}

static void draw_life(struct draw *d, struct sim_item *j)
{
    j->limit_sec = ONE_OF(d, 1, 5, 30, 60, 60, 120, 300);
    j->run_ms = chance(d, 20) ? between(d, 1, 200) : skewed(d, 1, j->limit_sec * 1200);
    j->exit_code = chance(d, 10) ? between(d, 1, 3) : 0;
    j->begin_sec = chance(d, 6) ? skewed(d, 1, 600) : 0;
    j->held = chance(d, 5);
    j->requeue = d->storm && chance(d, 70) ? 1 : chance(d, 30) ? between(d, 1, 2) : 0;
    j->no_kill = chance(d, 8);
    j->waits = chance(d, 15);
    j->stubborn = chance(d, 10);
    j->nice = chance(d, 10) ? between(d, 0, 100) : 0;
    j->launch_fails = chance(d, 2);
    j->prolog_fails = chance(d, 1);
    j->epilog_fails = chance(d, 1);
    j->again_ms = chance(d, 5);
    if (chance(d, 8))
        PUT(j->signal, "%s", WORD(d, "USR1@10", "B:USR1@2", "USR2"));
}

static void draw_job(struct draw *d, int64_t id)
{
    struct sim_item *j = add(d, SIM_ITEM_JOB);
    j->id = id;
    j->at_ms = d->span_ms * id / (d->jobs + 1);
    j->what = chance(d, 70) ? SIM_JOB_BATCH : between(d, SIM_JOB_ALLOC, SIM_JOB_SRUN);
    j->uid = 1000 + between(d, 0, 2);
    draw_shape(d, j);
    draw_life(d, j);
    if (j->what == SIM_JOB_BATCH ? chance(d, d->storm ? 60 : 20) : chance(d, 80)) {
        j->steps = skewed(d, 1, 5);
        j->step_ms = skewed(d, 1, 20000);
        j->step_tasks = chance(d, 50) ? skewed(d, 1, 6) : 0;
        j->overlap = chance(d, 20);
    }
    if (j->what == SIM_JOB_BATCH)
        return;
    j->run_ms = skewed(d, 1, 20000);
    j->immediate = chance(d, 5);
    j->dies_ms = chance(d, 15) ? skewed(d, 1, 20000) : 0;
}

/* --- what is done -------------------------------------------------------------------------------
 */

static int64_t job_at(struct draw *d, int64_t at_ms)
{
    int64_t there = at_ms * (d->jobs + 1) / d->span_ms; /* those who have come by then */
    there = there < 1 ? 1 : there > d->jobs ? d->jobs : there;
    return between(d, there > 12 ? there - 12 : 1, there);
}

static void draw_job_act(struct draw *d, struct sim_item *a)
{
    static const uint8_t often[] = {
        SIM_DO_CANCEL,  SIM_DO_CANCEL,     SIM_DO_CANCEL,       SIM_DO_SIGNAL,   SIM_DO_CANCEL_STEP,
        SIM_DO_HOLD,    SIM_DO_HOLD,       SIM_DO_USER_HOLD,    SIM_DO_RELEASE,  SIM_DO_RELEASE,
        SIM_DO_REQUEUE, SIM_DO_REQUEUE,    SIM_DO_REQUEUE_HOLD, SIM_DO_LIMIT,    SIM_DO_LIMIT,
        SIM_DO_NICE,    SIM_DO_COMMENT,    SIM_DO_MOVE,         SIM_DO_PRIORITY, SIM_DO_BEGIN,
        SIM_DO_MEMORY,  SIM_DO_CONSTRAINT, SIM_DO_SUSPEND,      SIM_DO_SUSPEND,  SIM_DO_CONTINUE};
    a->what = often[between(d, 0, (int64_t)sizeof often - 1)];
    a->id = job_at(d, a->at_ms);
    a->root = chance(d, a->what == SIM_DO_SUSPEND || a->what == SIM_DO_CONTINUE ? 95 : 40);
    if (a->what == SIM_DO_CANCEL && chance(d, 4))
        a->what = SIM_DO_CANCEL_USER;
    if (a->what == SIM_DO_LIMIT)
        a->value = ONE_OF(d, 1, 10, 60, 90, 600);
    else if (a->what == SIM_DO_NICE)
        a->value = between(d, 0, 1000);
    else if (a->what == SIM_DO_CANCEL_STEP)
        a->value = between(d, -1, 2);
    else if (a->what == SIM_DO_COMMENT)
        a->value = between(d, 1, 1000000);
    else if (a->what == SIM_DO_PRIORITY)
        a->value = skewed(d, 0, 5000000000 / 2);
    else if (a->what == SIM_DO_BEGIN)
        a->value = between(d, -60, 600);
    else if (a->what == SIM_DO_MEMORY)
        a->value = skewed(d, 1, 1500);
    else if (a->what == SIM_DO_CONSTRAINT)
        PUT(a->text, "%s", WORD(d, "red", "blue"));
    else if (a->what == SIM_DO_MOVE)
        PUT(a->name, "p%lld", (long long)between(d, 1, d->parts));
}

static void draw_node_act(struct draw *d, struct sim_item *a)
{
    a->what = between(d, SIM_DO_DRAIN, SIM_DO_FAIL);
    if (a->what == SIM_DO_NODE_WEIGHT)
        a->value = between(d, 0, 10);
    else if (a->what == SIM_DO_NODE_FEATURES)
        PUT(a->text, "%s", WORD(d, "red", "blue", "red,blue"));
    else if (a->what == SIM_DO_NODE_COMMENT)
        PUT(a->text, "c%lld", (long long)between(d, 1, 1000));
    else if (chance(d, 40))
        a->what = SIM_DO_RESUME;
    PUT(a->nodes, "n%lld", (long long)between(d, 1, d->nodes));
    a->root = 1;
}

static void draw_made_act(struct draw *d, struct sim_item *a)
{
    a->what = chance(d, 60) ? SIM_DO_NODE_CREATE : SIM_DO_NODE_DELETE;
    PUT(a->nodes, "n%lld", (long long)between(d, d->made, d->nodes));
    a->value = chance(d, 10);
    a->root = 1;
}

static void draw_part_act(struct draw *d, struct sim_item *a)
{
    a->what = between(d, SIM_DO_PART_STATE, SIM_DO_PART_REMOVE);
    a->root = 1;
    PUT(a->name, "p%lld", (long long)between(d, 1, d->parts + 1));
    if (a->what == SIM_DO_PART_STATE)
        PUT(a->text, "%s", WORD(d, "UP", "UP", "DOWN", "DRAIN", "INACTIVE"));
    else if (a->what == SIM_DO_PART_TIME)
        a->value = ONE_OF(d, 30, 60, 600);
    else if (a->what == SIM_DO_PART_SHARE)
        PUT(a->text, "%s", share(d));
    else if (a->what == SIM_DO_PART_CPUS)
        a->value = between(d, 0, 6);
    some_nodes(d, a->nodes, sizeof a->nodes);
}

/* Who cancelled by mistake, or queued it again when it is of no use any more. */
static void draw_other_mind(struct draw *d, int64_t id, int64_t at_ms, enum sim_do what)
{
    struct sim_item *a = add(d, SIM_ITEM_DO);
    a->what = what;
    a->id = id;
    a->at_ms = at_ms + skewed(d, 1, 20000);
    a->root = 1;
}

/* A job that waits for its time is cancelled, and wanted after all. */
static void draw_regrets(struct draw *d)
{
    size_t count = d->plan->items.len;
    for (size_t i = 0; i < count; i++) {
        const struct sim_item job = d->plan->items.data[i];
        if (job.kind != SIM_ITEM_JOB || !job.begin_sec || !chance(d, 15))
            continue;
        struct sim_item *a = add(d, SIM_ITEM_DO);
        a->what = SIM_DO_CANCEL;
        a->id = job.id;
        a->at_ms = job.at_ms + skewed(d, 1, job.begin_sec * 1000);
        draw_other_mind(d, job.id, a->at_ms, SIM_DO_REQUEUE);
    }
}

static void draw_acts(struct draw *d)
{
    bool nodes = chance(d, 50), parts = chance(d, 25), files = d->files_differ;
    int64_t count = skewed(d, 0, d->jobs);
    for (int64_t i = 0; i < count; i++) {
        struct sim_item *a = add(d, SIM_ITEM_DO);
        a->at_ms = between(d, 1, d->span_ms);
        if (d->made && chance(d, 25)) {
            draw_made_act(d, a);
        } else if (nodes && chance(d, 25)) {
            draw_node_act(d, a);
        } else if (parts && chance(d, 25)) {
            draw_part_act(d, a);
        } else if (files && chance(d, 20)) {
            a->what = chance(d, 80)   ? SIM_DO_RECONFIGURE
                      : chance(d, 50) ? SIM_DO_PREVIEW
                                      : SIM_DO_EDIT;
            a->value = between(d, 0, SIM_FILES - 1);
            a->root = 1;
        } else {
            draw_job_act(d, a);
        }
        a->again_ms = chance(d, 4);
        if (a->what == SIM_DO_CANCEL && chance(d, 15))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_REQUEUE);
        else if (a->what == SIM_DO_REQUEUE && chance(d, 30))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_CANCEL);
        else if (a->what == SIM_DO_SUSPEND && chance(d, 70))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_CONTINUE);
    }
}

/* --- faults -------------------------------------------------------------------------------------
 */

static void draw_crash(struct draw *d, struct sim_item *f)
{
    f->point = between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->for_ms = chance(d, 70) ? between(d, 10, 2000) : skewed(d, 10, 120000);
    f->keep = between(d, 0, 99);
    if (chance(d, 20))
        f->then = between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->boot = chance(d, 5);
}

static void draw_clock(struct draw *d, struct sim_item *f)
{
    f->value = ONE_OF(d, 3600000, -3600000, -60000, 90000, 2147483640000, 4291747200000);
}

static void draw_node_fault(struct draw *d, struct sim_item *f)
{
    static const uint8_t often[] = {SIM_FAULT_BREAK, SIM_FAULT_BREAK,  SIM_FAULT_BREAK,
                                    SIM_FAULT_KILL,  SIM_FAULT_REBOOT, SIM_FAULT_REBOOT,
                                    SIM_FAULT_STOP,  SIM_FAULT_SLOW,   SIM_FAULT_REPEAT,
                                    SIM_FAULT_LIE,   SIM_FAULT_SKEW};
    f->what = often[between(d, 0, (int64_t)sizeof often - 1)];
    f->node = between(d, 1, d->nodes);
    f->for_ms = skewed(d, 1, f->what == SIM_FAULT_BREAK || d->storm ? 20000 : 120000);
    if (f->what == SIM_FAULT_BREAK)
        f->keep = skewed(d, 0, 30000);
    if (f->what == SIM_FAULT_SLOW)
        f->value = skewed(d, 10, 15000);
    if (f->what == SIM_FAULT_LIE && chance(d, 70))
        f->cpus = chance(d, 70) ? 1 : 64;
    if (f->what == SIM_FAULT_SKEW)
        f->value = ONE_OF(d, -3600000, -90000, 5000, 110000, 400000, 3600000);
    if (f->what == SIM_FAULT_LIE && chance(d, 50))
        f->value = chance(d, 70) ? between(d, 1, 400) : 1000000;
}

static void draw_faults(struct draw *d)
{
    bool clock = chance(d, 15);
    int64_t count = d->storm ? between(d, 10, 80) : chance(d, 10) ? 0 : skewed(d, 1, 40);
    unsigned crashes = (unsigned)(d->storm ? between(d, 2, 15) : between(d, 10, 60));
    for (int64_t i = 0; i < count; i++) {
        struct sim_item *f = add(d, SIM_ITEM_FAULT);
        f->at_ms = between(d, 1, d->span_ms);
        if (chance(d, crashes)) {
            f->what = SIM_FAULT_CRASH;
            draw_crash(d, f);
        } else if (clock && chance(d, 20)) {
            f->what = SIM_FAULT_CLOCK;
            draw_clock(d, f);
        } else if (chance(d, 10)) {
            f->what = SIM_FAULT_DISK;
            f->for_ms = between(d, 1000, 20000);
            f->value = between(d, 10, 2000);
        } else if (chance(d, 10)) {
            f->what = SIM_FAULT_NET;
            f->for_ms = skewed(d, 100, 30000);
            f->value = skewed(d, 1, 10000);
            f->keep = between(d, 0, 60);
        } else if (chance(d, 15)) {
            f->what = SIM_FAULT_CLIENT;
            f->id = job_at(d, f->at_ms);
            f->value = chance(d, 50);
        } else {
            draw_node_fault(d, f);
        }
    }
}

static void draw_hooks(struct draw *d)
{
    if (chance(d, 30))
        conf(d, "PrologSlurmctld=/bin/true");
    if (chance(d, 20)) {
        conf(d, "Prolog=/bin/true");
        conf(d, "PrologFlags=Alloc");
    }
    if (chance(d, 30))
        conf(d, "EpilogSlurmctld=/bin/true");
}

/* The controller is killed while it is announced, and somebody sets the clock meanwhile. */
static void draw_forgetting(struct draw *d, int64_t at_ms, int64_t sec)
{
    struct sim_item *f = add(d, SIM_ITEM_FAULT);
    f->what = SIM_FAULT_CLOCK;
    f->at_ms = at_ms + skewed(d, 1, 1000 + sec * 500);
    draw_clock(d, f);
    int64_t after_ms = f->at_ms + skewed(d, 1, 1000 + sec * 500);
    f = add(d, SIM_ITEM_FAULT);
    f->what = SIM_FAULT_CRASH;
    f->at_ms = after_ms;
    draw_crash(d, f);
}

/* Some are called off, some come. */
static void draw_shutdowns(struct draw *d)
{
    if (!chance(d, 12))
        return;
    for (int64_t count = skewed(d, 1, 3); count > 0; count--) {
        struct sim_item *a = add(d, SIM_ITEM_DO);
        a->what = SIM_DO_ANNOUNCE;
        a->at_ms = between(d, 1, d->span_ms);
        a->value = ONE_OF(d, 0, 1, 5, 30, 60, 300);
        a->root = 1;
        a->again_ms = chance(d, 10);
        const struct sim_item asked = *a;
        if (chance(d, 25))
            draw_forgetting(d, asked.at_ms, asked.value);
        if (!chance(d, 50))
            continue;
        int64_t at_ms = asked.at_ms + skewed(d, 1, asked.value * 1000 + 5000);
        a = add(d, SIM_ITEM_DO);
        a->what = SIM_DO_CALL_OFF;
        a->at_ms = at_ms;
        a->root = 1;
    }
}

static void draw_controllers(struct draw *d)
{
    if (!chance(d, 20))
        return;
    struct sim_item *c = add(d, SIM_ITEM_CTL);
    c->count = ONE_OF(d, 2, 2, 3);
    c->timeout_ms = ONE_OF(d, 1000, 2000, 5000, 10000, 30000);
    const struct sim_item ctl = *c;
    for (int64_t count = between(d, 0, 12); count > 0; count--) {
        static const uint8_t often[] = {SIM_FAULT_PAUSE, SIM_FAULT_PAUSE, SIM_FAULT_CUT,
                                        SIM_FAULT_CUT,   SIM_FAULT_DOWN,  SIM_FAULT_ORDER};
        struct sim_item *f = add(d, SIM_ITEM_FAULT);
        f->what = often[between(d, 0, (int64_t)sizeof often - 1)];
        f->at_ms = between(d, 1, d->span_ms);
        f->value = chance(d, 60) && f->what != SIM_FAULT_ORDER ? 0 : between(d, 1, ctl.count);
        f->for_ms = skewed(d, 10, chance(d, 70) ? ctl.timeout_ms * 3 : 60000);
        if (f->what == SIM_FAULT_CUT)
            f->keep = chance(d, 30) ? SIM_CUT_ALL : between(d, 1, SIM_CUT_ALL);
    }
}

/* Of some jobs on one that came not long before. */
static void draw_dependencies(struct draw *d)
{
    int64_t share = chance(d, 40) ? ONE_OF(d, 5, 20, 80) : 0;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || j->id < 2 || !chance(d, (unsigned)share))
            continue;
        j->after = between(d, j->id > 10 ? j->id - 10 : 1, j->id - 1);
        PUT(j->depend, "%s", WORD(d, "after", "afterany", "afterok", "afterok", "afternotok"));
    }
}

/* Arrays, of which some wait for others, each element for the one of its number. */
static void draw_arrays(struct draw *d)
{
    int64_t share = chance(d, 35) ? ONE_OF(d, 10, 30, 70) : 0;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || j->what != SIM_JOB_BATCH || !chance(d, (unsigned)share))
            continue;
        j->array = skewed(d, 1, 12);
        j->throttle = chance(d, 20) ? between(d, 1, 4) : 0;
        j->waits = 0;
        if (j->id < 2 || !chance(d, 60))
            continue;
        j->after = between(d, j->id > 5 ? j->id - 5 : 1, j->id - 1);
        *j->depend = 0;
        PUT(j->depend, "%s", WORD(d, "aftercorr", "aftercorr", "aftercorr", "afterok"));
    }
}

static void draw_licenses(struct draw *d)
{
    if (!chance(d, 25))
        return;
    conf(d, "Licenses=a:%lld,b:%lld", (long long)between(d, 1, 6), (long long)between(d, 1, 3));
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || !chance(d, 40))
            continue;
        if (chance(d, 70))
            PUT(j->licenses, "a:%lld", (long long)between(d, 1, 4));
        else
            PUT(j->licenses, "b,a:%lld", (long long)between(d, 1, 2));
    }
}

static void draw_resv(struct draw *d, int64_t number)
{
    struct sim_item *r = add(d, SIM_ITEM_DO);
    r->what = SIM_DO_RESV_CREATE;
    r->at_ms = skewed(d, 1, d->span_ms);
    r->root = 1;
    PUT(r->name, "r%lld", (long long)number);
    r->uid = 1000 + between(d, 0, 2);
    r->value = skewed(d, 0, 120);
    r->for_ms = 1000 * between(d, 5, 400);
    r->id = chance(d, 40) ? skewed(d, 1, d->nodes < 4 ? d->nodes : 4) : 0;
    some_nodes(d, r->nodes, sizeof r->nodes);
    PUT(r->text, "%s", WORD(d, "", "", "HOURLY", "FLEX", "MAINT", "OVERLAP", "MAGNETIC"));
    if (chance(d, 75))
        PUT(r->text, ",IGNORE_JOBS");
    if (chance(d, 30))
        PUT(r->text, ",%s", WORD(d, "NO_HOLD_JOBS_AFTER", "PURGE_COMP=1"));
    if (r->id && chance(d, 40))
        PUT(r->text, ",%s", WORD(d, "REPLACE", "REPLACE_DOWN", "STATIC_ALLOC"));
    else if (chance(d, 10))
        PUT(r->text, ",TIME_FLOAT");
    const struct sim_item made = *r;
    if (!chance(d, 50))
        return;
    r = add(d, SIM_ITEM_DO);
    *r = made;
    r->what = chance(d, 50) ? SIM_DO_RESV_CHANGE : SIM_DO_RESV_DELETE;
    r->at_ms += skewed(d, 1, 200000);
    r->uid = 1000 + between(d, 0, 2);
}

/* A reservation that is there by then, for so long, for whoever owns the job; else mostly none. */
static const struct sim_item *resv_for(struct draw *d, const struct sim_item *j)
{
    const struct sim_item *found = NULL;
    vec_foreach (&d->plan->items, r)
        if (r->kind == SIM_ITEM_DO && r->what == SIM_DO_RESV_CREATE && r->at_ms < j->at_ms &&
            r->at_ms + r->value * 1000 + r->for_ms > j->at_ms && !strstr(r->text, "FLOAT") &&
            (r->uid == j->uid || chance(d, 5)) &&
            (j->limit_sec * 1000 <= r->for_ms || chance(d, 5)))
            found = r;
    return found;
}

/* Kept nodes, and jobs that ask for them. */
static void draw_reservations(struct draw *d)
{
    if (!chance(d, 30))
        return;
    int64_t count = skewed(d, 1, 4), share = between(d, 5, 50);
    for (int64_t i = 1; i <= count; i++)
        draw_resv(d, i);
    vec_foreach (&d->plan->items, j) {
        const struct sim_item *r = j->kind == SIM_ITEM_JOB ? resv_for(d, j) : NULL;
        if (r && chance(d, (unsigned)share))
            PUT(j->resv, "%s", r->name);
    }
}

/* Jobs that may run in several partitions, or are moved to such. */
static void draw_several(struct draw *d)
{
    if (d->parts < 2 || !chance(d, 50))
        return;
    vec_foreach (&d->plan->items, j) {
        bool moves = j->kind == SIM_ITEM_DO && j->what == SIM_DO_MOVE;
        if ((j->kind != SIM_ITEM_JOB && !moves) || !chance(d, 40))
            continue;
        int64_t first = between(d, 1, d->parts), second = between(d, 1, d->parts);
        j->name[0] = 0;
        PUT(j->name, "p%lld,p%lld%s", (long long)first, (long long)second,
            chance(d, 20) ? ",p1" : "");
    }
}

void sim_plan_draw(struct sim_plan *p, uint64_t seed)
{
    struct draw d = {.plan = p, .rng = {seed}};
    p->seed = seed;
    p->share = seed % 2 ? 1 + (int64_t)(seed / 2 % 8) * 100 : 0; /* as over a long queue */
    d.storm = chance(&d, 25);
    d.files_differ = chance(&d, 35);
    d.jobs = skewed(&d, 5, 150);
    d.span_ms =
        d.jobs * (d.storm ? ONE_OF(&d, 1000, 3000) : ONE_OF(&d, 300, 1000, 3000, 10000, 30000));
    draw_conf(&d);
    draw_preemption(&d);
    draw_nodes(&d);
    draw_parts(&d);
    for (int64_t i = 1; i <= d.jobs; i++)
        draw_job(&d, i);
    draw_acts(&d);
    draw_regrets(&d);
    draw_faults(&d);
    draw_hooks(&d);
    draw_shutdowns(&d);
    draw_controllers(&d);
    draw_dependencies(&d);
    if (chance(&d, 30))
        draw_priorities(&d);
    draw_licenses(&d);
    draw_several(&d);
    draw_reservations(&d);
    draw_arrays(&d);
    sim_draw_wishes(&d);
}

/* --- one kind of world --------------------------------------------------------------------------
 */

#define SIMPLE_SPAN_MS 120000

static void draw_simple_fault(struct draw *d, int64_t at_ms)
{
    struct sim_item *f = add(d, SIM_ITEM_FAULT);
    f->at_ms = at_ms;
    f->node = between(d, 1, d->nodes);
    if (chance(d, 35)) {
        f->what = SIM_FAULT_CRASH;
        draw_crash(d, f);
    } else if (chance(d, 40)) {
        f->what = chance(d, 20) ? SIM_FAULT_REBOOT : SIM_FAULT_KILL;
        f->for_ms = between(d, 100, 90000);
    } else {
        f->what = SIM_FAULT_BREAK;
        f->for_ms = between(d, 0, 2000);
        f->keep = between(d, 0, 2000);
    }
}

void sim_plan_draw_simple(struct sim_plan *p, uint64_t seed, const struct sim_size *size)
{
    struct draw d = {.plan = p, .rng = {seed}, .nodes = size->nodes, .jobs = size->jobs};
    p->seed = seed;
    conf(&d, "SelectTypeParameters=CR_Core_Memory");
    conf(&d, "ReturnToService=2");
    conf(&d, "SlurmdTimeout=60");
    conf(&d, "KillWait=2");
    struct sim_item *n = add(&d, SIM_ITEM_NODE);
    n->id = 1;
    n->count = size->nodes;
    n->cores = size->cpus;
    n->mem_mib = 8000 + 200 * (int64_t)size->cpus;
    struct sim_item *part = add(&d, SIM_ITEM_PART);
    PUT(part->name, "main");
    PUT(part->nodes, "ALL");
    PUT(part->text, "Default=YES");
    for (unsigned i = 1; i <= size->jobs; i++) {
        struct sim_item *j = add(&d, SIM_ITEM_JOB);
        j->id = i;
        j->at_ms = between(&d, 0, SIMPLE_SPAN_MS);
        j->what = chance(&d, 80) ? SIM_JOB_BATCH : SIM_JOB_SRUN;
        j->min_nodes = between(&d, 1, size->nodes > 4 ? 4 : size->nodes);
        j->tasks = j->min_nodes * between(&d, 1, size->cpus);
        j->mem_cpu_mib = 100;
        j->limit_sec = chance(&d, 20) ? 10 : 600;
        j->run_ms = between(&d, 1, 20000);
        j->step_ms = j->run_ms;
    }
    for (int64_t at_ms = 1000; at_ms < SIMPLE_SPAN_MS * 2; at_ms += 1000)
        if (rng_chance(&d.rng, size->fault_per_mille))
            draw_simple_fault(&d, at_ms);
}
