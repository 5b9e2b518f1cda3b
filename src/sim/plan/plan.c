/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans as text: one table lists the fields of each item kind; the reader and the writer use that
 * table. */
#include "sim/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"

static const char *const kinds[] = {"run", "ctl", "conf", "node", "part", "job", "do", "fault"};
static const char *const jobs[] = {"batch", "alloc", "srun", NULL};
static const char *const dos[] = {
    "cancel",      "signal",      "cancel-step", "cancel-user", "suspend",      "continue",
    "hold",        "uhold",       "release",     "requeue",     "requeuehold",  "limit",
    "nice",        "comment",     "priority",    "begin",       "memory",       "constraint",
    "move",        "licenses",    "shrink",      "drain",       "resume",       "undrain",
    "down",        "idle",        "future",      "weight",      "features",     "node-comment",
    "fail",        "node-create", "node-delete", "part-state",  "part-time",    "part-nodes",
    "part-cpus",   "part-share",  "part-create", "part-remove", "part-preempt", "part-socket",
    "resv",        "resv-change", "resv-delete", "count",       "announce",     "call-off",
    "reconfigure", "preview",     "edit",        NULL};
static const char *const faults[] = {
    "crash", "break", "kill", "reboot", "stop", "slow", "repeat", "lie",  "client", "clock",
    "disk",  "net",   "skew", "pause",  "cut",  "down", "order",  "lose", "forget", NULL};
static const char *const points[] = {"input", "turn", "lost", "kept", "sending", NULL};

#define CTL (1 << SIM_ITEM_CTL)
#define NODE (1 << SIM_ITEM_NODE)
#define PART (1 << SIM_ITEM_PART)
#define JOB (1 << SIM_ITEM_JOB)
#define DO (1 << SIM_ITEM_DO)
#define FAULT (1 << SIM_ITEM_FAULT)
#define FILED (1 << SIM_ITEM_CONF | NODE | PART)
#define NUMBER(kinds_, key_, member, fallback_)                                                    \
    {                                                                                              \
        kinds_, key_, offsetof(struct sim_item, member), 0, fallback_, NULL                        \
    }
#define TEXT(kinds_, key_, member)                                                                 \
    {                                                                                              \
        kinds_, key_, offsetof(struct sim_item, member), sizeof((struct sim_item *)0)->member, 0,  \
            NULL                                                                                   \
    }
#define WORD(kinds_, key_, member, words)                                                          \
    {                                                                                              \
        kinds_, key_, offsetof(struct sim_item, member), 0, -1, words                              \
    }

