/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/timefmt.h"
#include "conf/conf_beside.h"
#include "conf/conf_internal.h"

#define KEY_WIDTH 23 /* followed by a blank before '=' */

/* Units that "scontrol show config" prints after numbers, where they do not follow from the
   type. */
static const struct {
    enum conf_key_id key;
    const char *unit;
} units[] = {
    {CONF_KEY_eio_timeout_sec, ""},        {CONF_KEY_epilog_msg_time_usec, " usec"},
    {CONF_KEY_epilog_timeout_sec, ""},     {CONF_KEY_prolog_epilog_timeout_sec, ""},
    {CONF_KEY_prolog_timeout_sec, ""},     {CONF_KEY_resume_rate, " nodes/min"},
    {CONF_KEY_suspend_rate, " nodes/min"}, {CONF_KEY_vsize_factor, " percent"},
};

static const char *unit_of(size_t id)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (units[i].key == id)
            return units[i].unit;
    return conf_keys[id].type == CONF_T_SEC ? " sec" : "";
}

static void write_line(struct str *out, const char *key, const char *value)
{
    str_printf(out, "%-*s = %s\n", KEY_WIDTH, key, value);
}

static void puts_upper(struct str *out, const char *text)
{
    for (; *text; text++)
        str_putc(out, (char)toupper((unsigned char)*text));
}

/* Prints minutes if Slurm counts minutes, otherwise the format of a time limit. */
static void minutes_text(size_t id, int64_t sec, struct str *out)
{
    char buf[TIME_TEXT_MAX];

    if (sec == CONF_UNLIMITED)
        str_puts(out, "UNLIMITED");
    else if (id == CONF_KEY_over_time_limit_sec || id == CONF_KEY_resv_over_run_sec)
        str_printf(out, "%lld min", (long long)(sec / 60));
    else
        str_puts(out, time_format_limit(sec < 0 ? 0 : sec, buf));
}

/* Prints keys that are not shown by their type. False: the key has no special format. */
static bool special_text(const struct conf *c, size_t id, struct str *out)
{
    switch (id) {
    case CONF_KEY_slurm_user:
        str_printf(out, "%s(%u)", c->priv->slurm_user_name, c->slurm_uid);
        return true;
    case CONF_KEY_slurmd_user:
        str_printf(out, "%s(%u)", c->priv->slurmd_user_name, c->slurmd_uid);
        return true;
    case CONF_KEY_slurmctld_port:
        str_printf(out, "%u", c->slurmctld_port);
        if (c->slurmctld_port_last > c->slurmctld_port)
            str_printf(out, "-%u", c->slurmctld_port_last);
        return true;
    case CONF_KEY_select_type_parameters:
        if (c->select_type_parameters)
            puts_upper(out, c->select_type_parameters);
        else
            str_puts(out, c->select == CONF_SELECT_CONS ? "CR_CORE_MEMORY" : "NONE");
        return true;
    case CONF_KEY_preempt_mode: /* spelled like that of partitions */
        str_puts(out, conf_preempt_word(c->preempt_mode));
        return true;
    case CONF_KEY_max_node_count: /* 0: the present number of nodes */
        str_printf(out, "%zu", c->max_node_count ? (size_t)c->max_node_count : c->nodes.len);
        return true;
    case CONF_KEY_accounting_storage_pass:
    case CONF_KEY_job_comp_pass: {
        const void *member = (const char *)c + conf_keys[id].offset;
        str_puts(out, *(const char *const *)member ? "(hidden)" : "(null)");
        return true;
    }
    default:
        return false;
    }
}

static void value_text(const struct conf *c, size_t id, struct str *out)
{
    const struct conf_key *key = &conf_keys[id];
    const void *member = (const char *)c + key->offset;

    if (special_text(c, id, out))
        return;
    if (key->type == CONF_T_MIN)
        minutes_text(id, *(const int64_t *)member, out);
    else if (key->type == CONF_T_SEC && *(const int64_t *)member == CONF_UNLIMITED)
        str_puts(out, "INFINITE");
    else if (key->type == CONF_T_MIB && *(const uint64_t *)member == 0)
        str_puts(out, "UNLIMITED");
    else {
        conf_value_text(key, c, out);
        str_puts(out, unit_of(id));
    }
}

