/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of the controller: order of the lists, text and JSON. */
#include <stdlib.h>
#include <time.h>

#include "rpc/rpc.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/show.h"

#define STARS "*******************************************************\n"

static const struct slurm_rpc {
    unsigned own, number;
    const char *name;
} slurm_rpcs[] = {
#define SLURM_RPC(own, name, number) {RPC_##own, number, name},
#include "show/slurm_rpc.def"
#undef SLURM_RPC
};

/* --- order --------------------------------------------------------------------------------------
 */

struct sort_key {
    uint64_t count, total;
    uint32_t number;
};

static int compare_keys(const struct sort_key *a, const struct sort_key *b,
                        enum show_diag_order order)
{
    uint64_t x = a->count, y = b->count;
    if (order == SHOW_DIAG_BY_TOTAL) {
        x = a->total;
        y = b->total;
    } else if (order == SHOW_DIAG_BY_AVERAGE) {
        x = a->total / a->count;
        y = b->total / b->count;
    }
    if (order != SHOW_DIAG_BY_NUMBER && x != y)
        return x > y ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_rpcs(const void *a, const void *b, void *order)
{
    const Pb__DiagRpc *x = *(Pb__DiagRpc *const *)a, *y = *(Pb__DiagRpc *const *)b;
    struct sort_key p = {x->count, x->total_usec, x->number};
    struct sort_key q = {y->count, y->total_usec, y->number};
    return compare_keys(&p, &q, *(enum show_diag_order *)order);
}

static int compare_users(const void *a, const void *b, void *order)
{
    const Pb__DiagUser *x = *(Pb__DiagUser *const *)a, *y = *(Pb__DiagUser *const *)b;
    struct sort_key p = {x->count, x->total_usec, x->uid};
    struct sort_key q = {y->count, y->total_usec, y->uid};
    return compare_keys(&p, &q, *(enum show_diag_order *)order);
}

void show_diag_sort(Pb__DiagReply *reply, enum show_diag_order order)
{
    for (size_t i = 0; i < reply->n_rpcs; i++)
        for (size_t k = 0; k < sizeof(slurm_rpcs) / sizeof(slurm_rpcs[0]); k++)
            if (slurm_rpcs[k].own == reply->rpcs[i]->number) {
                reply->rpcs[i]->name = (char *)slurm_rpcs[k].name;
                reply->rpcs[i]->number = slurm_rpcs[k].number;
                break;
            }
    if (reply->n_rpcs)
        qsort_r(reply->rpcs, reply->n_rpcs, sizeof(*reply->rpcs), compare_rpcs, &order);
    if (reply->n_users)
        qsort_r(reply->users, reply->n_users, sizeof(*reply->users), compare_users, &order);
}

/* --- text ---------------------------------------------------------------------------------------
 */

static void put_date(const char *label, int64_t at, struct str *out)
{
    char date[64];
    struct tm tm;
    time_t when = (time_t)at;
    strftime(date, sizeof(date), "%a %b %d %H:%M:%S %Y", localtime_r(&when, &tm));
    str_printf(out, "%s%s (%lld)\n", label, date, (long long)at);
}

static void put_line(const char *label, uint64_t value, struct str *out)
{
    str_printf(out, "%s%llu\n", label, (unsigned long long)value);
}

static void put_mean(const char *label, uint64_t sum, uint64_t count, struct str *out)
{
    if (count) /* as in Slurm: no line before the first one */
        put_line(label, sum / count, out);
}

static void put_threads(const Pb__DiagReply *r, struct str *out)
{
    str_puts(out, STARS);
    put_date("sdiag output at ", r->now_sec, out);
    put_date("Data since      ", r->counters->since_sec, out);
    str_puts(out, STARS);
    put_line("Server thread count:  ", r->threads, out);
    str_puts(out, "RPC queue enabled:    0\n"
                  "Agent queue size:     0\n"
                  "Agent count:          0\n"
                  "Agent thread count:   0\n"
                  "DBD Agent queue size: 0\n\n");
}

static void put_jobs(const Pb__DiagReply *r, struct str *out)
{
    const Pb__DiagCounters *n = r->counters;
    put_line("Jobs submitted: ", n->jobs_submitted, out);
    put_line("Jobs started:   ", n->jobs_started, out);
    put_line("Jobs completed: ", n->jobs_completed, out);
    put_line("Jobs canceled:  ", n->jobs_canceled, out);
    put_line("Jobs failed:    ", n->jobs_failed, out);
    put_date("\nJob states ts:  ", r->now_sec, out);
    put_line("Jobs pending:   ", n->jobs_pending, out);
    put_line("Jobs running:   ", n->jobs_running, out);
}

static uint64_t cycles_per_minute(const Pb__DiagReply *r)
{
    int64_t minutes = (r->now_sec - r->counters->since_sec) / 60;
    return minutes > 0 ? r->counters->schedule_cycle_total / (uint64_t)minutes : 0;
}

static void put_main(const Pb__DiagReply *r, struct str *out)
{
    const Pb__DiagCounters *n = r->counters;
    uint64_t cycles = n->schedule_cycle_total;
    str_puts(out, "\nMain schedule statistics (microseconds):\n");
    put_line("\tLast cycle:   ", n->schedule_cycle_last, out);
    put_line("\tMax cycle:    ", n->schedule_cycle_max, out);
    put_line("\tTotal cycles: ", cycles, out);
    put_mean("\tMean cycle:   ", n->schedule_cycle_sum, cycles, out);
    put_mean("\tMean depth cycle:  ", n->schedule_cycle_depth, cycles, out);
    if (r->now_sec - n->since_sec >= 60)
        put_line("\tCycles per minute: ", cycles_per_minute(r), out);
    put_line("\tLast queue length: ", n->schedule_queue_length, out);
    str_puts(out, "\nMain scheduler exit:\n");
    put_line("\tEnd of job queue: ", n->schedule_exit_end_job_queue, out);
    str_puts(out, "\tHit default_queue_depth: 0\n"
                  "\tHit sched_max_job_start: 0\n"
                  "\tBlocked on licenses: 0\n"
                  "\tHit max_rpc_cnt: 0\n"
                  "\tTimeout (max_sched_time): 0\n");
}

static void put_backfill(const Pb__DiagReply *r, struct str *out)
{
    const Pb__DiagCounters *n = r->counters;
    uint64_t cycles = n->bf_cycle_counter;
    str_puts(out, "\nBackfilling stats\n");
    put_line("\tTotal backfilled jobs (since last slurm start): ", n->bf_backfilled_jobs, out);
    put_line("\tTotal backfilled jobs (since last stats cycle start): ", n->bf_last_backfilled_jobs,
             out);
    put_line("\tTotal backfilled heterogeneous job components: ", n->bf_backfilled_het_jobs, out);
    put_line("\tTotal cycles: ", cycles, out);
    if (n->bf_when_last_cycle)
        put_date("\tLast cycle when: ", (int64_t)n->bf_when_last_cycle, out);
    else
        str_puts(out, "\tLast cycle when: N/A\n");
    put_line("\tLast cycle: ", n->bf_cycle_last, out);
    put_line("\tMax cycle:  ", n->bf_cycle_max, out);
    put_mean("\tMean cycle: ", n->bf_cycle_sum, cycles, out);
    put_line("\tLast depth cycle: ", n->bf_last_depth, out);
    put_line("\tLast depth cycle (try sched): ", n->bf_last_depth_try, out);
    put_mean("\tDepth Mean: ", n->bf_depth_sum, cycles, out);
    put_mean("\tDepth Mean (try depth): ", n->bf_depth_try_sum, cycles, out);
    put_line("\tLast queue length: ", n->bf_queue_len, out);
    put_mean("\tQueue length mean: ", n->bf_queue_len_sum, cycles, out);
    put_line("\tLast table size: ", n->bf_table_size, out);
    put_mean("\tMean table size: ", n->bf_table_size_sum, cycles, out);
    str_puts(out, "\nBackfill exit\n");
    put_line("\tEnd of job queue: ", cycles, out);
    str_puts(out, "\tHit bf_max_job_start: 0\n"
                  "\tHit bf_max_job_test: 0\n");
    put_line("\tSystem state changed: ", n->schedule_exit_state_changed, out);
    str_puts(out, "\tHit table size limit (bf_node_space_size): 0\n"
                  "\tTimeout (bf_max_time): 0\n");
    str_printf(out, "\nLatency for 1000 calls to gettimeofday(): %llu microseconds\n",
               (unsigned long long)r->clock_usec);
}

static void put_requests(const Pb__DiagReply *r, struct str *out)
{
    str_puts(out, "\nRemote Procedure Call statistics by message type\n");
    for (size_t i = 0; i < r->n_rpcs; i++) {
        const Pb__DiagRpc *row = r->rpcs[i];
        str_printf(out, "\t%-40s(%5u) count:%-6llu ave_time:%-6llu total_time:%llu\n", row->name,
                   row->number, (unsigned long long)row->count,
                   (unsigned long long)(row->total_usec / row->count),
                   (unsigned long long)row->total_usec);
    }
    str_puts(out, "\nRemote Procedure Call statistics by user\n");
    for (size_t i = 0; i < r->n_users; i++) {
        const Pb__DiagUser *row = r->users[i];
        str_printf(out, "\t%-16s(%8u) count:%-6llu ave_time:%-6llu total_time:%llu\n",
                   names_user(row->uid), row->uid, (unsigned long long)row->count,
                   (unsigned long long)(row->total_usec / row->count),
                   (unsigned long long)row->total_usec);
    }
    str_puts(out, "\nPending RPC statistics\n\tNo pending RPCs\n");
}

static void put_own(const Pb__DiagReply *r, struct str *out)
{
    const Pb__CtlStats *s = r->stats;
    str_puts(out, "\nSluice statistics\n");
    put_line("\tNodes: ", s->nodes, out);
    put_line("\tNodes up: ", s->nodes_up, out);
    put_line("\tJob records: ", s->jobs, out);
    put_line("\tTurns: ", s->turns, out);
    put_line("\tCommits: ", s->commits, out);
    put_line("\tResident memory (KiB): ", s->rss_kib, out);
    put_line("\tCPU time (microseconds): ", s->cpu_usec, out);
    put_line("\tRequests refused by rate limit: ", s->rate_refused, out);
}

void show_diag_text(const Pb__DiagReply *reply, struct str *out)
{
    put_threads(reply, out);
    put_jobs(reply, out);
    put_main(reply, out);
    put_backfill(reply, out);
    put_requests(reply, out);
    put_own(reply, out);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */

static void put_member(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static void put_int(json_t *o, const char *key, uint64_t value)
{
    put_member(o, key, json_integer((json_int_t)value));
}

static void put_int_mean(json_t *o, const char *key, uint64_t sum, uint64_t count)
{
    put_int(o, key, count ? sum / count : 0);
}

static void put_time(json_t *o, const char *key, int64_t at)
{
    put_member(o, key, json_out_number(true, false, at));
}

static json_t *json_usage(uint64_t count, uint64_t total_usec)
{
    return json_pack("{s:I, s:I, s:o}", "count", (json_int_t)count, "total_time",
                     (json_int_t)total_usec, "average_time",
                     json_out_number(true, false, (int64_t)(total_usec / count)));
}

static json_t *json_rpcs(const Pb__DiagReply *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->n_rpcs; i++) {
        json_t *row = json_usage(r->rpcs[i]->count, r->rpcs[i]->total_usec);
        put_int(row, "type_id", r->rpcs[i]->number);
        put_member(row, "message_type", json_out_text(r->rpcs[i]->name));
        put_int(row, "queued", 0);
        put_int(row, "dropped", 0);
        put_int(row, "cycle_last", 0);
        put_int(row, "cycle_max", 0);
        json_array_append_new(all, row);
    }
    return all;
}

static json_t *json_users(const Pb__DiagReply *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->n_users; i++) {
        json_t *row = json_usage(r->users[i]->count, r->users[i]->total_usec);
        put_int(row, "user_id", r->users[i]->uid);
        put_member(row, "user", json_out_text(names_user(r->users[i]->uid)));
        json_array_append_new(all, row);
    }
    return all;
}

static void put_json_means(json_t *o, const Pb__DiagReply *r)
{
    const Pb__DiagCounters *n = r->counters;
    uint64_t cycles = n->schedule_cycle_total, backfills = n->bf_cycle_counter;
    put_int_mean(o, "schedule_cycle_mean", n->schedule_cycle_sum, cycles);
    put_int_mean(o, "schedule_cycle_mean_depth", n->schedule_cycle_depth, cycles);
    put_int(o, "schedule_cycle_per_minute", cycles_per_minute(r));
    put_int_mean(o, "bf_cycle_mean", n->bf_cycle_sum, backfills);
    put_int_mean(o, "bf_depth_mean", n->bf_depth_sum, backfills);
    put_int_mean(o, "bf_depth_mean_try", n->bf_depth_try_sum, backfills);
    put_int_mean(o, "bf_queue_len_mean", n->bf_queue_len_sum, backfills);
    put_int_mean(o, "bf_table_size_mean", n->bf_table_size_sum, backfills);
    put_member(o, "schedule_exit",
               json_pack("{s:I, s:i, s:i, s:i, s:i, s:i}", "end_job_queue",
                         (json_int_t)n->schedule_exit_end_job_queue, "default_queue_depth", 0,
                         "max_job_start", 0, "max_rpc_cnt", 0, "max_sched_time", 0, "licenses", 0));
    put_member(o, "bf_exit",
               json_pack("{s:I, s:i, s:i, s:i, s:i, s:I}", "end_job_queue", (json_int_t)backfills,
                         "bf_max_job_start", 0, "bf_max_job_test", 0, "bf_max_time", 0,
                         "bf_node_space_size", 0, "state_changed",
                         (json_int_t)n->schedule_exit_state_changed));
}

static void put_json_process(json_t *o, const Pb__DiagReply *r)
{
    static const char *const none[] = {"agent_queue_size", "agent_count", "agent_thread_count",
                                       "dbd_agent_queue_size"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        put_int(o, none[i], 0);
    put_int(o, "parts_packed", 1);
    put_int(o, "server_thread_count", r->threads);
    put_int(o, "gettimeofday_latency", r->clock_usec);
    put_int(o, "jobs_pending", r->counters->jobs_pending);
    put_int(o, "jobs_running", r->counters->jobs_running);
    put_member(o, "bf_active", json_false());
    put_time(o, "req_time", r->now_sec);
    put_time(o, "req_time_start", r->counters->since_sec);
    put_time(o, "job_states_ts", r->now_sec);
    put_time(o, "bf_when_last_cycle", (int64_t)r->counters->bf_when_last_cycle);
    put_member(o, "sluice",
               json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "nodes",
                         (json_int_t)r->stats->nodes, "nodes_up", (json_int_t)r->stats->nodes_up,
                         "jobs", (json_int_t)r->stats->jobs, "turns", (json_int_t)r->stats->turns,
                         "commits", (json_int_t)r->stats->commits, "rss_kib",
                         (json_int_t)r->stats->rss_kib, "cpu_usec", (json_int_t)r->stats->cpu_usec,
                         "rate_refused", (json_int_t)r->stats->rate_refused));
}

json_t *show_diag_json(const Pb__DiagReply *reply)
{
    json_t *o = json_object();
#define COUNTER(name, kind, help) put_int(o, #name, reply->counters->name);
#include "proto/counter.def"
#undef COUNTER
    put_json_means(o, reply);
    put_json_process(o, reply);
    put_member(o, "rpcs_by_message_type", json_rpcs(reply));
    put_member(o, "rpcs_by_user", json_users(reply));
    put_member(o, "pending_rpcs", json_array());
    put_member(o, "pending_rpcs_by_hostlist", json_array());
    return o;
}
