/* Certificates are verified: against SSL_CERT_FILE, and by name. The server is the openssl program. */
#include "net_unit.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "net/client.h"

static char folder[] = "/tmp/harness-tls-XXXXXX";

static pid_t start(const char *const argv[]) {
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (chdir(folder) < 0) _exit(126);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        execvp(argv[0], (char **)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static void run(const char *const argv[]) {
    int status = 0;
    pid_t pid = start(argv);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static uint16_t free_port(void) {
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof here;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(bind(fd, (struct sockaddr *)&here, n) == 0 && getsockname(fd, (struct sockaddr *)&here, &n) == 0);
    close(fd);
    return ntohs(here.sin_port);
}

static void wait_for(uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    for (int i = 0; i < 500; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool up = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
        close(fd);
        if (up) return;
        usleep(10000);
    }
    fail_msg("the server did not start");
}

static bool at_home(void *ctx, const char *host, Addresses *out, Error *err) {
    (void)ctx, (void)host, (void)err;
    return address_parse(STR("127.0.0.1"), &out->at[out->n++]);
}

static bool get(const char *host, uint16_t port, ClientResponse *out, Error *err) {
    char url[200], entry[2][80];
    Rules *rules = NULL;
    Client *c = client_new();
    sprintf(url, "https://%s:%u/", host, port);
    sprintf(entry[0], "%s:%u", host, port);
    sprintf(entry[1], "127.0.0.1:%u", port);
    Str list[] = { str_from(entry[0]), str_from(entry[1]) };
    assert_true(rule_list_new(list, 2, &rules, err));
    resolver_set_answer(client_resolver(c), at_home, NULL);
    ClientRequest r = { .method = STR("GET"), .url = str_from(url), .rules = rules, .timeout_ms = 20000 };
    bool ok = client_send(c, &r, NULL, out, err);
    client_free(c);
    rule_list_free(rules);
    return ok;
}

static void certificates(void **state) {
    (void)state;
    char accept[40], file[80];
    ClientResponse out = { 0 };
    Error err = { 0 };
    assert_non_null(mkdtemp(folder));
    run((const char *[]){ "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
        "-out", "cert.pem", "-days", "2",
                    "-subj", "/CN=a.example", "-addext", "subjectAltName=DNS:a.example", NULL });
    uint16_t port = free_port();
    sprintf(accept, "127.0.0.1:%u", port);
    pid_t server = start((const char *[]){ "openssl", "s_server", "-accept", accept, "-key", "key.pem", "-cert", "cert.pem", "-www", NULL });
    wait_for(port);

    unsetenv("SSL_CERT_FILE");
    assert_false(get("a.example", port, &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_non_null(strstr(err.msg, "the server's certificate is not valid"));
    assert_false(out.sent);

    snprintf(file, sizeof file, "%s/cert.pem", folder);
    setenv("SSL_CERT_FILE", file, 1);
    if (!get("a.example", port, &out, &err)) fail_msg("%s", err.msg);
    assert_int_equal(out.status, 200);
    assert_true(out.sent && out.body.n > 0);
    client_response_clear(&out);

    assert_false(get("b.example", port, &out, &err));                  /* known, but for another host */
    assert_non_null(strstr(err.msg, "the server's certificate is not valid"));
    assert_false(get("127.0.0.1", port, &out, &err));
    assert_non_null(strstr(err.msg, "the server's certificate is not valid"));

    unsetenv("SSL_CERT_FILE");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    run((const char *[]){ "rm", "-f", "key.pem", "cert.pem", NULL });
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(certificates) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
