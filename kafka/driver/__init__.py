"""Kafka, for every comparison: releases and their jars, the process with its classes, histories executed step by step."""
