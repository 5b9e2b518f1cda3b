/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cgroup.conf, beside slurm.conf. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "conf/conf_beside.h"
#include "conf/conf_internal.h"

#define SWAPPINESS_UNSET UINT32_MAX

static const struct {
    const char *word;
    unsigned version;
    bool disabled;
} plugins[] = {
    {"autodetect", 0, false},
    {"cgroup/v1", 1, false},
    {"cgroup/v2", 2, false},
    {"disabled", 0, true},
};

static int take_plugin(struct conf_cgroup *c, const struct conf_value *v, struct err *err)
{
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
        if (c->cgroup_plugin && !strcasecmp(plugins[i].word, c->cgroup_plugin)) {
            c->version = plugins[i].version;
            c->disabled = plugins[i].disabled;
            return 0;
        }
    return conf_fail(v->at, err,
                     "CgroupPlugin=%s: expected cgroup/v1, cgroup/v2, autodetect or disabled",
                     c->cgroup_plugin ? c->cgroup_plugin : "");
}

/* Whether it is a slice name of systemd: words between dashes, and ".slice" at the end. */
static bool is_slice(const char *name)
{
    const char *end = name ? strstr(name, ".slice") : NULL;

    return end && end > name && end[-1] != '-' && !end[strlen(".slice")] && name[0] != '-' &&
           name[0] != '.' && !strchr(name, '/') && !strstr(name, "--");
}

/* slurmd uses the kernel's names of the controllers. */
static void check_controllers(struct conf_loader *l, const struct conf_value *v)
{
    static const char *const known[] = {"all", "io", "pids", "rdma", "hugetlb", "misc"};

    words_foreach (v->text, w) {
        bool is_known = !w.len;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            is_known = is_known || word_case_eq(w, known[i]);
        if (!is_known)
            conf_fault(l, v->at,
                       "EnableExtraControllers: '%.*s' is not all, io, pids, rdma, hugetlb or misc",
                       (int)w.len, w.at);
    }
}

/* Reports impossible requests when the file is checked, rather than at run time. */
static int check_cgroup(struct conf_loader *l, const struct conf_value *written, struct err *err)
{
    struct conf_cgroup *c = &l->conf->cgroup;
    const struct conf_value *at = &written[CONF_CGROUP_KEY_cgroup_mountpoint];
    bool any = c->constrain_cores || c->constrain_devices || c->constrain_ram_space ||
               c->constrain_swap_space;

    if (at->text && (!c->cgroup_mountpoint || c->cgroup_mountpoint[0] != '/'))
        return conf_fail(at->at, err, "CgroupMountpoint=%s: expected an absolute path", at->text);
    if (!is_slice(c->cgroup_slice))
        return conf_fail(written[CONF_CGROUP_KEY_cgroup_slice].at, err,
                         "CgroupSlice=%s: expected a name such as system.slice",
                         c->cgroup_slice ? c->cgroup_slice : "");
    check_controllers(l, &written[CONF_CGROUP_KEY_enable_extra_controllers]);
    if (any && !c->limit)
        conf_fault(l, l->cgroup.row.data[0].at,
                   "Constrain... has no effect without TaskPlugin=task/cgroup in slurm.conf");
    if (c->disabled && (c->track || c->limit || c->gather))
        conf_fault(l, written[CONF_CGROUP_KEY_cgroup_plugin].at,
                   "CgroupPlugin=disabled: what slurm.conf asks of cgroups is not done");
    return 0;
}

int conf_cgroup_build(struct conf_loader *l, struct err *err)
{
    struct conf_cgroup *c = &l->conf->cgroup;
    struct conf_value written[CONF_CGROUP_KEYS] = {0};

    conf_value_defaults(conf_cgroup_keys, CONF_CGROUP_KEYS, c);
    c->memory_swappiness = SWAPPINESS_UNSET;
    c->given = l->cgroup.row.len > 0;
    c->track = str_eq(l->conf->proctrack_type, "proctrack/cgroup");
    c->limit = conf_list_has(l->conf->task_plugin, "task/cgroup");
    c->gather = str_eq(l->conf->job_acct_gather_type, "jobacct_gather/cgroup");
    int rc = conf_rows_take_last(l, &l->cgroup, &l->conf->cgroup, written, err);
    if (rc == 0)
        rc = take_plugin(c, &written[CONF_CGROUP_KEY_cgroup_plugin], err);
    return rc == 0 && c->given ? check_cgroup(l, written, err) : rc;
}

int conf_cgroup_read(struct conf_loader *l, const char *path, struct err *err)
{
    if (l->scope == CONF_CLIENT)
        return 0;
    return conf_lines_read_beside(l, path, "cgroup.conf", CONF_CGROUP_PREFIX, err);
}

/* Formats the value as shown by Slurm. */
static void value_text(const struct conf_cgroup *c, size_t id, struct str *out)
{
    size_t before = out->len;

    if (id == CONF_CGROUP_KEY_memory_swappiness && c->memory_swappiness == SWAPPINESS_UNSET) {
        str_puts(out, "(null)");
        return;
    }
    conf_value_text(&conf_cgroup_keys[id], c, out);
    if (conf_cgroup_keys[id].type == CONF_T_MIB)
        str_puts(out, "MB");
    for (size_t i = before; i < out->len && conf_cgroup_keys[id].type == CONF_T_BOOL; i++)
        out->data[i] = (char)tolower((unsigned char)out->data[i]);
}

void conf_cgroup_format(const struct conf *c, struct str *out)
{
    const struct conf_cgroup *g = &c->cgroup;

    if (!g->given && !g->track && !g->limit && !g->gather)
        return;
    str_puts(out, "\nCgroup Support Configuration:\n");
    for (size_t i = 1; i < CONF_CGROUP_KEYS; i++) {
        _cleanup_str_ struct str value = STR_INIT;

        value_text(g, i, &value);
        str_printf(out, "%-23s = %s\n", conf_cgroup_keys[i].name, str_cstr(&value));
    }
}
