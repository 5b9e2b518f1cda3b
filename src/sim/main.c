/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurmsim: runs the controller's state machine under a virtual clock: either a trace of jobs on
 * the cluster of a configuration, or a randomly drawn world with faults, whose promises are
 * checked. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/path.h"
#include "sim/sim.h"
#include "sim/study/study.h"

#define PLAN_BYTES (64u << 20)
#define MINIMISE_RUNS 4000

struct command {
    struct sim_options options;
    struct sim_size size;
    unsigned seed, seeds;
    bool fuzz, sets, toruses, minimise, show;
    const char *plan_path; /* NULL: the plan is drawn */
    struct study study;
    /* The option is only for traces, or only for drawn worlds; NULL: not this kind. */
    const char *of_study, *of_chance;
};

static void print_usage(FILE *to)
{
    fputs("Usage: slurmsim TRACE [OPTION]...\n"
          "  or:  slurmsim [OPTION]...\n"
          "Replay the jobs of TRACE, in the Standard Workload Format, on the cluster of a\n"
          "slurm.conf under a virtual clock, and tell how they waited; or run random jobs on\n"
          "virtual nodes, with faults, and check every promise of the controller.\n\n"
          "Options of a trace:\n"
          "      --conf=FILE     slurm.conf of the cluster (default: the one that commands use)\n"
          "      --compare=FILE  another slurm.conf to compare with; may be repeated\n"
          "      --gantt=FILE    write the schedule as a Gantt chart, an SVG file\n"
          "      --html=FILE     write an HTML page with the figures and charts of all runs\n"
          "      --schedule=FILE write the outcome of each job, in the format of the trace\n"
          "      --think         submit a job that follows another job of the trace after that\n"
          "                      job's end plus the think time of its user, not at its own time\n"
          "      --json          print the figures as JSON\n"
          "      --timing        print the real time of planning on standard error\n\n"
          "Options of random jobs:\n"
          "  -F, --fuzz       generate cluster, configuration files, jobs, commands and faults\n"
          "                   from the seed; without it, simple jobs on equal nodes\n"
          "      --sets       with --fuzz: combine some of the jobs to heterogeneous jobs\n"
          "      --toruses    with --fuzz: generate clusters whose nodes are in toruses\n"
          "  -s, --seed=N     first seed (default 1); a failing seed fails identically every time\n"
          "  -S, --seeds=N    number of seeds to run, one after the other (default 1)\n"
          "  -m, --minimise   print the smallest part of a failing plan with the same failure\n"
          "  -p, --plan=FILE  run this plan, as printed by --minimise or --show\n"
          "      --show       print the plan of the first seed, and run nothing\n"
          "  -n, --nodes=N    virtual nodes (default 4, at most 100000)\n"
          "  -c, --cpus=N     CPUs of each node (default 4, at most 256)\n"
          "  -j, --jobs=N     jobs (default 100, at most 1000000)\n"
          "  -f, --faults=N   chance of a fault per virtual second, in thousandths (default 100, "
          "0: none)\n"
          "\nOptions of both:\n"
          "  -v, --verbose    print the events of the run and the log of the controller\n"
          "  -V, --version    print the level of compatibility\n"
          "  -h, --help       print this help\n",
          to);
}

static int parse_number(const char *name, const char *text, long long min, long long max,
                        unsigned *out)
{
    long long n;
    if (str_parse_i64(text, min, max, &n) != 0) {
        fprintf(stderr, "slurmsim: error: --%s=%s: a number from %lld to %lld is needed\n", name,
                text, min, max);
        return -1;
    }
    *out = (unsigned)n;
    return 0;
}

enum {
    OPT_CONF = 256,
    OPT_COMPARE,
    OPT_GANTT,
    OPT_HTML,
    OPT_SCHEDULE,
    OPT_THINK,
    OPT_JSON,
    OPT_TIMING
};

static int take_compare(struct study *s, const char *path)
{
    if (s->conf_count == STUDY_CONFS) {
        fprintf(stderr, "slurmsim: error: --compare is given more than %d times\n",
                STUDY_CONFS - 1);
        return -1;
    }
    s->confs[s->conf_count++] = path;
    return 0;
}

static int take_study_option(struct study *s, int option, const char *text)
{
    switch (option) {
    case OPT_CONF:
        s->confs[0] = text;
        break;
    case OPT_COMPARE:
        return take_compare(s, text);
    case OPT_GANTT:
        s->gantt = text;
        break;
    case OPT_HTML:
        s->html = text;
        break;
    case OPT_SCHEDULE:
        s->schedule = text;
        break;
    case OPT_THINK:
        s->think = true;
        break;
    case OPT_JSON:
        s->json = true;
        break;
    default:
        s->timing = true;
    }
    return 0;
}

