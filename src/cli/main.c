/* The program: parses the command line, runs one command, writes its result. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/help.h"
#include "guard/guard.h"

/* A file opened while descriptor 1 is closed would become standard output. So opens /dev/null for each missing one, in
 * the wrong direction: using it still fails. */
static void hold_standard_files(void) {
    static const int mode[] = { O_WRONLY, O_RDONLY, O_RDONLY };
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", mode[fd]);     /* gets the lowest free number: fd */
}

static void end_interrupted(int signal) {
    (void)signal;
    _exit(CLI_INTERRUPTED);
}

static void set_signals(void) {
    struct sigaction now;
    signal(SIGPIPE, SIG_IGN);                            /* a closed pipe is an ordinary write error */
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL)   /* not under nohup or a shell's & */
        signal(SIGINT, end_interrupted);
}

/* Usage errors are reported as JSON too, even before --json is parsed. */
static bool asks_for_json(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) return true;
    return false;
}

/* No command: prints the usage, for --help as a result, otherwise as an error. */
static int without_command(Cli *cli) {
    bool asked = args_has(&cli->args, "--help");
    Buf text = { 0 };
    if (cli->args.group) help_group(&text, cli->args.group);
    else help_program(&text);
    if (asked) buf_add(&cli->out, buf_str(&text));
    else if (!cli->json) (void)!write(STDERR_FILENO, text.at, text.n);
    buf_clear(&text);
    if (asked) return CLI_OK;
    if (!cli->json) return CLI_WRONG_USE;
    Error err = { 0 };
    error_set(&err, ERR_VALIDATION, "%s%smissing command", cli->args.group ? cli->args.group : "", cli->args.group ? ": " : "");
    error_hint(&err, "see harness --help");
    return cli_fail(cli, CLI_WRONG_USE, &err);
}

static int run(Cli *cli, int argc, char **argv) {
    Error err = { 0 };
    cli->json = asks_for_json(argc, argv);
    if (!args_parse(argc, argv, &cli->args, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (cli->args.command && args_has(&cli->args, "--help")) return help_command(&cli->out, cli->args.command), CLI_OK;
    if (!cli_init(cli, &err)) return cli_fail(cli, err.kind == ERR_IO ? CLI_FAILED : CLI_WRONG_USE, &err);
    if (!cli->args.command) return without_command(cli);
    if (!args_check(&cli->args, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    return cli->args.command->run(cli);
}

int main(int argc, char **argv) {
    hold_standard_files();
    if (guard_is_hook(argc, argv)) return guard_hook(argc - 2, argv + 2);
    set_signals();
    Cli cli = { 0 };
    int status = run(&cli, argc, argv);
    if (!cli_flush(&cli) && status == CLI_OK) status = CLI_FAILED;
    if (cli.args.command && strcmp(cli.args.command->name, "guard") == 0 && status == CLI_FAILED) status = CLI_WRONG_USE;   /* agents ignore status 1 of a hook */
    cli_clear(&cli);
    return status;
}
