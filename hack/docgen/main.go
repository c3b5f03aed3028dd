// Command docgen writes the reference pages that are generated: docs/conditions.md
// from the conditions and the reason catalogue, docs/api.md from the CRDs, docs/plans.md
// from the plans of package ecosystem.
//
// Usage: docgen FOLDER, from the repository's root.
package main

//go:generate go run . ../../docs

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docgen FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "docgen: %v\n", err)
		os.Exit(1)
	}
}

func generate(folder string) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	pages := map[string]func(root string) ([]byte, error){
		"conditions.md": conditionsPage,
		"api.md":        apiPage,
		"plans.md":      plansPage,
	}
	for name, page := range pages {
		text, err := page(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repositoryRoot is the nearest folder upwards with a go.mod.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
}
