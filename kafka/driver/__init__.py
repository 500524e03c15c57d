"""Kafka for every comparison: releases and jars, the process with its classes, histories executed step by step."""
