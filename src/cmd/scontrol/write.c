/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol write": writes the controller's data to files. */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/ctl.pb-c.h"
#include "show/config_file.h"
#include "show/job_ids.h"

static int write_script(const char *job, const char *file)
{
    Pb__JobIdRequest request = PB__JOB_ID_REQUEST__INIT;
    Pb__JobScript *reply = NULL;
    Pb__StepId id = PB__STEP_ID__INIT;
    struct err err = {0};
    if (job_arg_parse(job, &id, NULL) < 0 || id.has_step_id) {
        cmd_line("job script retrieval failed: %s: %s", err_text(ERR_NO_JOB), job);
        return 1;
    }
    if (id.array_tasks && job_arg_find_record(&id, &id.job_id, &err) < 0) {
        cmd_line("job script retrieval failed: %s", err.text);
        return 1;
    }
    JOB_IDS_COPY_NUMBERS(&request, &id);
    if (cmd_call(RPC_JOB_SCRIPT, &request.base, &reply, &err) < 0) {
        cmd_line("job script retrieval failed: %s", err.text);
        return 1;
    }
    if (file && str_eq(file, "-")) {
        str_append(cmd_out(), reply->script.data, reply->script.len);
        return 0;
    }
    _cleanup_free_ char *own_name = mem_printf("slurm-%u.sh", id.job_id);
    file = file ? file : own_name;
    if (path_write_file(file, reply->script.data, reply->script.len, 0700, &err) < 0) {
        cmd_line("job script retrieval failed: %s", err.text);
        return 1;
    }
    str_printf(cmd_out(), "batch script for job %u written to %s\n", id.job_id, file);
    return 0;
}

struct config {
    struct str nodes_text, parts_text, text;
    size_t node_count;
    char *path; /* of the controller's configuration file */
    struct config_nodes nodes;
};

static int on_write_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct config *c = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++)
        config_file_add_node(&c->nodes, part->nodes[i], &c->nodes_text);
    c->node_count += part->n_nodes;
    return 0;
}

static int on_write_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct config *c = ctx;
    const Pb__PartList *part = (const Pb__PartList *)message;
    for (size_t i = 0; i < part->n_parts; i++)
        config_file_put_part(part->parts[i], cmd_conf()->disable_root_jobs, &c->parts_text);
    return 0;
}

static char *path_in(const char *shown)
{
    struct config_line line;
    char *path = NULL;
    while (!path && config_line_next(&shown, &line)) {
        if (str_eq(line.key, "SLURM_CONF"))
            path = mem_strdup(line.value);
        config_line_done(&line);
    }
    return path ? path : conf_path();
}

static int load_config(struct config *c, const char *date, struct err *err)
{
    Pb__ConfigRequest request = PB__CONFIG_REQUEST__INIT;
    Pb__NodeFilter nodes = PB__NODE_FILTER__INIT;
    Pb__PartFilter parts = PB__PART_FILTER__INIT;
    Pb__TextReply *reply = NULL;
    int r = cmd_call(RPC_CONFIG_SHOW, &request.base, &reply, err);
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &nodes.base, on_write_nodes, c, err);
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_PART_LIST, &parts.base, on_write_parts, c, err);
    config_file_end_nodes(&c->nodes, &c->nodes_text);
    if (r < 0)
        return r;
    c->path = path_in(reply->text);
    str_printf(&c->text, "# Configuration in force on %s, of %s\n\n", date, c->path);
    config_file_put_keys(reply->text, c->node_count, &c->text);
    str_printf(&c->text, "\n# Nodes\n%s\n# Partitions\n%s", str_cstr(&c->nodes_text),
               str_cstr(&c->parts_text));
    return 0;
}

/* Writes to FILE.DATE; without a FILE to $SLURM_CONF_OUT, or to a dated file beside the
 * controller's. */
static int write_config(const char *file)
{
    struct config c = {0};
    struct err err = {0};
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &tm));
    int r = load_config(&c, date, &err);
    if (r < 0)
        cmd_line("slurm_load_ctl_conf error: %s", err.text);
    const char *place = file ? NULL : getenv("SLURM_CONF_OUT");
    _cleanup_free_ char *path = place && *place ? mem_strdup(place)
                                                : mem_printf("%s.%s",
                                                             file     ? file
                                                             : c.path ? c.path
                                                                      : "",
                                                             date);
    if (r == 0) {
        r = path_write_file(path, c.text.data, c.text.len, 0644, &err);
        if (r < 0)
            cmd_error("%s", err.text);
        else
            str_printf(cmd_out(), "Slurm config saved to %s\n", path);
    }
    str_done(&c.nodes_text);
    str_done(&c.parts_text);
    str_done(&c.text);
    free(c.path);
    return r < 0 ? 1 : 0;
}

int run_write(int argc, char **argv)
{
    size_t len = strlen(argv[0]);
    bool script = !strncasecmp(argv[0], "batch_script", len);
    if (!strncasecmp(argv[0], "resources", len) && argc <= 2)
        return write_resources(argc > 1 ? argv[1] : NULL);
    if (!script && strncasecmp(argv[0], "config", len) != 0) {
        cmd_line("invalid write argument:%s", argv[0]);
        return 1;
    }
    if (script ? argc < 2 : argc > 2) {
        cmd_line("too %s arguments for keyword:write", script ? "few" : "many");
        return 1;
    }
    return script ? write_script(argv[1], argc > 2 ? argv[2] : NULL)
                  : write_config(argc > 1 ? argv[1] : NULL);
}