/* Hides one of two keys that exclude each other. */
static bool is_shown(const struct conf *c, size_t id)
{
    switch (id) {
    case CONF_KEY_def_mem_per_cpu_mib:
        return c->def_mem_per_cpu_mib;
    case CONF_KEY_def_mem_per_node_mib:
        return !c->def_mem_per_cpu_mib;
    case CONF_KEY_max_mem_per_cpu_mib:
        return c->max_mem_per_cpu_mib;
    case CONF_KEY_max_mem_per_node_mib:
        return !c->max_mem_per_cpu_mib;
    case CONF_KEY_fast_schedule: /* of an earlier release: shown only if it has an effect */
        return c->fast_schedule != 1;
    default:
        return true;
    }
}

static void put_boot_time(const struct conf *c, struct str *out)
{
    char buf[TIME_TEXT_MAX];

    write_line(out, "BOOT_TIME", time_format_date(c->boot_at, "N/A", buf));
}

static void put_next_job_id(const struct conf *c, struct str *out)
{
    char buf[16];

    snprintf(buf, sizeof(buf), "%u", c->next_job_id);
    if (c->next_job_id)
        write_line(out, "NEXT_JOB_ID", buf);
}

static void put_path(const struct conf *c, struct str *out)
{
    write_line(out, "SLURM_CONF", c->path);
}

static void put_version(const struct conf *c, struct str *out)
{
    (void)c;
    write_line(out, "SLURM_VERSION", SLURM_VERSION);
}

static void put_hosts(const struct conf *c, struct str *out)
{
    for (size_t i = 0; i < c->controllers.len; i++) {
        const struct conf_host *host = &c->controllers.data[i];
        _cleanup_free_ char *key = mem_printf("SlurmctldHost[%zu]", i);
        _cleanup_str_ struct str value = STR_INIT;
        str_puts(&value, host->name);
        if (!str_eq(host->own_addr, host->name))
            str_printf(&value, "(%s)", host->own_addr);
        write_line(out, key, str_cstr(&value));
    }
}

/* Lines without a row in conf.def, at their place in the order of names. */
static const struct {
    const char *name;
    void (*put)(const struct conf *c, struct str *out);
} extras[] = {
    {"BOOT_TIME", put_boot_time},   {"NEXT_JOB_ID", put_next_job_id}, {"SLURM_CONF", put_path},
    {"SLURM_VERSION", put_version}, {"SlurmctldHost", put_hosts},
};
#define EXTRAS (sizeof(extras) / sizeof(extras[0]))

/* A key with several programs is printed on several lines. */
static void put_key(const struct conf *c, size_t id, struct str *out)
{
    _cleanup_str_ struct str value = STR_INIT;

    value_text(c, id, &value);
    for (const char *at = str_cstr(&value), *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, '\n');
        _cleanup_free_ char *one = end ? mem_strndup(at, (size_t)(end - at)) : mem_strdup(at);
        write_line(out, conf_keys[id].name, one);
    }
}

static int format_one(const struct conf *c, const char *key, struct str *out, struct err *err)
{
    long id = conf_key_find(conf_keys, CONF_KEYS, key);

    for (size_t i = 0; i < EXTRAS; i++)
        if (!strcasecmp(extras[i].name, key)) {
            extras[i].put(c, out);
            return 0;
        }
    if (id < 0) {
        unsigned distance = CONF_NEAR;
        const char *near = conf_key_near(conf_keys, CONF_KEYS, key, &distance);
        if (near)
            return err_set(err, -ERR_CONFIG, "no configuration key is called %s; did you mean %s?",
                           key, near);
        return err_set(err, -ERR_CONFIG, "no configuration key is called %s", key);
    }
    put_key(c, (size_t)id, out);
    return 0;
}

int conf_format(const struct conf *c, const char *key, struct str *out, struct err *err)
{
    char buf[TIME_TEXT_MAX];
    size_t extra = 0;

    if (key)
        return format_one(c, key, out, err);
    str_printf(out, "Configuration data as of %s\n", time_format_date(c->read_at, "N/A", buf));
    for (size_t id = 0; id < CONF_KEYS; id++) {
        for (; extra < EXTRAS && strcasecmp(extras[extra].name, conf_keys[id].name) < 0; extra++)
            extras[extra].put(c, out);
        if (is_shown(c, id))
            put_key(c, id, out);
    }
    conf_cgroup_format(c, out);
    return 0;
}
