/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An MPI program for tests whose processes are parents, or children that they have spawned. The
 * first operand of a parent says what it does:
 *
 *   spawn N      N children, a sum over them, each said by who has it
 *   two          two commands with arguments of their own, in one MPI_Comm_spawn_multiple
 *   again N      one child after the other, N times
 *   host NAME    two children on that node
 *   wdir DIR     a child that is started there
 *   missing      a program that is not there; says which class of error it gets
 *   other PROG   the same with that program, of one process
 *   much N       asks for N processes
 *   leave        does not wait for its child, which goes on until a file "go" is there
 *   names        a child publishes a port, and the parent connects to it
 *   code         the child exits with 3
 *   child-abort, child-kill   the child does that, and the parent waits for it
 *   parent-kill  the parent is killed, and the child waits for it
 *   wait         both wait for ever, and say so
 *   deep         a child spawns another one
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char *self;

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

/* The sum of what 'mine' is on the other side. */
static int sum_of_others(MPI_Comm between, int mine)
{
    int sum = 0;

    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
    return sum;
}

static MPI_Comm spawn(char *what, int count, MPI_Info info)
{
    char *args[] = {"child", what, NULL};
    MPI_Comm between;
    int errors[64];

    MPI_Comm_spawn(self, args, count, info, 0, MPI_COMM_WORLD, &between, errors);
    for (int i = 0; i < count; i++)
        if (errors[i] != MPI_SUCCESS)
            printf("child %d has error %d\n", i, errors[i]);
    return between;
}

static void spawn_some(int count, MPI_Info info)
{
    MPI_Comm between = spawn("sum", count, info);
    int others;

    MPI_Comm_remote_size(between, &others);
    printf("parent %d of %d: %d children, sum %d\n", rank, size, others,
           sum_of_others(between, 100 + rank));
    MPI_Comm_disconnect(&between);
}

static void spawn_two(void)
{
    char *commands[] = {self, self}, *first[] = {"child", "two", "a b", NULL};
    char *second[] = {"child", "two", "it's; $HOME", "", NULL}, **args[] = {first, second};
    int counts[] = {2, 1}, errors[3];
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm between;

    MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0, MPI_COMM_WORLD, &between, errors);
    printf("parent: sum %d\n", sum_of_others(between, 1));
    MPI_Comm_disconnect(&between);
}

static void try_program(char *program, int count)
{
    int code, class, *errors = calloc((size_t)(count > 0 ? count : 1), sizeof(int));
    MPI_Comm between;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Comm_spawn(program, MPI_ARGV_NULL, count, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between,
                          errors);
    MPI_Error_class(code, &class);
    printf("error class %s\n", class == MPI_ERR_SPAWN ? "spawn"
                               : code == MPI_SUCCESS  ? "none"
                                                      : "another");
    free(errors);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm between = spawn("serve", 1, MPI_INFO_NULL), served;
    int number = 0;

    MPI_Barrier(between); /* it has published */
    MPI_Lookup_name("service", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &served);
    MPI_Bcast(&number, 1, MPI_INT, 0, served);
    printf("parent got %d\n", number);
    MPI_Comm_disconnect(&served);
    MPI_Comm_disconnect(&between);
}

static void serve(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    int number = 4711;

    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("service", MPI_INFO_NULL, port);
    MPI_Barrier(parent);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
    MPI_Bcast(&number, 1, MPI_INT, MPI_ROOT, client);
    MPI_Comm_disconnect(&client);
    MPI_Unpublish_name("service", MPI_INFO_NULL, port);
}

static void child(int argc, char **argv, MPI_Comm parent)
{
    const char *what = argv[2];
    int *number, flag, length;
    char where[4096], name[MPI_MAX_PROCESSOR_NAME];

    if (!strcmp(what, "sum")) {
        MPI_Get_processor_name(name, &length);
        printf("child %d of %d on %s in %s: sum %d\n", rank, size, getenv("SLURMD_NODENAME"),
               getcwd(where, sizeof(where)), sum_of_others(parent, rank + 1));
    } else if (!strcmp(what, "two")) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
        printf("child %d of %d, command %d:", rank, size, flag ? *number : -1);
        for (int i = 3; i < argc; i++)
            printf(" <%s>", argv[i]);
        printf(" sum %d\n", sum_of_others(parent, 10));
    } else if (!strcmp(what, "serve")) {
        serve(parent);
    } else if (!strcmp(what, "deep")) {
        spawn_some(1, MPI_INFO_NULL);
    } else if (!strcmp(what, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    } else if (!strcmp(what, "kill")) {
        raise(SIGKILL);
    } else if (!strcmp(what, "wait")) {
        say("child waits");
        for (;;)
            pause();
    }
    MPI_Comm_disconnect(&parent);
    while (!strcmp(what, "leave") && access("go", F_OK))
        usleep(20000);
    if (!strcmp(what, "leave"))
        say("child leaves");
}

static void parent(int argc, char **argv)
{
    const char *what = argv[1];
    MPI_Comm between;
    MPI_Info info;

    MPI_Info_create(&info);
    if (!strcmp(what, "spawn")) {
        spawn_some(atoi(argv[2]), MPI_INFO_NULL);
    } else if (!strcmp(what, "two")) {
        spawn_two();
    } else if (!strcmp(what, "again")) {
        for (int i = 0; i < atoi(argv[2]); i++)
            spawn_some(1, MPI_INFO_NULL);
    } else if (!strcmp(what, "host") || !strcmp(what, "wdir")) {
        MPI_Info_set(info, what, argv[2]);
        spawn_some(what[0] == 'h' ? 2 : 1, info);
    } else if (!strcmp(what, "missing")) {
        try_program("/nonexistent/program", 1);
    } else if (!strcmp(what, "other")) {
        try_program(argv[2], 1);
    } else if (!strcmp(what, "much")) {
        try_program(self, atoi(argv[2]));
    } else if (!strcmp(what, "names")) {
        names();
    } else if (!strcmp(what, "deep")) {
        between = spawn("deep", 1, MPI_INFO_NULL);
        MPI_Comm_disconnect(&between);
    } else {
        between = spawn(!strcmp(what, "parent-kill")   ? "wait"
                        : !strcmp(what, "child-kill")  ? "kill"
                        : !strcmp(what, "child-abort") ? "abort"
                                                       : argv[1],
                        1, MPI_INFO_NULL);
        if (!strcmp(what, "parent-kill"))
            raise(SIGKILL);
        if (!strcmp(what, "wait"))
            say("parent waits");
        if (strcmp(what, "leave") && strcmp(what, "code"))
            sum_of_others(between, 1); /* which nobody takes part in */
        MPI_Comm_disconnect(&between);
        if (!strcmp(what, "leave"))
            say("parent leaves");
    }
    MPI_Info_free(&info);
    (void)argc;
}

int main(int argc, char **argv)
{
    MPI_Comm above;
    int code = 0;

    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&above);
    if (above != MPI_COMM_NULL) {
        child(argc, argv, above);
        code = !strcmp(argv[2], "code") ? 3 : 0;
    } else {
        parent(argc, argv);
    }
    MPI_Finalize();
    return code;
}
