package boundedjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Limits of one document.
type Limits struct {
	Bytes  int
	Depth  int
	Values int
}

// Object is a JSON object. Its keys keep the document's order.
type Object struct {
	keys   []string
	values map[string]any
}

// Keys returns the keys in the document's order; read-only.
func (o *Object) Keys() []string { return o.keys }

// Get returns a member: an *Object, []any, string, json.Number, bool or nil.
func (o *Object) Get(key string) (any, bool) {
	value, ok := o.values[key]
	return value, ok
}

// ParseObject reads a document whose value is an object. Its error is our own words
// and quotes nothing of the document.
func ParseObject(data []byte, limits Limits) (*Object, error) {
	if len(data) > limits.Bytes {
		return nil, fmt.Errorf("it has more than %d bytes", limits.Bytes)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	p := &parser{decoder: json.NewDecoder(bytes.NewReader(data)), limits: limits}
	p.decoder.UseNumber()
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has something after its JSON value")
	}
	object, ok := value.(*Object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return object, nil
}

type parser struct {
	decoder *json.Decoder
	limits  Limits
	values  int
}

func (p *parser) value(depth int) (any, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	if p.values++; p.values > p.limits.Values {
		return nil, fmt.Errorf("it has more than %d values", p.limits.Values)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth >= p.limits.Depth {
		return nil, fmt.Errorf("it is nested more than %d deep", p.limits.Depth)
	}
	if open == '{' {
		return p.object(depth + 1)
	}
	return p.array(depth + 1)
}

func (p *parser) object(depth int) (any, error) {
	object := &Object{values: map[string]any{}}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, errors.New("it is not valid JSON")
		}
		if _, repeated := object.values[key]; repeated {
			return nil, errors.New("an object in it has the same key twice")
		}
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		object.keys = append(object.keys, key)
		object.values[key] = value
	}
	return object, p.end()
}

func (p *parser) array(depth int) (any, error) {
	array := []any{}
	for p.decoder.More() {
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	return array, p.end()
}

func (p *parser) end() error {
	if _, err := p.decoder.Token(); err != nil {
		return errors.New("it is not valid JSON")
	}
	return nil
}
