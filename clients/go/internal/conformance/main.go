// Command conformance is the runner of the conformance suite: scenarios on standard input, a line of JSON for each on
// standard output.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"millrace.example/millrace"
)

type scenario struct {
	Name    string         `json:"name"`
	Variant string         `json:"variant"`
	Alone   bool           `json:"alone"`
	BaseURL string         `json:"base_url"`
	APIKey  string         `json:"api_key"`
	Options map[string]any `json:"options"`
	Steps   []struct {
		Call   string         `json:"call"`
		With   map[string]any `json:"with"`
		Args   map[string]any `json:"args"`
		Repeat int            `json:"repeat"`
	} `json:"steps"`
}

type report struct {
	Name      string           `json:"name"`
	Variant   string           `json:"variant"`
	Outcomes  []map[string]any `json:"outcomes"`
	MemoryMiB *float64         `json:"memory_mib"`
}

func main() {
	var input struct {
		Scenarios []scenario `json:"scenarios"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		log.Fatal(err)
	}
	for _, one := range input.Scenarios {
		if one.Alone {
			before, known := memory("VmRSS")
			outcomes := run(one)
			if after, ok := memory("VmHWM"); known && ok {
				used := after - before
				show(report{one.Name, one.Variant, outcomes, &used})
			} else {
				show(report{one.Name, one.Variant, outcomes, nil})
			}
		}
	}
	places := make(chan struct{}, 16)
	var all sync.WaitGroup
	for _, one := range input.Scenarios {
		if one.Alone {
			continue
		}
		all.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; all.Done() }()
			show(report{one.Name, one.Variant, run(one), nil})
		}()
	}
	all.Wait()
}

var printing sync.Mutex

func show(done report) {
	printing.Lock()
	defer printing.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(done); err != nil {
		log.Fatal(err)
	}
}

// run makes the steps of a scenario with one client.
func run(task scenario) []map[string]any {
	options := append(optionsOf(task.Options), millrace.WithAPIKey(task.APIKey), millrace.WithBaseURL(task.BaseURL))
	client, err := millrace.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var outcomes []map[string]any
	for _, step := range task.Steps {
		var outcome map[string]any
		one := client
		if step.With != nil {
			if one, err = client.With(optionsOf(step.With)...); err != nil {
				log.Fatal(err)
			}
		}
		for range max(1, step.Repeat) {
			args, _ := resolve(step.Args, outcomes).(map[string]any)
			outcome = outcomeOf(call(one, step.Call, args))
			if outcome["error"] != nil {
				break
			}
		}
		outcome["last_response"] = lastOf(one.LastResponse())
		outcomes = append(outcomes, plain(outcome).(map[string]any))
	}
	return outcomes
}

func optionsOf(given map[string]any) []millrace.Option {
	var options []millrace.Option
	for name, value := range given {
		switch name {
		case "timeout":
			options = append(options, millrace.WithTimeout(duration(value)))
		case "retry_delay":
			options = append(options, millrace.WithRetryDelay(duration(value)))
		case "max_attempts":
			options = append(options, millrace.WithMaxAttempts(int(value.(float64))))
		case "headers":
			for header, text := range value.(map[string]any) {
				options = append(options, millrace.WithHeader(header, text.(string)))
			}
		case "wait_for_rate_limit":
			if value == true {
				options = append(options, millrace.WithWaitForRateLimit())
			}
		default:
			log.Fatalf("no such option: %s", name)
		}
	}
	return options
}

func duration(seconds any) time.Duration {
	return time.Duration(seconds.(float64) * float64(time.Second))
}

func lastOf(last *millrace.LastResponse) any {
	if last == nil {
		return nil
	}
	shown := map[string]any{
		"status": last.Status, "credits_charged": last.CreditsCharged, "replayed": last.Replayed, "request_id": textOrNil(last.RequestID),
	}
	if quota := last.RateLimit; quota != nil {
		shown["rate_limit"] = map[string]any{"limit": quota.Limit, "remaining": quota.Remaining, "reset": quota.Reset.Seconds()}
	}
	return shown
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// plain makes of a value what its JSON is, so that later steps can look into it.
func plain(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		log.Fatal(err)
	}
	return read
}

// resolve replaces "$0.id" by the id in the result of the first step.
func resolve(value any, outcomes []map[string]any) any {
	switch given := value.(type) {
	case map[string]any:
		resolved := map[string]any{}
		for name, item := range given {
			resolved[name] = resolve(item, outcomes)
		}
		return resolved
	case string:
		if !strings.HasPrefix(given, "$") {
			return given
		}
		path := strings.Split(given[1:], ".")
		step, _ := strconv.Atoi(path[0])
		found := outcomes[step]["result"]
		for _, part := range path[1:] {
			if list, ok := found.([]any); ok {
				i, _ := strconv.Atoi(part)
				found = list[i]
			} else {
				found = found.(map[string]any)[part]
			}
		}
		return found
	}
	return value
}

// memory is a line of /proc/self/status in MiB.
func memory(field string) (float64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib float64
		if _, err := fmt.Sscanf(line, field+": %f kB", &kib); err == nil {
			return kib / 1024, true
		}
	}
	return 0, false
}