static const struct field {
    unsigned kinds; /* bit mask of the item kinds that have the field */
    const char *key;
    size_t offset;
    size_t text_size; /* 0: a number */
    int64_t fallback; /* default value, which is not written */
    const char *const *words;
} fields[] = {
    NUMBER(DO | FAULT | JOB, "at", at_ms, -1),
    WORD(JOB, "kind", what, jobs),
    WORD(DO, "what", what, dos),
    WORD(FAULT, "what", what, faults),
    NUMBER(NODE | JOB, "id", id, -1),
    NUMBER(DO | FAULT, "job", id, 0),
    TEXT(PART | DO | JOB, "part", name),
    TEXT(1 << SIM_ITEM_CONF, "set", text),
    TEXT(PART, "options", text),
    TEXT(DO, "to", text),
    TEXT(NODE, "features", features),
    TEXT(PART | DO, "nodes", nodes),
    NUMBER(FILED, "files", files, SIM_ALL_FILES),
    NUMBER(NODE | CTL, "count", count, 1),
    NUMBER(CTL, "timeout", timeout_ms, 5000),
    NUMBER(NODE, "sockets", sockets, 1),
    NUMBER(NODE, "cores", cores, 1),
    NUMBER(NODE, "threads", threads, 1),
    NUMBER(NODE, "mem", mem_mib, 1000),
    NUMBER(NODE, "weight", weight, 1),
    NUMBER(NODE, "dynamic", dynamic, 0),
    NUMBER(JOB | DO, "uid", uid, 1000),
    NUMBER(JOB, "tasks", tasks, 0),
    NUMBER(JOB, "min-nodes", min_nodes, 0),
    NUMBER(JOB, "max-nodes", max_nodes, 0),
    NUMBER(JOB, "cpus-per-task", cpus_per_task, 0),
    NUMBER(JOB, "mem-per-cpu", mem_cpu_mib, 0),
    NUMBER(JOB, "mem", mem_node_mib, 0),
    NUMBER(JOB, "limit", limit_sec, 60),
    NUMBER(JOB, "begin", begin_sec, 0),
    NUMBER(JOB, "nice", nice, 0),
    NUMBER(JOB, "run", run_ms, 1000),
    NUMBER(JOB, "exit", exit_code, 0),
    NUMBER(JOB, "steps", steps, 0),
    NUMBER(JOB, "step-run", step_ms, 0),
    NUMBER(JOB, "step-tasks", step_tasks, 0),
    NUMBER(JOB, "dies", dies_ms, 0),
    NUMBER(JOB | DO, "again", again_ms, 0),
    NUMBER(JOB, "exclusive", exclusive, 0),
    NUMBER(JOB, "oversubscribe", shares, 0),
    NUMBER(JOB, "contiguous", contiguous, 0),
    NUMBER(JOB, "hold", held, 0),
    NUMBER(JOB, "requeue", requeue, 0),
    NUMBER(JOB, "no-kill", no_kill, 0),
    NUMBER(JOB, "immediate", immediate, 0),
    NUMBER(JOB, "wait", waits, 0),
    NUMBER(JOB, "overlap", overlap, 0),
    NUMBER(JOB, "stubborn", stubborn, 0),
    NUMBER(JOB, "launch-fails", launch_fails, 0),
    NUMBER(JOB, "prolog-fails", prolog_fails, 0),
    NUMBER(JOB, "epilog-fails", epilog_fails, 0),
    NUMBER(JOB, "component-of", component_of, 0),
    NUMBER(JOB, "array", array, 0),
    NUMBER(JOB, "throttle", throttle, 0),
    NUMBER(JOB, "after", after, 0),
    TEXT(JOB, "constraint", features),
    TEXT(JOB, "nodelist", required),
    TEXT(JOB, "exclude", excluded),
    TEXT(JOB, "signal", signal),
    TEXT(JOB, "depend", depend),
    TEXT(JOB | DO, "licenses", licenses),
    TEXT(JOB, "reservation", resv),
    TEXT(JOB, "burst", burst),
    NUMBER(JOB, "tasks-per-node", node_tasks, 0),
    NUMBER(JOB, "tasks-per-socket", socket_tasks, 0),
    NUMBER(JOB, "tasks-per-core", core_tasks, 0),
    NUMBER(JOB, "threads-per-core", threads_wanted, 0),
    NUMBER(JOB, "sockets-per-node", sockets_wanted, 0),
    NUMBER(JOB, "cores-per-socket", cores_wanted, 0),
    NUMBER(JOB, "core-spec", core_spec, 0),
    NUMBER(JOB, "min-cpus", min_cpus, 0),
    NUMBER(JOB, "user-alone", user_alone, 0),
    NUMBER(JOB, "topo-alone", topo_alone, 0),
    NUMBER(JOB, "deadline", deadline_sec, 0),
    NUMBER(JOB, "switches", switches, 0),
    NUMBER(JOB, "switch-wait", switch_wait_sec, 0),
    TEXT(NODE | JOB | DO, "gres", gres),
    TEXT(JOB | DO, "gpus", gpus),
    TEXT(JOB, "gres-per-task", task_gres),
    TEXT(JOB, "prefer", prefer),
    NUMBER(DO | FAULT, "node", node, 0),
    NUMBER(DO | FAULT, "value", value, 0),
    NUMBER(FAULT | DO, "for", for_ms, 0),
    NUMBER(FAULT, "cpus", cpus, 0),
    NUMBER(FAULT, "keep", keep, 0),
    NUMBER(FAULT, "boot", boot, 0),
    NUMBER(DO, "root", root, 0),
    WORD(FAULT, "point", point, points),
    WORD(FAULT, "then", then, points),
};
#define FIELDS (sizeof fields / sizeof fields[0])

