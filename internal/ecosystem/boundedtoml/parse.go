package boundedtoml

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// Limits of one document.
type Limits struct {
	Bytes int
	// Depth of arrays and inline tables, and of the parts of one dotted key.
	Depth int
	// Values is the most keys and array elements together.
	Values int
}

// Table is a TOML table: its values are string, int64, float64, bool, time.Time,
// Table, []Table or []any.
type Table = map[string]any

// Parse reads a document. Its error is our own words and quotes nothing of it.
func Parse(data []byte, limits Limits) (Table, error) {
	if len(data) > limits.Bytes {
		return nil, fmt.Errorf("it has more than %d bytes", limits.Bytes)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	// The parser recurses; a stack that overflows cannot be caught.
	if err := (&scanner{data: data, limits: limits}).scan(); err != nil {
		return nil, err
	}
	var table Table
	if _, err := toml.Decode(string(data), &table); err != nil {
		return nil, errors.New("it is not valid TOML")
	}
	return table, nil
}
