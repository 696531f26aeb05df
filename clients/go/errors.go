package millrace

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrorCode says what went wrong. Each code is an error, so that errors.Is finds it:
//
//	if errors.Is(err, millrace.ErrNoMatch) { ... }
type ErrorCode string

// The codes of this library itself. An answer without a problem document has the code "http_<status>".
const (
	// No answer came.
	ErrNetwork ErrorCode = "network"
	// No answer came in time, or the deadline of the context passed.
	ErrTimeout ErrorCode = "timeout"
	// The answer broke off, is too large, or is not what was promised.
	ErrBadBody ErrorCode = "bad_body"
	// The context was cancelled.
	ErrAborted ErrorCode = "aborted"
	// A redirect, or a 404 that is not the service's.
	ErrWrongAddress ErrorCode = "wrong_address"
)

// Error returns the code.
func (c ErrorCode) Error() string {
	return string(c)
}

// Error is a call without the answer that it asked for. Get it with errors.As; errors.Is compares its code.
type Error struct {
	// Code of the service, or one of this library's own.
	Code ErrorCode
	// Status of HTTP, 0 without an answer.
	Status int
	// RequestID of the answer: give it to the support of the service.
	RequestID string
	// Retryable says whether the same call may succeed later.
	Retryable bool
	// RetryAfter is how long the service asked to wait, 0 when it did not.
	RetryAfter time.Duration
	// Errors says what is wrong and where.
	Errors []ProblemItem
	// Attempts of this call so far.
	Attempts int
	// BatchID is the job that stays open when the upload of its parts failed.
	BatchID string

	message string
	cause   error
}

// Error returns the method, the path, what went wrong and the code. It has no secret.
func (e *Error) Error() string {
	return e.message
}

// Is reports whether target is the code of this error.
func (e *Error) Is(target error) bool {
	code, ok := target.(ErrorCode)
	return ok && code == e.Code
}

// Unwrap returns the cause, such as context.Canceled or an error of package net.
func (e *Error) Unwrap() error {
	return e.cause
}

// Timeout reports whether no answer came in time, as for errors of package net.
func (e *Error) Timeout() bool {
	return e.Code == ErrTimeout
}

// newError makes an error without an answer.
func newError(call string, code ErrorCode, detail string, cause error) *Error {
	message := call + ": " + detail + " (" + string(code) + ")"
	return &Error{Code: code, Retryable: code == ErrNetwork || code == ErrTimeout, Attempts: 1, message: message, cause: cause}
}

// badBody is an answer that is of no use, and may be better next time.
func badBody(call, detail string, status int, requestID string, cause error) *Error {
	message := call + ": " + detail + " (bad_body, status " + strconv.Itoa(status) + ")"
	return &Error{
		Code: ErrBadBody, Status: status, RequestID: requestID, Retryable: true, Attempts: 1, message: message, cause: cause,
	}
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context, call string) *Error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return newError(call, ErrTimeout, "the deadline of the context passed", cause)
	}
	return newError(call, ErrAborted, "cancelled", cause)
}

func redact(text, apiKey string) string {
	return strings.ReplaceAll(text, apiKey, mask)
}
