/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/proc.h"
#include "slurmd/node/devices.h"
#include "slurmd/node/hw.h"
#include "slurmd/node/logfile.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/contain_priv.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define BP 10000                      /* basis points: hundredths of a percent, in 100 % */
#define SHEPHERDS_BYTES (64u << 20)   /* bytes per job */
#define SHEPHERDS_PER_STEP (4u << 20) /* additional bytes for each of its steps */
#define MIB (1u << 20)

/* --- wanted and available controllers --------------------------------------------------------- */

static bool limits_memory(const struct conf_cgroup *c)
{
    return c->limit && (c->constrain_ram_space || c->constrain_swap_space);
}

static bool gathers_usage(const struct conf_cgroup *c)
{
    return c->gather;
}

static const struct {
    enum cgroup_part part;
    const char *what, *then; /* the setting that needs it, and the effect of its absence */
    /* Whether the configuration needs a controller, for one with several uses. */
    bool (*wanted)(const struct conf_cgroup *c);
} wants[] = {
    {CGROUP_PROCS, "proctrack/cgroup", "processes are found as with proctrack/linuxproc", NULL},
    {CGROUP_CPUACCT, "jobacct_gather/cgroup", "time is what /proc says", NULL},
    {CGROUP_CPUSET, "task/cgroup", "ConstrainCores has no effect", NULL},
    {CGROUP_MEMORY, "task/cgroup", "ConstrainRAMSpace and ConstrainSwapSpace have no effect",
     limits_memory},
    {CGROUP_MEMORY, "jobacct_gather/cgroup", "memory is what /proc says", gathers_usage},
    {CGROUP_DEVICES, "task/cgroup", "ConstrainDevices has no effect", NULL},
};
#define WANTS (sizeof(wants) / sizeof(wants[0]))

static unsigned find_wanted_parts(const struct conf_cgroup *c)
{
    unsigned parts = 0;

    if (c->disabled)
        return 0;
    parts |= c->track ? CGROUP_BIT(CGROUP_PROCS) : 0;
    parts |= c->gather ? CGROUP_BIT(CGROUP_CPUACCT) | CGROUP_BIT(CGROUP_MEMORY) : 0;
    parts |= c->limit && c->constrain_cores ? CGROUP_BIT(CGROUP_CPUSET) : 0;
    parts |= c->limit && c->constrain_devices ? CGROUP_BIT(CGROUP_DEVICES) : 0;
    parts |= limits_memory(c) ? CGROUP_BIT(CGROUP_MEMORY) : 0;
    return parts;
}

/* Returns the controllers named by EnableExtraControllers; "all" means all available ones. */
static unsigned find_extra_parts(const struct conf_cgroup *c, enum cgroup_version version)
{
    struct err err = {0};
    unsigned parts = 0;

    if (version == CGROUP_V2 && cgroup_parse_extra(c->enable_extra_controllers, &parts, &err))
        log_error("cgroup.conf: EnableExtraControllers: %s", err.text);
    return parts;
}

static void report_extra_lacks(const struct err *why, unsigned parts)
{
    for (int i = CGROUP_IO; i < CGROUP_PARTS && parts != CGROUP_EXTRA; i++)
        if (why[i].code)
            log_error("cgroup.conf: EnableExtraControllers: %s", why[i].text);
}

/* Reports each missing feature once, with its remedy. */
static void report_lacks(const struct slurmd *d, const struct contain *k, const struct err *why)
{
    const struct conf_cgroup *c = &d->conf->cgroup;
    const struct conf_node_row *row = &d->conf->node_rows.data[d->node->row];
    bool two = k->base.version == CGROUP_V2;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    for (size_t i = 0; i < WANTS; i++)
        if (why[wants[i].part].code && (!wants[i].wanted || wants[i].wanted(c)))
            log_error("%s: %s: %s; %s", wants[i].what, why[wants[i].part].text, wants[i].then,
                      !two ? "mount it, or see cgroup_enable= in the kernel's documentation"
                           : "see EnableControllers in man cgroup.conf");
    if (c->limit && c->constrain_swap_space && cgroup_has(&k->base, CGROUP_MEMORY) &&
        !cgroup_has_swap(&k->base))
        log_error("task/cgroup: the kernel counts no swap of %s: ConstrainSwapSpace has no effect; "
                  "put swapaccount=1 on its command line",
                  k->base.path);
    if (cgroup_has(&k->base, CGROUP_CPUSET) && !hw_map_cpus(&d->hw, row, &arena, &err))
        log_error("task/cgroup: node %s: %s: ConstrainCores has no effect; see slurmd -C", d->name,
                  err.text);
}

