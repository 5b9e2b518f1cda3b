/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol show": records of the controller. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cli/node_names.h"
#include "cmd/scontrol/scontrol.h"
#include "conf/conf_rows.h"
#include "proto/burst.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "proto/license.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/why.pb-c.h"
#include "show/config_file.h"
#include "show/job_ids.h"
#include "show/json_out.h"
#include "show/show.h"

#define STATUS_ARGS_MOST 64
#define ASSOC_TYPES 3
#define PLANS_MOST 200 /* maximum number of pending jobs whose planned nodes are requested */

/* Record types of 'show assoc_mgr', in the order of the listing. */
static const struct {
    const char *flag, *what;
} assoc_types[ASSOC_TYPES] = {{"users", "users"}, {"assoc", "associations"}, {"qos", "QOS"}};

struct plan {
    uint32_t job_id;
    int64_t start_at; /* 0: unknown */
    char *nodes;      /* NULL: unknown */
    bool is_known;    /* a reply was received */
};

struct show {
    VEC(struct plan) plans;
    json_t *json; /* NULL: text */
    struct show_style style;
    size_t seen;
    struct hostlist *wanted; /* requested nodes that were not listed yet; NULL: all */
    const char *name;        /* the requested partition; NULL: all */
    struct job_id_list ids;  /* jobs, elements, components or steps; empty: all */
};

static void begin_output(struct show *s)
{
    const struct conf *conf = cmd_conf();
    const char *mode = conf_preempt_word(conf->preempt_mode);
    s->style = (struct show_style){.oneliner = scontrol.oneliner,
                                   .details = scontrol.details,
                                   .preempts = !str_eq(mode, "OFF"),
                                   .preempt_exempt_sec = conf->preempt_exempt_time_sec};
    if (scontrol.json || scontrol.yaml)
        s->json = json_array();
}

/* Prints the collected output, or the error. */
static int finish_output(struct show *s, const char *what, int r, const struct err *err)
{
    if (r < 0) {
        json_decref(s->json);
        cmd_line("slurm_load_%s error: %s", what, err->text);
        return 1;
    }
    if (s->json)
        json_out_print(cmd_source(), what, s->json, scontrol.yaml, cmd_out());
    return 0;
}

static void print_no_entity(const char *what)
{
    if (!scontrol.quiet)
        str_printf(cmd_out(), "%s\n", what);
}

int show_say_not_found(const char *what, const char *name)
{
    if (scontrol.json || scontrol.yaml) {
        cmd_line("%s %s not found", what, name);
        return 1;
    }
    str_printf(cmd_out(), "%s ", what);
    text_escape(name, cmd_out());
    str_puts(cmd_out(), " not found\n");
    return 1;
}

/* JSON has all records, and a record that is named is shown. */
static bool is_without_hidden(const char *name)
{
    return !name && !scontrol.all && !scontrol.json && !scontrol.yaml;
}

static int on_planned(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs && s->plans.len < PLANS_MOST; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && (live->start_at > 0 || s->ids.len))
            vec_push(&s->plans,
                     ((struct plan){.job_id = live->job_id, .start_at = live->start_at}));
    }
    return 0;
}

/* The planner stores the expected start of some jobs only. On request it computes the nodes, and
 * the start of any job; that is done for jobs that are shown by id. */
static int ask_plans(struct show *s, const Pb__JobFilter *chosen, struct err *err)
{
    Pb__JobFilter filter = *chosen;
    Pb__JobState pending = PB__JOB_STATE__PENDING;
    filter.has_all_states = 0;
    filter.state = &pending;
    filter.n_state = 1;
    struct pb_fields spec = {0}, live = {0};
    pb_fields_add(&live, &pb__job_live__descriptor, "start_at");
    filter.spec_fields = spec.words;
    filter.live_fields = live.words;
    filter.n_spec_fields = filter.n_live_fields = PB_FIELD_WORDS;
    int rc = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_planned, s, err);
    vec_foreach (&s->plans, plan) {
        Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
        Pb__WhyReply *reply = NULL;
        request.job_id = plan->job_id;
        if (cmd_call(RPC_JOB_WHY, &request.base, &reply, NULL) != 0 || !reply->has_start_at)
            continue;
        bool in_set = reply->has_set_id; /* all components have the same start */
        plan->is_known = reply->sched_nodes || in_set;
        plan->nodes = reply->sched_nodes ? mem_strdup(reply->sched_nodes) : NULL;
        plan->start_at = plan->start_at && !in_set ? plan->start_at : reply->start_at;
    }
    return rc;
}

