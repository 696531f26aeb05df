// Package lines cuts the bytes of a file into the lines of a batch.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

const (
	// MaxRecord is the greatest number of bytes of a record of several lines, as the service reads it.
	MaxRecord = 64 << 10
	// maxLine is the greatest size of a part.
	maxLine = 64 << 20
)

// Physical reads lines with their ends. The last one gets an end when it has none.
func Physical(reader io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buffered := bufio.NewReaderSize(reader, 64<<10)
		var line []byte
		for {
			piece, err := buffered.ReadSlice('\n')
			line = append(line, piece...)
			switch {
			case len(line) > maxLine:
				yield(nil, fmt.Errorf("a line is longer than %d bytes, which no part can have", maxLine))
				return
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case errors.Is(err, io.EOF):
				if len(line) > 0 {
					yield(append(line, '\n'), nil)
				}
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !yield(line, nil) {
				return
			}
			line = nil
		}
	}
}

// Records reads the records of CSV as the service does (RFC 4180). A record that breaks the rules of quotes ends with its
// first line.
//
// Lines are read ahead up to the limit of a record. What a line does within quotes depends on that line alone, so it is
// looked at once: a stray quote costs no time.
func Records(reader io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		next, stop := iter.Pull2(Physical(reader))
		defer stop()
		r := records{next: next, first: true}
		for {
			record, err := r.read()
			if err != nil {
				yield(nil, err)
				return
			}
			if record == nil || !yield(record, nil) {
				return
			}
		}
	}
}

type end int

const (
	unknown end = iota
	// endsRecord: the record ends with its line.
	endsRecord
	// staysOpen: a quote is open at the end of its line.
	staysOpen
	// isStray: text follows a closing quote, or the file ends within quotes.
	isStray
)

type records struct {
	next  func() ([]byte, error, bool)
	first bool
	ahead [][]byte
	// The first `inside` lines ahead, of `size` bytes, leave an open quote open. After is what the next one does.
	inside, size int
	after        end
}

// read returns the next record, or nil at the end.
func (r *records) read() ([]byte, error) {
	if ok, err := r.fetch(0); !ok {
		return nil, err
	}
	line := r.ahead[0]
	r.ahead = r.ahead[1:]
	if r.inside > 0 {
		r.inside--
		r.size -= len(line)
	} else {
		r.after = unknown
	}
	text := content(line)
	if r.first {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		r.first = false
	}
	if ends(text, false) != staysOpen {
		return line, nil
	}
	return r.several(line)
}

// several is the record whose first line leaves a quote open: with the lines behind it, or that line alone.
func (r *records) several(line []byte) ([]byte, error) {
	for len(line)+r.size <= MaxRecord {
		if r.after == unknown {
			ok, err := r.fetch(r.inside)
			if err != nil {
				return nil, err
			}
			r.after = isStray
			if ok {
				r.after = ends(content(r.ahead[r.inside]), true)
			}
		}
		if r.after == staysOpen {
			r.size += len(r.ahead[r.inside])
			r.inside++
			r.after = unknown
			continue
		}
		if r.after == endsRecord && len(line)+r.size+len(content(r.ahead[r.inside])) <= MaxRecord {
			whole := bytes.Join(append([][]byte{line}, r.ahead[:r.inside+1]...), nil)
			r.ahead = r.ahead[r.inside+1:]
			r.inside, r.size, r.after = 0, 0, unknown
			return whole, nil
		}
		break
	}
	return line, nil
}

// fetch reads ahead until there is a line at this place. It returns false at the end.
func (r *records) fetch(place int) (bool, error) {
	for len(r.ahead) <= place {
		line, err, ok := r.next()
		if !ok || err != nil {
			return false, err
		}
		r.ahead = append(r.ahead, line)
	}
	return true, nil
}

func content(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// ends says how a line leaves its quotes. A quote opens only at the start of a field.
func ends(text []byte, quoted bool) end {
	for {
		if !quoted {
			if len(text) > 0 && text[0] == '"' {
				text = text[1:]
			} else {
				_, rest, found := bytes.Cut(text, []byte(`,"`))
				if !found {
					return endsRecord
				}
				text = rest
			}
		}
		_, rest, found := bytes.Cut(text, []byte{'"'})
		switch {
		case !found:
			return staysOpen
		case len(rest) == 0:
			return endsRecord
		case rest[0] != '"' && rest[0] != ',':
			return isStray
		}
		quoted = rest[0] == '"'
		text = rest[1:]
	}
}
