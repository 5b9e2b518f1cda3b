/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses lists of words and numbers, and DebugFlags.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/words.h"
#include "conf/conf_internal.h"
#include "conf/conf_words.h"

/* Names of resource limits, each also valid with the prefix RLIMIT_. */
#define LIMITS                                                                                     \
    "ALL NONE AS CORE CPU DATA FSIZE MEMLOCK NOFILE NPROC RSS STACK RLIMIT_AS RLIMIT_CORE "        \
    "RLIMIT_CPU RLIMIT_DATA RLIMIT_FSIZE RLIMIT_MEMLOCK RLIMIT_NOFILE RLIMIT_NPROC RLIMIT_RSS "    \
    "RLIMIT_STACK"

/* Keys whose value is a word, or a comma-separated list of words, from a fixed set. Keys with
 * words of the form PREFIX:... are not listed here: they accept any text. */
static const struct {
    enum conf_key_id key;
    bool list;
    const char *words; /* separated by blanks, in Slurm's spelling */
    const char *idle;  /* words without effect, which cause one warning; NULL: none */
} word_keys[] = {
    {CONF_KEY_accounting_storage_enforce, true,
     "none associations limits nojobs nosteps qos safe wckeys all 0 1", NULL},
    {CONF_KEY_cpu_freq_governors, true,
     "Conservative OnDemand Performance PowerSave SchedUtil UserSpace", NULL},
    {CONF_KEY_enforce_part_limits, false, "ALL ANY NO YES", NULL},
    {CONF_KEY_health_check_node_state, true,
     "ANY ALLOC CYCLE DRAINED_IDLE IDLE MIXED NONDRAINED_IDLE START_ONLY", NULL},
    {CONF_KEY_job_acct_gather_params, true,
     "DisableGPUAcct no_file_cache NoOverMemoryKill NoShared OverMemoryKill UsePss",
     "DisableGPUAcct no_file_cache NoShared UsePss"},
    {CONF_KEY_log_time_format, true,
     "iso8601 iso8601_ms rfc5424 rfc5424_ms rfc3339 clock short thread_id format_stderr", NULL},
    {CONF_KEY_metrics_type, false, "metrics/none metrics/openmetrics", NULL},
    {CONF_KEY_task_plugin_param, true,
     "Cores None Sockets Threads Verbose Autobind=Cores Autobind=Sockets Autobind=Threads "
     "SlurmdOffSpec SlurmdSpecOverride OOMKillStep",
     "SlurmdOffSpec SlurmdSpecOverride"},
    {CONF_KEY_preempt_mode, true, conf_preempt_words, "WITHIN"},
    {CONF_KEY_priority_flags, true,
     "ACCRUE_ALWAYS CALCULATE_RUNNING DEPTH_OBLIVIOUS NO_FAIR_TREE INCR_ONLY MAX_TRES "
     "MAX_TRES_GRES NO_NORMAL_ALL "
     "NO_NORMAL_ASSOC NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES SMALL_RELATIVE_TO_TIME",
     "CALCULATE_RUNNING DEPTH_OBLIVIOUS NO_FAIR_TREE NO_NORMAL_ASSOC NO_NORMAL_QOS"},
    {CONF_KEY_priority_usage_reset_period, false, "NONE NOW DAILY WEEKLY MONTHLY QUARTERLY YEARLY",
     NULL},
    {CONF_KEY_private_data, true,
     "none accounts cloud events jobs nodes partitions reservations usage users all",
     "accounts cloud events users"},
    {CONF_KEY_propagate_resource_limits, true, LIMITS, NULL},
    {CONF_KEY_propagate_resource_limits_except, true, LIMITS, NULL},
    {CONF_KEY_reconfig_flags, true, "KeepPartInfo KeepPartState KeepPowerSaveSettings",
     "KeepPowerSaveSettings"},
    {CONF_KEY_prolog_flags, true,
     "Alloc Contain DeferBatch ForceRequeueOnFail NoHold RunInJob Serial X11",
     "DeferBatch RunInJob"},
    {CONF_KEY_x11_parameters, true, "home_xauthority", NULL},
};

/* Whether the word (len bytes, case-insensitive) is among words separated by blanks. */
static bool word_known(const char *words, const char *word, size_t len)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        if (n == len && !strncasecmp(words, word, len))
            return true;
        words += n;
        words += *words == ' ';
    }
    return false;
}

