/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmd"
#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/pb.h"
#include "slurmd/node/slurmd.h"

#define HWLOC_LIBRARY "libhwloc.so.15"
#define CHILD_LIMIT_SEC 10 /* then the kernel's processor count is used */
#define LOAD_SCALE 65536   /* scale of sysinfo's load averages */

struct shape { /* the result of the child process */
    int32_t code;
    uint32_t cpus, sockets, cores, mapped;
    struct hw_cpu cpu[HW_CPUS_MAX];
};

enum socket_kind { SOCKET_PACKAGE, SOCKET_NUMA, SOCKET_L3 };

static enum socket_kind find_socket_kind(const char *parameters)
{
    return !parameters                                        ? SOCKET_PACKAGE
           : conf_list_has(parameters, "l3cache_as_socket")   ? SOCKET_L3
           : conf_list_has(parameters, "numa_node_as_socket") ? SOCKET_NUMA
                                                              : SOCKET_PACKAGE;
}

/* Counts the objects that NUMA nodes belong to; nodes without processors belong to the same object
   as others. */
static uint32_t count_numa_parents(hwloc_topology_t t, typeof(&hwloc_get_obj_by_depth) object,
                                   int depth, int count)
{
    uint32_t parents = 0;
    for (int i = 0; i < count; i++) {
        hwloc_obj_t parent = object(t, depth, (unsigned)i)->parent;
        bool counted = false;
        for (int k = 0; k < i; k++)
            counted = counted || object(t, depth, (unsigned)k)->parent == parent;
        parents += !counted;
    }
    return parents;
}

/* Runs in the child process only. The library is loaded by name, so that the daemon is not linked
   to it. */