static void set_planned_nodes(const struct show *s, Pb__JobLive *live)
{
    vec_foreach (&s->plans, plan)
        if (plan->job_id == live->job_id && live->state == PB__JOB_STATE__PENDING &&
            plan->is_known) {
            live->sched_nodes = plan->nodes;
            live->has_start_at = true;
            live->start_at = plan->start_at;
        }
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    if (part->has_now)
        json_out_stamp(part->now, part->last_backfill);
    int64_t now = part->has_now ? part->now : time(NULL);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < part->n_jobs; i++) {
        if (!part->jobs[i]->spec || !part->jobs[i]->live)
            continue;
        s->seen++;
        job_ids_trim(s->ids.data, s->ids.len, part->jobs[i]->live, &arena);
        set_planned_nodes(s, part->jobs[i]->live);
        if (s->json)
            json_array_append_new(s->json, show_job_json(part->jobs[i], cmd_conf()->cluster_name));
        else
            show_job_text(part->jobs[i], now, s->style, cmd_out());
    }
    return 0;
}

int show_job(const char *id_text)
{
    struct show s = {0};
    struct err err = {0};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    id_text = id_text && str_eq(id_text, "0") ? NULL : id_text; /* as in Slurm: every job */
    if (id_text) {
        if (strchr(id_text, '.') || jobs_parse_word(id_text, &s.ids) < 0) {
            cmd_line("scontrol_print_job error: %s: %s", err_text(ERR_NO_JOB), id_text);
            return 1;
        }
        job_ids_filter(s.ids.data, s.ids.len, &filter, &arena);
    }
    filter.has_visible = filter.visible = is_without_hidden(id_text);
    int r = ask_plans(&s, &filter, &err);
    filter.has_all_states = filter.all_states = 1;
    begin_output(&s);
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, &s, &err);
    vec_foreach (&s.plans, plan)
        free(plan->nodes);
    vec_done(&s.plans);
    if (r == 0 && id_text && !s.seen)
        r = job_arg_refuse(s.ids.data, &err);
    if (r == 0 && !s.seen && !s.json)
        print_no_entity("No jobs in the system");
    vec_done(&s.ids);
    return finish_output(&s, "jobs", r, &err);
}

static int on_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    for (size_t i = 0; i < part->n_steps; i++) {
        const Pb__StepRecord *step = part->steps[i];
        if (s->ids.len && s->ids.data->has_step_id && step->step_id != s->ids.data->step_id)
            continue;
        s->seen++;
        if (s->json)
            json_array_append_new(s->json, show_step_json(step, cmd_conf()->cluster_name,
                                                          part->has_now ? part->now : time(NULL)));
        else
            show_step_text(step, s->style, cmd_out());
    }
    return 0;
}

int show_step(const char *id_text)
{
    struct show s = {0};
    struct err err = {0};
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    if (id_text && jobs_parse_word(id_text, &s.ids) < 0) {
        cmd_line("scontrol_print_step error: %s: %s", err_text(ERR_NO_STEP), id_text);
        return 1;
    }
    _cleanup_free_ Pb__StepId **ids = mem_new_array(Pb__StepId *, s.ids.len + 1);
    vec_foreach (&s.ids, id)
        ids[filter.n_ids++] = id;
    filter.ids = ids;
    filter.has_visible = filter.visible = is_without_hidden(id_text);
    begin_output(&s);
    int r = rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_steps, &s, &err);
    if (r == 0 && !s.seen && s.ids.len == 1 && job_arg_lacks_component(s.ids.data, &err))
        r = err.code;
    vec_done(&s.ids);
    if (r == 0 && !s.seen && !s.json && id_text)
        return show_say_not_found("Job step", id_text);
    if (r == 0 && !s.seen && !s.json)
        print_no_entity("No job steps in the system");
    return finish_output(&s, "steps", r, &err);
}

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *node = part->nodes[i];
        if (s->wanted && !hostlist_remove(s->wanted, node->name))
            continue;
        if (node->state == PB__NODE_BASE__NODE_FUTURE && !scontrol.future && !s->wanted)
            continue;
        s->seen++;
        if (s->json)
            json_array_append_new(s->json, show_node_json(node, cmd_conf()->cluster_name));
        else
            show_node_text(node, s->style, cmd_out());
    }
    return 0;
}