static int words_check(struct conf_loader *l, size_t i, const struct conf_value *v, struct err *err)
{
    for (const char *word = v->text; *word;) {
        size_t len = word_keys[i].list ? strcspn(word, ",") : strlen(word);
        if (len && !word_known(word_keys[i].words, word, len))
            return conf_fail(v->at, err, "%s=%s: '%.*s' is not one of: %s",
                             conf_keys[word_keys[i].key].name, v->text, (int)len, word,
                             word_keys[i].words);
        if (len && word_keys[i].idle && word_known(word_keys[i].idle, word, len))
            conf_warn(l, v->at, "%s: '%.*s' has no effect", conf_keys[word_keys[i].key].name,
                      (int)len, word);
        word += len;
        word += *word == ',';
    }
    return 0;
}

/* Keys that accept any options, NAME or NAME=VALUE: the options that are used. Other options have
 * no effect and cause one warning. */
static const struct {
    enum conf_key_id key;
    const char *words;
} option_keys[] = {
    {CONF_KEY_auth_info, "cred_expire socketdir ttl"},
    {CONF_KEY_bcast_parameters, "Compression DestDir send_libs"},
    {CONF_KEY_communication_parameters,
     "disable_http keepaliveinterval keepaliveprobes keepalivetime"},
    {CONF_KEY_dependency_parameters, "kill_invalid_depend max_depend_depth"},
    {CONF_KEY_launch_parameters,
     "batch_step_set_cpu_freq mpir_use_nodeaddr slurmstepd_memlock srun_exclusive_allocation "
     "slurmstepd_memlock_all test_exec use_interactive_step"},
    {CONF_KEY_metrics_parameters, "ignore_private_data"},
    {CONF_KEY_preempt_parameters,
     "min_exempt_priority reclaim_licenses send_user_signal strict_order suspend_grace_time "
     "youngest_first"},
    {CONF_KEY_topology_param, "TopoOptional"},
    {CONF_KEY_slurmctld_parameters,
     "allow_user_triggers disable_triggers enable_configless node_reg_mem_percent user_resv_delete "
     "rl_enable rl_bucket_size rl_refill_rate "
     "rl_refill_period rl_table_size"},
    {CONF_KEY_slurmd_parameters,
     "config_overrides cpufreq_path l3cache_as_socket numa_node_as_socket"},
};

static void options_check(struct conf_loader *l, size_t i, const struct conf_value *v)
{
    for (const char *word = v->text; *word;) {
        size_t len = strcspn(word, ","), name = strcspn(word, ",=");
        if (name && !word_known(option_keys[i].words, word, name))
            conf_warn(l, v->at, "%s: '%.*s' has no effect", conf_keys[option_keys[i].key].name,
                      (int)name, word);
        word += len;
        word += *word == ',';
    }
}

bool conf_cpu_bind_known(const char *word)
{
    return word_known("none socket sockets ldom ldoms core cores thread threads", word,
                      strlen(word));
}

int conf_cpu_bind_check(const struct conf_value *v, const char *of, struct err *err)
{
    if (!v->text || conf_cpu_bind_known(v->text))
        return 0;
    return conf_fail(v->at, err, "%s: CpuBind=%s: it is none, socket, ldom, core or thread", of,
                     v->text);
}

/* Only one binding can be the default. */
static int task_params_check(const struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_task_plugin_param];
    int count = 0;

    words_foreach (v->text, w) {
        count += word_known("Cores None Sockets Threads", w.at, w.len);
    }
    return count < 2 ? 0
                     : conf_fail(v->at, err,
                                 "TaskPluginParam=%s: Cores, None, Sockets and Threads exclude "
                                 "each other",
                                 v->text);
}

int conf_words_check(struct conf_loader *l, struct err *err)
{
    for (size_t i = 0; i < sizeof(option_keys) / sizeof(option_keys[0]); i++) {
        const struct conf_value *v = &l->priv->written[option_keys[i].key];
        if (v->text)
            options_check(l, i, v);
    }
    for (size_t i = 0; i < sizeof(word_keys) / sizeof(word_keys[0]); i++) {
        const struct conf_value *v = &l->priv->written[word_keys[i].key];
        int rc = v->text ? words_check(l, i, v, err) : 0;
        if (rc < 0)
            return rc;
    }
    return task_params_check(l, err);
}

