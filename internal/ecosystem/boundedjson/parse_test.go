package boundedjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

var small = Limits{Bytes: 200, Depth: 4, Values: 10}

func TestParsesValuesInOrder(t *testing.T) {
	object, err := ParseObject([]byte(`{"z": "s", "a": [1, true, null], "o": {"k": 1.5}}`), small)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(object.Keys(), []string{"z", "a", "o"}) {
		t.Errorf("keys %v", object.Keys())
	}
	if v, ok := object.Get("a"); !ok || !reflect.DeepEqual(v, []any{json.Number("1"), true, nil}) {
		t.Errorf("array %v", v)
	}
	inner, _ := object.Get("o")
	if v, _ := inner.(*Object).Get("k"); v != json.Number("1.5") {
		t.Errorf("number %v", v)
	}
	if _, ok := object.Get("absent"); ok {
		t.Error("an absent key was found")
	}
}

func TestRefuses(t *testing.T) {
	cases := map[string]string{
		"an empty document":          "",
		"an array at the top":        `[]`,
		"a string at the top":        `"x"`,
		"a cut-off object":           `{"a": 1`,
		"a trailing comma":           `{"a": 1,}`,
		"a comment":                  `{/* x */}`,
		"a byte order mark":          "\ufeff{}",
		"bytes after the object":     `{} {}`,
		"a brace after the object":   `{}}`,
		"the same key twice":         `{"a": 1, "a": 1}`,
		"the same key in escapes":    `{"a": 1, "\u0061": 2}`,
		"a repeated key deep inside": `{"o": [{"a": 1, "a": 2}]}`,
		"nesting above the bound":    `{"a": {"a": {"a": {"a": {}}}}}`,
		"values above the bound":     `{"a": [1,2,3,4,5,6,7,8,9]}`,
		"bytes above the bound":      `{"a": "` + strings.Repeat("x", 200) + `"}`,
		"invalid UTF-8":              "{\"a\": \"\xff\"}",
		"a bare control character":   "{\"a\": \"\x01\"}",
	}
	for name, document := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseObject([]byte(document), small); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[{"b":1e400}]}`, `{"a":1,"a":2}`, `[[[[`, `{"\ud800":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		limits := Limits{Bytes: 4096, Depth: 8, Values: 200}
		object, err := ParseObject(document, limits)
		if (object == nil) != (err != nil) {
			t.Fatalf("got %v, %v", object, err)
		}
		if err == nil && !json.Valid(document) {
			t.Fatalf("accepted what is not JSON: %q", document)
		}
	})
}