static int read_hwloc(struct shape *s, enum socket_kind kind)
{
    hwloc_topology_t t;
    typeof(&hwloc_topology_init) init;
    typeof(&hwloc_topology_load) load;
    typeof(&hwloc_get_type_depth) depth_of;
    typeof(&hwloc_get_nbobjs_by_depth) count_at;
    typeof(&hwloc_topology_set_all_types_filter) filter;
    typeof(&hwloc_get_obj_by_depth) object;
    typeof(&hwloc_bitmap_first) first;
    void *lib = dlopen(HWLOC_LIBRARY, RTLD_NOW);

    if (!lib)
        return -ENOENT;
    init = (typeof(init))dlsym(lib, "hwloc_topology_init");
    load = (typeof(load))dlsym(lib, "hwloc_topology_load");
    depth_of = (typeof(depth_of))dlsym(lib, "hwloc_get_type_depth");
    count_at = (typeof(count_at))dlsym(lib, "hwloc_get_nbobjs_by_depth");
    filter = (typeof(filter))dlsym(lib, "hwloc_topology_set_all_types_filter");
    object = (typeof(object))dlsym(lib, "hwloc_get_obj_by_depth");
    first = (typeof(first))dlsym(lib, "hwloc_bitmap_first");
    if (!init || !load || !depth_of || !count_at || !filter || !object || !first || init(&t))
        return -ENOENT;
    if (kind == SOCKET_PACKAGE)
        filter(t, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (load(t))
        return -EIO;
    s->cpus = (uint32_t)count_at(t, depth_of(t, HWLOC_OBJ_PU));
    s->cores = (uint32_t)count_at(t, depth_of(t, HWLOC_OBJ_CORE));
    int depth = depth_of(t, kind == SOCKET_L3     ? HWLOC_OBJ_L3CACHE
                            : kind == SOCKET_NUMA ? HWLOC_OBJ_NUMANODE
                                                  : HWLOC_OBJ_PACKAGE);
    int count = depth == HWLOC_TYPE_DEPTH_UNKNOWN ? 0 : (int)count_at(t, depth);
    s->sockets =
        kind == SOCKET_NUMA ? count_numa_parents(t, object, depth, count) : (uint32_t)count;
    if (!s->sockets)
        s->sockets = (uint32_t)count_at(t, depth_of(t, HWLOC_OBJ_PACKAGE));
    for (; s->mapped < s->cpus && s->mapped < HW_CPUS_MAX; s->mapped++) {
        hwloc_obj_t pu = object(t, depth_of(t, HWLOC_OBJ_PU), s->mapped);
        int numa = pu->nodeset ? first(pu->nodeset) : 0;
        if (pu->os_index >= HW_CPUS_MAX)
            break;
        s->cpu[s->mapped].number = (uint16_t)pu->os_index;
        s->cpu[s->mapped].numa = (uint16_t)(numa > 0 ? numa : 0);
    }
    return 0;
}

static bool read_all(int fd, void *data, size_t size)
{
    size_t done = 0;
    ssize_t n = 1;

    while (done < size && n > 0) {
        n = read(fd, (char *)data + done, size - done);
        done += n > 0 ? (size_t)n : 0;
    }
    return done == size;
}

/* Without hwloc: the processors that this process may use, by the kernel's numbers. */
static void map_flat(struct shape *s)
{
    cpu_set_t mine[HW_CPUS_MAX / CPU_SETSIZE];

    if (sched_getaffinity(0, sizeof(mine), mine) < 0)
        return;
    for (size_t i = 0; i < HW_CPUS_MAX && s->mapped < s->cpus; i++)
        if (CPU_ISSET_S(i, sizeof(mine), mine))
            s->cpu[s->mapped++].number = (uint16_t)i;
}

static void read_in_child(struct shape *s, enum socket_kind kind)
{
    int ends[2];
    pid_t pid;

    s->code = -EIO;
    if (pipe(ends))
        return;
    pid = fork();
    if (pid == 0) {
        alarm(CHILD_LIMIT_SEC);
        s->code = read_hwloc(s, kind);
        _exit(path_write_all(ends[1], (char *)s, sizeof(*s)) != 0);
    }
    close(ends[1]);
    if (pid > 0) {
        if (!read_all(ends[0], s, sizeof(*s)))
            s->code = -EIO;
        waitpid(pid, NULL, 0);
    }
    close(ends[0]);
}

static uint64_t memory_mib(void)
{
    struct sysinfo info;

    return sysinfo(&info) ? 0 : (uint64_t)info.totalram * info.mem_unit >> 20;
}

static uint64_t tmp_mib(const char *tmp_fs)
{
    struct statvfs st;

    return statvfs(tmp_fs, &st) ? 0 : (uint64_t)st.f_blocks * st.f_frsize >> 20;
}

int hw_detect(const char *tmp_fs, const char *parameters, struct hw *hw, struct err *err)
{
    static struct shape s; /* static because it is large; the daemon has one thread */
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    hw->online = online;
    memset(&s, 0, sizeof(s));
    read_in_child(&s, find_socket_kind(parameters));
    if (s.code || !s.cpus) { /* no hwloc: the kernel's processor count as one flat socket */
        memset(&s, 0, sizeof(s));
        s.cpus = online > 0 ? (uint32_t)online : 1;
        map_flat(&s);
    }
    hw->cpus = s.cpus;
    hw->boards = 1;
    hw->sockets = s.sockets ? s.sockets : 1;
    hw->cores = s.cores > hw->sockets ? s.cores / hw->sockets : s.cores ? 1 : s.cpus / hw->sockets;
    hw->threads = s.cpus / (hw->sockets * hw->cores);
    if (!hw->threads)
        hw->threads = 1;
    hw->mapped = s.mapped;
    memcpy(hw->cpu, s.cpu, sizeof(hw->cpu));
    hw->real_memory_mib = memory_mib();
    hw->tmp_disk_mib = tmp_mib(tmp_fs);
    if (!hw->real_memory_mib)
        return err_set(err, -EIO, "cannot find out how much memory this machine has");
    return 0;
}

int hw_detect_node(struct slurmd *d, struct err *err)
{
    const char *of_node = d->conf->node_rows.data[d->node->row].parameters;
    const char *lists[] = {d->conf->slurmd_parameters, of_node, d->parameters};
    _cleanup_str_ struct str all = STR_INIT;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i])
            str_printf(&all, "%s%s", all.len ? "," : "", lists[i]);
    return hw_detect(d->conf->tmp_fs, str_cstr(&all), &d->hw, err);
}