/* Returns 1 if the program is done, with status 0. */
static int take_option(struct command *c, int option, const char *text)
{
    switch (option) {
    case 'F':
        c->fuzz = true;
        return 0;
    case 'H':
        c->sets = true;
        return 0;
    case 'T':
        c->toruses = true;
        return 0;
    case 'm':
        c->minimise = true;
        return 0;
    case 'P':
        c->show = true;
        return 0;
    case 'p':
        c->plan_path = text;
        return 0;
    case 's':
        return parse_number("seed", text, 0, UINT32_MAX, &c->seed);
    case 'S':
        return parse_number("seeds", text, 1, 1000000000, &c->seeds);
    case 'n':
        return parse_number("nodes", text, 1, SIM_NODES, &c->size.nodes);
    case 'c':
        return parse_number("cpus", text, 1, 256, &c->size.cpus);
    case 'j':
        return parse_number("jobs", text, 1, 1000000, &c->size.jobs);
    case 'f':
        return parse_number("faults", text, 0, 1000, &c->size.fault_per_mille);
    case 'v':
        c->options.verbose = true;
        return 0;
    case 'V':
        puts("slurm " SLURM_VERSION);
        return 1;
    case 'h':
        print_usage(stdout);
        return 1;
    default:
        return -1;
    }
}

static const char *long_name(const struct option *longs, int option)
{
    while (longs->name && longs->val != option)
        longs++;
    return longs->name;
}

static int check_arguments(const struct command *c, const char *more)
{
    if (more)
        fprintf(stderr, "slurmsim: error: unexpected argument '%s'\n", more);
    else if (c->study.trace && c->of_chance)
        fprintf(stderr, "slurmsim: error: --%s is of random jobs, and a trace is given\n",
                c->of_chance);
    else if (!c->study.trace && c->of_study)
        fprintf(stderr, "slurmsim: error: --%s is of a trace, and none is given\n", c->of_study);
    else if (c->sets && !c->fuzz)
        fputs("slurmsim: error: --sets is of what --fuzz draws\n", stderr);
    else if (c->toruses && (!c->fuzz || c->sets))
        fputs("slurmsim: error: --toruses is of what --fuzz draws without --sets\n", stderr);
    else
        return 0;
    return -1;
}

static int parse_arguments(int argc, char **argv, struct command *c)
{
    static const struct option longs[] = {{"fuzz", 0, NULL, 'F'},
                                          {"sets", 0, NULL, 'H'},
                                          {"toruses", 0, NULL, 'T'},
                                          {"seed", 1, NULL, 's'},
                                          {"seeds", 1, NULL, 'S'},
                                          {"plan", 1, NULL, 'p'},
                                          {"show", 0, NULL, 'P'},
                                          {"minimise", 0, NULL, 'm'},
                                          {"nodes", 1, NULL, 'n'},
                                          {"cpus", 1, NULL, 'c'},
                                          {"jobs", 1, NULL, 'j'},
                                          {"faults", 1, NULL, 'f'},
                                          {"verbose", 0, NULL, 'v'},
                                          {"version", 0, NULL, 'V'},
                                          {"help", 0, NULL, 'h'},
                                          {"conf", 1, NULL, OPT_CONF},
                                          {"compare", 1, NULL, OPT_COMPARE},
                                          {"gantt", 1, NULL, OPT_GANTT},
                                          {"html", 1, NULL, OPT_HTML},
                                          {"schedule", 1, NULL, OPT_SCHEDULE},
                                          {"think", 0, NULL, OPT_THINK},
                                          {"json", 0, NULL, OPT_JSON},
                                          {"timing", 0, NULL, OPT_TIMING},
                                          {NULL, 0, NULL, 0}};
    int option, rc = 0, at = 0;
    while (rc == 0 && (option = getopt_long(argc, argv, "Fs:S:p:mn:c:j:f:vVh", longs, &at)) != -1) {
        if (option >= OPT_CONF) {
            c->of_study = longs[at].name;
            rc = take_study_option(&c->study, option, optarg);
        } else {
            c->of_chance = strchr("vVh?", option) ? c->of_chance : long_name(longs, option);
            rc = take_option(c, option, optarg);
        }
    }
    if (rc == 0 && optind < argc)
        c->study.trace = argv[optind++];
    return rc == 0 ? check_arguments(c, optind < argc ? argv[optind] : NULL) : rc;
}

static int read_plan(const char *path, struct sim_plan *plan)
{
    struct str text = STR_INIT;
    struct err err = {0};
    int rc = path_read_text(path, PLAN_BYTES, &text, &err);
    if (rc == 0)
        rc = sim_plan_parse(plan, str_cstr(&text), &err);
    if (rc != 0)
        fprintf(stderr, "slurmsim: error: %s: %s\n", path, err.text);
    str_done(&text);
    return rc;
}

static int make_plan(const struct command *c, unsigned seed, struct sim_plan *plan)
{
    if (c->plan_path)
        return read_plan(c->plan_path, plan);
    if (c->sets)
        sim_plan_draw_sets(plan, seed);
    else if (c->toruses)
        sim_plan_draw_toruses(plan, seed);
    else if (c->fuzz)
        sim_plan_draw(plan, seed);
    else
        sim_plan_draw_simple(plan, seed, &c->size);
    return 0;
}

