// Times functions of a Starlark file with the Go implementation: peer FILE FN...
// prints "FN 12.345 ms", best of three, as `harness starlark --bench` does.
package main

import (
	"fmt"
	"os"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkjson"
)

func best(thread *starlark.Thread, fn starlark.Value) (time.Duration, error) {
	least := time.Hour
	for round := 0; round < 3; round++ {
		start := time.Now()
		if _, err := starlark.Call(thread, fn, nil, nil); err != nil {
			return 0, err
		}
		if took := time.Since(start); took < least {
			least = took
		}
	}
	return least, nil
}

func main() {
	resolve.AllowSet = true
	thread := &starlark.Thread{}
	globals, err := starlark.ExecFile(thread, os.Args[1], nil, starlark.StringDict{"json": starlarkjson.Module})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range os.Args[2:] {
		took, err := best(thread, globals[name])
		if err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		fmt.Printf("%s %.3f ms\n", name, float64(took)/1e6)
	}
}
