// Command doccheck checks the links of Markdown pages: that the files they lead to
// exist, that their headings do, and that a name in code font is in the file its link
// leads to. A page that says which test proves something must not outlive the test.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: doccheck PAGE…")
		os.Exit(2)
	}
	failed := false
	for _, page := range os.Args[1:] {
		problems, err := check(page)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, problem := range problems {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %s\n", page, problem)
		}
	}
	if failed {
		os.Exit(1)
	}
}