void sim_plan_done(struct sim_plan *p)
{
    vec_done(&p->items);
}

static bool has_field(const struct field *f, const struct sim_item *item)
{
    return f->kinds >> item->kind & 1;
}

static int64_t *get_field_number(struct sim_item *item, const struct field *f)
{
    return (int64_t *)((char *)item + f->offset);
}

int64_t *sim_plan_number(struct sim_item *item, size_t *at, int64_t *fallback)
{
    while (*at < FIELDS) {
        const struct field *f = &fields[(*at)++];
        if (!has_field(f, item) || f->text_size || f->words ||
            *get_field_number(item, f) == f->fallback)
            continue;
        *fallback = f->fallback;
        return get_field_number(item, f);
    }
    return NULL;
}

bool sim_plan_items_equal(const struct sim_item *a, const struct sim_item *b)
{
    bool equal = a->kind == b->kind;
    for (size_t i = 0; equal && i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const char *one = (const char *)a + f->offset, *other = (const char *)b + f->offset;
        if (has_field(f, a))
            equal = f->text_size ? strcmp(one, other) == 0
                                 : *(const int64_t *)one == *(const int64_t *)other;
    }
    return equal;
}

static size_t word_count(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

static void format_item(const struct sim_item *item, struct str *out)
{
    str_puts(out, kinds[item->kind]);
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const void *value = (const char *)item + f->offset;
        if (!has_field(f, item))
            continue;
        if (f->text_size) {
            if (*(const char *)value)
                str_printf(out, " %s=%s", f->key, (const char *)value);
            continue;
        }
        int64_t n = *(const int64_t *)value;
        if (n == f->fallback)
            continue;
        if (f->words && n >= 0 && (size_t)n < word_count(f->words))
            str_printf(out, " %s=%s", f->key, f->words[n]);
        else
            str_printf(out, " %s=%lld", f->key, (long long)n);
    }
    str_putc(out, '\n');
}

void sim_plan_format(const struct sim_plan *p, struct str *out)
{
    str_printf(out, "run seed=%llu", (unsigned long long)p->seed);
    if (p->share)
        str_printf(out, " share=%lld", (long long)p->share);
    str_putc(out, '\n');
    vec_foreach (&p->items, item)
        format_item(item, out);
}

static void set_fallbacks(struct sim_item *item)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (has_field(&fields[i], item) && !fields[i].text_size)
            *get_field_number(item, &fields[i]) = fields[i].fallback;
}

void sim_plan_item(struct sim_item *item, enum sim_item_kind kind)
{
    *item = (struct sim_item){.kind = kind};
    set_fallbacks(item);
}

static int parse_value(struct sim_item *item, const struct field *f, const char *value,
                       struct err *err)
{
    long long n;
    if (f->text_size) {
        if (strlen(value) >= f->text_size)
            return err_set(err, -ERR_PARSE, "%s=%s: too long", f->key, value);
        snprintf((char *)item + f->offset, f->text_size, "%s", value);
        return 0;
    }
    for (size_t i = 0; f->words && f->words[i]; i++)
        if (strcmp(f->words[i], value) == 0) {
            *get_field_number(item, f) = (int64_t)i;
            return 0;
        }
    if (f->words || str_parse_i64(value, INT64_MIN / 4, INT64_MAX / 4, &n) != 0)
        return err_set(err, -ERR_PARSE, "%s=%s: not a value of it", f->key, value);
    *get_field_number(item, f) = n;
    return 0;
}

