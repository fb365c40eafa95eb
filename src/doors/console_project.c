#include "doors/console_private.h"
#include <unistd.h>

void console_about(ConsoleCall *c) {
    const ConsoleConfig *config = c->console->config;
    Buf out = { 0 };
    Str root = config->root, name = root;
    for (size_t i = 0; i < root.n; i++)
        if (root.at[i] == '/') name = str_sub(root, i + 1, root.n);
    buf_add(&out, STR("{\"version\":"));
    json_write_string(&out, str_from(config->version), false);
    console_add_member(&out, "root", root);
    console_add_member(&out, "name", name);
    buf_add_fmt(&out, ",\"pid\":%ld", (long)getpid());
    console_add_member(&out, "by", buf_str(&c->console->by));
    buf_add_char(&out, '}');
    console_reply(c, 200, &out);
}
