package millrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	csvlines "millrace.example/millrace/internal/lines"
)

const maxPart = 4 << 20

// Source is where the lines of a batch come from. It is read once, a line at a time.
type Source struct {
	format BatchFormat
	lines  func(csv bool) iter.Seq2[[]byte, error]
}

// Lines takes values that are written as JSON, one a line. Texts, []byte and json.RawMessage are written as they are.
// Use slices.Values for a slice.
func Lines[T any](values iter.Seq[T]) *Source {
	return &Source{lines: func(bool) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for value := range values {
				line, err := toLine(value)
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
	}}
}

// File takes the lines of a file. A name that ends in .csv gives the format CSV.
func File(path string) *Source {
	source := &Source{lines: func(csv bool) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			file, err := os.Open(path)
			if err != nil {
				yield(nil, err)
				return
			}
			defer func() { _ = file.Close() }()
			wholeLines(file, csv)(yield)
		}
	}}
	if strings.HasSuffix(strings.ToLower(path), ".csv") {
		source.format = BatchFormatCSV
	}
	return source
}

// Reader takes the lines of a reader: NDJSON, or CSV when that is the Format of the job.
func Reader(reader io.Reader) *Source {
	return &Source{lines: func(csv bool) iter.Seq2[[]byte, error] { return wholeLines(reader, csv) }}
}

func toLine(value any) ([]byte, error) {
	var line []byte
	switch text := value.(type) {
	case string:
		line = []byte(text)
	case []byte:
		line = text
	case json.RawMessage:
		line = text
	default:
		var err error
		if line, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("a line cannot be written as JSON: %w", err)
		}
	}
	return withEnd(line), nil
}

func withEnd(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(line[:len(line):len(line)], '\n')
}

// wholeLines reads the lines of a file; of CSV its records, some of which have several lines.
func wholeLines(reader io.Reader, csv bool) iter.Seq2[[]byte, error] {
	if csv {
		return csvlines.Records(reader)
	}
	return csvlines.Physical(reader)
}

// parts gathers whole lines into parts of at most 4 MiB, unless one line is longer.
func parts(lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var part []byte
		for line, err := range lines {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(part) > 0 && len(part)+len(line) > maxPart {
				if !yield(part, nil) {
					return
				}
				// A connection that failed may still read the old one.
				part = make([]byte, 0, maxPart)
			}
			part = append(part, line...)
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}
