// Code shared by the Go drivers: commands are lines of JSON on stdin, events are lines of JSON on stdout. Each `start` creates a client.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

type command struct {
	ID         int    `json:"id"`
	Do         string `json:"do"`
	Role       string `json:"role"`
	Bootstrap  string `json:"bootstrap"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Partition  int    `json:"partition"`
	Value      string `json:"value"`
	Backoff    int    `json:"backoff"`
	Timeout    int    `json:"timeout"`
	MaxAge     int    `json:"max_age"`
	Rack       string `json:"rack"`
	Reset      string `json:"reset"`
}

type client interface {
	serve(c command) bool // returns false if the client does not support the command
	stop(id int)
}

var out sync.Mutex

func tell(id int, event string, more map[string]any) {
	shown := map[string]any{"id": id, "event": event}
	for name, value := range more {
		shown[name] = value
	}
	text, _ := json.Marshal(shown)
	out.Lock()
	defer out.Unlock()
	fmt.Println(string(text))
}

func broken(id int, why string) {
	tell(id, "broken", map[string]any{"error": why})
}

// A client processes its commands in order, in parallel with other clients.
func follow(first command, commands chan command) {
	s, err := start(first)
	if err != nil {
		broken(first.ID, err.Error())
	}
	for c := range commands {
		switch {
		case c.Do == "stop" && s != nil:
			s.stop(c.ID)
		case c.Do == "stop":
			tell(c.ID, "stopped", nil)
		case s != nil && !s.serve(c):
			broken(c.ID, "the driver of "+name+" has no "+c.Do)
		}
	}
}

func main() {
	clients := map[int]chan command{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	tell(-1, "ready", nil)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			broken(-1, err.Error())
			continue
		}
		if c.Do == "start" {
			clients[c.ID] = make(chan command, 100)
			go follow(c, clients[c.ID])
		} else if commands := clients[c.ID]; commands != nil {
			commands <- c
			if c.Do == "stop" {
				close(commands)
				delete(clients, c.ID)
			}
		}
	}
}