static int parse_pair(struct sim_plan *p, struct sim_item *item, char *word, struct err *err)
{
    char *equals = strchr(word, '=');
    long long value;
    if (!equals)
        return err_set(err, -ERR_PARSE, "%s: KEY=VALUE is needed", word);
    *equals = 0;
    if (item->kind == SIM_ITEM_RUN) {
        bool share = strcmp(word, "share") == 0;
        if ((!share && strcmp(word, "seed") != 0) ||
            str_parse_i64(equals + 1, 0, INT64_MAX, &value) != 0)
            return err_set(err, -ERR_PARSE, "run: seed=NUMBER or share=NUMBER is needed");
        if (share)
            p->share = value;
        else
            p->seed = (uint64_t)value;
        return 0;
    }
    for (size_t i = 0; i < FIELDS; i++)
        if (has_field(&fields[i], item) && strcmp(fields[i].key, word) == 0)
            return parse_value(item, &fields[i], equals + 1, err);
    return err_set(err, -ERR_PARSE, "%s: a %s has no such thing", word, kinds[item->kind]);
}

/* Checks that the item has its mandatory fields. */
static int check_item(const struct sim_plan *p, const struct sim_item *item, struct err *err)
{
    vec_foreach (&p->items, other)
        if (item->kind == SIM_ITEM_JOB && other->kind == item->kind && other->id >= item->id)
            return err_set(err, -ERR_PARSE, "job: id= must rise from line to line");
    bool acts =
        item->kind == SIM_ITEM_JOB || item->kind == SIM_ITEM_DO || item->kind == SIM_ITEM_FAULT;
    if (acts && (item->what < 0 || item->at_ms < 0))
        return err_set(err, -ERR_PARSE, "%s: what it is and at= are needed", kinds[item->kind]);
    if (item->kind == SIM_ITEM_JOB && item->component_of &&
        (item->what != SIM_JOB_BATCH || item->array || item->component_of >= item->id))
        return err_set(
            err, -ERR_PARSE,
            "job: component-of= names an earlier job, and is of kind=batch and no array");
    if ((item->kind == SIM_ITEM_JOB || item->kind == SIM_ITEM_NODE) && item->id < 1)
        return err_set(err, -ERR_PARSE, "%s: id= from 1 is needed", kinds[item->kind]);
    if (item->kind == SIM_ITEM_NODE && (item->count < 1 || item->id + item->count > SIM_NODES + 1))
        return err_set(err, -ERR_PARSE, "node: at most %d", SIM_NODES);
    if (item->kind == SIM_ITEM_CTL &&
        (item->count < 1 || item->count > SIM_CTLS || item->timeout_ms < 1000))
        return err_set(err, -ERR_PARSE, "ctl: count=1 to %d, timeout= from 1000", SIM_CTLS);
    return 0;
}

static int parse_line(struct sim_plan *p, char *line, struct err *err)
{
    char *save = NULL, *word = strtok_r(line, " \t", &save);
    struct sim_item item = {.kind = SIM_ITEM_KINDS};
    if (!word || *word == '#')
        return 0;
    for (unsigned i = 0; i < SIM_ITEM_KINDS; i++)
        if (strcmp(kinds[i], word) == 0)
            item.kind = (enum sim_item_kind)i;
    if (item.kind == SIM_ITEM_KINDS)
        return err_set(err, -ERR_PARSE, "%s: not the beginning of a line of a plan", word);
    set_fallbacks(&item);
    int rc = 0;
    while (rc == 0 && (word = strtok_r(NULL, " \t", &save)))
        rc = parse_pair(p, &item, word, err);
    if (rc == 0)
        rc = check_item(p, &item, err);
    if (rc == 0 && item.kind != SIM_ITEM_RUN)
        vec_push(&p->items, item);
    return rc;
}

int sim_plan_parse(struct sim_plan *p, const char *text, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(text);
    char *save = NULL;
    unsigned number = 0;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        number++;
        int rc = parse_line(p, line, err);
        if (rc != 0) {
            err_prefix(err, "line %u", number);
            return rc;
        }
    }
    return 0;
}

/* --- slurm.conf ---------------------------------------------------------------------------------
 */

