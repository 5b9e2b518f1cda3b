/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executes the same program in the same process, so that no state of a past lead remains. All
 * descriptors are close-on-exec. The process keeps its user, its process id and its pending
 * signals, and an environment variable tells it not to claim the lead.
 */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/lead/reexec.h"

#define WORD "SLUICE_SLURMCTLD_AGAIN"
#define CLAIMS "start"
#define WAITS "standby"
#define YIELDED "yielded"
#define DELETED " (deleted)"

void reexec_begun(struct ctld_options *o)
{
    const char *word = getenv(WORD);
    o->is_reexec = word != NULL;
    o->yielded = word && str_eq(word, YIELDED);
    o->waits = o->yielded || (word && str_eq(word, WAITS));
    unsetenv(WORD);
}

/* Returns the path of the program file; if it was replaced, of the new one. */
static void find_program(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    size_t len = strlen(path), tail = strlen(DELETED);
    if (len > tail && str_eq(path + len - tail, DELETED))
        path[len - tail] = '\0';
    if (access(path, X_OK))
        memcpy(path, "/proc/self/exe", sizeof("/proc/self/exe"));
}

/* Without -c, because the present state is to be continued. */
void reexec_start(const struct ctld_options *o, const char *conf_path, enum reexec how)
{
    VEC(const char *) argv = {0};
    char program[PATH_MAX];
    find_program(program);
    vec_push(&argv, "slurmctld");
    if (o->foreground)
        vec_push(&argv, o->systemd ? "--systemd" : "-D");
    vec_push(&argv, "-f");
    vec_push(&argv, conf_path);
    if (o->log_file) {
        vec_push(&argv, "-L");
        vec_push(&argv, o->log_file);
    }
    if (o->as) {
        vec_push(&argv, "--as");
        vec_push(&argv, o->as);
    }
    if (o->change_dir)
        vec_push(&argv, "-s");
    if (o->ignore_damage)
        vec_push(&argv, "-i");
    for (unsigned i = 0; i < o->verbose; i++)
        vec_push(&argv, "-v");
    vec_push(&argv, NULL);
    setenv(WORD, how == REEXEC_YIELDED ? YIELDED : how == REEXEC_WAITS ? WAITS : CLAIMS, 1);
    files_hand_on_lowport();
    execv(program, (char **)argv.data);
    log_error("%s: cannot restart: %s", program, strerror(errno));
    unsetenv(WORD);
    vec_done(&argv);
}
