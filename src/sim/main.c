/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurmsim: runs the controller machine under a virtual clock with faults, and checks its promises.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/sim.h"

static void usage(FILE *to)
{
    fputs("Usage: slurmsim [OPTION]...\n"
          "Run random jobs on virtual nodes under a virtual clock, with faults, and check every "
          "promise.\n\n"
          "  -s, --seed=N     first seed (default 1); a failing seed fails again, identically\n"
          "  -S, --seeds=N    how many seeds to run, one after the other (default 1)\n"
          "  -n, --nodes=N    virtual nodes (default 4, at most 100000)\n"
          "  -c, --cpus=N     CPUs of each (default 4, at most 256)\n"
          "  -j, --jobs=N     jobs (default 100, at most 1000000)\n"
          "  -f, --faults=N   chance of a fault each virtual second, in thousandths (default 100, "
          "0: none)\n"
          "  -v, --verbose    say what the controller logs\n"
          "  -V, --version    print the level of compatibility\n"
          "  -h, --help       print this\n",
          to);
}

static int number(const char *name, const char *text, long long min, long long max, unsigned *out)
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

static int parse(int argc, char **argv, struct sim_options *o, unsigned *seeds)
{
    static const struct option longs[] = {{"seed", 1, NULL, 's'},    {"seeds", 1, NULL, 'S'},
                                          {"nodes", 1, NULL, 'n'},   {"cpus", 1, NULL, 'c'},
                                          {"jobs", 1, NULL, 'j'},    {"faults", 1, NULL, 'f'},
                                          {"verbose", 0, NULL, 'v'}, {"version", 0, NULL, 'V'},
                                          {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    unsigned seed = 1;
    int c, rc = 0;
    while (rc == 0 && (c = getopt_long(argc, argv, "s:S:n:c:j:f:vVh", longs, NULL)) != -1) {
        switch (c) {
        case 's':
            rc = number("seed", optarg, 0, UINT32_MAX, &seed);
            break;
        case 'S':
            rc = number("seeds", optarg, 1, 1000000000, seeds);
            break;
        case 'n':
            rc = number("nodes", optarg, 1, 100000, &o->nodes);
            break;
        case 'c':
            rc = number("cpus", optarg, 1, 256, &o->cpus);
            break;
        case 'j':
            rc = number("jobs", optarg, 1, 1000000, &o->jobs);
            break;
        case 'f':
            rc = number("faults", optarg, 0, 1000, &o->fault_per_mille);
            break;
        case 'v':
            o->verbose = true;
            break;
        case 'V':
            puts("slurm " SLURM_VERSION);
            exit(0);
        case 'h':
            usage(stdout);
            exit(0);
        default:
            rc = -1;
        }
    }
    if (rc == 0 && optind < argc) {
        fprintf(stderr, "slurmsim: error: unexpected argument '%s'\n", argv[optind]);
        rc = -1;
    }
    o->seed = seed;
    return rc;
}

int main(int argc, char **argv)
{
    struct sim_options o = {.nodes = 4, .cpus = 4, .jobs = 100, .fault_per_mille = 100};
    unsigned seeds = 1;
    if (parse(argc, argv, &o, &seeds) != 0) {
        fputs("Try \"slurmsim --help\" for more information\n", stderr);
        return 2;
    }
    struct sim_result total = {0};
    clock_t start = clock();
    for (unsigned i = 0; i < seeds; i++, o.seed++) {
        struct sim_result r;
        struct err err = {0};
        if (sim_run(&o, &r, &err) != 0) {
            fprintf(stderr,
                    "slurmsim: error: %s\nslurmsim: repeat with: slurmsim --seed=%" PRIu64
                    " --nodes=%u --cpus=%u --jobs=%u --faults=%u --verbose\n",
                    err.text, o.seed, o.nodes, o.cpus, o.jobs, o.fault_per_mille);
            return 1;
        }
        total.events += r.events;
        total.acknowledged += r.acknowledged;
        total.attempts += r.attempts;
        total.controller_crashes += r.controller_crashes;
        total.node_crashes += r.node_crashes;
        total.sessions_broken += r.sessions_broken;
        total.virtual_ms += r.virtual_ms;
        total.trace = total.trace * 31 + r.trace;
    }
    double cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%u runs: %u jobs acknowledged, %u starts, %u controller crashes, %u node crashes, %u "
           "broken sessions, "
           "%.1f virtual hours, trace %016" PRIx64 "\n",
           seeds, total.acknowledged, total.attempts, total.controller_crashes, total.node_crashes,
           total.sessions_broken, (double)total.virtual_ms / 3600e3, total.trace);
    fprintf(stderr, "%.2f s of CPU: %.0f job lives per second\n", cpu,
            cpu > 0 ? total.acknowledged / cpu : 0.0);
    return 0;
}