static const struct {
    const char *word;
    unsigned bits;
} cr_words[] = {
    {"CR_CPU", CONF_CR_CPU},
    {"CR_CPU_Memory", CONF_CR_CPU | CONF_CR_MEMORY},
    {"CR_Core", CONF_CR_CORE},
    {"CR_Core_Memory", CONF_CR_CORE | CONF_CR_MEMORY},
    {"CR_Socket", CONF_CR_SOCKET},
    {"CR_Socket_Memory", CONF_CR_SOCKET | CONF_CR_MEMORY},
    {"CR_Memory", CONF_CR_MEMORY},
    {"CR_ONE_TASK_PER_CORE", CONF_CR_ONE_TASK},
    {"CR_CORE_DEFAULT_DIST_BLOCK", CONF_CR_BLOCK},
    {"CR_LLN", CONF_CR_LLN},
    {"CR_Pack_Nodes", CONF_CR_PACK},
    {"LL_SHARED_GRES", CONF_CR_LL_SHARED},
    {"ENFORCE_BINDING_GRES", CONF_CR_NEAR_GRES},
    {"MULTIPLE_SHARING_GRES_PJ", CONF_CR_SEVERAL_SHARED},
    {"CR_NO_DIST_TOPO_BLOCK", 0},
    {"ONE_TASK_PER_SHARING_GRES", CONF_CR_ONE_PER_SHARED},
    {"OTHER_CONS_RES", 0},
    {"OTHER_CONS_TRES", 0},
    {"NONE", 0},
};

static long cr_find(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(cr_words) / sizeof(cr_words[0]); i++)
        if (strlen(cr_words[i].word) == len && !strncasecmp(cr_words[i].word, word, len))
            return (long)i;
    return -1;
}

void conf_cr_warn(struct conf_loader *l, const char *list, struct conf_place at)
{
    for (const char *word = list; *word;) {
        size_t len = strcspn(word, ",");
        long i = cr_find(word, len);
        if (i >= 0 && !cr_words[i].bits && strcmp(cr_words[i].word, "NONE") != 0)
            conf_warn(l, at, "SelectTypeParameters: '%.*s' has no effect", (int)len, word);
        word += len;
        word += *word == ',';
    }
}

int conf_cr_parse(const char *list, struct conf_place at, struct err *err)
{
    unsigned bits = 0, units;

    for (const char *word = list; *word;) {
        size_t len = strcspn(word, ",");
        long i = cr_find(word, len);
        if (len && i < 0)
            return conf_fail(at, err,
                             "SelectTypeParameters=%s: '%.*s' is unknown; use CR_CPU, CR_Core or "
                             "CR_Socket, each with _Memory, or CR_Memory",
                             list, (int)len, word);
        if (len)
            bits |= cr_words[i].bits;
        word += len;
        word += *word == ',';
    }
    units = bits & (CONF_CR_CPU | CONF_CR_CORE | CONF_CR_SOCKET);
    if (units & (units - 1))
        return conf_fail(at, err, "SelectTypeParameters=%s: one of CR_CPU, CR_Core, CR_Socket only",
                         list);
    return (int)bits;
}

/* Parses one word of JobDefaults: "DefCpuPerGPU=2". */
static int default_parse(const char *word, uint32_t *cpus, uint64_t *mem_mib, struct err *err)
{
    static const char cpu_key[] = "DefCpuPerGPU=", mem_key[] = "DefMemPerGPU=";
    long long n = 0;
    int rc;
    if (!strncasecmp(word, mem_key, sizeof mem_key - 1))
        return size_parse_mib(word + sizeof mem_key - 1, mem_mib, err);
    if (strncasecmp(word, cpu_key, sizeof cpu_key - 1) != 0)
        return err_set(err, -ERR_PARSE, "'%s' is unknown; use DefCpuPerGPU=N and DefMemPerGPU=MB",
                       word);
    rc = str_parse_i64(word + sizeof cpu_key - 1, 1, 65535, &n);
    if (rc == 0)
        *cpus = (uint32_t)n;
    return rc == 0 ? 0 : err_set(err, rc, "'%s': a number from 1 to 65535 is expected", word);
}

int conf_job_defaults_parse(const char *list, struct conf_place at, uint32_t *cpus,
                            uint64_t *mem_mib, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(list);
    struct err why = {0};
    char *save = NULL;
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
        if (default_parse(word, cpus, mem_mib, &why) != 0)
            return conf_fail(at, err, "JobDefaults=%s: %s", list, why.text);
    return 0;
}