bool hw_changed(const char *tmp_fs, const struct hw *hw)
{
    return sysconf(_SC_NPROCESSORS_ONLN) != hw->online || memory_mib() != hw->real_memory_mib ||
           tmp_mib(tmp_fs) != hw->tmp_disk_mib;
}

int64_t hw_up_sec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec;
}

void hw_format(const struct hw *hw, const char *host, int64_t up_sec, struct str *out)
{
    str_printf(out,
               "NodeName=%s CPUs=%u Boards=%u SocketsPerBoard=%u CoresPerSocket=%u "
               "ThreadsPerCore=%u RealMemory=%llu\n",
               host, hw->cpus, hw->boards, hw->sockets, hw->cores, hw->threads,
               (unsigned long long)hw->real_memory_mib);
    str_printf(out, "UpTime=%lld-%02lld:%02lld:%02lld\n", (long long)up_sec / 86400,
               (long long)up_sec / 3600 % 24, (long long)up_sec / 60 % 60, (long long)up_sec % 60);
}

void hw_load(uint64_t *free_mem_mib, uint32_t *cpu_load_centi)
{
    struct sysinfo info;

    if (sysinfo(&info))
        return;
    *free_mem_mib = (uint64_t)info.freeram * info.mem_unit >> 20;
    *cpu_load_centi = (uint32_t)(info.loads[0] * 100 / LOAD_SCALE);
}

/* Returns how many CPUs of the machine form one configured CPU. */
static uint32_t count_cpus_per_unit(const struct conf_node_row *row)
{
    uint32_t cores = row->sockets * row->cores;

    if (row->cpus == cores * row->threads)
        return 1;
    if (row->cpus == cores)
        return row->threads;
    return row->cpus == row->sockets ? row->cores * row->threads : 1;
}

Pb__CpuMap *hw_map_cpus(const struct hw *hw, const struct conf_node_row *row, struct arena *arena,
                        struct err *err)
{
    uint32_t each = count_cpus_per_unit(row);
    uint64_t count = (uint64_t)row->cpus * each;
    uint32_t whole = row->sockets * row->cores * row->threads;

    if (count == 0 || count > hw->mapped) {
        err_set(err, -ERR_NODE_CONFIG,
                "this machine has %u CPUs, and %llu are configured: no task is bound to any",
                hw->mapped, (unsigned long long)count);
        return NULL;
    }
    Pb__CpuMap *m = arena_alloc(arena, sizeof(*m));
    pb__cpu_map__init(m);
    m->number = arena_alloc(arena, count * sizeof(*m->number));
    m->numa = arena_alloc(arena, count * sizeof(*m->numa));
    m->n_number = m->n_numa = count;
    for (size_t i = 0; i < count; i++) {
        m->number[i] = hw->cpu[i].number;
        m->numa[i] = hw->cpu[i].numa;
    }
    SET(m, each, each);
    SET(m, threads, each == 1 && row->cpus == whole ? row->threads : 1);
    SET(m, per_socket, row->cpus / row->sockets);
    return m;
}

void hw_fill_cpus(struct slurmd *d, Pb__StepdStart *m, struct arena *arena)
{
    bool affinity = strstr(d->conf->task_plugin, "affinity") != NULL;
    struct err err = {0};

    SET(m, affinity, affinity);
    m->cpus = hw_map_cpus(&d->hw, &d->conf->node_rows.data[d->node->row], arena, &err);
    if (!m->cpus && affinity && !d->cpus_told)
        log_error("TaskPlugin: %s", err.text);
    d->cpus_told = d->cpus_told || (!m->cpus && affinity);
}
