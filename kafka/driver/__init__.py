"""Kafka for all comparisons: releases and jars, the process with its classes, and step-by-step execution."""
