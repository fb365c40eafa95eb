/* Writes the table for console_page.c to standard output: the name and the bytes of each file that is given. */
#include <stdio.h>
#include <string.h>

static int write_bytes(const char *path, int number) {
    FILE *f = fopen(path, "rb");
    int c, n = 0;
    if (!f) return perror(path), 1;
    printf("static const unsigned char file_%d[] = {", number);
    while ((c = getc(f)) != EOF) printf("%s%d,", n++ % 32 ? "" : "\n", c);
    printf("%s};\n", n ? "\n" : " 0 ");
    int bad = ferror(f);
    return fclose(f) != 0 || bad;
}

int main(int argc, char **argv) {
    printf("/* Made by tools/gen_console.c. */\n");
    for (int i = 1; i < argc; i++)
        if (write_bytes(argv[i], i) != 0) return 1;
    printf("static const struct { const char *name; const unsigned char *at; size_t n; } files[] = {\n");
    for (int i = 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        printf("    { \"%s\", file_%d, sizeof file_%d },\n", slash ? slash + 1 : argv[i], i, i);
    }
    printf("};\n");
    return 0;
}
