"""Questions: conversion of a caller's protocol names, constants, arguments and quantities to a question."""
