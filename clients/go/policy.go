package millrace

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	mask             = "[redacted]"
	maxBytes         = 16 << 20
	maxPause         = 8 * time.Second
	maxRetryAfter    = time.Minute
	maxRateLimitWait = 15 * time.Minute
)

var retryableStatus = []int{408, 425, 429, 500, 502, 503, 504}

// retries counts the attempts of one call.
type retries struct {
	settings *settings
	// attempts that count: a rate limit that is waited for does not.
	attempts int
	sent     int
	waited   time.Duration
}

// restart is called when a stream has brought something new.
func (r *retries) restart() {
	r.attempts = 0
	r.waited = 0
}

// after returns the pause before the next attempt, and whether there is one.
func (r *retries) after(failed *Error) (time.Duration, bool) {
	r.sent++
	failed.Attempts = r.sent
	if !failed.Retryable {
		return 0, false
	}
	if r.settings.waitForRateLimit && failed.Status == http.StatusTooManyRequests {
		pause := r.longer(failed.RetryAfter, r.attempts+1)
		r.waited += pause
		return pause, r.waited <= maxRateLimitWait
	}
	r.attempts++
	if r.attempts >= r.settings.maxAttempts || failed.RetryAfter > maxRetryAfter {
		return 0, false
	}
	return r.longer(failed.RetryAfter, r.attempts), true
}

func (r *retries) longer(asked time.Duration, attempt int) time.Duration {
	jitter := rand.Float64()
	most := min(maxPause.Seconds(), r.settings.retryDelay.Seconds()*float64(int64(1)<<min(attempt-1, 30)))
	return max(seconds(jitter*most), seconds(asked.Seconds()*(1+jitter/10)))
}

// RateLimit is the quota of the API key.
type RateLimit struct {
	// Limit is the number of requests a minute; 0 is unlimited.
	Limit int
	// Remaining requests may be sent at once now.
	Remaining int
	// Reset is the time until all of them may be sent at once again.
	Reset time.Duration
}

// LastResponse is what an answer said besides its body.
type LastResponse struct {
	Status         int
	RequestID      string
	CreditsCharged int
	// Replayed says that it is the stored answer to an earlier request with the same Idempotency-Key.
	Replayed bool
	// RateLimit is nil for a call without a quota.
	RateLimit *RateLimit
}

func lastResponse(response *http.Response, apiKey string) *LastResponse {
	header := response.Header
	charged, _ := number(header.Get("X-Credits-Charged"))
	last := &LastResponse{
		Status:         response.StatusCode,
		RequestID:      redact(header.Get("X-Request-Id"), apiKey),
		CreditsCharged: int(charged),
		Replayed:       header.Get("Idempotency-Replayed") == "true",
	}
	limit, hasLimit := number(header.Get("X-RateLimit-Limit"))
	remaining, hasRemaining := number(header.Get("X-RateLimit-Remaining"))
	reset, hasReset := number(header.Get("X-RateLimit-Reset"))
	if hasLimit && hasRemaining && hasReset {
		last.RateLimit = &RateLimit{Limit: int(limit), Remaining: int(remaining), Reset: seconds(reset)}
	}
	return last
}

// refused is the error that an answer of 300 and above is.
func refused(call string, status int, header http.Header, body []byte, apiKey string) *Error {
	var problem struct {
		Code      ErrorCode     `json:"code"`
		Title     string        `json:"title"`
		Detail    string        `json:"detail"`
		RequestID string        `json:"request_id"`
		Retryable *bool         `json:"retryable"`
		Errors    []ProblemItem `json:"errors"`
	}
	failed := &Error{
		Status:     status,
		Retryable:  slices.Contains(retryableStatus, status),
		RetryAfter: retryAfter(header.Get("Retry-After"), header.Get("Date")),
		Attempts:   1,
	}
	detail := "the answer has no problem document"
	switch {
	case json.Unmarshal(body, &problem) == nil && problem.Code != "":
		failed.Code = ErrorCode(redact(string(problem.Code), apiKey))
		detail = firstOf(problem.Detail, problem.Title, "refused")
		if problem.Retryable != nil {
			failed.Retryable = *problem.Retryable
		}
		for i, item := range problem.Errors {
			item = ProblemItem{
				Object:    Object{raw: redact(item.raw, apiKey)},
				Pointer:   redact(item.Pointer, apiKey),
				Parameter: redact(item.Parameter, apiKey),
				Code:      redact(item.Code, apiKey),
				Detail:    redact(item.Detail, apiKey),
			}
			failed.Errors = append(failed.Errors, item)
			if i < 3 {
				detail += "; " + strings.TrimPrefix(firstOf(item.Pointer, item.Parameter)+": "+item.Detail, ": ")
			}
		}
	case status < 400 || status == http.StatusNotFound:
		failed.Code, detail = ErrWrongAddress, "this is not the data service"
	default:
		failed.Code = ErrorCode(fmt.Sprintf("http_%d", status))
	}
	failed.RequestID = redact(firstOf(header.Get("X-Request-Id"), problem.RequestID), apiKey)
	failed.message = redact(fmt.Sprintf("%s: %s (%s, status %d)", call, detail, failed.Code, status), apiKey)
	return failed
}

// retryAfter reads Retry-After (RFC 9110, 10.2.3). A date is read against the answer's own Date.
func retryAfter(value, date string) time.Duration {
	if wanted, ok := number(value); ok {
		return seconds(wanted)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(date)
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// number reads a header that is a decimal number of at most 15 digits before the point.
func number(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if !areDigits(whole, 15) || (hasPoint && !areDigits(fraction, 9)) {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

func areDigits(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, "0123456789") == ""
}

// seconds makes a duration; one that would not fit is the longest.
func seconds(value float64) time.Duration {
	const longest = 1 << 33
	return time.Duration(min(value, longest) * float64(time.Second))
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
