// Reads cases (one JSON object a line, with a "text" or, for bytes, a "base64") and writes them back
// with what kubectl makes of them: "documents", or "error" where it refuses the text.
//
//	go run . < cases.jsonl > new.jsonl
//
// The steps are those of kubectl's builder (cli-runtime, pkg/resource, FileVisitor and
// StreamVisitor), up to the values that the unstructured decoder hands on. Integers and floats are
// told apart: {"int": "16"}, {"float": "1.5"}; lists and mappings are wrapped for the same reason.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strconv"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type kase struct {
	Text      *string `json:"text,omitempty"`
	Base64    *string `json:"base64,omitempty"`
	Documents []any   `json:"documents,omitempty"`
	Error     string  `json:"error,omitempty"`
}

func wrap(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range typed {
			out[key] = wrap(inner)
		}
		return map[string]any{"map": out}
	case []any:
		out := []any{}
		for _, inner := range typed {
			out = append(out, wrap(inner))
		}
		return map[string]any{"list": out}
	case int64:
		return map[string]any{"int": strconv.FormatInt(typed, 10)}
	case float64:
		return map[string]any{"float": strconv.FormatFloat(typed, 'g', -1, 64)}
	}
	return value
}

func read(raw []byte) (documents []any, err error) {
	reader := transform.NewReader(bytes.NewReader(raw), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
	decoder := yaml.NewYAMLOrJSONDecoder(reader, 4096)
	for {
		document := runtime.RawExtension{}
		if err := decoder.Decode(&document); err != nil {
			if errors.Is(err, io.EOF) {
				return documents, nil
			}
			return nil, err
		}
		document.Raw = bytes.TrimSpace(document.Raw)
		if len(document.Raw) == 0 || bytes.Equal(document.Raw, []byte("null")) {
			continue
		}
		var value any
		if err := kjson.Unmarshal(document.Raw, &value); err != nil {
			return nil, err
		}
		documents = append(documents, wrap(value))
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var given kase
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			log.Fatal(err)
		}
		var raw []byte
		if given.Base64 != nil {
			decoded, err := base64.StdEncoding.DecodeString(*given.Base64)
			if err != nil {
				log.Fatal(err)
			}
			raw = decoded
		} else {
			raw = []byte(*given.Text)
		}
		documents, err := read(raw)
		given.Documents, given.Error = documents, ""
		if err != nil {
			given.Documents, given.Error = nil, err.Error()
		}
		if err := out.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
