// Drives sarama: commands are lines of JSON on stdin, events are lines of JSON on stdout. Each `start` is a client of its own.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
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
	Rack       string `json:"rack"`
}

type session struct {
	producer sarama.AsyncProducer
	consumer sarama.Consumer
	readers  []sarama.PartitionConsumer
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

func config(c command) *sarama.Config {
	backoff := time.Duration(c.Backoff) * time.Millisecond
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.RackID = c.Rack
	config.Net.MaxOpenRequests = 1
	config.Net.DialTimeout = time.Second
	config.Metadata.Retry.Max = 1000
	config.Metadata.Retry.Backoff = backoff
	config.Metadata.RefreshFrequency = time.Minute
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 1000
	config.Producer.Retry.Backoff = backoff
	config.Producer.Return.Successes = true
	config.Consumer.MaxWaitTime = 20 * time.Millisecond
	config.Consumer.Retry.Backoff = backoff
	config.Consumer.Return.Errors = true
	return config
}

func produce(c command) (*session, error) {
	producer, err := sarama.NewAsyncProducer(strings.Split(c.Bootstrap, ","), config(c))
	if err != nil {
		return nil, err
	}
	go func() {
		for m := range producer.Successes() {
			tell(c.ID, "acked", map[string]any{"partition": m.Partition, "value": m.Metadata, "offset": m.Offset})
		}
	}()
	go func() {
		for e := range producer.Errors() {
			tell(c.ID, "failed", map[string]any{"partition": e.Msg.Partition, "value": e.Msg.Metadata, "error": e.Error()})
		}
	}()
	return &session{producer: producer}, nil
}

func consume(c command) (*session, error) {
	consumer, err := sarama.NewConsumer(strings.Split(c.Bootstrap, ","), config(c))
	if err != nil {
		return nil, err
	}
	s := &session{consumer: consumer}
	for p := int32(0); p < int32(c.Partitions); p++ {
		reader, err := consumer.ConsumePartition(c.Topic, p, 0)
		if err != nil {
			return nil, err
		}
		s.readers = append(s.readers, reader)
		go func() {
			for m := range reader.Messages() {
				tell(c.ID, "delivered", map[string]any{"partition": m.Partition, "offset": m.Offset, "value": string(m.Value)})
			}
		}()
		go func() {
			for e := range reader.Errors() {
				event := "error"
				if errors.Is(e.Err, sarama.ErrOffsetOutOfRange) {
					event = "truncated"
				}
				tell(c.ID, event, map[string]any{"partition": e.Partition, "error": e.Error()})
			}
		}()
	}
	return s, nil
}

func start(c command) (*session, error) {
	if c.Role == "consumer" {
		return consume(c)
	}
	return produce(c)
}

func (s *session) serve(c command) {
	switch c.Do {
	case "produce":
		s.producer.Input() <- &sarama.ProducerMessage{
			Topic: c.Topic, Partition: int32(c.Partition), Value: sarama.StringEncoder(c.Value), Metadata: c.Value}
	case "stop":
		for _, reader := range s.readers {
			reader.AsyncClose()
		}
		if s.producer != nil {
			s.producer.AsyncClose() // it goes on in the background, as records that are not written keep it open
		}
		tell(c.ID, "stopped", nil)
	default:
		tell(c.ID, "broken", map[string]any{"error": "the driver of sarama has no " + c.Do})
	}
}

func main() {
	sessions := map[int]chan command{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	tell(-1, "ready", nil)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			continue
		}
		if c.Do == "start" {
			commands := make(chan command, 100)
			sessions[c.ID] = commands
			go func() {
				s, err := start(c)
				if err != nil {
					tell(c.ID, "broken", map[string]any{"error": err.Error()})
					s = &session{}
				}
				for c := range commands {
					s.serve(c)
				}
			}()
		} else if commands := sessions[c.ID]; commands != nil {
			commands <- c
		}
		if c.Do == "stop" && sessions[c.ID] != nil {
			close(sessions[c.ID])
			delete(sessions, c.ID)
		}
	}
}