int show_node(const char *expr)
{
    struct show s = {0};
    struct err err = {0};
    _cleanup_hostlist_ struct hostlist *wanted = NULL;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    if (expr && hostlist_parse(expr, &wanted, &err) < 0) {
        cmd_line("%s", err.text);
        return 1;
    }
    if (wanted && node_names_have_function(wanted))
        hostlist_free(take_ptr(wanted)); /* only the controller can expand it */
    if (wanted)
        hostlist_uniq(wanted);
    s.wanted = wanted;
    filter.nodes = (char *)expr;
    begin_output(&s);
    int r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, on_nodes, &s, &err);
    int status = finish_output(&s, "nodes", r, &err);
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; r == 0 && wanted && i < hostlist_count(wanted); i++)
        status = show_say_not_found("Node", hostlist_nth(wanted, i, name));
    if (r == 0 && expr && !wanted && !s.seen)
        status = show_say_not_found("Node", expr);
    return status;
}

static int on_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__PartList *part = (const Pb__PartList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    for (size_t i = 0; i < part->n_parts; i++) {
        const Pb__PartRecord *p = part->parts[i];
        if (s->name && !str_eq(s->name, p->name))
            continue;
        s->seen++;
        if (s->json)
            json_array_append_new(s->json, show_part_json(p, cmd_conf()->cluster_name));
        else
            show_part_text(p, s->style, cmd_out());
    }
    return 0;
}

int show_partition(const char *name)
{
    struct show s = {.name = name};
    struct err err = {0};
    Pb__PartFilter filter = PB__PART_FILTER__INIT;
    filter.name = (char **)&name;
    filter.n_name = name != NULL;
    filter.has_visible = filter.visible = is_without_hidden(name);
    begin_output(&s);
    int r = rpc_call_stream(cmd_client(), RPC_PART_LIST, &filter.base, on_parts, &s, &err);
    int status = finish_output(&s, "partitions", r, &err);
    if (r == 0 && name && !s.seen)
        status = show_say_not_found("Partition", name);
    return status;
}

int show_config(const char *key)
{
    Pb__ConfigRequest request = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    request.key = (char *)key;
    if (cmd_call(RPC_CONFIG_SHOW, &request.base, &reply, &err) < 0) {
        cmd_line("slurm_load_ctl_conf error: %s", err.text);
        return 1;
    }
    if (scontrol.json || scontrol.yaml) {
        json_out_print_all(cmd_source(),
                           json_pack("{s:o}", "config", config_file_json(reply->text)),
                           scontrol.yaml, cmd_out());
        return 0;
    }
    if (key) {
        str_puts(cmd_out(), reply->text);
        return 0;
    }
    str_printf(cmd_out(), "%s\n", reply->text);
    ping_print(false);
    return 0;
}

static int on_resvs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct show *s = ctx;
    const Pb__ResvList *part = (const Pb__ResvList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    for (size_t i = 0; i < part->n_resvs; i++) {
        s->seen++;
        if (s->json)
            json_array_append_new(s->json, show_resv_json(part->resvs[i]));
        else
            show_resv_text(part->resvs[i], s->style, cmd_out());
    }
    return 0;
}

int show_reservation(const char *name)
{
    struct show s = {.name = name};
    struct err err = {0};
    Pb__ResvFilter filter = PB__RESV_FILTER__INIT;
    filter.name = (char **)&name;
    filter.n_name = name != NULL;
    begin_output(&s);
    int r = rpc_call_stream(cmd_client(), RPC_RESV_LIST, &filter.base, on_resvs, &s, &err);
    if (r == 0 && !name && !s.seen && !s.json)
        print_no_entity("No reservations in the system");
    int status = finish_output(&s, "reservations", r, &err);
    if (r == 0 && name && !s.seen)
        status = show_say_not_found("Reservation", name);
    return status;
}

int show_gates(const char *job)
{
    struct show s = {0};
    Pb__StepId id = PB__STEP_ID__INIT;
    Pb__GatesReply *reply = NULL;
    struct err err = {0};
    if (!job || job_arg_parse(job, &id, NULL) < 0 || id.has_step_id) {
        cmd_error("show gates: %s%s", job ? "invalid job id " : "a job id is needed",
                  job ? job : "");
        return 1;
    }
    begin_output(&s);
    int r = cmd_call(RPC_JOB_GATES, &id.base, &reply, &err);
    if (r == 0 && s.json)
        json_array_append_new(s.json, show_gates_json(reply));
    else if (r == 0)
        show_gates_text(reply, s.style, cmd_out());
    return finish_output(&s, "gates", r, &err);
}

