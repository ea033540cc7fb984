// Command go asks the assistant, and prints the answer while it arrives.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// event is what of the stream's events is used here.
type event struct {
	Type      string
	Delta     string
	URL       string
	Title     string
	ErrorText string
}

// ask sends a question, calls each for the events of the answer, and returns
// the thread's ID. The text of an error is a sentence for the reader.
func ask(url, key, question, thread string, each func(event)) (string, error) {
	message := map[string]any{"id": "1", "role": "user", "parts": []map[string]string{{"type": "text", "text": question}}}
	body := map[string]any{"fp": "anonymous", "messages": []any{message}}
	if thread != "" {
		body["threadId"] = thread
	}
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		var refused struct{ Error string }
		if json.Unmarshal(text, &refused) == nil && refused.Error != "" {
			return "", errors.New(refused.Error)
		}
		return "", fmt.Errorf("%s: %s", resp.Status, text)
	}
	finished := false
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return "", err
		}
		switch e.Type {
		case "error":
			return "", errors.New(e.ErrorText)
		case "finish":
			finished = true
		default:
			each(e)
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	if !finished {
		return "", errors.New("the answer broke off; please ask again")
	}
	return resp.Header.Get("X-Thread-Id"), nil
}

func main() {
	thread := ""
	for _, question := range os.Args[1:] {
		var sources []event
		next, err := ask(os.Getenv("DOCS_URL"), os.Getenv("DOCS_KEY"), question, thread, func(e event) {
			switch e.Type {
			case "text-delta":
				fmt.Print(e.Delta)
			case "source-url":
				sources = append(sources, e)
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		thread = next
		fmt.Print("\n\n")
		for _, s := range sources {
			fmt.Printf("%s: %s\n", s.Title, s.URL)
		}
		fmt.Println("thread", thread)
	}
}
