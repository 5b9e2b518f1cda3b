/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rejected values: the exit status, and the start of the message. Both are those of Slurm 22.05,
 * compared by running it. */
#include "cli/opt_test_util.h"

#define NUMBER "Invalid numeric value \""
#define SPEC "Invalid --"

static const struct {
    enum opt_command commands;
    const char *option;
    int status;
    const char *text; /* start of the message */
} values[] = {
    {OPT_ALL, "--acctg-freq=task=-1", 255, SPEC "acctg-freq specification"},
    {OPT_ALL, "--acctg-freq=x", 255, SPEC "acctg-freq specification"},
    {OPT_ALL, "--bbf=/nonexistent", 1, SPEC "bbf specification"},
    {OPT_ALL, "--begin=25:00", 255, SPEC "begin specification"},
    {OPT_ALL, "--begin=now+1foo", 255, SPEC "begin specification"},
    {OPT_ALL, "--begin=now+x", 255, SPEC "begin specification"},
    {OPT_ALL, "--begin=2026-13-01", 255, SPEC "begin specification"},
    {OPT_ALL, "--cores-per-socket=0", 1, NUMBER "0\" for --cores-per-socket."},
    {OPT_ALL, "--cores-per-socket=x", 1, NUMBER "x\" for --cores-per-socket."},
    {OPT_ALL, "--core-spec=-1", 1, NUMBER "-1\" for --core-spec."},
    {OPT_ALL, "--cpu-freq=high-low", 255, SPEC "cpu-freq specification"},
    {OPT_ALL, "--cpu-freq=low:OnDemand", 255, SPEC "cpu-freq specification"},
    {OPT_ALL, "--cpu-freq=Performance-high", 255, SPEC "cpu-freq specification"},
    {OPT_ALL, "--cpu-freq=x", 255, SPEC "cpu-freq specification"},
    {OPT_ALL, "--cpus-per-gpu=0", 1, NUMBER "0\" for --cpus-per-gpu."},
    {OPT_ALL, "--cpus-per-gpu=x", 1, NUMBER "x\" for --cpus-per-gpu."},
    {OPT_ALL, "-c0", 1, NUMBER "0\" for --cpus-per-task."},
    {OPT_ALL, "-cx", 1, NUMBER "x\" for --cpus-per-task."},
    {OPT_ALL, "--deadline=x", 255, SPEC "deadline specification"},
    {OPT_ALL, "--delay-boot=x", 255, SPEC "delay-boot specification"},
    {OPT_ALL, "--distribution=", 255, SPEC "distribution specification"},
    {OPT_ALL, "--distribution=block:x", 255, SPEC "distribution specification"},
    {OPT_ALL, "--distribution=plane=0", 255, SPEC "distribution specification"},
    {OPT_ALL, "--exclusive=x", 255, SPEC "exclusive specification"},
    {OPT_ALL, "-Bx", 1, NUMBER "x\" for first arg of -B."},
    {OPT_ALL, "-B1:x", 1, NUMBER "x\" for second arg of -B."},
    {OPT_ALL, "-B1:1:x", 1, NUMBER "x\" for third arg of -B."},
    {OPT_ALL, "--gpu-freq=x", 255, SPEC "gpu-freq specification"},
    {OPT_ALL, "--gres-flags=x", 255, SPEC "gres-flags specification"},
    {OPT_ALL, "--hint=x", 1, "unrecognized --hint argument \"x\", see --hint=help"},
    {OPT_SBATCH, "--kill-on-invalid-dep=x", 255, SPEC "kill-on-invalid-dep specification"},
    {OPT_SALLOC, "--kill-command=x", 255, SPEC "kill-command specification"},
    {OPT_SALLOC, "-K0", 255, SPEC "kill-command specification"},
    {OPT_SRUN, "--kill-on-bad-exit=x", 1, NUMBER "x\" for --kill-on-bad-exit."},
    {OPT_ALL, "--mail-type=", 255, SPEC "mail-type specification"},
    {OPT_ALL, "--mail-type=BEGIN,nosuch", 255, SPEC "mail-type specification"},
    {OPT_ALL, "--mail-type=TIME_LIMIT_70", 255, SPEC "mail-type specification"},
    {OPT_ALL, "--mem=", 255, SPEC "mem specification"},
    {OPT_ALL, "--mem=-1", 255, SPEC "mem specification"},
    {OPT_ALL, "--mem=1X", 255, SPEC "mem specification"},
    {OPT_ALL, "--mem-per-cpu=x", 255, SPEC "mem-per-cpu specification"},
    {OPT_ALL, "--mem-per-gpu=x", 255, SPEC "mem-per-gpu specification"},
    {OPT_ALL, "--mincpus=-1", 1, NUMBER "-1\" for --mincpus."},
    {OPT_SRUN, "--msg-timeout=x", 1, NUMBER "x\" for --msg-timeout."},
    {OPT_ALL, "--nice=-99999999999", 255, SPEC "nice value, out of range"},
    {OPT_ALL, "--no-kill=x", 255, SPEC "no-kill specification"},
    {OPT_ALL, "-N1.5", 255, "\"1.5\" is not a valid node count"},
    {OPT_ALL, "-N2-1", 255, "Maximum node count 1 is less than minimum node count 2"},
    {OPT_ALL, "-Nx", 255, "\"x\" is not a valid node count"},
    {OPT_ALL, "-n-1", 1, NUMBER "-1\" for --ntasks."},
    {OPT_ALL, "-n0", 1, NUMBER "0\" for --ntasks."},
    {OPT_ALL, "-n1k", 1, NUMBER "1k\" for --ntasks."},
    {OPT_ALL, "--ntasks-per-core=0", 1, NUMBER "0\" for --ntasks-per-core."},
    {OPT_ALL, "--ntasks-per-gpu=x", 1, NUMBER "x\" for --ntasks-per-gpu."},
    {OPT_ALL, "--ntasks-per-node=-1", 1, NUMBER "-1\" for --ntasks-per-node."},
    {OPT_ALL, "--ntasks-per-socket=x", 1, NUMBER "x\" for --ntasks-per-socket."},
    {OPT_SRUN | OPT_SBATCH, "--open-mode=x", 255, SPEC "open-mode specification"},
    {OPT_ALL, "--priority=-1", 255, SPEC "priority specification"},
    {OPT_ALL, "--profile=all,task", 255, "invalid --profile=all,task option"},
    {OPT_ALL, "--profile=none,task", 255, "invalid --profile=none,task option"},
    {OPT_ALL, "--profile=x", 255, "invalid --profile=x option"},
    {OPT_SRUN | OPT_SBATCH, "--propagate=x", 1, "--propagate=x is not valid"},
    {OPT_SRUN, "--relative=x", 1, NUMBER "x\" for --relative."},
    {OPT_SBATCH, "--requeue=x", 255, SPEC "requeue specification"},
    {OPT_SRUN, "--resv-ports=65536", 1, NUMBER "65536\" for --resv-ports."},
    {OPT_SRUN, "--resv-ports=x", 1, NUMBER "x\" for --resv-ports."},
    {OPT_SRUN, "--send-libs=x", 255, SPEC "send-libs specification"},
    {OPT_ALL, "--signal=0", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=@10", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=B:", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=USR1@99999", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=USR1@x", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=X:USR1", 255, SPEC "signal specification"},
    {OPT_ALL, "--signal=x", 255, SPEC "signal specification"},
    {OPT_ALL, "--sockets-per-node=0", 1, NUMBER "0\" for --sockets-per-node."},
    {OPT_ALL, "--sockets-per-node=x", 1, NUMBER "x\" for --sockets-per-node."},
    {OPT_ALL, "--switches=", 1, NUMBER "\" for --switches."},
    {OPT_ALL, "--switches=-1", 1, NUMBER "-1\" for --switches."},
    {OPT_ALL, "--switches=@1", 1, NUMBER "\" for --switches."},
    {OPT_ALL, "--switches=x", 1, NUMBER "x\" for --switches."},
    {OPT_ALL, "--thread-spec=x", 1, NUMBER "x\" for --thread-spec."},
    {OPT_SRUN, "--threads=0", 1, NUMBER "0\" for --threads."},
    {OPT_ALL, "--threads-per-core=0", 1, NUMBER "0\" for --threads-per-core."},
    {OPT_ALL, "--time=", 255, SPEC "time specification"},
    {OPT_ALL, "--time=1:2:3:4", 255, SPEC "time specification"},
    {OPT_ALL, "--time=1h", 255, SPEC "time specification"},
    {OPT_ALL, "--time-min=x", 255, SPEC "time-min specification"},
    {OPT_ALL, "--tmp=x", 255, SPEC "tmp specification"},
    {OPT_SRUN, "--wait=-1", 1, NUMBER "-1\" for --wait."},
    {OPT_SBATCH | OPT_SALLOC, "--wait-all-nodes=2", 255, SPEC "wait-all-nodes specification"},
    {OPT_SBATCH | OPT_SALLOC, "--wait-all-nodes=x", 1, NUMBER "x\" for --wait-all-nodes."},
    {OPT_ALL, "--het-job-of-another-time", 255, "unrecognized option"},
    {OPT_ALL, "--hold=1", 255, "option '--hold' doesn't allow an argument"},
    {OPT_ALL, "--partition", 255, "option '--partition' requires an argument"},
    {OPT_ALL, "-Y", 255, "invalid option -- 'Y'"},
};

static void wrong_values_have_the_status_and_message_of_slurm(void **state)
{
    static const enum opt_command commands[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};

    for (size_t i = 0; i < 3 * sizeof(values) / sizeof(values[0]); i++) {
        enum opt_command command = commands[i % 3];
        struct opt o;
        struct err err = {0};
        if (!(values[i / 3].commands & command))
            continue;
        _cleanup_free_ char *argv = mem_printf("command|%s", values[i / 3].option);
        if (apply_options(&o, command, NULL, "", argv, &err) == 0)
            fail_msg("%s %s is accepted", opt_program(&o), values[i / 3].option);
        if (o.exit_status != values[i / 3].status || !str_starts(err.text, values[i / 3].text))
            fail_msg("%s %s: %d, %s", opt_program(&o), values[i / 3].option, o.exit_status,
                     err.text);
        opt_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_have_the_status_and_message_of_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
