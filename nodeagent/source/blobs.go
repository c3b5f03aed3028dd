package source

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// contentsOf returns the wanted files of a tree's root that fit their bound.
func contentsOf(files []file, wanted map[string]int64) (map[string][]byte, error) {
	var picked []file
	for _, f := range files {
		if limit, ok := wanted[f.path]; ok && !f.link && f.size <= limit {
			picked = append(picked, f)
		}
	}
	contents := map[string][]byte{}
	err := eachBlob(picked, func(f file, content io.Reader) error {
		var err error
		contents[f.path], err = io.ReadAll(content)
		return err
	})
	return contents, err
}

// eachBlob calls use with the content of each file, all of which it must read.
func eachBlob(files []file, use func(file, io.Reader) error) error {
	if len(files) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, f := range files {
		ids.WriteString(f.id + "\n")
	}
	cmd, complaint := git("cat-file", "--batch", "--buffer")
	cmd.Stdin = strings.NewReader(ids.String())
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	if err := eachReply(output, files, use); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed on purpose
		return err
	}
	return blame(cmd.Wait(), "reading files", complaint)
}

func eachReply(output io.Reader, files []file, use func(file, io.Reader) error) error {
	in := bufio.NewReaderSize(output, 256<<10)
	for _, f := range files {
		head, err := in.ReadString('\n')
		if want := fmt.Sprintf("%s blob %d\n", f.id, f.size); err != nil || head != want {
			return invalid("a file of a tree cannot be read")
		}
		content := &io.LimitedReader{R: in, N: f.size}
		if err := use(f, content); err != nil {
			return err
		}
		if end, err := in.ReadByte(); err != nil || end != '\n' || content.N != 0 {
			return invalid("a file of a tree is cut off")
		}
	}
	return nil
}