/* Finds the element "word" or "word=value" of a comma-separated list; *len is its length. */
static const char *element_find(const char *list, const char *word, size_t *len)
{
    size_t n = strlen(word);

    while (list && *list) {
        list += strspn(list, " ,");
        *len = strcspn(list, ",");
        while (*len > 0 && list[*len - 1] == ' ')
            (*len)--;
        if (*len >= n && !strncasecmp(list, word, n) && (*len == n || list[n] == '='))
            return list;
        list += strcspn(list, ",");
    }
    return NULL;
}

bool conf_list_has(const char *list, const char *word)
{
    size_t len;

    return element_find(list, word, &len) != NULL;
}

char *conf_list_value(const char *list, const char *word)
{
    size_t len, n = strlen(word);
    const char *element = element_find(list, word, &len);

    if (!element || len == n)
        return NULL;
    return mem_strndup(element + n + 1, len - n - 1);
}

bool conf_is_private(const struct conf *c, const char *what)
{
    return conf_list_has(c->private_data, what) || conf_list_has(c->private_data, "all");
}

bool conf_hides_anything(const struct conf *c)
{
    return c->private_data && *c->private_data && !str_case_eq(c->private_data, "none");
}

static bool is_known(const char *word, size_t len)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i]) == len && !strncasecmp(word, types[i], len))
            return true;
    return false;
}

int conf_gather_parse(const char *text, int64_t *sec, struct err *err)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = mem_strndup(text, len);
        const char *equals = strchr(word, '=');
        long long value;

        if ((equals && !is_known(word, (size_t)(equals - word))) ||
            str_parse_i64(equals ? equals + 1 : word, 0, CONF_GATHER_MAX_SEC, &value))
            return err_set(err, -ERR_PARSE,
                           "'%s' is not a number of seconds up to %d, or task=SECONDS; energy=, "
                           "network= and filesystem= are known, too",
                           word, CONF_GATHER_MAX_SEC);
        if (!equals || !strncasecmp(word, "task=", 5))
            *sec = value;
        text += len;
        text += *text == ',';
    }
    return 0;
}

bool conf_offers_http(const struct conf *c)
{
    return !conf_list_has(c->communication_parameters, "disable_http");
}

enum { NONE, CTLD, NODE, BOTH };

static const struct {
    const char *name;
    bool effect;
} flags[CONF_DEBUG_COUNT] = {
#define DEBUG_FLAG(id, name, effect) {name, effect},
#include "conf/conf_debug.def"
#undef DEBUG_FLAG
};

_Static_assert(CONF_DEBUG_COUNT <= 64, "a flag is a bit");

int conf_debug_find(const char *word, size_t len)
{
    for (int i = 0; i < CONF_DEBUG_COUNT; i++)
        if (strlen(flags[i].name) == len && !strncasecmp(flags[i].name, word, len))
            return i;
    return -1;
}

bool conf_debug_has_effect(int flag)
{
    return flags[flag].effect;
}

int conf_debug_parse(const char *list, uint64_t *bits, struct err *err)
{
    uint64_t found = 0;

    for (const char *word = list ? list : ""; *word;) {
        size_t len = strcspn(word, ", ");
        int flag = len ? conf_debug_find(word, len) : 0;
        if (flag < 0)
            return err_set(err, -ERR_PARSE, "unknown debug flag '%.*s'", (int)len, word);
        found |= len ? UINT64_C(1) << flag : 0;
        word += len + (word[len] != '\0');
    }
    *bits = found;
    return 0;
}

int conf_debug_change(char *const *changes, size_t count, uint64_t *bits, struct err *err)
{
    uint64_t changed = *bits;
    for (size_t i = 0; i < count; i++) {
        const char *change = changes[i];
        int flag = *change ? conf_debug_find(change + 1, strlen(change + 1)) : -1;
        if (flag < 0 || !strchr("+-", *change))
            return err_set(err, -ERR_PARSE, "invalid debug flag: %s", change);
        uint64_t bit = UINT64_C(1) << flag;
        changed = *change == '+' ? changed | bit : changed & ~bit;
    }
    *bits = changed;
    return 0;
}

void conf_debug_format(uint64_t bits, struct str *out)
{
    for (int i = 0; i < CONF_DEBUG_COUNT; i++)
        if (bits >> i & 1)
            str_printf(out, "%s%s", out->len ? "," : "", flags[i].name);
}