static void put_license(const Pb__LicenseRecord *l, struct show *s)
{
    s->seen++;
    if (s->json)
        json_array_append_new(s->json, show_license_json(l));
    else
        show_license_text(l, s->style, cmd_out());
}

int show_license(const char *name)
{
    struct show s = {0};
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__LicenseList *reply = NULL;
    struct err err = {0};
    begin_output(&s);
    int r = cmd_call(RPC_LICENSE_LIST, &request.base, &reply, &err);
    for (size_t i = 0; r == 0 && i < reply->n_licenses; i++)
        if (!name || str_eq(name, reply->licenses[i]->name))
            put_license(reply->licenses[i], &s);
    if (r == 0 && !s.seen && name && !s.json)
        return show_say_not_found("License", name);
    if (r == 0 && !s.seen && !s.json)
        print_no_entity("No licenses configured in Slurm.");
    return finish_output(&s, "licenses", r, &err);
}

/* [NAME] [unit=NAME] [node=NAME]: the topology, or the part of a unit or a node. Without a key the
 * name may be that of a unit or of nodes. Changes the words. */
static void read_topology_words(char *words, Pb__ConfigRequest *request)
{
    static const char *const keys[] = {"unit=", "switch=", "block=", "ring=", "torus=", "node="};
    char *save = NULL;
    for (char *word = words ? strtok_r(words, " ", &save) : NULL; word;
         word = strtok_r(NULL, " ", &save)) {
        bool has_key = false;
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !has_key; i++)
            if ((has_key = !strncasecmp(word, keys[i], strlen(keys[i]))))
                request->key = word + strlen(keys[i]);
        if (!has_key)
            request->topology_name = word;
    }
}

/* Lines of at most SLURM_TOPO_LEN bytes. */
static void put_lines(const char *text)
{
    const char *limit = getenv("SLURM_TOPO_LEN");
    long long most = 0;
    if (!limit || str_parse_i64(limit, 1, INT32_MAX, &most) < 0)
        most = INT32_MAX;
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        str_printf(cmd_out(), "%.*s\n", (int)(len < (size_t)most ? len : (size_t)most), text);
    }
}

