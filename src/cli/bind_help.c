/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bind_help.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/words.h"

const char *bind_help_cpu(void)
{
    return "CPU bind options:\n"
           "    --cpu-bind=         Bind tasks to CPUs\n"
           "        q[uiet]         quietly bind before task runs (default)\n"
           "        v[erbose]       verbosely report binding before task runs\n"
           "        no[ne]          don't bind tasks to CPUs\n"
           "        rank            bind by task rank\n"
           "        map_cpu:<list>  specify a CPU ID binding for each task\n"
           "        mask_cpu:<list> specify a CPU ID binding mask for each task\n"
           "                        where <list> is <id1>,<id2>,... or <id1>*<times>,...\n"
           "        rank_ldom       bind task by rank to CPUs in a NUMA locality domain\n"
           "        map_ldom:<list> specify a NUMA locality domain ID for each task\n"
           "        mask_ldom:<list> specify a NUMA locality domain ID mask for each task\n"
           "        sockets         auto-generated masks bind to sockets\n"
           "        cores           auto-generated masks bind to cores\n"
           "        threads         auto-generated masks bind to threads\n"
           "        ldoms           auto-generated masks bind to NUMA locality domains\n"
           "        help            show this help message\n";
}

const char *bind_help_memory(void)
{
    return "Memory bind options:\n"
           "    --mem-bind=         Bind memory to locality domains (ldom)\n"
           "        nosort, sort    accepted: they say nothing here\n"
           "        q[uiet]         quietly bind before task runs (default)\n"
           "        v[erbose]       verbosely report binding before task runs\n"
           "        p[refer]        prefer that memory, and take other when there is no more\n"
           "        no[ne]          don't bind tasks to memory (default)\n"
           "        rank            bind by task rank\n"
           "        local           bind to memory local to processor\n"
           "        map_mem:<list>  specify a memory binding for each task\n"
           "        mask_mem:<list> specify a memory binding mask for each tasks\n"
           "                        where <list> is <numa_id1>,<numa_id2>,...\n"
           "        help            show this help message\n";
}

static const char *help_gpu(void)
{
    return "GPU bind options:\n"
           "    --gpu-bind=         Tell each task of some of the step's GPUs\n"
           "        verbose         report what each task is told of; before the others\n"
           "        none            tell each task of all of them\n"
           "        closest         those in the locality domains of the task's CPUs\n"
           "        per_task:<n>    <n> of its own for each task\n"
           "        single:<n>      one of the closest for each task, <n> tasks a GPU\n"
           "        map:<list>      specify a GPU for each task\n"
           "        mask:<list>     specify a mask of GPUs for each task\n"
           "                        where <list> is <id1>,<id2>,... or <id1>*<times>,...\n"
           "        help            show this help message\n";
}

static const char *help_hint(void)
{
    return "Application hint options:\n"
           "    --hint=             Allocate and bind according to application hints\n"
           "        compute_bound   one thread of each core\n"
           "        memory_bound    one thread of each core, and one task a socket\n"
           "        nomultithread   one thread of each core\n"
           "        multithread     all threads of each core (default)\n"
           "        help            show this help message\n";
}

static void print_gres(const char *types)
{
    puts("Valid gres options are:");
    words_foreach (types, w) {
        printf("%.*s[[:type]:count]\n", (int)w.len, w.at);
    }
}

bool bind_help_print(const struct opt *o, const char *gres_types)
{
    if (str_eq(o->given[OPT_ID_gres], "help")) {
        print_gres(gres_types);
        return true;
    }
    const char *text = str_eq(o->cpu_bind, "help")   ? bind_help_cpu()
                       : str_eq(o->mem_bind, "help") ? bind_help_memory()
                       : str_eq(o->gpu_bind, "help") ? help_gpu()
                       : o->hint_help                ? help_hint()
                                                     : NULL;

    if (text)
        fputs(text, stdout);
    return text != NULL;
}
