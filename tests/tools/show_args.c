/* Prints its arguments, without the program name: each followed by a NUL, and one more NUL at the
 * end. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) fwrite(argv[i], 1, strlen(argv[i]) + 1, stdout);
    fputc(0, stdout);
    return 0;
}