int show_topology(const char *name)
{
    Pb__ConfigRequest request = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    _cleanup_free_ char *words = name ? mem_strdup(name) : NULL;
    read_topology_words(words, &request);
    request.has_topology = request.topology = true;
    if (cmd_call(RPC_CONFIG_SHOW, &request.base, &reply, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    if (*reply->text)
        put_lines(reply->text);
    else
        cmd_error("No topology information available");
    return 0;
}

int show_topoconf(const char *id)
{
    Pb__ConfigRequest request = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    request.has_topology = request.topology = request.has_yaml = request.yaml = true;
    if (cmd_call(RPC_CONFIG_SHOW, &request.base, &reply, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    str_puts(cmd_out(), reply->text);
    return 0;
}

int show_key(const char *partition)
{
    Pb__PartKeyRequest request = PB__PART_KEY_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    if (!partition || !*partition) {
        cmd_line("show key: of which partition?");
        return 1;
    }
    request.partition = (char *)partition;
    if (cmd_call(RPC_PART_KEY, &request.base, &reply, &err) < 0) {
        cmd_line("scontrol: show key: %s", err.text);
        return 1;
    }
    str_printf(cmd_out(), "%s\n", reply->text);
    return 0;
}

int show_burst(const char *id)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__BurstList *l = NULL;
    struct err err = {0};
    if (cmd_call(RPC_BURST_LIST, &request.base, &l, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    show_burst_text(l, cmd_out());
    return 0;
}

/* The words after the entity are arguments of slurm_bb_get_status. */
int show_burst_status(const char *id)
{
    char *args[STATUS_ARGS_MOST], *save = NULL;
    _cleanup_free_ char *words = mem_strdup(id ? id : "");
    Pb__BurstStatusRequest request = PB__BURST_STATUS_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    request.args = args;
    for (char *word = strtok_r(words, " ", &save); word && request.n_args < STATUS_ARGS_MOST;
         word = strtok_r(NULL, " ", &save))
        args[request.n_args++] = word;
    if (cmd_call_long(RPC_BURST_STATUS, &request.base, &reply, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    size_t len = strlen(reply->text);
    str_printf(cmd_out(), "%s%s", reply->text, len && reply->text[len - 1] != '\n' ? "\n" : "");
    return 0;
}

/* Adds the record types of a list as "users,qos" to types[]. */
static bool read_assoc_flags(const char *list, bool types[ASSOC_TYPES])
{
    words_foreach (list, w) {
        size_t i = 0;
        while (i < ASSOC_TYPES && (w.len != strlen(assoc_types[i].flag) ||
                                   strncasecmp(w.at, assoc_types[i].flag, w.len) != 0))
            i++;
        if (i == ASSOC_TYPES) {
            cmd_line("invalid flag '%.*s', valid options are 'Assoc, QOS, and/or Users'",
                     (int)w.len, w.at);
            return false;
        }
        types[i] = true;
    }
    return true;
}

/* Accounting is not available yet: prints what Slurm prints without it. */
int show_assoc_mgr(const char *id)
{
    static const char *const filters[] = {"users=", "accounts=", "qos="};
    _cleanup_free_ char *words = mem_strdup(id ? id : "");
    bool types[ASSOC_TYPES] = {false};
    char *save = NULL;
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        bool known = !strncasecmp(word, "flags=", 6);
        if (known && !read_assoc_flags(word + 6, types))
            return 1;
        for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
            known = known || !strncasecmp(word, filters[i], strlen(filters[i]));
        if (!known) {
            cmd_line("invalid entity: %s for keyword:show assoc_mgr", word);
            return 1;
        }
    }
    bool all = !types[0] && !types[1] && !types[2];
    str_puts(cmd_out(), "Current Association Manager state\n");
    for (size_t i = 0; i < ASSOC_TYPES; i++)
        if (all || types[i])
            str_printf(cmd_out(), "\nNo %s currently cached in Slurm.\n\n", assoc_types[i].what);
    return 0;
}

/* This version has no federations: the answer is empty. */
int show_nothing(const char *id)
{
    return 0;
}

#define JSON 1u
#define WORDS 2u

/* In the order in which abbreviations are matched. */
static const struct {
    const char *word;
    int (*run)(const char *id); /* NULL: not available */
    unsigned takes;
    const char *help; /* "": not listed; for an unavailable entity: the alternative */
} entities[] = {
#define ENTITY(word, run, takes, help) {word, run, takes, help},
#define PLANNED(word, instead) {word, NULL, 0, instead},
#include "cmd/scontrol/entities.def"
#undef ENTITY
#undef PLANNED
};
#define ENTITY_COUNT (sizeof(entities) / sizeof(entities[0]))

void show_put_entities(struct str *out)
{
    for (size_t i = 0; i < ENTITY_COUNT; i++)
        if (entities[i].run && *entities[i].help)
            str_printf(out, "%s%s", i ? ", " : "", entities[i].help);
}

int run_show(int argc, char **argv)
{
    /* "show job=5" means "show job 5". */
    size_t len = strcspn(argv[0], "=");
    _cleanup_str_ struct str words = STR_INIT;
    const char *id = argv[0][len] ? argv[0] + len + 1 : argc > 1 ? argv[1] : NULL;
    for (size_t i = 0; i < ENTITY_COUNT && len; i++)
        if (!strncasecmp(entities[i].word, argv[0], len)) {
            if (!entities[i].run) {
                cmd_error("show %s is not available in this version%s", entities[i].word,
                          entities[i].help);
                return 1;
            }
            if (argc > 2 && !(entities[i].takes & WORDS)) {
                cmd_line("too many arguments for keyword:show");
                return 1;
            }
            for (int k = 1; k < argc && argc > 2; k++)
                str_printf(&words, "%s%s", k > 1 ? " " : "", argv[k]);
            id = argc > 2 ? str_cstr(&words) : id;
            if ((scontrol.json || scontrol.yaml) && !(entities[i].takes & JSON))
                cmd_error("--%s has no effect on 'show %s'", scontrol.json ? "json" : "yaml",
                          entities[i].word);
            return entities[i].run(id);
        }
    cmd_line("invalid entity:%s for keyword:show", argv[0]);
    return 1;
}