/* Locks the base, so that no other daemon creates or removes directories there. */
static int lock_base(const struct slurmd *d, struct contain *k, struct err *err)
{
    int fd = -1;

    for (int i = 0; i < CGROUP_PARTS && fd < 0; i++)
        fd = k->base.fd[i];
    k->lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (k->lock_fd >= 0 && flock(k->lock_fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return err_set(err, -EBUSY,
                       "another slurmd uses cgroup %s of %s: start each with a -N NAME of its own",
                       k->base.path, d->conf->cgroup.cgroup_mountpoint);
    return 0;
}

static void contain_free(struct contain *k)
{
    if (!k)
        return;
    if (k->lock_fd >= 0)
        close(k->lock_fd);
    cgroup_close(&k->base);
    free(k->mount);
    contain_over_free(k->over);
    free(k);
}

/* Finds the base directory and the version for the configuration in force. */
static int find_cgroup_place(const struct slurmd *d, struct cgroup_place *place, struct err *err)
{
    const struct conf_cgroup *c = &d->conf->cgroup;

    *place = (struct cgroup_place){.mount = c->cgroup_mountpoint,
                                   .enable_above = c->enable_controllers || c->ignore_systemd};
    return cgroup_detect(place->mount, (enum cgroup_version)c->version, &place->version, err);
}

static int open_base(const struct slurmd *d, struct cgroup_place *place, struct contain *k,
                     struct err *err)
{
    const struct conf_cgroup *c = &d->conf->cgroup;
    _cleanup_free_ char *base =
        cgroup_base(place->version, c->cgroup_slice, d->named ? d->name : NULL);
    unsigned wanted = find_wanted_parts(c), extra = find_extra_parts(c, place->version);
    struct err why[CGROUP_PARTS] = {0};
    struct cgroup fresh = {0};
    int rc;

    if (k->base.path && !str_eq(k->base.path, base))
        return err_set(err, -EBUSY,
                       "cgroup.conf: CgroupSlice=%s holds when slurmd is started again",
                       c->cgroup_slice);
    /* Includes existing controllers, whose directories have to be removed, too. */
    place->parts = wanted | extra | k->base.parts;
    place->base = base;
    rc = cgroup_open(place, &fresh, why, err);
    if (rc)
        return rc;
    cgroup_close(&k->base);
    k->base = fresh;
    k->use = fresh.parts & (wanted | extra);
    report_lacks(d, k, why);
    report_extra_lacks(why, extra);
    return 0;
}

static int open_first(struct slurmd *d, struct err *err)
{
    struct contain *k = mem_new(struct contain);
    struct cgroup_place place;
    int rc;

    k->d = d;
    k->lock_fd = -1;
    rc = find_cgroup_place(d, &place, err);
    if (!rc)
        rc = open_base(d, &place, k, err);
    if (!rc)
        rc = lock_base(d, k, err);
    if (rc) {
        contain_free(k);
        return err_prefix(err, "slurm.conf asks for cgroups");
    }
    k->mount = mem_strdup(place.mount);
    d->contain = k;
    return 0;
}

/* Running steps stay in their directories, so the base directory must not change. */
static int open_again(struct slurmd *d, struct err *err)
{
    struct contain *k = d->contain;
    struct cgroup_place place;
    int rc = find_cgroup_place(d, &place, err);

    if (rc)
        return rc;
    if (place.version != k->base.version || !str_eq(place.mount, k->mount))
        return err_set(err, -EBUSY,
                       "cgroup.conf: CgroupMountpoint=%s and CgroupPlugin hold when slurmd is "
                       "started again",
                       place.mount);
    return open_base(d, &place, k, err);
}

int contain_open(struct slurmd *d, struct err *err)
{
    const struct conf_cgroup *c = &d->conf->cgroup;

    if (c->disabled && (c->limit || c->track || c->gather))
        log_error("CgroupPlugin=disabled in cgroup.conf: steps are not confined");
    if (find_wanted_parts(c))
        return d->contain ? open_again(d, err) : open_first(d, err);
    if (d->contain)
        d->contain->use = 0; /* only removes existing directories */
    return 0;
}

void contain_close(struct slurmd *d)
{
    contain_free(take_ptr(d->contain));
}

/* --- directories of jobs ---------------------------------------------------------------------- */

int contain_above(const struct contain *k, uid_t uid, bool make, struct cgroup *out,
                  struct err *err)
{
    char name[CGROUP_NAME_MAX];

    cgroup_name_uid(uid, name);
    return make ? cgroup_make(&k->base, name, out, err) : cgroup_find(&k->base, name, out);
}

static bool limits_shepherds(const struct contain *k)
{
    return k->use & CGROUP_BIT(CGROUP_MEMORY) && limits_memory(&k->d->conf->cgroup);
}

int contain_job(const struct contain *k, uid_t uid, struct attempt_key key, bool make,
                struct cgroup *out, struct err *err)
{
    _cleanup_(cgroup_close) struct cgroup above = {0};
    const struct cgroup *in = &k->base;
    char name[CGROUP_NAME_MAX];
    int rc = 0;

    if (k->base.version == CGROUP_V1) {
        rc = contain_above(k, uid, make, &above, err);
        in = &above;
    }
    if (rc)
        return rc;
    cgroup_name_job(key.id, key.restarts, name);
    return make ? cgroup_make(in, name, out, err) : cgroup_find(in, name, out);
}

static const Pb__NodeShare *share_here(const struct slurmd *d, const Pb__Cred *cred)
{
    for (size_t i = 0; i < cred->n_job_nodes; i++)
        if (str_eq(cred->job_nodes[i]->node, d->name))
            return cred->job_nodes[i];
    return NULL;
}

/* RealMemory of the configuration; its default of 1 means the memory of the machine. */
static uint64_t find_node_memory(const struct slurmd *d)
{
    uint64_t mib = d->conf->node_rows.data[d->node->row].real_memory_mib;

    return mib > 1 ? mib : d->hw.real_memory_mib;
}

/* Sets the limits of the job and fills in those of the step. */
static int fill_memory(const struct slurmd *d, const struct cgroup *job, const Pb__NodeShare *share,
                       const Pb__StepNode *here, Pb__StepCgroup *m, struct err *err)
{
    struct cgroup_memory_limit of_job, of_step;
    const struct conf_cgroup *c = &d->conf->cgroup;
    uint64_t node_mib = find_node_memory(d);
    bool swap = cgroup_has_swap(job);
    int rc;

    if (!limits_shepherds(d->contain))
        return 0;
    contain_limit(c, node_mib, share ? share->mem_mib : 0, &of_job);
    contain_limit(c, node_mib, here->mem_mib, &of_step);
    if (!swap)
        of_job.with_swap = of_step.with_swap = 0;
    rc = cgroup_set_memory(job, &of_job, err);
    if (rc)
        return rc;
    m->has_soft_bytes = m->has_hard_bytes = m->has_with_swap_bytes = m->has_job_bytes = true;
    m->soft_bytes = of_step.soft;
    m->hard_bytes = of_step.hard;
    m->with_swap_bytes = of_step.with_swap;
    m->job_bytes = of_job.hard;
    m->has_swappiness = of_step.swappiness >= 0;
    m->swappiness = (uint32_t)of_step.swappiness;
    return 0;
}

/* Uses the CPUs of the whole job on this node, or of the step alone. */
static int fill_cpus(const struct slurmd *d, const struct cgroup *job, const Pb__NodeShare *share,
                     const Pb__StepNode *own, Pb__StepCgroup *m, struct arena *arena,
                     struct err *err)
{
    const struct conf_node_row *row = &d->conf->node_rows.data[d->node->row];
    _cleanup_str_ struct str list = STR_INIT;
    const Pb__CpuMap *map;
    int rc;

    if (!(d->contain->use & CGROUP_BIT(CGROUP_CPUSET)) || !share)
        return 0;
    map = hw_map_cpus(&d->hw, row, arena, NULL);
    if (!map || !contain_cpus(map, share->cpu_set, &list))
        return 0; /* reported when the control groups were opened */
    rc = cgroup_set_cpus(job, str_cstr(&list), err);
    if (own)
        str_clear(&list);
    if (!rc && (!own || contain_cpus(map, own->cpu_set, &list)))
        m->cpus = arena_strdup(arena, str_cstr(&list));
    return rc;
}

static void fill_devices(const struct slurmd *d, const struct cgroup *job, const Pb__StepNode *here,
                         Pb__StepCgroup *m, struct arena *arena)
{
    struct devices_denied denied = {0};

    if (!(d->contain->use & CGROUP_BIT(CGROUP_DEVICES)))
        return;
    devices_deny(d->conf, here->gres, here->n_gres, &denied);
    m->denied = arena_alloc(arena, (denied.list.len + 1) * sizeof(*m->denied));
    vec_foreach (&denied.list, number) {
        Pb__CgroupDevice *one = arena_alloc(arena, sizeof(*one));

        pb__cgroup_device__init(one);
        one->block = number->block;
        one->major = major(number->number);
        one->minor = minor(number->number);
        m->denied[m->n_denied++] = one;
    }
    vec_done(&denied.list);
}

int contain_fill(struct attempt *a, const Pb__Cred *cred, uint32_t node_index,
                 Pb__StepdStart *start, struct arena *arena, struct err *err)
{
    const struct slurmd *d = a->d;
    const struct contain *k = d->contain;
    _cleanup_(cgroup_close) struct cgroup job = {0};
    const Pb__StepNode *here = cred && node_index < cred->n_nodes ? cred->nodes[node_index] : NULL;
    const Pb__NodeShare *share = here ? share_here(d, cred) : NULL;
    Pb__StepCgroup *m;
    int rc;

    if (!k || !k->use || !here)
        return 0;
    m = arena_alloc(arena, sizeof(*m));
    pb__step_cgroup__init(m);
    rc = contain_job(k, (uid_t)cred->uid, a->key, true, &job, err);
    if (!rc)
        rc = fill_memory(d, &job, share, here, m, err);
    if (!rc)
        rc = fill_cpus(d, &job, share, cred->exact ? here : NULL, m, arena, err);
    if (rc)
        return -ERR_NODE_FAULT;
    fill_devices(d, &job, here, m, arena);
    m->mount = (char *)d->conf->cgroup.cgroup_mountpoint;
    m->version = k->base.version;
    m->top = k->base.path;
    m->parts = k->use;
    m->has_track = m->has_signal_all = m->has_gather = true;
    m->track = contain_tracks(d);
    m->signal_all = d->conf->cgroup.signal_children_processes;
    m->gather = d->conf->cgroup.gather;
    start->cgroup = m;
    slurmd_debug(d, cgroup,
                 "job %u: %s/%s: memory of the job %llu bytes, of the step %llu; CPUs %s; "
                 "%zu devices denied",
                 a->key.id, m->mount, job.path, (unsigned long long)m->job_bytes,
                 (unsigned long long)m->hard_bytes, m->cpus ? m->cpus : "not confined",
                 m->n_denied);
    return 0;
}

/* Uses a directory below the job's own, which may hold no process if it has subdirectories. */
int contain_add(struct attempt *a, const Pb__Cred *cred, uint32_t node_index, pid_t pid,
                struct err *err)
{
    _cleanup_(cgroup_close) struct cgroup job = {0}, files = {0};
    Pb__StepdStart m = PB__STEPD_START__INIT;
    _cleanup_arena_ struct arena arena;
    int rc;

    arena_init(&arena, 0);
    rc = contain_fill(a, cred, node_index, &m, &arena, err);
    if (rc || !m.cgroup)
        return rc;
    rc = contain_job(a->d->contain, (uid_t)cred->uid, a->key, false, &job, err);
    if (!rc)
        rc = cgroup_make(&job, "files", &files, err);
    if (!rc)
        rc = cgroup_add(&files, pid, err);
    return rc ? err_set(err, -ERR_NODE_FAULT, "a receiver of files for job %u cannot be confined",
                        a->key.id)
              : 0;
}

static int open_step(const struct attempt *a, uint32_t step_id, struct cgroup *out)
{
    const struct contain *k = a->d->contain;
    _cleanup_(cgroup_close) struct cgroup job = {0};
    char name[CGROUP_NAME_MAX];
    int rc = k ? contain_job(k, (uid_t)a->note.about->uid, a->key, false, &job, NULL) : -ENOENT;

    return rc ? rc : cgroup_find(&job, cgroup_name_step(step_id, name), out);
}

bool contain_tracks(const struct slurmd *d)
{
    return d->contain && d->contain->use & CGROUP_BIT(CGROUP_PROCS) && d->conf->cgroup.track;
}

void contain_pids(struct attempt *a, uint32_t step_id, struct cgroup_pids *out)
{
    _cleanup_(cgroup_close) struct cgroup step = {0};

    if (contain_tracks(a->d) && !open_step(a, step_id, &step))
        cgroup_pids(&step, out);
}

bool contain_time(struct attempt *a, uint32_t step_id, Pb__Usage *out)
{
    _cleanup_(cgroup_close) struct cgroup step = {0};

    if (open_step(a, step_id, &step) || cgroup_read_cpu(&step, &out->user_usec, &out->sys_usec))
        return false;
    out->has_user_usec = out->has_sys_usec = true;
    return true;
}

bool contain_memory(struct attempt *a, uint32_t step_id, uint64_t *kib)
{
    _cleanup_(cgroup_close) struct cgroup step = {0};
    struct cgroup_memory m = {0};

    if (!a->d->contain || !a->d->conf->cgroup.gather || open_step(a, step_id, &step) ||
        cgroup_read_memory(&step, &m))
        return false;
    *kib = m.used / 1024;
    return true;
}

unsigned contain_kill(struct attempt *a, uint32_t step_id, struct str *text)
{
    _cleanup_(cgroup_close) struct cgroup step = {0};
    struct cgroup_pids left = {0};
    unsigned count;

    if (open_step(a, step_id, &step))
        return 0;
    cgroup_freeze(&step, false); /* a frozen process could not end */
    cgroup_kill(&step);
    cgroup_pids(&step, &left);
    count = (unsigned)left.list.len;
    if (count)
        proc_describe(left.list.data[0], text);
    vec_done(&left.list);
    return count;
}

/* Computes the share of mib MiB, in bytes. */
static uint64_t compute_share(uint64_t mib, uint32_t bp)
{
    unsigned __int128 bytes = (unsigned __int128)mib * (1 << 20) * bp / BP;

    return bytes > INT64_MAX ? INT64_MAX : (uint64_t)bytes;
}

static uint64_t clamp_value(uint64_t value, uint64_t least, uint64_t most)
{
    return value > most ? most : value < least ? least : value;
}

void contain_limit(const struct conf_cgroup *c, uint64_t node_mib, uint64_t given_mib,
                   struct cgroup_memory_limit *out)
{
    uint32_t ram_bp = c->constrain_ram_space ? c->allowed_ram_space_bp : BP;
    uint64_t most = compute_share(node_mib, c->max_ram_percent_bp);
    uint64_t most_swap = compute_share(node_mib, c->max_swap_percent_bp);
    uint64_t least = compute_share(c->min_ram_space_mib, BP);
    uint64_t swap;

    *out = (struct cgroup_memory_limit){.swappiness = -1};
    if (!c->constrain_ram_space && !c->constrain_swap_space)
        return;
    least = least < most ? least : most;
    out->hard = given_mib ? clamp_value(compute_share(given_mib, ram_bp), least, most) : most;
    if (c->constrain_swap_space) {
        swap = given_mib ? compute_share(given_mib, ram_bp) +
                               compute_share(given_mib, c->allowed_swap_space_bp)
                         : most_swap;
        out->with_swap =
            clamp_value(swap, out->hard, most_swap > out->hard ? most_swap : out->hard);
        if (c->memory_swappiness <= 100)
            out->swappiness = (int)c->memory_swappiness;
    }
    if (!c->constrain_ram_space)
        out->hard = out->with_swap;
    out->soft = given_mib ? clamp_value(compute_share(given_mib, BP), 0, out->hard) : 0;
}

/* Formats consecutive numbers as ranges. */
static void put_cpu_ranges(const bool *in, size_t count, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t last = i;

        if (!in[i])
            continue;
        while (last + 1 < count && in[last + 1])
            last++;
        str_printf(out, last > i ? "%s%zu-%zu" : "%s%zu", out->len ? "," : "", i, last);
        i = last;
    }
}

bool contain_cpus(const Pb__CpuMap *map, ProtobufCBinaryData cpu_set, struct str *out)
{
    bool in[HW_CPUS_MAX] = {false};

    for (size_t i = 0; i < map->n_number; i++) {
        size_t cpu = i / (map->each ? map->each : 1);

        if (map->number[i] < HW_CPUS_MAX && cpu / 8 < cpu_set.len)
            in[map->number[i]] = cpu_set.data[cpu / 8] >> (cpu % 8) & 1;
    }
    put_cpu_ranges(in, HW_CPUS_MAX, out);
    return out->len > 0;
}

static uint64_t limit_of(const struct attempt *a)
{
    return SHEPHERDS_BYTES + (uint64_t)SHEPHERDS_PER_STEP * (a->steps.len + 1);
}

/* The subdirectories exist in the memory hierarchy only. */
static struct cgroup memory_of(const struct cgroup *c)
{
    struct cgroup memory = *c;

    if (memory.version == CGROUP_V1)
        memory.parts = CGROUP_BIT(CGROUP_MEMORY);
    return memory;
}

static int make_shepherds(const struct contain *k, uid_t uid, struct attempt_key key,
                          struct cgroup *out, struct err *err)
{
    _cleanup_(cgroup_close) struct cgroup above = {0};
    char name[CGROUP_NAME_MAX];
    struct cgroup in;
    int rc;

    if (k->base.version == CGROUP_V1) {
        rc = contain_above(k, uid, true, &above, err);
        if (rc)
            return rc;
    }
    in = memory_of(k->base.version == CGROUP_V1 ? &above : &k->base);
    return cgroup_make(&in, cgroup_name_stepd(key.id, key.restarts, name), out, err);
}

static int find_shepherds(const struct contain *k, uid_t uid, struct attempt_key key,
                          struct cgroup *out)
{
    _cleanup_(cgroup_close) struct cgroup above = {0};
    const struct cgroup *in = &k->base;
    char name[CGROUP_NAME_MAX];

    if (k->base.version == CGROUP_V1) {
        if (contain_above(k, uid, false, &above, NULL))
            return -ENOENT;
        in = &above;
    }
    return cgroup_find(in, cgroup_name_stepd(key.id, key.restarts, name), out);
}

int contain_shepherds_open(struct attempt *a, int *entry, struct err *err)
{
    const struct contain *k = a->d->contain;
    _cleanup_(cgroup_close) struct cgroup c = {0};
    struct cgroup_memory_limit limit = {.hard = limit_of(a), .swappiness = -1};
    int rc;

    *entry = -1;
    if (!k || !limits_shepherds(k))
        return 0;
    rc = make_shepherds(k, (uid_t)a->note.about->uid, a->key, &c, err);
    if (!rc) {
        limit.with_swap = cgroup_has_swap(&c) ? limit.hard : 0;
        rc = cgroup_set_memory(&c, &limit, err);
        if (rc == -EBUSY) /* the limit was larger, with more steps, and more memory is in use */
            rc = 0;
    }
    if (!rc)
        rc = *entry = cgroup_open_memory_entry(&c, err);
    return rc < 0 ? -ERR_NODE_FAULT : 0;
}

bool contain_shepherds_were_killed(struct attempt *a, struct str *why)
{
    const struct contain *k = a->d->contain;
    _cleanup_(cgroup_close) struct cgroup c = {0};
    struct cgroup_memory m = {0};

    if (!k || find_shepherds(k, (uid_t)a->note.about->uid, a->key, &c) ||
        cgroup_read_memory(&c, &m) || m.oom_kills <= a->shepherd_kills)
        return false;
    a->shepherd_kills++;
    str_printf(
        why,
        "slurmstepd was killed for memory: the step daemons of job %u have used the %llu MiB "
        "that they may have on node %s",
        a->key.id, (unsigned long long)(m.limit / MIB), a->d->name);
    return true;
}