static void print_plan(const struct sim_plan *plan)
{
    struct str text = STR_INIT;
    sim_plan_format(plan, &text);
    fputs(str_cstr(&text), stdout);
    str_done(&text);
}

static void report_broken_guarantee(const struct command *c, unsigned seed, struct sim_plan *plan,
                                    const struct err *err)
{
    fflush(stdout);
    if (c->plan_path)
        fprintf(stderr, "slurmsim: error: %s: %s\n", c->plan_path, err->text);
    else
        fprintf(stderr, "slurmsim: error: seed %u: %s\n", seed, err->text);
    if (c->minimise) {
        sim_minimise(plan, MINIMISE_RUNS);
        printf("# %s\n# Replay it with: slurmsim --plan=THIS_FILE --verbose\n", err->text);
        print_plan(plan);
        return;
    }
    fputs("slurmsim: repeat with: slurmsim", stderr);
    if (c->plan_path)
        fprintf(stderr, " --plan=%s", c->plan_path);
    else if (c->fuzz)
        fprintf(stderr, " --fuzz%s --seed=%u",
                c->sets      ? " --sets"
                : c->toruses ? " --toruses"
                             : "",
                seed);
    else
        fprintf(stderr, " --seed=%u --nodes=%u --cpus=%u --jobs=%u --faults=%u", seed,
                c->size.nodes, c->size.cpus, c->size.jobs, c->size.fault_per_mille);
    fputs(" --verbose, or --minimise\n", stderr);
}

static void add_result(struct sim_result *total, const struct sim_result *r)
{
    total->trace = total->trace * 31 + r->trace;
    total->events += r->events;
    total->turns += r->turns;
    total->jobs += r->jobs;
    total->acknowledged += r->acknowledged;
    total->refused += r->refused;
    total->attempts += r->attempts;
    total->steps += r->steps;
    total->acts += r->acts;
    total->restarts += r->restarts;
    total->crashes += r->crashes;
    total->reboots += r->reboots;
    total->kills += r->kills;
    total->breaks += r->breaks;
    total->others += r->others;
    total->takes += r->takes;
    total->sets += r->sets;
    total->set_starts += r->set_starts;
    total->virtual_ms += r->virtual_ms;
}

static void print_total(unsigned seeds, const struct sim_result *t, double cpu)
{
    printf("%u runs: %u jobs acknowledged, %u refused, %u starts, %u steps, %u restarts, %u "
           "commands, %u controller crashes, %u leads taken, %u reboots, %u daemon kills, %u "
           "broken sessions, "
           "%u faults in all, %.1f virtual hours, trace %016" PRIx64 "\n",
           seeds, t->acknowledged, t->refused, t->attempts, t->steps, t->restarts, t->acts,
           t->crashes, t->takes, t->reboots, t->kills, t->breaks, t->others,
           (double)t->virtual_ms / 3600e3, t->trace);
    if (t->sets)
        printf("%u heterogeneous jobs acknowledged, %u starts\n", t->sets, t->set_starts);
    fprintf(stderr, "%.2f s of CPU: %.0f job lives per second, %" PRIu64 " turns\n", cpu,
            cpu > 0 ? t->acknowledged / cpu : 0.0, t->turns);
}

static int run_all(const struct command *c)
{
    struct sim_result total = {0};
    clock_t start = clock();
    unsigned seeds = c->plan_path ? 1 : c->seeds;
    int status = 0;
    for (unsigned i = 0; i < seeds && status == 0; i++) {
        struct sim_plan plan = {0};
        struct sim_result r;
        struct err err = {0};
        if (make_plan(c, c->seed + i, &plan) != 0) {
            status = 2;
        } else if (c->show) {
            print_plan(&plan);
            sim_plan_done(&plan);
            return 0;
        } else if (sim_run(&plan, &c->options, &r, &err) != 0) {
            report_broken_guarantee(c, c->seed + i, &plan, &err);
            status = 1;
        } else {
            add_result(&total, &r);
        }
        sim_plan_done(&plan);
    }
    if (status == 0)
        print_total(seeds, &total, (double)(clock() - start) / CLOCKS_PER_SEC);
    return status;
}

int main(int argc, char **argv)
{
    struct command c = {.size = {.nodes = 4, .cpus = 4, .jobs = 100, .fault_per_mille = 100},
                        .seed = 1,
                        .seeds = 1,
                        .study.conf_count = 1};
    int rc = parse_arguments(argc, argv, &c);
    if (rc < 0)
        fputs("Try \"slurmsim --help\" for more information\n", stderr);
    c.study.verbose = c.options.verbose;
    return rc < 0 ? 2 : rc > 0 ? 0 : c.study.trace ? study_run(&c.study) : run_all(&c);
}
