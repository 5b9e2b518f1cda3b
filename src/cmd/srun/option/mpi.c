/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/mpi.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

extern char **environ;

static const char *const kinds[] = {"none", "pmi1", "pmi2", "pmix", "pmix_v4", "pmix_v5"};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
#define EVERYWHERE 3 /* number of kinds that every host supports */

int mpi_choose(const char *given, const char *by_default, const char **kind, struct err *err)
{
    const char *wanted = given != NULL ? given : by_default != NULL ? by_default : "none";

    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(wanted, kinds[i]) == 0) {
            *kind = kinds[i];
            return 0;
        }
    return err_set(err, -ERR_PARSE, "Invalid MPI type '%s', --mpi=list for acceptable types",
                   wanted);
}

/* Gets the first line of the program's output with this operand; false: the program failed. */
static bool ask_program(const char *path, const char *word, char *line, size_t size)
{
    char *const argv[] = {(char *)path, (char *)word, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    ssize_t n = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, path, &actions, NULL, argv, environ) != 0)
        pid = -1;
    close(ends[1]);
    if (pid > 0) {
        n = read(ends[0], line, size - 1);
        waitpid(pid, &status, 0);
    }
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return pid > 0 && status == 0 && *line != '\0';
}

bool mpi_pmix_version(char version[MPI_VERSION_MAX])
{
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *path = mem_printf("%s/sbin/slurmstepd-pmix", prefix != NULL ? prefix : "");

    return ask_program(path, "--libpmix", version, MPI_VERSION_MAX);
}

void mpi_list(void)
{
    char version[MPI_VERSION_MAX];

    puts("MPI plugin types are...");
    for (size_t i = 0; i < EVERYWHERE; i++)
        printf("\t%s\n", kinds[i]);
    if (!mpi_pmix_version(version))
        return;
    puts("\tpmix");
    printf("specific pmix plugin versions available: pmix_v%.*s\n", (int)strcspn(version, "."),
           version);
}