static bool in_file(const struct sim_item *item, unsigned file)
{
    return item->files >> file & 1;
}

static bool has_node(const struct sim_plan *p, unsigned file, long long number)
{
    vec_foreach (&p->items, n)
        if (n->kind == SIM_ITEM_NODE && in_file(n, file) && number >= n->id &&
            number < n->id + n->count)
            return true;
    return false;
}

static void put_words(const char *words, struct str *out)
{
    for (const char *c = words; *c; c++)
        str_putc(out, *c == ';' ? ' ' : *c);
}

static void put_options(const char *options, struct str *out)
{
    if (*options)
        str_putc(out, ' ');
    put_words(options, out);
}

/* Lists only nodes of this version; others would make the file invalid. */
static void put_part(const struct sim_plan *p, const struct sim_item *part, unsigned file,
                     struct str *out)
{
    _cleanup_hostlist_ struct hostlist *named = NULL, *known = hostlist_new();
    char name[HOSTLIST_NAME_MAX + 1];
    long long number;
    if (strcmp(part->nodes, "ALL") == 0 || hostlist_parse(part->nodes, &named, NULL) != 0)
        return;
    for (size_t i = 0; i < hostlist_count(named); i++)
        if (str_parse_i64(hostlist_nth(named, i, name) + 1, 1, SIM_NODES, &number) == 0 &&
            has_node(p, file, number))
            hostlist_push(known, name);
    if (hostlist_count(known) == 0)
        return;
    str_printf(out, "PartitionName=%s Nodes=", part->name);
    hostlist_format(known, out);
    put_options(part->text, out);
    str_putc(out, '\n');
}

void sim_plan_keys(const struct sim_item *n, struct str *out)
{
    str_printf(out,
               "Sockets=%lld CoresPerSocket=%lld ThreadsPerCore=%lld RealMemory=%lld Weight=%lld",
               (long long)n->sockets, (long long)n->cores, (long long)n->threads,
               (long long)n->mem_mib, (long long)n->weight);
    if (*n->features)
        str_printf(out, " Features=%s", n->features);
    if (*n->gres)
        str_printf(out, " Gres=%s", n->gres);
}

static void put_plan_node(const struct sim_item *n, struct str *out)
{
    str_printf(out, n->count > 1 ? "NodeName=n[%lld-%lld] " : "NodeName=n%lld ", (long long)n->id,
               (long long)(n->id + n->count - 1));
    sim_plan_keys(n, out);
    str_putc(out, '\n');
}

static bool sets_key(const struct sim_plan *p, unsigned file, const char *key)
{
    vec_foreach (&p->items, item)
        if (item->kind == SIM_ITEM_CONF && in_file(item, file) && str_starts(item->text, key))
            return true;
    return false;
}

void sim_plan_conf(const struct sim_plan *p, unsigned file, struct str *out)
{
    str_puts(out, "ClusterName=sim\nSlurmctldHost=sim\nSlurmUser=0\nSlurmdUser=0\n"
                  "AllowSpecResourcesUsage=yes\n"
                  "AuthInfo=cred_expire=0\nMinJobAge=10000000\nMaxJobCount=1000000\n");
    if (!sets_key(p, file, "SelectType="))
        str_puts(out, "SelectType=select/cons_tres\n");
    vec_foreach (&p->items, item) {
        if (!in_file(item, file))
            continue;
        if (item->kind == SIM_ITEM_CONF) {
            put_words(item->text, out);
            str_putc(out, '\n');
        }
        if (item->kind == SIM_ITEM_NODE)
            put_plan_node(item, out);
        else if (item->kind == SIM_ITEM_PART && strcmp(item->nodes, "ALL") == 0)
            str_printf(out, "PartitionName=%s Nodes=ALL", item->name);
        else if (item->kind == SIM_ITEM_PART)
            put_part(p, item, file, out);
        if (item->kind == SIM_ITEM_PART && strcmp(item->nodes, "ALL") == 0) {
            put_options(item->text, out);
            str_putc(out, '\n');
        }
    }
}
