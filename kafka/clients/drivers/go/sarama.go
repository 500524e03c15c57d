// A driver for sarama.
package main

import (
	"errors"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const name = "sarama"

type session struct {
	producer sarama.AsyncProducer
	consumer sarama.Consumer
	readers  []sarama.PartitionConsumer
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
	config.Metadata.RefreshFrequency = time.Duration(c.MaxAge) * time.Millisecond
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

func produce(c command) (client, error) {
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

func consume(c command) (client, error) {
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

func start(c command) (client, error) {
	if c.Role == "consumer" {
		return consume(c)
	}
	return produce(c)
}

func (s *session) serve(c command) bool {
	if c.Do == "produce" {
		s.producer.Input() <- &sarama.ProducerMessage{
			Topic: c.Topic, Partition: int32(c.Partition), Value: sarama.StringEncoder(c.Value), Metadata: c.Value}
	}
	return c.Do == "produce"
}

func (s *session) stop(id int) {
	for _, reader := range s.readers {
		reader.AsyncClose()
	}
	if s.producer != nil {
		s.producer.AsyncClose() // asynchronously, because unwritten records keep the producer open
	}
	tell(id, "stopped", nil)
}
