// The peer of differential testing: runs Starlark programs with the Go implementation.
//
// It reads programs from stdin, each as "LENGTH FLAGS\n" and LENGTH bytes of text, and prints for each
// what print() wrote, then a failure if there was one (see report), then a line with "\x1e".
// tests/diff/run.c does the same with ours. FLAGS: r allows recursion and while.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkjson"
	"go.starlark.net/syntax"
)

const maxSteps = 2000000

func report(out io.Writer, err error) {
	switch err := err.(type) {
	case *starlark.EvalError:
		for _, frame := range err.CallStack {
			if frame.Pos.Filename() == "<builtin>" {
				fmt.Fprintf(out, "  <builtin>: in %s\n", frame.Name)
			} else {
				fmt.Fprintf(out, "  %d:%d: in %s\n", frame.Pos.Line, frame.Pos.Col, frame.Name)
			}
		}
		fmt.Fprintf(out, "Error: %s\n", err.Msg)
	case resolve.ErrorList:
		for _, e := range err {
			fmt.Fprintf(out, "%d:%d: %s\n", e.Pos.Line, e.Pos.Col, e.Msg)
		}
	case syntax.Error:
		fmt.Fprintf(out, "%d:%d: %s\n", err.Pos.Line, err.Pos.Col, err.Msg)
	default:
		fmt.Fprintf(out, "%s\n", err)
	}
}

func run(out *bufio.Writer, text []byte, flags string) {
	resolve.AllowSet = true
	resolve.AllowGlobalReassign = true
	resolve.AllowRecursion = strings.Contains(flags, "r")
	thread := &starlark.Thread{Print: func(_ *starlark.Thread, msg string) { fmt.Fprintln(out, msg) }}
	thread.SetMaxExecutionSteps(maxSteps)
	names := starlark.StringDict{"json": starlarkjson.Module}
	if _, err := starlark.ExecFile(thread, "p.star", text, names); err != nil {
		report(out, err)
	}
	fmt.Fprint(out, "\x1e\n")
	out.Flush()
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		header, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var n int
		var flags string
		fmt.Sscan(header, &n, &flags)
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		run(out, text, flags)
	}
}
